"""Masks, padding, fills, empty rows, hidden keys: each wrong way is named as itself, at any sizes."""

import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverhead.checking.rules.call import Call
from riverhead.checking.rules.pipeline import follow
from riverhead.checking.rules.rule import rules
from riverhead.checking.rules.running.subject import Direct
from riverhead.checking.rules.studies.empty import EMPTY
from riverhead.checking.rules.studies.hidden import HIDDEN
from riverhead.checking.rules.studies.low import FILLS, LOW
from riverhead.checking.rules.studies.masks import MASKS
from riverhead.checking.rules.studies.plain import PLAIN
from riverhead.checking.rules.trial import Trial
from riverhead.core import attention

sys.path.insert(0, str(Path(__file__).parent))
from by_name import (
    ByName,
    apart,
    asked,
    hidden,
    masked,
    mix,
    of_keys,
    padding,
    scaled,
    sized,
    sizes,
    soft,
    told,
)

STUDIES = (PLAIN, *MASKS, LOW, *FILLS, *EMPTY, *HIDDEN)
WAYS = {way.id: way for study in STUDIES for way in study.ways}

seeds = st.integers(0, 10_000)


def own(q, k, v, mask=None, key_mask=None):
    """riverhead's own, with a padding mask laid beside the mask."""
    masks = [mask] if mask is not None else []
    if key_mask is not None:
        masks.append(of_keys(key_mask, q))
    return attention(q, k, v, mask=np.logical_and.reduce(np.broadcast_arrays(*masks)) if masks else None).out


@given(sizes, seeds)
@settings(max_examples=5)
def test_attention_holds_every_rule(sizes, seed):
    report = asked(own, STUDIES, sizes=sizes, seed=seed)
    assert report.failed == report.not_judged == ()
    mine = [rule.id for rule in rules().values() if rule.cases in {study.name for study in STUDIES}]
    assert set(report.passed) == set(mine) - {"fill-float16"}
    assert {(each.aspect, each.name) for each in report.conventions} == {
        ("mask", "keep"),
        ("padding", "keep"),
        ("empty-row", "zeros"),
    }


def test_the_torch_function_of_the_project_holds_every_rule():
    pytest.importorskip("torch")
    import riverhead.torch
    from riverhead.checking.rules.adapting import adapt
    from riverhead.checking.rules.draw import Draw

    trial = Trial(Direct(adapt(riverhead.torch.scaled_dot_product_attention)), Draw())
    trial.run(STUDIES)
    report = trial.report()
    assert report.failed == report.not_judged == ()
    assert {"mask", "fill-far", "empty-row", "fill-float16", "hidden-nan"} <= set(report.passed)


# One mistake each, right in all else. The name of a parameter says what it is.


def mask_on_values(q, k, v, mask=None):
    if mask is not None:
        v = np.where(mask.any(-2)[..., None], v, 0)
    return soft(scaled(q, k)) @ v


def mask_first_head(scores, mask):
    seen = np.ones(scores.shape, bool)
    if scores.ndim == 4:
        seen[:, :1] &= mask
    else:
        seen &= mask
    return hidden(scores, seen)


def mask_first_sample(scores, mask):
    seen = np.ones(scores.shape, bool)
    if scores.ndim > 2:
        seen[:1] &= mask
    else:
        seen &= mask
    return hidden(scores, seen)


def on_queries(rows):
    """Queries hidden instead of keys; ``rows`` are what they give."""

    def weights(scores, mask):
        return np.where(mask.swapaxes(-1, -2), soft(scores), rows(scores.shape[-1]))

    return weights


def on_first_rows(scores, mask):
    """Fewer queries than keys, and those with the numbers of padded keys left out."""
    n, right = scores.shape[-2], hidden(scores, mask)
    return right if n == scores.shape[-1] else right * mask.swapaxes(-1, -2)[..., :n, :]


def added_or(other):
    """Where both masks are given, something else than both."""

    def f(q, k, v, mask=None, key_mask=None):
        scores = scaled(q, k)
        seen = np.ones(scores.shape, bool)
        pads = None if key_mask is None else of_keys(key_mask, scores)
        if mask is not None and pads is not None:
            seen = seen & other(mask, pads)
        elif mask is not None or pads is not None:
            seen = seen & (pads if mask is None else mask)
        return mix(hidden(scores, seen), v)

    return f


