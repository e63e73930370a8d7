"""How far a right result may be from the exact one: bounds from the sizes and the dtype alone.

With u the unit roundoff, and every bound written for the sum in any order:

- A dot product of d_k terms is off by at most d_k·u·Σ|q·k|. Scaling, capping, adding the bias and taking off
  the peak each round once or a few times more, relative to numbers that are no larger than
  ``reach`` = |scale|·Σ|q·k| + |bias| + |sink|. So a score is off by δ ≤ (d_k + 16)·u·reach.
- A score off by δ makes its exponential e^δ times too large, and so does the row's sum: a weight is off by
  the factor e^(2δ). The exponential itself (4u, SIMD), a sum of T_k terms and a division add (T_k + 16)·u.
- A weight below the smallest normal number may be off by that number.
- An output is a sum of T_k products: T_k·u·Σ w|v| more.
"""

import numpy as np

__all__ = ["close", "out_bound", "scores_bound", "weights_bound"]


def scores_bound(q, k, *, scale=None, softcap=None, bias=None, sinks=None, dtype=np.float64, **_):
    """The bound δ (..., H, T_q, 1) of every score of a row."""
    infinite = not (np.isfinite(q).all() and np.isfinite(k).all())
    q, k = (np.where(np.isfinite(x), np.abs(x), 0) for x in (q, k))
    d_k = q.shape[-1]
    if q.ndim > 2:
        k = np.repeat(k, q.shape[-3] // k.shape[-3], axis=-3)
    reach = (1 / np.sqrt(d_k) if scale is None else abs(scale)) * (q @ k.swapaxes(-1, -2))
    if softcap is not None and infinite:
        reach = reach + softcap  # what an infinite score is capped to
    if bias is not None:
        reach = reach + np.where(np.isfinite(bias), np.abs(bias), 0)
    reach = reach.max(axis=-1, keepdims=True, initial=0)
    if sinks is not None:
        reach = reach + np.abs(sinks).reshape(*reach.shape[-3:-2], 1, 1)
    return (d_k + 16) * np.finfo(dtype).eps / 2 * reach


def weights_bound(weights, q, k, *, dtype=np.float64, **options):
    """The bound (..., H, T_q, T_k) of each weight, given the exact ones."""
    u, tiny = np.finfo(dtype).eps / 2, np.finfo(dtype).tiny
    factor = np.expm1(2 * scores_bound(q, k, dtype=dtype, **options)) + (weights.shape[-1] + 16) * u
    return weights * factor + tiny


def out_bound(weights, q, k, v, **options):
    """The bound (..., H, T_q, d_v) of each number of out, given the exact weights."""
    v = np.where(np.isfinite(v), np.abs(v), 0)
    if weights.ndim > 2:
        v = np.repeat(v, weights.shape[-3] // v.shape[-3], axis=-3)
    u = np.finfo(options.get("dtype", np.float64)).eps / 2
    of_weights = weights_bound(weights, q, k, **options)
    return (of_weights + weights.shape[-1] * u * weights) @ v + np.finfo(np.float64).tiny


def close(found, exact, bound):
    """Whether every number is within its bound, and NaN and ∞ stand where they have to."""
    exact = np.asarray(exact, dtype=np.float64)
    assert found.shape == exact.shape
    finite = np.isfinite(exact)
    np.testing.assert_array_equal(found[~finite], exact[~finite].astype(found.dtype))
    bound = np.broadcast_to(bound, exact.shape)
    excess = np.abs(found[finite].astype(np.float64) - exact[finite]) - bound[finite]
    assert not (excess > 0).any(), f"{excess.max():g} above the bound, {np.abs(exact[finite]).max():g} large"
    assert np.isfinite(found[finite]).all()
