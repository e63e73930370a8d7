"""Causal order, alignment, the future, windows: each wrong way is named as itself, at any sizes."""

import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverhead.checking.rules.call import Call
from riverhead.checking.rules.draw import Draw
from riverhead.checking.rules.pipeline import follow
from riverhead.checking.rules.rule import rules
from riverhead.checking.rules.running.subject import Direct
from riverhead.checking.rules.studies.empty import EMPTY
from riverhead.checking.rules.studies.low import FILLS, LOW
from riverhead.checking.rules.studies.masks import MASKS
from riverhead.checking.rules.studies.place import PLACE
from riverhead.checking.rules.studies.plain import PLAIN
from riverhead.checking.rules.studies.window import WINDOW
from riverhead.checking.rules.trial import Trial
from riverhead.core import attention

sys.path.insert(0, str(Path(__file__).parent))
from by_name import ByName, apart, asked, behind, hidden, mix, scaled, sized, sizes, soft, told

STUDIES = (PLAIN, *MASKS, LOW, *FILLS, *EMPTY, *PLACE, *WINDOW)
BY_RULE = {rule.id: study.ways for rule in rules().values() for study in STUDIES if rule.cases == study.name}
BY_NAME = {study.name: study for study in STUDIES}

seeds = st.integers(0, 10_000)


def own(q, k, v, mask=None, causal=False, window=None):
    return attention(q, k, v, mask=mask, causal=causal, window=window).out


@given(sizes, seeds)
@settings(max_examples=4)
def test_attention_holds_every_rule(sizes, seed):
    report = asked(own, STUDIES, sizes=sizes, seed=seed)
    assert report.failed == report.not_judged == ()
    mine = {rule.id for rule in rules().values() if rule.cases in {study.name for study in (*PLACE, *WINDOW)}}
    assert mine <= set(report.passed)
    found = {(each.aspect, each.name) for each in report.conventions}
    assert {("causal", "end"), ("window", "both-sides")} <= found


def test_the_torch_function_of_the_project_holds_every_rule():
    pytest.importorskip("torch")
    import riverhead.torch
    from riverhead.checking.rules.adapting import adapt

    trial = Trial(Direct(adapt(riverhead.torch.scaled_dot_product_attention)), Draw())
    trial.run(STUDIES)
    report = trial.report()
    assert report.failed == report.not_judged == ()
    assert {"causal", "causal-cross", "causal-fill-far", "empty-causal", "future"} <= set(report.passed)


# One mistake each, right in all else


def causal(weights):
    """A function whose weights being causal changes: weights(scores, how far each key lies behind)."""

    def f(q, k, v, causal=False):
        scores = scaled(q, k)
        return mix(weights(scores, behind(scores)) if causal else soft(scores), v)

    return f


def both(seen):
    """A function of a mask and causal; ``seen`` says who is visible where both are given."""

    def f(q, k, v, mask=None, causal=False):
        scores = scaled(q, k)
        past = behind(scores) >= 0 if causal else np.ones(scores.shape[-2:], bool)
        given = np.ones(scores.shape, bool) if mask is None else np.broadcast_to(mask, scores.shape)
        return mix(hidden(scores, seen(given, past) if causal and mask is not None else given & past), v)

    return f


def window(near):
    """A function with a window; near(behind, W, causal, mask) says whom it leaves visible."""

    def f(q, k, v, mask=None, causal=False, window=None):
        scores = scaled(q, k)
        b = behind(scores)
        seen = b >= 0 if causal else b == b
        seen = seen if window is None else seen & near(b, window, causal, mask)
        return mix(hidden(scores, seen if mask is None else seen & mask), v)

    return f


def dropping(what):
    """A function that a window makes forget something."""

    def f(q, k, v, mask=None, causal=False, window=None):
        scores = scaled(q, k)
        b = behind(scores)
        seen = np.broadcast_to(b == b, scores.shape)
        if causal and not (what == "causal" and window is not None):
            seen = seen & (b >= 0)
        if window is not None and not (what == "window" and mask is not None):
            seen = seen & (abs(b) < window)
        if mask is not None and not (what == "mask" and window is not None):
            seen = seen & mask
        return mix(hidden(scores, seen), v)

    return f


def rows(seen, empty):
    """Weights of who is seen; rows that see nothing give ``empty``."""
    return lambda s, b: np.where(seen(b).any(-1, keepdims=True), hidden(s, seen(b)), empty(s.shape[-1]))