LATE = {  # what either mask may do wrong: each wrong way, of scores and mask
    "ignored": lambda s, m: soft(s),
    "zeroes-scores": lambda s, m: soft(s * m),
    "large-fill": lambda s, m: soft(np.where(m, s, 1e9)),
    "after-softmax": lambda s, m: soft(s) * m,
}
WRONG = {
    **{f"mask-{name}": ("mask", masked(weights)) for name, weights in LATE.items()},
    **{f"padding-{name}": ("padding", padding(weights)) for name, weights in LATE.items()},
    "mask-transposed": ("mask", masked(lambda s, m: hidden(s, m.swapaxes(-1, -2)))),
    "mask-on-values": ("mask", mask_on_values),
    "mask-first-sample": ("mask-shared", masked(mask_first_sample)),
    "mask-first-head": ("mask-shared", masked(mask_first_head)),
    "mask-of-first-sample": ("mask-own", masked(lambda s, m: hidden(s, m[:1] if m.ndim > 2 else m))),
    "mask-over-heads": (
        "mask-own",
        masked(lambda s, m: hidden(s, m.swapaxes(0, 1) if m.ndim > 3 else m)),
    ),
    "padding-first-sample": ("padding", padding(lambda s, m: hidden(s, m[:1]))),
    "padding-on-rows": ("padding-cross", padding(on_first_rows)),
    "padding-drops-mask": ("padding-and-mask", added_or(lambda mask, pads: pads)),
    "mask-drops-padding": ("padding-and-mask", added_or(lambda mask, pads: mask)),
    "mask-or-padding": ("padding-and-mask", added_or(lambda mask, pads: mask | pads)),
}


@pytest.mark.parametrize("id", WRONG)
@given(sizes, seeds)
@settings(max_examples=2)
def test_each_wrong_way_is_named_as_itself(id, sizes, seed):
    rule, f = WRONG[id]
    (failure,) = asked(f, STUDIES, sizes=sizes, seed=seed).failed
    assert (failure.rule, failure.mistake, failure.level) == (rule, id, "must")
    assert failure.did == next(way.says for way in STUDIES_BY_RULE[rule] if way.id == id)
    assert failure.found != failure.right


STUDIES_BY_RULE = {
    rule.id: study.ways for rule in rules().values() for study in STUDIES if rule.cases == study.name
}


@pytest.mark.parametrize("prefix", ["mask", "padding"])
@pytest.mark.parametrize("fill", [1e-9, -1e-9])
def test_a_sign_lost_in_the_exponent_is_told_from_zero(prefix, fill):
    make = {"mask": masked, "padding": padding}[prefix]
    (failure,) = asked(make(lambda s, m: soft(np.where(m, s, fill))), STUDIES).failed
    assert failure.mistake == f"{prefix}-tiny-fill"
    assert ("−0.0" in failure.did) == (fill < 0)


@pytest.mark.parametrize("rows", [lambda n: 0.0, lambda n: np.nan, lambda n: 1 / n])
def test_a_padding_mask_on_the_queries_is_named_whatever_their_rows_give(rows):
    (failure,) = asked(padding(on_queries(rows)), STUDIES).failed
    assert (failure.rule, failure.mistake) == ("padding", "padding-on-queries")


@pytest.mark.parametrize("rows", [0.0, 0.2])
def test_rows_of_padded_queries_may_be_left_out_too(rows):
    def weights(scores, mask):
        right = hidden(scores, mask)
        same = scores.shape[-2] == scores.shape[-1]
        return np.where(mask.swapaxes(-1, -2), right, rows) if same else right

    report = asked(padding(weights), STUDIES, sizes=sized([4, 3, 6, 7]))  # five keys, of which each takes 1/5
    assert [each.rule for each in report.failed] == []
    found = {(each.aspect, each.name) for each in report.conventions}
    assert ("padded-queries", "mean" if rows else "zeros") in found
    assert (("empty-row", "zeros") in found) == (rows == 0)


# Conventions and forms


def test_true_may_mean_hidden_unless_the_contrary_was_asked_for():
    report = asked(masked(lambda s, m: hidden(s, ~m)), STUDIES)
    assert report.failed == ()
    assert ("mask", "drop") in {(each.aspect, each.name) for each in report.conventions}
    (failure,) = asked(masked(lambda s, m: hidden(s, ~m)), STUDIES, expect={"mask": "keep"}).failed
    assert (failure.rule, failure.mistake) == ("mask", "mask-inverted")
    (failure,) = asked(masked(lambda s, m: hidden(s, m)), STUDIES, expect={"mask": "drop"}).failed
    assert (failure.rule, failure.detail) == ("mask", "mask is keep; drop was asked for")


def test_padding_may_be_inverted_without_the_mask():
    def f(q, k, v, mask=None, key_mask=None):
        scores = scaled(q, k)
        seen = np.ones(scores.shape, bool)
        seen = seen if mask is None else seen & mask
        return mix(hidden(scores, seen if key_mask is None else seen & ~of_keys(key_mask, scores)), v)

    report = asked(f, STUDIES)
    assert report.failed == ()
    found = {(each.aspect, each.name) for each in report.conventions}
    assert {("mask", "keep"), ("padding", "drop")} <= found


