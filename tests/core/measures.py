"""What `attend` gives, by the definition and plain loops: each statistic of rows and keys, and its bound."""

import math
from types import SimpleNamespace

import numpy as np
from bounds import close, out_bound, scores_bound, weights_bound

from riverhead.core import definition

__all__ = ["check", "measured"]

ROW_NAMES = (
    "lse", "entropy_nats", "mean_distance", "max_weight", "first_weight", "self_weight", "previous_weight",
)  # fmt: skip


def measured(q, k, v, *, top=8, pairs=None, offset=None, lengths=None, alibi=None, causal=False, align="end",
             window=None, mask=True, bias=0.0, **options):  # fmt: skip
    """Everything in float64; ``visible`` and ``bias`` (with ``alibi``) are (..., H, T_q, T_k)."""
    exact = [np.asarray(x, np.float64) for x in (q, k, v)]
    heads = exact[0].shape[-3:-2] if max(x.ndim for x in exact) > 2 else ()
    T_q, T_k = exact[0].shape[-2], exact[1].shape[-2]
    shape = (*np.broadcast_shapes(*(x.shape[:-3] for x in exact)), *heads, T_q, T_k)
    if offset is None:
        offset = T_k - T_q if align == "end" else 0
    lengths = np.broadcast_to(T_k if lengths is None else lengths, shape[:-3])
    mask, bias = np.broadcast_to(mask, shape), np.array(np.broadcast_to(bias, shape), np.float64)
    visible = np.empty(shape, bool)
    for *lead, i, j in np.ndindex(shape):
        behind = i + offset - j
        visible[*lead, i, j] = (
            mask[*lead, i, j]
            and j < lengths[*lead[:-1]]
            and not (causal and behind < 0)
            and (window is None or abs(behind) < window)
            and bias[*lead, i, j] != -math.inf
        )
        if alibi is not None:
            bias[*lead, i, j] -= float(alibi[lead[-1] if lead else 0]) * abs(behind)
    given = [x.tolist() if isinstance(x, np.ndarray) else x for x in options.values()]
    found = definition.attention(*(x.tolist() for x in exact), mask=visible.tolist(), bias=bias.tolist(),
                                 **dict(zip(options, given, strict=True)))  # fmt: skip
    dense = SimpleNamespace(
        out=np.array(found.out),
        weights=np.array(found.weights),
        scores=np.array(found.scores),
        visible=visible,
        bias=bias,
        pairs=pairs,
        place=[i + offset for i in range(T_q)],
    )
    return _statistics(dense, top, options.get("sinks"))


def _statistics(dense, top, sinks):
    shape = dense.weights.shape
    for name in ROW_NAMES:
        setattr(dense, name, np.zeros(shape[:-1]))
    dense.pair_weight = np.zeros(shape[:-1])
    dense.top_weight = np.zeros((*shape[:-1], top))
    dense.top_key = np.full((*shape[:-1], top), -1)
    for row in np.ndindex(shape[:-1]):
        w, scores = dense.weights[row].tolist(), dense.scores[row].tolist()
        keys = np.flatnonzero(dense.visible[row]).tolist()
        place = dense.place[row[-1]]
        sink = [] if sinks is None else [float(sinks[row[-2] if len(row) > 1 else 0])]
        dense.lse[row] = _log_sum_exp([scores[j] for j in keys] + sink)
        dense.entropy_nats[row] = definition.total(-x * math.log(x) if x else 0.0 for x in w)
        dense.mean_distance[row] = definition.total(x * abs(place - j) for j, x in enumerate(w) if x)
        dense.max_weight[row] = math.nan if any(map(math.isnan, w)) else max(w)
        dense.first_weight[row] = w[keys[0]] if keys else 0
        dense.self_weight[row] = w[place] if 0 <= place < len(w) else 0
        dense.previous_weight[row] = w[place - 1] if 1 <= place <= len(w) else 0
        if dense.pairs is not None:
            start, key = dense.pairs
            dense.pair_weight[row] = sum(w[j] for j in key[start[row[-1]] : start[row[-1] + 1]])
        if any(map(math.isnan, w)):
            dense.top_weight[row] = math.nan
            continue
        best = sorted((j for j in keys if scores[j] > -math.inf), key=lambda j: (-scores[j], j))
        for n, j in enumerate(best[:top]):
            dense.top_key[row][n], dense.top_weight[row][n] = j, w[j]
    dense.received = np.zeros((*shape[:-2], shape[-1]))
    dense.received_max = np.zeros((*shape[:-2], shape[-1]))
    for *lead, j in np.ndindex(dense.received.shape):
        column = dense.weights[*lead, :, j].tolist()
        dense.received[*lead, j] = definition.total(column)
        dense.received_max[*lead, j] = math.nan if any(map(math.isnan, column)) else max(column)
    return dense


