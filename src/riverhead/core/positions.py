"""Where a token stands, told to attention in four ways: sinusoidal, learned, RoPE and ALiBi."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riverhead.core.border import Align, Floats, count, floats, number
from riverhead.core.masks import places
from riverhead.errors import InputError, ShapeError
from riverhead.shapes import check_rank

__all__ = ["Pairs", "alibi_bias", "alibi_slopes", "learned", "rope", "sinusoidal"]

Pairs = Literal["half", "interleaved"]


def sinusoidal(T: int, d_model: int, *, offset: int = 0, base: float = 10_000.0) -> NDArray[np.float64]:
    """Return the vectors (T, d_model) to be added to the tokens at positions offset, offset + 1, ….

    Column 2i holds sin(position / base^(2i/d_model)), column 2i + 1 the cosine. Vaswani et al. 2017, §3.5.

    >>> sinusoidal(2, 4).round(2)
    array([[0.  , 1.  , 0.  , 1.  ],
           [0.84, 0.54, 0.01, 1.  ]])
    """
    cos, sin = _cos_sin(count("T", T, 0), _even("d_model", d_model), offset, base)
    return np.stack([sin, cos], axis=-1).reshape(T, d_model)


def learned(table: ArrayLike, T: int, *, offset: int = 0) -> Floats:
    """Look up positions offset, offset + 1, … in ``table`` (n_positions, d_model): (T, d_model).

    Raises `InputError` past the end of the table: nothing was learned for those positions. Gehring et al.
    2017, §3.1.

    >>> learned([[0.5], [0.25], [0.125]], 2, offset=1)
    array([[0.25 ],
           [0.125]])
    """
    rows = floats("table", table)
    check_rank("table", rows.shape, "n_positions d_model")
    first, end = count("offset", offset, 0), offset + count("T", T, 0)
    if end > rows.shape[-2]:
        raise InputError(
            f"positions {first} to {end - 1} are asked for, the table has {rows.shape[-2]}: 0 to "
            f"{rows.shape[-2] - 1}; shorten the text or take positions that are computed"
        )
    return rows[..., first:end, :]


def rope(
    x: ArrayLike,
    *,
    pairs: Pairs = "half",
    offset: int = 0,
    base: float = 10_000.0,
    divisors: ArrayLike | None = None,
) -> Floats:
    """Turn each pair of components of q or k (..., T, d_k) by an angle that grows with the position.

    The scores then depend on the distance of query and key alone. Pair i turns by position / base^(2i/d_k);
    position counts from ``offset``, the number of tokens already in the cache. ``pairs`` says which
    components belong together: "half" i and i + d_k/2 (GPT-NeoX, Hugging Face's Llama), "interleaved" 2i and
    2i + 1 (the paper, GGUF's Llama). ``divisors`` (d_k/2,) divide the angles, as a model does that was
    stretched to longer texts. Su et al. 2021, §3.2.2; divisors: Chen et al. 2023, §2.3.

    >>> rope([[1.0, 0.0], [1.0, 0.0]]).round(2)  # positions 0 and 1: by 0 and by 1 radian
    array([[1.  , 0.  ],
           [0.54, 0.84]])
    """
    x = floats("x", x)
    check_rank("x", x.shape, "T d_k")
    if pairs not in get_args(Pairs):
        raise InputError(
            f'pairs is {pairs!r}; it is "half" (i and i + d_k/2) or "interleaved" (2i and 2i + 1)'
        )
    T, half = x.shape[-2], _even("d_k", x.shape[-1]) // 2
    slowed = None if divisors is None else _divisors(divisors, half)
    table = _cos_sin(T, 2 * half, offset, base, slowed)
    cos, sin = (part.astype(x.dtype, copy=False) for part in table)
    first, second = (np.s_[:half], np.s_[half:]) if pairs == "half" else (np.s_[0::2], np.s_[1::2])
    a, b = x[..., first], x[..., second]  # (..., T, d_k/2), as cos and sin are (T, d_k/2)
    turned = np.empty_like(x)
    turned[..., first] = a * cos - b * sin
    turned[..., second] = a * sin + b * cos
    return turned


def alibi_slopes(n_heads: int) -> Floats:
    """Return how steeply each head's bias falls with distance, (H,).

    For 2^m heads the powers 2^(−8/H), 2^(−16/H), …; for other counts those of the power of two below, then
    every other one of the power of two above. Press et al. 2021, §3, and the code published with it.

    >>> [f"1/{1 / slope:g}" for slope in alibi_slopes(6)]
    ['1/4', '1/16', '1/64', '1/256', '1/2', '1/8']
    """
    below = 1 << (count("n_heads", n_heads).bit_length() - 1)
    between = _powers(2 * below)[::2][: n_heads - below]
    return np.concatenate([_powers(below), between])


def alibi_bias(n_heads: int, T_q: int, T_k: int, *, align: Align = "end") -> Floats:
    """Return −slope · |i − j|, the ``bias`` (H, T_q, T_k) to give to `attention`.

    >>> alibi_bias(1, 2, 2) * 256
    array([[[ 0., -1.],
            [-1.,  0.]]])
    """
    i, j = places(T_q, T_k, align)
    bias: Floats = alibi_slopes(n_heads)[:, None, None] * -np.abs(i - j)
    return bias


def _powers(n_heads: int) -> Floats:
    powers: Floats = 2 ** (-8 / n_heads * np.arange(1, n_heads + 1))
    return powers


Table = tuple[NDArray[np.float64], NDArray[np.float64]]


def _cos_sin(T: int, d: int, offset: int, base: float, divisors: tuple[float, ...] | None = None) -> Table:
    """Cosines and sines (T, d/2) of position / base^(2i/d), over the divisors."""
    return _table(T, d, count("offset", offset, 0), number("base", base, above=0), divisors)


@lru_cache(maxsize=8)  # every layer of a model asks for the same angles, for q and again for k
def _table(T: int, d: int, offset: int, base: float, divisors: tuple[float, ...] | None) -> Table:
    angles = np.arange(offset, offset + T)[:, None] / base ** (np.arange(0, d, 2) / d)
    if divisors is not None:
        angles /= divisors
    cos, sin = np.cos(angles), np.sin(angles)
    cos.flags.writeable = sin.flags.writeable = False
    return cos, sin


def _divisors(divisors: ArrayLike, half: int) -> tuple[float, ...]:
    """One finite number above 0 a pair."""
    each = floats("divisors", divisors)
    if each.shape != (half,):
        raise ShapeError(f"divisors is {each.shape}; it has one number a pair of components, ({half},)")
    if not (np.isfinite(each).all() and (each > 0).all()):
        raise InputError(f"divisors run from {each.min()} to {each.max()}; each must be finite and above 0")
    return tuple(each.tolist())


def _even(axis: str, size: int) -> int:
    if count(axis, size) % 2:
        raise ShapeError(f"{axis} is {size}; it must be even, since components turn in pairs")
    return size
