"""`attend` by every way the pass can run here, and random calls of it with every option."""

import numpy as np
import pytest
from hypothesis import strategies as st
from problems import problems

from riverhead.core import attend, kernel

__all__ = ["attend_by", "calls", "normal", "ways"]

ways = pytest.mark.parametrize("way", kernel.paths())


def attend_by(way, *arrays, **options):
    """`attend` on one instruction set, or on the NumPy row blocks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RIVERHEAD_KERNEL", way)
        return attend(*arrays, **options)


def normal(*shapes, dtype=np.float32, seed=0):
    """An array of each shape."""
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


@st.composite
def calls(draw, **kinds):
    """A problem with the options that `attend` has and `attention` has not."""
    q, k, v, options = draw(problems(**kinds))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    batch = np.broadcast_shapes(q.shape[:-3], k.shape[:-3])
    (T_q, _), T_k, H = q.shape[-2:], k.shape[-2], 1 if q.ndim == 2 else q.shape[-3]
    extra = {
        "top": draw(st.integers(0, T_k + 1)),
        "offset": draw(st.none() | st.integers(-T_q - 1, T_k + 1)),
        "lengths": rng.integers(0, T_k + 1, batch) if draw(st.booleans()) else None,
        "alibi": rng.standard_normal(H).astype(q.dtype) if draw(st.booleans()) else None,
        "pairs": pairs(rng, T_q, T_k) if draw(st.booleans()) else None,
    }
    return q, k, v, options | {name: value for name, value in extra.items() if value is not None}


def pairs(rng, T_q, T_k):
    """For each query some keys, perhaps none, perhaps one of them twice."""
    start = np.concatenate([[0], np.cumsum(rng.integers(0, T_k + 1, T_q))])
    return start, rng.integers(0, T_k, start[-1])
