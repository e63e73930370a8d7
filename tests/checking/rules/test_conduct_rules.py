"""Conduct: the same again, inputs as they were, however they lie; lengths; weights that come back; memory."""

import itertools
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverhead.checking.rules.call import Call, Outcome
from riverhead.checking.rules.draw import Draw
from riverhead.checking.rules.pipeline import follow
from riverhead.checking.rules.studies import lengths, returned
from riverhead.checking.rules.studies.conduct import CONDUCT, REPEAT
from riverhead.checking.rules.studies.lengths import LENGTHS
from riverhead.checking.rules.studies.memory import MEMORY
from riverhead.checking.rules.studies.plain import PLAIN
from riverhead.checking.rules.studies.returned import RETURNED
from riverhead.checking.rules.trial import Trial
from riverhead.core import attention

sys.path.insert(0, str(Path(__file__).parent))
from adapted import asked, everything, named, sizes_of
from by_name import apart, hidden, scaled, soft, told

STUDIES = (REPEAT, PLAIN, *CONDUCT, *LENGTHS, *RETURNED)

sizes = st.permutations([2, 3, 5, 7, 6]).map(sizes_of)
seeds = st.integers(0, 10_000)


def right(q, k, v):
    return soft(scaled(q, k)) @ v


@given(sizes, seeds)
@settings(max_examples=3, deadline=None)
def test_attention_holds_every_rule(sizes, seed):
    def own(q, k, v, mask=None, causal=False, return_weights=False):
        found = attention(q, k, v, mask=mask, causal=causal)
        return (found.out, found.weights) if return_weights else found.out

    report = asked(own, STUDIES, sizes=sizes, seed=seed)
    assert report.failed == report.not_judged == ()
    held = {rule for study in STUDIES for rule in [each.id for each in trial().rules_of(study)]}
    assert held - set(report.passed) == {"dropout-option"}


def trial():
    return everything(None, 0)


# The same call again


def thinned(rate, seed=None):
    def f(q, k, v):
        weights = soft(scaled(q, k))
        kept = np.random.default_rng(seed).random(weights.shape) >= rate
        return weights * kept / (1 - rate) @ v

    return f


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_dropout_in_evaluation_is_told_by_its_zeros(rate):
    report = asked(thinned(rate), STUDIES)
    (failure,) = report.failed
    assert (failure.rule, failure.mistake, failure.found) == ("dropout", "dropout-in-evaluation", 0)
    share = int(failure.did.split("about ")[1].split("%")[0]) / 100
    assert abs(share - rate) < 0.1  # of 5·256 draws: three standard deviations of the wider are 0.04
    assert {"definition", "repeatable", "lengths"} <= {each.rule for each in report.not_judged}


def test_noise_is_no_dropout():
    report = asked(lambda q, k, v: right(q, k, v) + np.random.default_rng().normal(), STUDIES)
    assert named(report) == [("repeatable", "")]


def keeping_keys():
    held = []

    def f(q, k, v):
        held.append((k, v))
        if any(np.shape(x) != np.shape(k) for x, _ in held):
            held[:-1] = []
        k, v = (np.concatenate(x, axis=-2) for x in zip(*held, strict=True))
        return right(q, k, v)

    return f


def keeping_results():
    held = {}
    return lambda q, k, v: held.setdefault((q.shape, k.shape, v.shape), right(q, k, v))


@pytest.mark.parametrize(("f", "mistake"), [(keeping_keys, "keys-kept"), (keeping_results, "result-kept")])
def test_what_is_kept_between_calls_is_named(f, mistake):
    (failure,) = asked(f(), STUDIES).failed
    assert (failure.rule, failure.mistake) == ("repeatable", mistake)


def test_a_function_that_raises_is_asked_no_more():
    calls = itertools.count()

    def f(q, k, v):
        if q.shape[-2] == 16:  # as the first study has it, and no call of the adapter's own
            raise KeyError("sixteen")
        next(calls)
        return right(q, k, v)

    report = asked(f, STUDIES)
    assert named(report) == [("runs", "")]
    assert "sixteen" in report.failed[0].detail
    assert report.passed == ()
    assert {"definition", "repeatable", "dropout", "lengths", "inputs-unchanged"} <= {
        each.rule for each in report.not_judged
    }


@pytest.mark.parametrize(
    ("training", "said"), [(False, []), (True, [("dropout-option", "dropout-in-evaluation")])]
)
def test_a_rate_of_dropout_does_nothing_in_evaluation(training, said):
    """DROP-1: p = 0.5 in evaluation gives what p = 0 gives."""

    def f(q, k, v, dropout_p=0.0, training=False):
        drops = dropout_p if training or dropping else 0.0
        weights = soft(scaled(q, k))
        kept = np.random.default_rng(7).random(weights.shape) >= drops
        return weights * kept / (1 - drops) @ v

    dropping = training
    report = asked(f, STUDIES)
    assert named(report) == said
    assert ("dropout-option" in report.passed) == (not training)


# Inputs


def scaling_in_place(q, k, v):
    q *= q.shape[-1] ** -0.5
    return soft(q @ k.swapaxes(-1, -2)) @ v