EMPTY_ROWS = {"zeros": lambda n: 0.0, "NaN": lambda n: np.nan, "the mean": lambda n: 1 / n}
WRONG = {
    "causal-ignored": ("causal", causal(lambda s, b: soft(s))),
    "causal-zeroes-scores": ("causal", causal(lambda s, b: soft(np.where(b >= 0, s, 0)))),
    "causal-tiny-fill": ("causal", causal(lambda s, b: soft(np.where(b >= 0, s, -1e-9)))),
    "causal-large-fill": ("causal", causal(lambda s, b: soft(np.where(b >= 0, s, 1e9)))),
    "causal-added": ("causal", causal(lambda s, b: soft(s + (b >= 0)))),
    "causal-after-softmax": ("causal", causal(lambda s, b: np.where(b >= 0, soft(s), 0))),
    "causal-sees-one-ahead": ("causal", causal(lambda s, b: hidden(s, b >= -1))),
    "causal-inverted": ("causal", causal(lambda s, b: hidden(s, b <= 0))),
    "causal-hides-oneself": ("causal", causal(lambda s, b: hidden(s, b > 0))),
    "causal-drops-mask": ("causal-and-mask", both(lambda mask, past: past)),
    "mask-drops-causal": ("causal-and-mask", both(lambda mask, past: mask)),
    "mask-or-causal": ("causal-and-mask", both(lambda mask, past: mask | past)),
    "window-one-more": ("window", window(lambda b, W, c, m: abs(b) <= W)),
    "window-one-less": ("window", window(lambda b, W, c, m: abs(b) < W - 1)),
    "window-ignored": ("window", window(lambda b, W, c, m: b == b)),
    "window-needs-mask": ("window", window(lambda b, W, c, m: (abs(b) < W) | (m is None))),
    "window-drops-causal": ("window", dropping("causal")),
    "window-sees-future": ("window-sides", window(lambda b, W, c, m: b < W)),
    "window-drops-mask": ("window-and-mask", dropping("mask")),
    "mask-drops-window": ("window-and-mask", dropping("window")),
}


@pytest.mark.parametrize("id", WRONG)
@given(sizes, seeds)
@settings(max_examples=2)
def test_each_wrong_way_is_named_as_itself(id, sizes, seed):
    rule, f = WRONG[id]
    (failure,) = asked(f, STUDIES, sizes=sizes, seed=seed).failed
    assert (failure.rule, failure.mistake, failure.level) == (rule, id, "must")
    assert failure.did in {way.says for way in BY_RULE[rule] if way.id == id}
    assert failure.found != failure.right


@pytest.mark.parametrize("gives", EMPTY_ROWS)
@pytest.mark.parametrize(
    ("id", "seen"), [("causal-hides-oneself", lambda b: b > 0), ("causal-inverted", lambda b: b < 0)]
)
def test_a_row_left_without_a_key_is_named_with_what_it_gives(id, seen, gives):
    (failure,) = asked(causal(rows(seen, EMPTY_ROWS[gives])), STUDIES).failed
    assert (failure.rule, failure.mistake) == ("causal", id)
    assert failure.did.endswith(f"gives {gives}")


@given(sizes, seeds)
@settings(max_examples=3)
def test_all_ways_are_apart_on_their_calls(sizes, seed):
    trial = Trial(Direct(ByName(own)), Draw(sizes, seed))
    for study in (*PLACE, *WINDOW):
        calls = list(study.calls(trial))
        if study.name == "window":  # that a mask is needed is asked where a window hides nothing
            mask = np.ones((sizes.T_k, sizes.T_k), bool)
            calls += [Call({**each.arrays, "mask": mask}, each.options) for each in calls]
            calls += [Call(each.arrays, {"window": each.options["window"]}) for each in calls]  # or no causal
        given = [(way.id, way.agreed or way.says, told(calls, [way])) for way in study.ways]
        given.append(("right", "", told(calls, [])))
        for (one, says, a), (other, words, b) in combinations(given, 2):
            assert says == words or apart(a, b), (study.name, one, other)


# Conventions


def aligned(align, alone="as the others"):
    def f(q, k, v, causal=False):
        scores = scaled(q, k)
        b = behind(scores, "end" if scores.shape[-2] == 1 and alone == "all" else align)
        return mix(hidden(scores, b >= 0) if causal else soft(scores), v)

    return f