def test_a_mask_that_is_added_is_agreed_and_a_boolean_one_added_is_a_weakness():
    def f(q, k, v, mask=None):
        scores = scaled(q, k) + (0 if mask is None else mask)
        return mix(soft(scores) if mask is None else hidden(scores, ~np.isneginf(mask + 0.0)), v)

    report = asked(f, STUDIES)
    (failure,) = report.failed
    assert (failure.rule, failure.level, failure.mistake) == ("mask-boolean", "should", "mask-added")
    assert report.ok
    assert ("mask", "added") in {(each.aspect, each.name) for each in report.conventions}
    assert asked(f, STUDIES, expect={"mask": "added"}).failed == ()
    assert not asked(f, STUDIES, expect={"mask": "keep"}).ok


def test_a_function_that_takes_ones_and_zeros_alone_is_asked_with_those():
    def f(q, k, v, mask=None):
        scores = scaled(q, k)
        if mask is None:
            return mix(soft(scores), v)
        if mask.dtype == bool:
            raise TypeError("a mask holds numbers")
        return mix(hidden(scores, mask == 1), v)

    report = asked(f, STUDIES)
    assert report.failed == ()
    assert [each.rule for each in report.not_offered if "numbers" in each.why] == ["mask-boolean"]
    report = asked(lambda q, k, v, mask=None: f(q, k, v, None if mask is None else mask ^ 1), STUDIES)
    assert ("mask", "drop") in {(each.aspect, each.name) for each in report.conventions}
    assert report.failed == ()


def test_a_mask_that_no_form_of_is_taken_is_not_offered():
    def f(q, k, v, mask=None):
        if mask is not None:
            raise TypeError("masks are for another day")
        return soft(scaled(q, k)) @ v

    report = asked(f, STUDIES)
    assert report.failed == ()
    assert {each.rule for each in report.not_offered if "another day" in each.why} == {"mask"}


def test_a_mask_for_other_keys_that_is_cut_is_a_weakness():
    def f(q, k, v, mask=None):
        scores = scaled(q, k)
        return mix(soft(scores) if mask is None else hidden(scores, mask[..., : k.shape[-2]]), v)

    (failure,) = asked(f, STUDIES).failed
    assert (failure.rule, failure.level, failure.mistake) == ("mask-length", "should", "mask-length-accepted")


# Together, and apart


SCALES = {"no-scale": lambda d: d**0.5, "scale-by-d_k": lambda d: d**-0.5, "scale-up": lambda d: d}
MAKE = {"mask": masked, "padding": padding}


@given(
    sizes,
    seeds,
    st.sampled_from(sorted(SCALES)),
    st.sampled_from(sorted(LATE)),
    st.sampled_from(sorted(MAKE)),
)
@settings(max_examples=12)
def test_a_scale_and_a_mask_that_are_wrong_are_both_named(sizes, seed, scale, late, prefix):
    factor = SCALES[scale](sizes.d_k)
    f = MAKE[prefix](LATE[late])

    def by_mask(q, k, v, mask=None):
        return f(q * factor, k, v, mask)

    def by_padding(q, k, v, key_mask=None):
        return f(q * factor, k, v, key_mask)

    report = asked({"mask": by_mask, "padding": by_padding}[prefix], STUDIES, sizes=sizes, seed=seed)
    assert report.mistakes == (scale, f"{prefix}-{late}")
    assert [each.rule for each in report.failed] == ["scale", prefix]


@given(sizes, seeds)
@settings(max_examples=3)
def test_all_ways_are_apart_on_their_calls(sizes, seed):
    trial = Trial(Direct(ByName(own)), _draw(sizes, seed))
    for study in (*MASKS, LOW, *FILLS, *EMPTY):
        calls = study.calls(trial)
        given = [
            (way.id, way.agreed or way.says, told(calls, [way])) for way in study.ways if _applies(way, calls)
        ]
        given.append(("right", "", told(calls, [])))
        for (one, says, a), (other, words, b) in combinations(given, 2):
            assert says == words or apart(a, b), (study.name, one, other)


def _applies(way, calls):
    """A finite fill of the other mask than the one that is given changes nothing."""
    return not (
        "fill" in way.id and "padded" in way.changes and not any("key_mask" in c.arrays for c in calls)
    )


def of(name):
    return next(study for study in STUDIES if study.name == name)


def _draw(sizes, seed):
    from riverhead.checking.rules.draw import Draw

    return Draw(sizes, seed)


# Known numbers: what each wrong way gives, worked out elsewhere


THREE = {
    "q": np.array([[1.0]]),
    "k": np.log([[1.0], [2.0], [3.0]]),
    "v": np.eye(3),
}
KEEP_TWO = np.array([[True, True, False]])