def mask_in_place(q, k, v, mask=None, causal=False):
    seen = np.ones((q.shape[-2], k.shape[-2]), bool) if mask is None else mask
    if causal:
        seen &= np.tril(np.ones(seen.shape[-2:], bool), k.shape[-2] - q.shape[-2])
    return hidden(scaled(q, k), seen) @ v


@pytest.mark.parametrize(("f", "array"), [(scaling_in_place, "q"), (mask_in_place, "mask")])
def test_an_input_that_is_changed_is_named_with_its_first_cell(f, array):
    (failure,) = asked(f, (REPEAT, PLAIN, *CONDUCT)).failed
    assert (failure.rule, failure.mistake, failure.array) == ("inputs-unchanged", "inputs-changed", array)
    assert array in failure.did
    assert failure.found != failure.right


# How arrays lie


def test_strides_that_are_ignored_are_named():
    """STRIDE-1: the numbers are read as they lie in memory, whatever the strides say."""

    def reading(x):
        return x.ravel(order="K").reshape(x.shape)

    report = asked(lambda q, k, v: right(reading(q), reading(k), reading(v)), STUDIES)
    assert named(report) == [("strides", "strides-ignored")]


def test_a_key_that_is_worth_more_in_front_breaks_the_order():
    def f(q, k, v):
        return soft(scaled(q, k) - 1e-6 * np.arange(k.shape[-2])) @ v

    report = asked(f, (REPEAT, *CONDUCT))
    assert [rule for rule, _ in named(report)] == ["order"]


# Lengths


@pytest.mark.parametrize("block", lengths.BLOCKS)
@pytest.mark.parametrize(
    ("id", "made"),
    [
        ("last-block-dropped", lambda x, n: x[..., : x.shape[-2] // n * n or None, :]),
        (
            "last-block-padded",
            lambda x, n: np.pad(x, [(0, 0)] * (x.ndim - 2) + [(0, -x.shape[-2] % n), (0, 0)]),
        ),
    ],
)
def test_a_last_block_that_is_cut_or_filled_up_is_named(id, made, block):
    """BLOCK-1: a call shorter than a block shows nothing of it."""

    def f(q, k, v):
        return right(q, *(made(x, block) if x.shape[-2] > block else x for x in (k, v)))

    report = asked(f, (REPEAT, PLAIN, *LENGTHS))
    assert named(report) == [("lengths", id)]
    assert str(block) in report.failed[0].did


def blocks(q, k, v, block):
    scores = scaled(q, k)
    return [(scores[..., j : j + block], v[..., j : j + block, :]) for j in range(0, k.shape[-2], block)]


def averaged(q, k, v, block):
    outs = [soft(scores) @ values for scores, values in blocks(q, k, v, block)]
    return sum(outs) / len(outs)


def unmatched(q, k, v, block):
    exps = [np.exp(s - s.max(-1, keepdims=True)) for s, _ in blocks(q, k, v, block)]
    total = sum(e.sum(-1, keepdims=True) for e in exps)
    return sum(e @ values for e, (_, values) in zip(exps, blocks(q, k, v, block), strict=True)) / total


@pytest.mark.parametrize(("id", "f"), [("blocks-averaged", averaged), ("blocks-not-rescaled", unmatched)])
def test_blocks_that_are_put_together_wrongly_are_named(id, f):
    report = asked(lambda q, k, v: f(q, k, v, 64), (REPEAT, PLAIN, *LENGTHS))
    assert named(report) == [("lengths", id)]
    assert "64" in report.failed[0].did


def test_two_parts_are_merged_by_their_weight():
    """LSE-2: an output of 1 with the weight 2, one of 4 with the weight 1, make 2, not 2.5."""
    k = np.full((17, 1), -np.log(8))  # sixteen of an eighth each, and one of 1
    k[16] = 0
    v = np.ones((17, 1))
    v[16] = 4
    call = Call({"q": np.ones((1, 1)), "k": k, "v": v}, {"scale": 1.0})
    (way,) = (way for way in lengths.WAYS if way.id == "blocks-averaged" and "16" in way.says)
    assert np.isclose(follow(call).out, 2, rtol=1e-12)
    assert np.isclose(follow(call, [way]).out, 2.5, rtol=1e-12)


@given(seeds)
@settings(max_examples=2, deadline=None)
def test_all_ways_of_lengths_are_apart(seed):
    calls = LENGTHS[0].calls(everything(None, seed))
    given = [("right", told(calls, [])), *((f"{w.id} {w.says}", told(calls, [w])) for w in lengths.WAYS)]
    for (one, a), (other, b) in combinations(given, 2):
        assert apart(a, b), (one, other)


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (lambda q, k, v: attention(q, k, v).out, []),
        (
            lambda q, k, v: np.exp(scaled(q, k)) @ v / np.exp(scaled(q, k)).sum(-1, keepdims=True),
            [("no-keys", "")],
        ),
    ],
    ids=["zeros", "0/0"],
)
def test_nothing_comes_of_no_keys(f, said):
    """NUM-6: zeros (T_q, d_v); an error would be no fault."""
    report = asked(f, (REPEAT, PLAIN, *LENGTHS))
    assert named(report) == said
    assert report.ok
    assert asked(raising_for_none, (REPEAT, PLAIN, *LENGTHS)).not_offered[0].rule == "no-keys"