@pytest.mark.parametrize("alone", ["as the others", "all"])
@pytest.mark.parametrize(("align", "other"), [("start", "end"), ("end", "start")])
def test_where_queries_stand_is_agreed_unless_the_contrary_was_asked_for(align, other, alone):
    report = asked(aligned(align, alone), STUDIES)
    assert report.failed == ()
    assert [each.name for each in report.conventions if each.aspect == "causal"] == [align]
    report = asked(aligned(align, alone), STUDIES, expect={"causal": other})
    assert [each.rule for each in report.failed] == ["causal-cross"]
    assert not report.ok


def test_where_queries_stand_is_not_said_where_nothing_is_hidden():
    report = asked(WRONG["causal-ignored"][1], STUDIES)
    assert [each for each in report.conventions if each.aspect == "causal"] == []
    assert "causal-cross" in {each.rule for each in report.not_judged}


@given(sizes, seeds)
@settings(max_examples=20)
def test_a_mask_beside_causal_hides_some_of_the_past_and_shows_some_of_the_future(sizes, seed):
    (call,) = BY_NAME["causal-and-mask"].calls(Trial(Direct(ByName(own)), Draw(sizes, seed)))
    mask = call.arrays["mask"]
    T = len(mask)
    assert mask.diagonal().all()
    assert not mask[np.tril_indices(T, -1)].all()
    assert mask[np.triu_indices(T, 1)].any()
    assert mask[np.tril_indices(T, -2)].any()  # and some of what is outside a window of 2


def test_causal_that_takes_as_many_queries_as_keys_alone_is_not_asked_for_fewer():
    def f(q, k, v, causal=False):
        scores = scaled(q, k)
        if causal:
            scores = np.where(np.tril(np.ones((k.shape[-2],) * 2, bool)), scores, -np.inf)
        return soft(scores) @ v

    report = asked(f, STUDIES)
    assert report.failed == ()
    (why,) = {each.why for each in report.not_offered if each.rule == "causal-cross"}
    assert "broadcast" in why


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("back", lambda b, W, c, m: (b >= 0) & (b < W)),
        ("centred", lambda b, W, c, m: abs(b) <= (W - 1 if c else W // 2)),
        ("with-causal-alone", lambda b, W, c, m: (abs(b) < W) | (not c)),
    ],
)
def test_where_a_window_lies_without_causal_is_agreed(name, near):
    report = asked(window(near), STUDIES)
    assert report.failed == ()
    assert [each.name for each in report.conventions if each.aspect == "window"] == [name]
    assert not asked(window(near), STUDIES, expect={"window": "both-sides"}).ok


def test_a_window_without_an_option_for_causal_is_judged_by_itself():
    def of(near):
        def f(q, k, v, window=None):
            scores = scaled(q, k)
            return mix(soft(scores) if window is None else hidden(scores, near(behind(scores), window)), v)

        return f

    report = asked(of(lambda b, W: abs(b) < W), STUDIES)
    assert report.failed == ()
    assert [each.name for each in report.conventions if each.aspect == "window"] == ["both-sides"]
    (failure,) = asked(of(lambda b, W: b < W), STUDIES).failed
    assert (failure.rule, failure.mistake) == ("window", "window-sees-future")


# Causal by what it is


def always(weights):
    return lambda q, k, v: mix(weights(scaled(q, k), behind(scaled(q, k))), v)


def test_a_function_without_an_option_may_be_causal_by_what_it_is():
    report = asked(always(lambda s, b: hidden(s, b >= 0)), STUDIES)
    assert report.failed == ()
    assert {"definition", "causal", "causal-cross", "causal-fill", "future"} <= set(report.passed)
    assert ("future", "always-hidden") in {(each.aspect, each.name) for each in report.conventions}


@pytest.mark.parametrize("id", ["causal-after-softmax", "causal-hides-oneself", "causal-sees-one-ahead"])
def test_its_mistakes_are_named_beside_those_of_the_scale(id):
    (cell,) = [c.cell_contents for c in WRONG[id][1].__closure__]
    report = asked(always(lambda s, b: cell(s, b)), STUDIES)
    assert report.mistakes == (id,)
    report = asked(always(lambda s, b: cell(2 * s, b)), STUDIES, sizes=sized([3, 4, 4, 6]))  # 2 is √d_k
    assert set(report.mistakes) == {"no-scale", id}


