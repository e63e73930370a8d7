"""Samples, heads, shared kv heads: each wrong way is named as itself, at any sizes."""

import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverhead.checking.rules.call import Call
from riverhead.checking.rules.pipeline import follow
from riverhead.checking.rules.studies.plain import PLAIN
from riverhead.checking.rules.studies.together import IN_TIME, OF_BATCH, OF_GROUPS, OF_HEADS, TOGETHER
from riverhead.core import attention

sys.path.insert(0, str(Path(__file__).parent))
from adapted import asked, everything, named, sizes_of
from by_name import apart, scaled, soft, told

STUDIES = (PLAIN, *TOGETHER, IN_TIME)
WAYS = {way.id: way for way in (*OF_BATCH, *OF_HEADS, *OF_GROUPS)}

# No divisor of the scores is another: √d_k, √(H·d_k), √H, √d_v, √T_k.
sizes = (
    st.permutations([2, 3, 5, 7, 4])
    .map(sizes_of)
    .filter(lambda s: len({1, s.d_k, s.d_k**2, s.H, s.H * s.d_k, s.d_v, s.T_k}) == 7 and s.T_k > 2)
)
seeds = st.integers(0, 10_000)


def right(q, k, v, causal=False):
    return attention(q, k, v, causal=causal).out


def mixed(q, k, v):
    return soft(scaled(q, k)) @ v


def grouped(heads):
    """Attention in which query head h reads kv head ``heads(h, H, G)``."""

    def f(q, k, v):
        if q.ndim < 4 or q.shape[1] == k.shape[1]:
            return mixed(q, k, v)
        H, G = q.shape[1], k.shape[1]
        if H % G:
            raise ValueError("heads do not divide")
        of = [heads(h, H, G) for h in range(H)]
        return mixed(q, k[:, of], v[:, of])

    return f


def with_heads(f):
    """A function of (B, H, T, d) that does something of its own with it; otherwise it is attention."""
    return lambda q, k, v: f(q, k, v) if q.ndim == 4 else mixed(q, k, v)


def with_samples(f):
    """A function of several samples that does something of its own with them; otherwise it is attention."""
    return lambda q, k, v: f(q, k, v) if q.ndim > 2 else mixed(q, k, v)


def joined(q, k, v):
    B = len(k)
    k, v = (np.concatenate([*x], axis=-2) for x in (k, v))
    return np.stack([mixed(q[b], k, v) for b in range(B)])


def scrambled(q, k, v):
    if q.ndim == 4:
        return np.stack([scrambled(q[:, h], k[:, h], v[:, h]) for h in range(q.shape[1])], axis=1)
    B, T, _ = q.shape
    columns = [x.reshape(T, B, -1) for x in (q, k, v)]
    out = np.stack([mixed(*(x[:, b] for x in columns)) for b in range(B)], axis=1)
    return out.reshape(B, T, -1)


def heads_mixed(q, k, v):
    B, H, *_ = q.shape
    flat = mixed(*(x.reshape(B * H, *x.shape[2:]) for x in (q, k, v)))
    return np.stack([flat[b::B] for b in range(B)])


WRONG = {  # written from what the words say
    "samples-see-each-other": with_samples(joined),
    "samples-scrambled": with_samples(scrambled),
    "softmax-over-batch": with_samples(
        lambda q, k, v: soft(scaled(q, k).swapaxes(0, -1)).swapaxes(0, -1) @ v
    ),
    "scores-summed-over-batch": with_samples(
        lambda q, k, v: soft(sum(scaled(q[b], k[b]) for b in range(len(q)))) @ v
    ),
    "first-sample-only": with_samples(lambda q, k, v: soft(scaled(q[0], k[0])) @ v),
    "first-sample-keys": with_samples(lambda q, k, v: mixed(q, k[0], v[0])),
    "softmax-over-queries": lambda q, k, v: (
        soft(scaled(q, k).swapaxes(1, 2)).swapaxes(1, 2) @ v if q.ndim == 3 else mixed(q, k, v)
    ),
    "softmax-over-heads": with_heads(lambda q, k, v: soft(scaled(q, k).swapaxes(1, -1)).swapaxes(1, -1) @ v),
    "scale-by-d_model": with_heads(
        lambda q, k, v: soft(q @ k.swapaxes(2, 3) / np.sqrt(q.shape[1] * q.shape[3])) @ v
    ),
    "scale-by-n_heads": with_heads(lambda q, k, v: soft(q @ k.swapaxes(2, 3) / np.sqrt(q.shape[1])) @ v),
    "heads-averaged": with_heads(lambda q, k, v: soft(scaled(q, k)).mean(1)[:, None] @ v),
    "heads-share-scores": with_heads(lambda q, k, v: soft(scaled(q, k).sum(1))[:, None] @ v),
    "heads-read-first": with_heads(lambda q, k, v: np.repeat(mixed(q, k, v)[:, :1], q.shape[1], axis=1)),
    "batch-heads-mixed": with_heads(heads_mixed),
    "kv-heads-tiled": grouped(lambda h, H, G: h % G),
    "kv-first-only": grouped(lambda h, H, G: 0),
    "kv-reversed": grouped(lambda h, H, G: G - 1 - h // (H // G)),
    "kv-by-tile": grouped(lambda h, H, G: h // 16 // -(-(H // G) // 16)),  # the second is a ceiling,
}


@given(sizes, seeds)
@settings(max_examples=5, deadline=None)
def test_attention_holds_every_rule(sizes, seed):
    report = asked(right, STUDIES, sizes=sizes, seed=seed)
    assert report.failed == report.not_judged == report.not_offered == ()
    assert {"samples", "heads", "kv-heads", "kv-time", "groups-divide"} <= set(report.passed)


@pytest.mark.parametrize("id", WRONG)
@given(sizes, seeds)
@settings(max_examples=2, deadline=None)
def test_each_wrong_way_is_named_as_itself(id, sizes, seed):
    report = asked(WRONG[id], STUDIES, sizes=sizes, seed=seed)
    assert report.mistakes == (id,)
    (failure,) = report.failed
    assert failure.did in {way.says for way in (*OF_BATCH, *OF_HEADS, *OF_GROUPS) if way.id == id}
    assert not failure.detail


def copied(q, k, v, causal=False):
    if q.ndim == 4 and k.shape[1] != q.shape[1]:
        k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=2) for x in (k, v))
    seen = np.tril(np.ones((q.shape[-2], k.shape[-2]), bool)) if causal else True
    return soft(np.where(seen, scaled(q, k), -np.inf)) @ v


