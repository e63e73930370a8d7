"""The scale, the softmax and the three roles: each wrong way is named as itself, at any sizes."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverhead.checking.rules.call import Outcome
from riverhead.checking.rules.draw import Draw, Sizes
from riverhead.checking.rules.judge import differ
from riverhead.checking.rules.pipeline import follow
from riverhead.checking.rules.running.subject import Direct
from riverhead.checking.rules.studies.plain import PLAIN, WAYS
from riverhead.checking.rules.trial import Trial
from riverhead.core import attention


class Plain:
    """A function of q, k and v, called as it is."""

    name, kind, notes = "f", "attention", ()

    def __init__(self, f, offers=("cross", "d_v")):
        self.f, self.offers = f, frozenset(offers)

    def run(self, call):
        return Outcome({"out": np.asarray(self.f(**call.arrays))})


def soft(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def _one_more(e):
    return e / (1 + e.sum(axis=-1, keepdims=True))


def asked(f, sizes=None, seed=0, offers=("cross", "d_v"), **trial):
    trial = Trial(Direct(Plain(f, offers)), Draw(sizes, seed), **trial)
    trial.run([PLAIN])
    return trial.report()


sizes = (
    st.permutations([2, 3, 4, 5, 6, 7])
    .map(lambda n: Sizes(T_q=n[0], T_k=n[1], d_k=n[2], d_v=n[3]))
    .filter(lambda s: len({1, s.d_k, s.d_k**2, s.d_k**4, s.d_v**2, s.T_k**2}) == 6)  # no divisor is another
)
seeds = st.integers(0, 10_000)

WRONG = {  # written from what the words say
    "no-scale": lambda q, k, v: soft(q @ k.T) @ v,
    "scale-by-d_k": lambda q, k, v: soft(q @ k.T / q.shape[1]) @ v,
    "scale-up": lambda q, k, v: soft(q @ k.T * np.sqrt(q.shape[1])) @ v,
    "scale-by-d_v": lambda q, k, v: soft(q @ k.T / np.sqrt(v.shape[1])) @ v,
    "scale-by-T_k": lambda q, k, v: soft(q @ k.T / np.sqrt(len(k))) @ v,
    "scale-by-fourth-root": lambda q, k, v: soft((q * q.shape[1] ** -0.25) @ k.T) @ v,
    "scale-after-softmax": lambda q, k, v: soft(q @ k.T) / np.sqrt(q.shape[1]) @ v,
    "softmax-over-queries": lambda q, k, v: soft(q @ k.T / np.sqrt(q.shape[1]), 0) @ v,
    "softmax-over-all": lambda q, k, v: soft(q @ k.T / np.sqrt(q.shape[1]), (0, 1)) @ v,
    "softmax-twice": lambda q, k, v: soft(soft(q @ k.T / np.sqrt(q.shape[1]))) @ v,
    "no-softmax": lambda q, k, v: q @ k.T / np.sqrt(q.shape[1]) @ v,
    "exp-without-sum": lambda q, k, v: np.exp(q @ k.T / np.sqrt(q.shape[1])) @ v,
    "one-in-the-sum": lambda q, k, v: _one_more(np.exp(q @ k.T / np.sqrt(q.shape[1]))) @ v,
    "log-softmax": lambda q, k, v: np.log(soft(q @ k.T / np.sqrt(q.shape[1]))) @ v,
    "weights-transposed": lambda q, k, v: soft(q @ k.T / np.sqrt(q.shape[1])).T @ v,
    "keys-mixed": lambda q, k, v: soft(q @ k.T / np.sqrt(q.shape[1])) @ k,
    "queries-mixed": lambda q, k, v: soft(q @ k.T / np.sqrt(q.shape[1])) @ q,
    "scores-from-values": lambda q, k, v: soft(q @ v.T / np.sqrt(q.shape[1])) @ v,
    "scores-from-keys": lambda q, k, v: soft(k @ k.T / np.sqrt(q.shape[1])) @ v,
    "scores-from-queries": lambda q, k, v: soft(q @ q.T / np.sqrt(q.shape[1])) @ v,
    "scores-transposed": lambda q, k, v: soft(k @ q.T / np.sqrt(q.shape[1])) @ v,
}


@given(sizes, seeds)
@settings(max_examples=10)
def test_attention_holds_every_rule(sizes, seed):
    report = asked(lambda q, k, v: attention(q, k, v).out, sizes, seed)
    assert report.failed == report.not_judged == ()
    assert report.passed == ("definition", "scale", "softmax-axis", "softmax-once", "roles")


@pytest.mark.parametrize("id", WRONG)
@given(sizes, seeds)
@settings(max_examples=3)
def test_each_wrong_way_is_named_as_itself(id, sizes, seed):
    (failure,) = asked(WRONG[id], sizes, seed).failed
    assert failure.mistake == id
    assert failure.did == next(way.says for way in WAYS if way.id == id)


def test_every_way_but_one_of_several_heads_has_a_wrong_function():
    assert {way.id for way in WAYS} - WRONG.keys() == {"softmax-over-heads"}


@given(sizes, seeds)
@settings(max_examples=5)
def test_all_ways_are_apart(sizes, seed):
    trial = Trial(Direct(Plain(None)), Draw(sizes, seed))
    calls = PLAIN.calls(trial)
    given = {way.id: [_out(call, way) for call in calls] for way in WAYS}
    for one, other in combinations(given, 2):
        pairs = list(zip(given[one], given[other], strict=True))
        assert any(_apart(a, b) for a, b in pairs), (one, other)


def _out(call, way):
    try:
        return follow(call, [way]).out
    except ValueError:
        return None


def _apart(a, b):
    if a is None or b is None or a.shape != b.shape:
        return (a is None) != (b is None) or (a is not None and a.shape != b.shape)
    return differ(a, b, 1e-4) is not None  # a hundred times what float32 could blur


def test_two_mistakes_at_once_are_both_named():
    report = asked(lambda q, k, v: soft(q @ k.T, 0) @ v)
    assert report.mistakes == ("no-scale", "softmax-over-queries")
    assert {failure.rule for failure in report.failed} == {"scale", "softmax-axis"}


@pytest.mark.parametrize(("n", "words"), [(512, "1/√512"), (11.5, "0.2949")])
def test_any_other_scale_is_worked_out(n, words):
    (failure,) = asked(lambda q, k, v: soft(q @ k.T / np.sqrt(n)) @ v).failed
    assert (failure.rule, failure.mistake) == ("scale", "scale-other")
    assert words in failure.did


def test_what_no_known_way_gives_is_wrong_without_a_name():
    report = asked(lambda q, k, v: np.zeros((len(q), v.shape[1])))
    (failure,) = report.failed
    assert (failure.rule, failure.mistake, failure.found) == ("definition", "", 0.0)
    assert [each.rule for each in report.not_judged] == ["scale", "softmax-axis", "softmax-once", "roles"]


def test_the_cell_shown_is_the_first_that_differs_with_what_was_found_there():
    def late(q, k, v):
        out = attention(q, k, v).out.copy()
        out[1, 2] += 1
        return out

    (failure,) = asked(late).failed
    assert failure.cell == (1, 2)
    assert failure.found == pytest.approx(failure.right + 1, rel=1e-12)


def test_a_function_that_raises_breaks_the_definition():
    def raising(q, k, v):
        raise KeyError("weights")

    (failure,) = asked(raising).failed
    assert failure.detail.startswith("KeyError: 'weights' (test_plain_rules.py:")


def test_an_error_alone_explains_nothing():
    """A way whose axes do not fit gives an error too; only a result beside it may tell."""
    (failure,) = asked(lambda q, k, v: 1 / 0).failed
    assert (failure.rule, failure.mistake) == ("definition", "")


def test_a_way_that_cannot_be_gone_in_a_call_did_not_give_its_result():
    """Turned over where it is square, and right where it is not: no one way gives both."""

    def sometimes(q, k, v):
        weights = soft(q @ k.T / np.sqrt(q.shape[1]))
        return (weights.T if len(q) == len(k) else weights) @ v

    (failure,) = asked(sometimes).failed
    assert (failure.rule, failure.mistake) == ("definition", "")


def test_a_rule_found_broken_later_holds_no_more():
    trial = Trial(Direct(Plain(None)), Draw())
    trial.pass_("scale", "roles")
    trial.fail("scale", PLAIN.calls(trial)[0])
    assert trial.report().passed == ("roles",)
    assert [failure.rule for failure in trial.report().failed] == ["scale"]