def test_its_mask_is_asked_with_what_it_hides_itself():
    def f(q, k, v, mask=None):
        scores = scaled(q, k)
        seen = behind(scores) >= 0
        return mix(hidden(scores, seen if mask is None else seen & mask), v)

    report = asked(f, STUDIES)
    assert report.failed == ()
    assert {"mask", "mask-shared", "fill", "empty-row", "empty-causal"} <= set(report.passed)


def test_scores_that_its_mask_makes_zero_are_told_from_the_future():
    def f(q, k, v, mask=None):
        scores = scaled(q, k)
        shown = scores if mask is None else np.where(mask, scores, 0)
        return mix(hidden(shown, behind(scores) >= 0), v)

    (failure,) = asked(f, STUDIES).failed
    assert (failure.rule, failure.mistake) == ("mask", "mask-zeroes-scores")


def test_an_option_that_is_causal_even_when_it_is_off_is_a_mistake():
    def f(q, k, v, causal=False):
        return mix(hidden(scaled(q, k), behind(scaled(q, k)) >= 0), v)

    (failure,) = asked(f, STUDIES).failed
    assert (failure.rule, failure.mistake) == ("definition", "causal-unasked")


# Low scores, left padding, the future


@pytest.mark.parametrize("fill", [-1e4, -65504.0])
def test_a_weak_fill_lets_the_future_in(fill):
    failures = asked(causal(lambda s, b: soft(np.where(b >= 0, s, fill))), STUDIES).failed
    assert [(each.rule, each.mistake) for each in failures] == [("causal-fill", "fill-too-weak")]


def test_left_padding_that_is_nan_only_with_causal_is_found():
    def f(q, k, v, mask=None, causal=False):
        scores = scaled(q, k)
        seen = np.ones(scores.shape, bool) if mask is None else np.broadcast_to(mask, scores.shape)
        if not causal:
            return mix(hidden(scores, seen), v)
        return mix(soft(np.where(seen & (behind(scores) >= 0), scores, -np.inf)), v)

    (failure,) = asked(f, STUDIES).failed
    assert (failure.rule, failure.mistake, failure.level) == ("empty-causal", "empty-row-nan", "must")


def test_what_left_padding_gives_may_be_any_number():
    def f(q, k, v, mask=None, causal=False):
        scores = scaled(q, k)
        seen = np.broadcast_to(True if mask is None else mask, scores.shape)
        seen = seen & (behind(scores) >= 0) if causal else seen
        return mix(np.where(seen.any(-1, keepdims=True), hidden(scores, seen), 0.125 if causal else 0), v)

    report = asked(f, STUDIES)
    assert report.failed == ()
    assert "empty-causal" in report.passed


def test_the_last_bit_of_a_later_token_is_a_leak():
    f = causal(lambda s, b: hidden(s, b >= 0) + (b < 0) * 1e-40)
    (failure,) = asked(f, STUDIES).failed
    assert (failure.rule, failure.mistake, failure.level) == ("future", "future-leaks", "must")


def test_a_path_with_weights_that_forgets_causal_leaks():
    class Weighing(ByName):
        def run(self, call):
            if "weights" not in call.want:
                return super().run(call)
            return super().run(Call(call.arrays))

    f = causal(lambda s, b: hidden(s, b >= 0))
    trial = Trial(Direct(Weighing(f, "weights")), Draw())
    trial.run(PLACE)
    (failure,) = trial.report().failed
    assert (failure.rule, failure.mistake) == ("future", "future-leaks")


SCALES = {"no-scale": lambda d: d**0.5, "scale-by-d_k": lambda d: d**-0.5, "scale-up": lambda d: d}
ORDERS = ("causal-after-softmax", "causal-sees-one-ahead", "window-one-more", "window-ignored")


@given(sizes, seeds, st.sampled_from(sorted(SCALES)), st.sampled_from(ORDERS))
@settings(max_examples=10)
def test_a_scale_and_an_order_that_are_wrong_are_both_named(sizes, seed, scale, id):
    rule, f = WRONG[id]
    factor = SCALES[scale](sizes.d_k)

    def rescaled(q, k, v, causal=False, window=None):
        return f(q * factor, k, v, causal=causal, **({} if window is None else {"window": window}))

    def without(q, k, v, causal=False):
        return rescaled(q, k, v, causal)

    report = asked(rescaled if rule == "window" else without, STUDIES, sizes=sizes, seed=seed)
    assert report.mistakes == (scale, id)


# Known numbers: zeros for queries and keys, the values a unit matrix, so that the output is who is seen


