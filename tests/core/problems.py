"""Random problems for attention and its gradient: sizes, layouts and every option, drawn together."""

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

__all__ = ["Problem", "primes", "problems"]


class Problem(NamedTuple):
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    options: dict[str, Any]


LEADING = [
    ((), ()),
    ((2,), (2,)),
    ((2,), ()),
    ((), (3,)),
    ((2, 1), (3,)),
    ((1, 2), (2, 1)),
]  # of q, of k and v


def primes(dtype=np.float64, seed=0):
    """Arrays whose every axis is another prime, so that no swapped axis passes: H 15 = 3·5 heads over G 3."""
    rng = np.random.default_rng(seed)
    shapes = (2, 15, 7, 13), (2, 3, 11, 13), (2, 3, 11, 17)
    return tuple(rng.standard_normal(shape).astype(dtype) for shape in shapes)


@st.composite
def problems(draw, dtypes=(np.float32, np.float64), poison=False):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    G, group, T_q, T_k = (draw(st.integers(1, n)) for n in (3, 3, 5, 7))
    d_k, d_v, H = draw(st.integers(1, 5)), draw(st.integers(1, 4)), G * group
    of_q, of_k = draw(st.sampled_from(LEADING))
    dtype = draw(st.sampled_from(dtypes))
    spread = 1 if poison else draw(st.sampled_from([1, 8, 64]))

    def normal(*shape):
        return rng.standard_normal(shape).astype(dtype)

    q, k, v = spread * normal(*of_q, H, T_q, d_k), normal(*of_k, G, T_k, d_k), normal(*of_k, G, T_k, d_v)
    if one_head := (H == 1 and of_q == of_k == () and draw(st.booleans())):
        q, k, v = q[0], k[0], v[0]
    shape = (T_q, T_k) if one_head else (*np.broadcast_shapes(of_q, of_k), H, T_q, T_k)
    layouts = st.sampled_from([shape, shape[-2:], shape[-1:], (*shape[:-2], 1, T_k), (*shape[:-1], 1)])
    options = {
        "scale": draw(st.sampled_from([None, 0.0, 0.25, -1.5])),
        "causal": draw(st.booleans()),
        "align": draw(st.sampled_from(["end", "start"])),
        "window": draw(st.none() | st.integers(1, T_k + 2)),
        "softcap": draw(st.sampled_from([None, 0.5, 30.0])),
        "mask": rng.random(draw(layouts)) < 0.7 if draw(st.booleans()) else None,
        "bias": normal(*draw(layouts)) if draw(st.booleans()) else None,
        "sinks": normal(H) if draw(st.booleans()) else None,
    }
    if options["bias"] is not None and draw(st.booleans()):
        options["bias"][rng.random(options["bias"].shape) < 0.2] = -np.inf
    if poison:
        for x in (q, k, v, options["bias"]):
            if x is not None:
                bad = rng.random(x.shape) < 0.5 / max(x.shape)
                x[bad] = rng.choice([np.nan, np.inf, -np.inf], bad.sum())
    return Problem(q, k, v, {name: value for name, value in options.items() if value is not None})