@pytest.mark.parametrize(
    ("id", "row"),
    [
        (None, [1 / 3, 2 / 3, 0]),
        ("mask-inverted", [0, 0, 1]),
        ("mask-added", [0.243686193, 0.487372386, 0.268941421]),
        ("mask-zeroes-scores", [0.25, 0.5, 0.25]),
        ("mask-tiny-fill", [0.25, 0.5, 0.25]),
        ("mask-after-softmax", [1 / 6, 1 / 3, 0]),
        ("mask-ignored", [1 / 6, 1 / 3, 1 / 2]),
    ],
)
def test_weights_of_one_two_and_three_under_a_mask(id, row):
    choices = [] if id is None else [next(way for way in MASKS[0].ways if way.id == id)]
    out = follow(Call({**THREE, "mask": KEEP_TWO}), choices).out
    np.testing.assert_allclose(out, [row], atol=2e-9)  # nine digits were worked out; 1e-9 moves the last


def test_keys_all_zero_still_take_weight_unless_they_are_padding():
    arrays = {"q": np.array([[1.0]]), "k": np.array([[np.log(3)], [0.0]]), "v": np.array([[1.0], [0.0]])}
    call = Call({**arrays, "key_mask": np.array([[True, False]])})
    ignored, zeroed = (
        next(w for w in of("padding").ways if w.id == f"padding-{n}") for n in ("ignored", "zeroes-scores")
    )
    assert follow(call).out.item() == 1.0
    assert follow(call, [ignored]).out.item() == pytest.approx(0.75, rel=1e-12)
    assert follow(call, [zeroed]).out.item() == pytest.approx(0.75, rel=1e-12)


def test_an_empty_row_is_zeros_the_mean_or_nan():
    keep = np.array([[True, False, False, False], [False] * 4])
    call = Call({"q": np.zeros((2, 4)), "k": np.zeros((4, 4)), "v": np.eye(4), "mask": keep})
    ways = {way.id: way for way in EMPTY[0].ways}
    assert follow(call).out.tolist() == [[1, 0, 0, 0], [0, 0, 0, 0]]
    assert follow(call, [ways["empty-row-mean"]]).out.tolist() == [[1, 0, 0, 0], [0.25] * 4]
    nan = follow(call, [ways["empty-row-nan"]]).out
    assert nan[0].tolist() == [1, 0, 0, 0]
    assert np.isnan(nan[1]).all()


def test_a_cross_attention_mask_of_keys_hides_the_same_keys_from_every_query():
    keys = np.array([[True, True, False, False, False]])
    call = Call({"q": np.zeros((3, 2)), "k": np.zeros((5, 2)), "v": np.eye(5), "key_mask": keys})
    ignored = next(way for way in of("padding").ways if way.id == "padding-ignored")
    assert follow(call).out.tolist() == [[0.5, 0.5, 0, 0, 0]] * 3
    np.testing.assert_allclose(follow(call, [ignored]).out, np.full((3, 5), 0.2), rtol=1e-15)
    on_rows = next(way for way in of("padding-cross").ways if way.says.endswith("zeros"))
    assert follow(call, [on_rows]).out.tolist() == [[0.5, 0.5, 0, 0, 0]] * 2 + [[0] * 5]


def test_a_fill_of_minus_ten_thousand_loses_to_a_score_below_it():
    call = Call(
        {"q": np.array([[1.0]]), "k": np.array([[-15258.98], [0.0]]), "v": np.eye(2), "mask": KEEP_TWO[:, 1:]}
    )
    weak = next(way for way in FILLS[0].ways if way.says.endswith("−30000") and "masked" in way.changes)
    assert follow(call).out.tolist() == [[1, 0]]
    assert follow(call, [weak]).out.tolist() == [[0, 1]]


def test_a_maximum_that_starts_at_a_number_makes_a_row_zeros():
    arrays = {"q": np.array([[-300.0]]), "k": np.array([[300.0], [301.0]]), "v": np.array([[1.0], [2.0]])}
    at = next(way for way in LOW.ways if "−30000 " in way.says)
    assert follow(Call(arrays)).out.tolist() == [[1.0]]  # the other lies 300 lower
    assert follow(Call(arrays), [at]).out.tolist() == [[0.0]]


def test_garbage_in_hidden_values_is_not_part_of_what_is_right():
    for garbage in (1e10, np.nan):
        v = np.array([[1.0, 2.0], [garbage, -garbage]])
        call = Call(
            {"q": np.zeros((2, 2)), "k": np.zeros((2, 2)), "v": v, "mask": np.array([[True, False]] * 2)}
        )
        assert follow(call).out.tolist() == [[1.0, 2.0]] * 2