def seen_by(T_q, T_k, choices=(), **options):
    call = Call({"q": np.zeros((T_q, 2)), "k": np.zeros((T_k, 2)), "v": np.eye(T_k)}, options)
    return follow(call, choices).out


def way(study, id):
    return next(each for each in BY_NAME[study].ways if each.id == id)


def shares(*rows):
    """Rows that share a weight of 1 equally among keys: "110" is ½, ½, 0."""
    seen = np.array([[int(x) for x in row] for row in rows], float)
    return seen / seen.sum(-1, keepdims=True)


KNOWN = [
    (("causal", None), (2, 4, {"causal": True}), ["1110", "1111"]),
    (("causal-cross", "causal-start"), (2, 4, {"causal": True}), ["1000", "1100"]),
    (("causal", "causal-ignored"), (2, 4, {"causal": True}), ["1111", "1111"]),
    (("causal", "causal-hides-oneself"), (2, 4, {"causal": True}), ["1100", "1110"]),
    (("causal", None), (3, 3, {"causal": True}), ["100", "110", "111"]),
    (("causal", "causal-sees-one-ahead"), (3, 3, {"causal": True}), ["110", "111", "111"]),
    (
        ("window", None),
        (6, 6, {"causal": True, "window": 3}),
        ["100000", "110000", "111000", "011100", "001110", "000111"],
    ),
    (
        ("window", "window-one-more"),
        (6, 6, {"causal": True, "window": 3}),
        ["100000", "110000", "111000", "111100", "011110", "001111"],
    ),
    (
        ("window", "window-ignored"),
        (6, 6, {"causal": True, "window": 3}),
        ["100000", "110000", "111000", "111100", "111110", "111111"],
    ),
    (("window", "window-back"), (4, 4, {"window": 2}), ["1000", "1100", "0110", "0011"]),
    (("window", "window-sees-future"), (4, 4, {"window": 2}), ["1111", "1111", "0111", "0011"]),
    (("window", None), (4, 4, {"window": 1}), ["1000", "0100", "0010", "0001"]),
    (("window", "window-needs-mask"), (4, 4, {"window": 1}), ["1111"] * 4),
    (("window", None), (1, 4, {"causal": True, "window": 2}), ["0011"]),
    (("causal", None), (1, 4, {"causal": True}), ["1111"]),
]


@pytest.mark.parametrize(("what", "given", "right"), KNOWN)
def test_who_is_seen(what, given, right):
    study, id = what
    T_q, T_k, options = given
    choices = [] if id is None else [way(study, id)]
    np.testing.assert_allclose(seen_by(T_q, T_k, choices, **options), shares(*right), rtol=1e-15)


def test_hiding_oneself_leaves_the_first_query_nothing():
    ways = {w.says.split()[-1]: w for w in BY_NAME["causal"].ways if w.id == "causal-hides-oneself"}
    nan = seen_by(3, 3, [ways["NaN"]], causal=True)
    assert np.isnan(nan[0]).all()
    np.testing.assert_array_equal(nan[1:], shares("100", "110"))
    np.testing.assert_array_equal(seen_by(3, 3, [ways["zeros"]], causal=True)[0], np.zeros(3))


def test_a_window_as_long_as_the_keys_is_none():
    for W in (5, 6, 50):
        np.testing.assert_array_equal(seen_by(5, 5, causal=True, window=W), seen_by(5, 5, causal=True))


def test_left_padding_and_causal_leave_the_first_query_nothing():
    call = Call(
        {"q": np.zeros((2, 2)), "k": np.zeros((2, 2)), "v": np.eye(2), "key_mask": np.array([[False, True]])},
        {"causal": True},
    )
    np.testing.assert_array_equal(follow(call).out, [[0, 0], [0, 1]])


def test_two_texts_in_a_row_see_themselves_alone_by_a_mask_beside_causal():
    text = np.repeat([0, 1], 3)
    arrays = {"q": np.zeros((6, 2)), "k": np.zeros((6, 2)), "v": np.eye(6), "mask": text[:, None] == text}
    out = follow(Call(arrays, {"causal": True})).out
    np.testing.assert_allclose(
        out, shares("100000", "110000", "111000", "000100", "000110", "000111"), rtol=1e-15
    )
    leaking = follow(Call(arrays, {"causal": True}), [way("causal-and-mask", "causal-drops-mask")]).out
    rows = ["100000", "110000", "111000", "111100", "111110", "111111"]
    np.testing.assert_allclose(leaking, shares(*rows), rtol=1e-15)
