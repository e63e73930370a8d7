"""Attention that is right, in the many forms that people give it, in NumPy and plain Python."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from implementations.tables import Table

ACCEPTED = Table()

# What is truly weak in some of them: rules of level "should", and why they are broken
PRODUCT = {"hidden-nan": "a weight of 0 times NaN is NaN in a matrix product"}
IN_HALF = {"sums-in-half": "NumPy adds float16 in float16 here"}


def softmax(scores: Any) -> Any:
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@ACCEPTED.of("as in the paper")
def as_in_the_paper(Q, K, V):
    return softmax(Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])) @ V


@ACCEPTED.of("the queries scaled first")
def queries_scaled(q, k, v):
    q = q * q.shape[-1] ** -0.5
    return softmax(q @ np.swapaxes(k, -1, -2)) @ v


@ACCEPTED.of("the scale split over q and k")
def scale_split(q, k, v):
    root = q.shape[-1] ** 0.25
    return softmax((q / root) @ (k / root).swapaxes(-1, -2)) @ v


@ACCEPTED.of("a constant added to each row")
def constant_added(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    return softmax(scores + scores.mean(-1, keepdims=True) + 3) @ v


@ACCEPTED.of("divided by the sum at the very end")
def divided_at_the_end(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e @ v / e.sum(-1, keepdims=True)


@ACCEPTED.of("by the log-sum-exp of a row")
def by_log_sum_exp(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    top = scores.max(-1, keepdims=True)
    lse = top + np.log(np.exp(scores - top).sum(-1, keepdims=True))
    return np.exp(scores - lse) @ v


@ACCEPTED.of("by logaddexp", weak=IN_HALF)
def by_logaddexp(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    lse = np.logaddexp.reduce(scores, axis=-1, keepdims=True)
    return np.exp(scores - lse) @ v


@ACCEPTED.of("in powers of two")
def powers_of_two(q, k, v):
    scores = q @ k.swapaxes(-1, -2) * (math.log2(math.e) / math.sqrt(q.shape[-1]))
    e = np.exp2(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


@ACCEPTED.of("each weight as one over a sum of odds")
def sum_of_odds(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    ahead = scores[..., None, :] - scores[..., :, None]  # (..., T_q, T_k, T_k)
    with np.errstate(over="ignore"):
        return (1 / np.exp(ahead).sum(-1)) @ v


@ACCEPTED.of("einsum", weak=IN_HALF)
def by_einsum(queries, keys, values):
    energy = np.einsum("...qd,...kd->...qk", queries, keys)
    attention = softmax(energy / keys.shape[-1] ** 0.5)
    return np.einsum("...qk,...kd->...qd", attention, values)


@ACCEPTED.of("plain Python on lists")
def on_lists(q: list[list[float]], k: list[list[float]], v: list[list[float]]) -> list[list[float]]:
    out = []
    for query in q:
        scores = [sum(a * b for a, b in zip(query, key, strict=True)) / math.sqrt(len(query)) for key in k]
        e = [math.exp(score - max(scores)) for score in scores]
        weights = [x / sum(e) for x in e]
        out.append([sum(w * row[c] for w, row in zip(weights, v, strict=True)) for c in range(len(v[0]))])
    return out


@ACCEPTED.of("query by query")
def query_by_query(q, k, v):
    if q.ndim > 2:
        return np.stack([query_by_query(*each) for each in zip(q, k, v, strict=True)])
    return np.stack([softmax(k @ row / math.sqrt(len(row))) @ v for row in q])


@ACCEPTED.of("key by key, with a running maximum", weak={"no-keys": "0/0, where no key ever came"})
def key_by_key(q, k, v):
    top = np.full((*q.shape[:-1], 1), -np.inf)
    total = np.zeros_like(top)
    out = np.zeros((*q.shape[:-1], v.shape[-1]))
    for j in range(k.shape[-2]):
        score = (q * k[..., j : j + 1, :]).sum(-1, keepdims=True) / math.sqrt(q.shape[-1])
        new = np.maximum(top, score)
        kept, e = np.exp(top - new), np.exp(score - new)
        top, total, out = new, total * kept + e, out * kept + e * v[..., j : j + 1, :]
    return (out / total).astype(q.dtype)


@ACCEPTED.of("tiles of two queries and two keys")
def tiles_of_two(q, k, v):
    out = np.empty((*q.shape[:-1], v.shape[-1]), q.dtype)
    for i in range(0, q.shape[-2], 2):
        rows = q[..., i : i + 2, :]
        top, total, sums = -np.inf, 0.0, 0.0
        for j in range(0, k.shape[-2], 2):
            scores = rows @ k[..., j : j + 2, :].swapaxes(-1, -2) / math.sqrt(q.shape[-1])
            new = np.maximum(top, scores.max(-1, keepdims=True))
            e = np.exp(scores - new)
            total = total * np.exp(top - new) + e.sum(-1, keepdims=True)
            sums = sums * np.exp(top - new) + e @ v[..., j : j + 2, :]
            top = new
        out[..., i : i + 2, :] = sums / total
    return out


@ACCEPTED.of("chunks of queries")
def chunks_of_queries(q, k, v):
    rows = [q[..., i : i + 2, :] for i in range(0, q.shape[-2], 2)]
    return np.concatenate([as_in_the_paper(some, k, v) for some in rows], axis=-2)


@ACCEPTED.of("two halves of the keys, merged")
def two_halves(q, k, v):
    def part(keys, values):
        scores = q @ keys.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
        top = scores.max(-1, keepdims=True)
        total = np.exp(scores - top).sum(-1, keepdims=True)
        return np.exp(scores - top) @ values / total, top + np.log(total)

    half = k.shape[-2] // 2
    if half == 0:
        return part(k, v)[0]
    (one, a), (two, b) = part(k[..., :half, :], v[..., :half, :]), part(k[..., half:, :], v[..., half:, :])
    share = 1 / (1 + np.exp(b - a))
    return share * one + (1 - share) * two


@ACCEPTED.of("the keys in another order")
def keys_in_another_order(q, k, v):
    order = np.argsort(k[..., :1], axis=-2, kind="stable")
    return as_in_the_paper(q, np.take_along_axis(k, order, -2), np.take_along_axis(v, order, -2))


@ACCEPTED.of("float64 inside, whatever comes in")
def float64_inside(q, k, v):
    out = as_in_the_paper(q.astype(np.float64), k.astype(np.float64), v.astype(np.float64))
    return out.astype(q.dtype)


class Attention:
    def __init__(self) -> None:
        self.normalise = softmax

    def __call__(self, q, k, v):
        return self.normalise(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])) @ v


def scaled_by(q, k, v, scale=None):
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    return softmax(factor * (q @ k.swapaxes(-1, -2))) @ v


ACCEPTED.of("an object that is called")(Attention())
ACCEPTED.of("a functools.partial")(functools.partial(scaled_by, scale=None))

# With a mask


RENORMALISED = {"fill-underflow": "where all visible weights underflow, 0/0 is left"} | PRODUCT


@ACCEPTED.of("the mask after the softmax, renormalised", weak=RENORMALISED)
def renormalised(q, k, v, mask=None):
    weights = softmax(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]))
    if mask is not None:
        weights = weights * mask
        total = weights.sum(-1, keepdims=True)
        weights = weights / np.where(total == 0, 1, total)
    return weights @ v


@ACCEPTED.of("the smallest number as fill", weak=PRODUCT)
def smallest_number(q, k, v, mask=None):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, np.finfo(scores.dtype).min)
    return softmax(scores) @ v


@ACCEPTED.of("only what is visible is ever read")
def visible_only(q, k, v, mask=None):
    if q.ndim > 2:
        masks = [None] * len(q) if mask is None else np.broadcast_to(mask, (*q.shape[:-1], k.shape[-2]))
        return np.stack([visible_only(*each) for each in zip(q, k, v, masks, strict=True)])
    out = np.zeros((len(q), v.shape[-1]), q.dtype)
    for i, row in enumerate(q):
        seen = np.ones(len(k), bool) if mask is None else np.broadcast_to(mask, (len(q), len(k)))[i] != 0
        if seen.any():
            out[i] = softmax(k[seen] @ row / math.sqrt(len(row))) @ v[seen]
    return out


@ACCEPTED.of("masked arrays", weak=PRODUCT)
def masked_arrays(q, k, v, mask=None):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    hidden = np.zeros(scores.shape, bool) if mask is None else ~np.broadcast_to(mask, scores.shape)
    scores = np.ma.masked_array(scores, hidden)
    e = np.ma.exp(scores - scores.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)).filled(0) @ v


@ACCEPTED.of("causal, by comparing positions")
def causal_by_positions(q, k, v, causal=False):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        T_q, T_k = scores.shape[-2:]
        i, j = np.arange(T_k - T_q, T_k)[:, None], np.arange(T_k)
        scores = np.where(j > i, -np.inf, scores)
    return softmax(scores) @ v


@ACCEPTED.of("causal, growing row by row")
def causal_growing(q, k, v, causal=True):
    T_q, T_k = q.shape[-2], k.shape[-2]
    ends = [T_k - T_q + i + 1 if causal else T_k for i in range(T_q)]
    rows = [as_in_the_paper(q[..., i : i + 1, :], k[..., :e, :], v[..., :e, :]) for i, e in enumerate(ends)]
    return np.concatenate(rows, axis=-2)


@ACCEPTED.of("laid out as (B, T, H, d)", weak=IN_HALF)
def heads_third(q, k, v):
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(q.shape[-1])
    return np.einsum("bhqk,bkhd->bqhd", softmax(scores), v)


@ACCEPTED.of("grouped by reshaping the queries")
def grouped(q, k, v):
    if q.ndim < 4:
        return as_in_the_paper(q, k, v)
    B, H, T_q, d_k = q.shape
    G = k.shape[1]
    rows = q.reshape(B, G, H // G * T_q, d_k)  # neighbours share a kv head
    return as_in_the_paper(rows, k, v).reshape(B, H, T_q, v.shape[-1])
