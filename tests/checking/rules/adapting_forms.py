"""What the tests of adapting share: attention in plain loops, and the numbers that it is asked for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from riverhead.checking.rules.adapting import Asked, adapt
from riverhead.checking.rules.call import Call, Outcome

T_Q, T_K, D_K, D_V = 5, 7, 11, 13  # different primes, as are the next
LEADING = {2: (), 3: (2,), 4: (2, 3)}
NEAR = 1e-12  # seven terms below 1, weighed by e to at most 11/√11, each rounded some times in float64


def loops(
    q: Any, k: Any, v: Any, *, seen: Any = None, scale: float | None = None, bias: Any = None
) -> np.ndarray:
    """(..., T_q, d), (..., T_k, d), (..., T_k, d_v): one query after another, one key after another."""
    q, k, v = (np.asarray(x, float) for x in (q, k, v))
    if q.ndim > 2:
        of = {"seen": seen, "bias": bias}
        cut = {
            name: np.broadcast_to(x, (*q.shape[:-1], k.shape[-2])) for name, x in of.items() if x is not None
        }
        return np.stack([
            loops(q[n], k[n * len(k) // len(q)], v[n * len(v) // len(q)], scale=scale,
                  **{name: x[n] for name, x in cut.items()})
            for n in range(len(q))
        ])  # fmt: skip
    factor = 1 / math.sqrt(q.shape[1]) if scale is None else scale
    out = np.zeros((len(q), v.shape[1]))
    for i, query in enumerate(q.tolist()):
        raised = []
        for j, key in enumerate(k.tolist()):
            score = factor * sum(a * b for a, b in zip(query, key, strict=True))
            score += 0 if bias is None else float(bias[i][j])
            raised.append(math.exp(score) if seen is None or seen[i][j] else 0.0)
        for j, e in enumerate(raised):
            out[i] += e / sum(raised) * v[j]
    return out


def attend(q, k, v, seen=None, scale=None, bias=None):
    """What most functions of the tests do, whatever they are called with: with NumPy, all heads at once."""
    scores = np.einsum("...id,...jd->...ij", q, k) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if bias is not None:
        scores = scores + bias
    if seen is not None:
        scores = np.where(seen, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return np.einsum("...ij,...jd->...id", weights, v), weights


def upper(Q, K, V, mask=None):
    return attend(Q, K, V, mask)[0]


def strangers(a, b, c):
    return attend(a, b, c)[0]


def bthd(q, k, v, mask=None):
    scores = np.einsum("bihd,bjhd->bhij", q, k) / math.sqrt(q.shape[-1])
    scores = scores if mask is None else np.where(mask, scores, -np.inf)
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    return np.einsum("bhij,bjhd->bihd", weights, v)


def with_t(q, k, v):
    scores = np.dot(q, k.T) / np.sqrt(q.shape[1])
    return np.exp(scores) / np.exp(scores).sum(1, keepdims=True) @ v


def drawn(
    rank: int, *, G: int | None = None, seed: int = 3, T_q: int = T_Q, T_k: int = T_K, d_v: int = D_V
) -> dict[str, np.ndarray]:
    """q, k, v of a rank, multiples of 1/8 between −1 and 1."""
    rng = np.random.default_rng(seed)
    lead = LEADING[rank]
    of_kv = lead if G is None else (*lead[:-1], G)
    shapes = {"q": (*lead, T_q, D_K), "k": (*of_kv, T_k, D_K), "v": (*of_kv, T_k, d_v)}
    return {name: rng.integers(-8, 9, shape) / 8 for name, shape in shapes.items()}


def speckles(*shape: int, seed: int = 5) -> np.ndarray:
    """A mask in which each query sees its first key, and about half of the others."""
    mask = np.random.default_rng(seed).random(shape) < 0.5
    mask[..., 0] = True
    return mask


def past(T_q: int, T_k: int) -> np.ndarray:
    """Who may attend when the last query sees the last key."""
    return np.arange(T_k)[None] <= np.arange(T_q)[:, None] + T_k - T_q


def run(thing: Any, call: Call, **asked: Any) -> Outcome:
    return adapt(thing, Asked(**asked)).run(call)


def same(outcome: Outcome, right: np.ndarray, near: float = NEAR) -> None:
    assert outcome.out.shape == right.shape
    np.testing.assert_allclose(outcome.out, right, rtol=0, atol=near)


def works(thing: Any, ranks: tuple[int, ...] = (2, 3, 4), **asked: Any) -> Any:
    """Adapt it; it gives what loops give at each of these ranks, and offers no others."""
    adapter = adapt(thing, Asked(**asked))
    assert {"batch", "heads"} & adapter.offers == {
        {3: "batch", 4: "heads"}[rank] for rank in ranks if rank > 2
    }
    for rank in ranks:
        arrays = drawn(rank, **({} if "cross" in adapter.offers else {"T_q": T_K}),
                       **({} if "d_v" in adapter.offers else {"d_v": D_K}))  # fmt: skip
        same(adapter.run(Call(arrays)), loops(**arrays))
    return adapter