def _log_sum_exp(scores):
    if any(map(math.isnan, scores)):
        return math.nan
    peak = max(scores, default=-math.inf)
    if math.isinf(peak):
        return peak if not scores else peak + math.log(definition.total(math.exp(s - peak) for s in scores))
    return peak + math.log(definition.total(math.exp(s - peak) for s in scores))


def check(A, exact, q, k, v, **options):
    """Hold every number of a map against the exact one.

    Weights are off by the factor of `weights_bound`, whatever their place in an order; a sum of n of them by
    n·u more. Entropy is a sum of w·(lse − score): each weight's error counts 1 + |ln w| times, each term is
    rounded like a score, and below the smallest normal number a weight may be lost, with its ln.
    """
    q, k, v = (np.asarray(x, np.float64) for x in (q, k, v))
    u, (T_q, T_k) = np.finfo(A.dtype).eps / 2, exact.weights.shape[-2:]
    kept = {name: options.get(name) for name in ("scale", "softcap", "sinks")}
    kept |= {"bias": exact.bias, "dtype": A.dtype}
    w = np.nan_to_num(exact.weights)
    bound = weights_bound(w, q, k, **kept)
    of_score = np.broadcast_to(scores_bound(q, k, **kept), (*w.shape[:-1], 1))[..., 0]
    close(np.asarray(A), exact.weights, bound)
    close(A.out, exact.out, out_bound(w, q, k, v, **kept))
    lse = np.nan_to_num(exact.lse, neginf=0, posinf=0)
    close(A.lse, exact.lse, of_score + (T_k + 16) * u + 2 * u * abs(lse))
    ln = abs(np.log(np.where(w > 0, w, 1)))
    deep = (T_k + 16) * u * (w * (2 + 2 * ln)).sum(-1) + (w * of_score[..., None]).sum(-1)
    close(A.entropy_nats, exact.entropy_nats, (bound * (1 + np.minimum(ln, 128))).sum(-1) + deep)
    distance = abs(np.array(exact.place)[:, None] - np.arange(T_k))
    close(A.mean_distance, exact.mean_distance, ((bound + (T_k + 16) * u * w) * distance).sum(-1))
    for name in ("max_weight", "first_weight", "self_weight", "previous_weight"):
        close(getattr(A, name), getattr(exact, name), bound.max(-1))
    if exact.pairs is not None:
        times = np.zeros((T_q, T_k))
        np.add.at(times, (np.repeat(np.arange(T_q), np.diff(exact.pairs[0])), exact.pairs[1]), 1)
        close(
            A.pair_weight, exact.pair_weight, ((bound + times.sum(-1, keepdims=True) * u * w) * times).sum(-1)
        )
    close(A.received, exact.received, (bound + (T_q + 16) * u * w).sum(-2))
    close(A.received_max, exact.received_max, bound.max(-2))
    _check_top(A, exact, bound)


def _check_top(A, exact, bound):
    """Whose weights are tied within the bound may change places; nothing else."""
    np.testing.assert_array_equal(A.top_key < 0, exact.top_key < 0)
    there = exact.top_key >= 0
    key, right = np.where(there, A.top_key, 0), np.where(there, exact.top_key, 0)
    of_place = np.where(there, np.take_along_axis(bound, right, -1), 0)
    close(A.top_weight, exact.top_weight, of_place)
    chosen = np.where(there, np.take_along_axis(exact.weights, key, -1), exact.top_weight)
    close(chosen, exact.top_weight, 2 * of_place)
    assert np.take_along_axis(exact.visible, key, -1)[there].all()
    for row in np.ndindex(key.shape[:-1]):
        assert len(set(A.top_key[row][there[row]])) == there[row].sum(), "a key stands twice"
    weight, after = A.top_weight[..., :-1], A.top_weight[..., 1:]
    tied = there[..., 1:] & (weight == after)
    assert not (weight < after).any(), "a larger weight stands behind a smaller one"
    assert (A.top_key[..., :-1] < A.top_key[..., 1:])[tied].all(), (
        "of equal weights the lower key comes first"
    )