def raising_for_none(q, k, v):
    if not k.shape[-2]:
        raise ValueError("there are no keys")
    return right(q, k, v)


# Weights that come back


def handing_back(made, masked=hidden):
    """Attention that hands back what ``made`` makes of its scores, its weights and what is hidden."""

    def f(q, k, v, mask=None):
        scores, seen = scaled(q, k), np.True_ if mask is None else mask
        weights = masked(scores, seen)
        return weights @ v, made(scores, weights, seen)

    return f


def four(x, otherwise, change):
    return change(x) if x.ndim == 4 else otherwise


BACK = {  # written from what the words say
    "weights-averaged": lambda s, w, seen: four(w, w, lambda w: w.mean(1)),
    "weights-of-first-head": lambda s, w, seen: four(w, w, lambda w: w[:, 0]),
    "weights-are-scores": lambda s, w, seen: np.where(seen, s, -np.inf),
    "weights-are-dots": lambda s, w, seen: s * np.sqrt(4),
    "weights-before-mask": lambda s, w, seen: soft(s),
    "weights-without-sum": lambda s, w, seen: np.where(seen, np.exp(s), 0),
}


@pytest.mark.parametrize("id", BACK)
def test_what_comes_back_in_place_of_weights_is_named(id):
    report = asked(handing_back(BACK[id]), (REPEAT, PLAIN, *RETURNED))
    (failure,) = report.failed
    assert failure.mistake == id
    assert failure.level == ("should" if failure.rule == "weights-per-head" else "must")


def test_two_certain_heads_look_undecided_in_the_mean():
    """WAVG-1: one head on key 0, the other on key 1; their mean is one half each."""
    k = np.zeros((1, 2, 2, 1))
    k[0, 0, 0] = k[0, 1, 1] = 1000
    call = Call({"q": np.ones((1, 2, 1, 1)), "k": k, "v": np.ones((1, 2, 2, 1))})
    averaged = next(way for way in returned.WAYS if way.id == "weights-averaged")
    assert follow(call, (), returned.STEPS).returned.reshape(2, 2).tolist() == [[1, 0], [0, 1]]
    assert follow(call, [averaged], returned.STEPS).returned.tolist() == [[[0.5, 0.5]]]


@given(sizes, seeds)
@settings(max_examples=3, deadline=None)
def test_all_that_may_come_back_is_apart(sizes, seed):
    calls = returned.with_weights(everything(sizes, seed))

    def made(choices):
        return [follow(call, choices, returned.STEPS).returned for call in calls]

    given = [("right", made([])), *((f"{way.id} {way.says}", made([way])) for way in returned.WAYS)]
    for (one, a), (other, b) in combinations(given, 2):
        assert apart(a, b), (one, other)


def test_asking_for_the_weights_leaves_the_output_as_it_is():
    """ROW-4: zeros in a row that sees nothing, and NaN there as soon as the weights are asked for."""

    def f(q, k, v, mask=None, need_weights=False):
        scores = scaled(q, k)
        if mask is None:
            mask = np.ones(scores.shape[-2:], bool)
        weights = (soft if need_weights else hidden)(
            np.where(mask, scores, -np.inf), *([] if need_weights else [mask])
        )
        return (weights @ v, weights) if need_weights else weights @ v

    (failure,) = asked(f, (REPEAT, PLAIN, *RETURNED)).failed
    assert failure.rule == "weights-asked"
    assert np.isnan(failure.found)
    assert failure.right == 0


# Memory


class Measured:
    """A subject whose peak memory is a function of T."""

    name, kind, notes = "f", "attention", ()
    offers = frozenset({"peak_bytes"})

    def __init__(self, peak):
        self.peak = peak

    def call(self, call):
        T = len(call.arrays["q"])
        return Outcome({"out": np.zeros((T, 1))}, {"peak_bytes": self.peak(T)})


@pytest.mark.parametrize(
    ("peak", "name", "words"),
    [
        (lambda T: 3000 + 8 * T * T, "T×T", "takes 1 times"),
        (lambda T: 90_000 + 200 * T, "linear", "0.27 times"),
    ],
)
def test_how_memory_grows_is_told_and_is_no_fault(peak, name, words):
    trial = Trial(Measured(peak), Draw())
    trial.run([MEMORY])
    (agreed,) = trial.report().conventions
    assert (agreed.aspect, agreed.name) == ("memory", name)
    assert words in agreed.says
    asked = Trial(Measured(peak), Draw(), {"memory": "none"})
    asked.run([MEMORY])
    assert [failure.rule for failure in asked.report().failed] == ["memory"]


def test_memory_that_is_not_measured_is_not_judged():
    trial = Trial(Measured(lambda T: 0), Draw())
    trial.run([MEMORY])
    assert [each.rule for each in trial.report().not_offered] == ["memory"]