def test_one_kv_head_copied_in_time_shows_in_a_causal_row_alone():
    """GQA-3: without a mask a key seen twice weighs what it weighs once."""
    q, k, v = np.zeros((1, 2, 2, 1)), np.zeros((1, 1, 2, 1)), np.eye(2)[None, None]
    way = [WAYS["kv-along-time"]]
    assert np.allclose(follow(Call({"q": q, "k": k, "v": v}), way).out, 0.5)
    causal = Call({"q": q, "k": k, "v": v}, {"causal": True})
    assert np.allclose(follow(causal).out[0, 0], [[1, 0], [0.5, 0.5]])
    assert np.allclose(follow(causal, way).out[0, 0], [[1, 0], [1, 0]])
    assert np.allclose(copied(q, k, v, causal=True)[0, 0], [[1, 0], [1, 0]])


def test_a_tile_of_sixteen_heads_takes_the_wrong_kv_head():
    """GQA-2: 48 query heads over 2 kv heads; heads 24 to 31 belong to the second."""
    v = np.zeros((1, 2, 1, 1))
    v[0, 1] = 1
    call = Call({"q": np.zeros((1, 48, 1, 1)), "k": np.zeros((1, 2, 1, 1)), "v": v})
    assert follow(call).out[0, 24:32].ravel().tolist() == [1] * 8
    assert follow(call, [WAYS["kv-by-tile"]]).out[0, 24:32].ravel().tolist() == [0] * 8


def test_rows_of_samples_and_heads_are_taken_apart_as_they_were_put_together():
    """HEADS-3: rows b0h0, b0h1, b1h0, b1h1 hold 1, 2, 3, 4."""
    v = np.array([[1.0, 2.0], [3.0, 4.0]]).reshape(2, 2, 1, 1)
    call = Call({"q": np.zeros((2, 2, 1, 1)), "k": np.zeros((2, 2, 1, 1)), "v": v})
    assert follow(call).out.reshape(2, 2).tolist() == [[1, 2], [3, 4]]
    assert follow(call, [WAYS["batch-heads-mixed"]]).out.reshape(2, 2).tolist() == [[1, 3], [2, 4]]


@pytest.mark.parametrize(
    ("id", "weight"),
    [(None, 0.731058579), ("scale-by-d_model", 0.640457476), ("scale-by-n_heads", 0.760368442)],
)
def test_each_divisor_gives_a_number_of_its_own(id, weight):
    """SCALE-1: a score of 2/√4 against 0, of one of three heads."""
    q, k, v = np.zeros((1, 3, 1, 4)), np.zeros((1, 3, 2, 4)), np.zeros((1, 3, 2, 5))
    q[..., 0], k[:, :, 0, 0], v[:, :, 0, 0] = 2, 1, 1
    choices = [WAYS[id]] if id else []
    assert np.allclose(follow(Call({"q": q, "k": k, "v": v}), choices).out[..., 0], weight, rtol=1e-8)


def test_heads_that_do_not_divide_must_be_refused():
    """GQA-5: five query heads over two kv heads; whole division takes the last too far."""

    def f(q, k, v):
        if q.ndim == 4:
            of = np.minimum(np.arange(q.shape[1]) // (q.shape[1] // k.shape[1]), k.shape[1] - 1)
            k, v = k[:, of], v[:, of]
        return mixed(q, k, v)

    assert named(asked(f, STUDIES)) == [("groups-divide", "groups-cut")]


def test_what_takes_one_sample_alone_is_not_asked_for_more():
    def f(q, k, v):
        if np.ndim(q) > 2:
            raise ValueError("one sample, one head")
        return mixed(q, k, v)

    report = asked(f, STUDIES)
    assert report.failed == ()
    assert {each.rule for each in report.not_offered} >= {"samples", "heads", "kv-heads"}


@given(sizes, seeds)
@settings(max_examples=4, deadline=None)
def test_all_ways_are_apart(sizes, seed):
    trial = everything(sizes, seed)
    for study in TOGETHER:
        calls = study.calls(trial)
        given = [("right", told(calls, [])), *((way.id, told(calls, [way])) for way in study.ways)]
        for (one, a), (other, b) in combinations(given, 2):
            assert apart(a, b), (study.name, one, other)
