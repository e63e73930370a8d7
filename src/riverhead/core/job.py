"""What `attend` is given: checked, in views that expand nothing, and any tile of its scores on demand."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riverhead.core.border import Align, Bools, Floats, array, booleans, count, floats, narrow, number
from riverhead.core.inputs import batch_shape, check_fit, check_sinks, fitting
from riverhead.core.masks import check_align
from riverhead.errors import DtypeError, InputError, ShapeError

__all__ = ["Job", "Pairs", "job_of", "own"]

Index = slice | NDArray[np.intp]
TOP, KEYS = 64, 2**31 - 1


class Pairs(NamedTuple):
    """For each query the keys to sum the weights of, as a sparse matrix in CSR form."""

    start: NDArray[np.int64]  # (T_q + 1,)
    key: NDArray[np.int64]  # the keys of query i stand at start[i]:start[i + 1]


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """One call of `attend`; every array is a view with stride 0 where it repeats."""

    q: NDArray[Any]  # (..., H, T_q, d_k); 16-bit numbers as they came, see `bfloat`
    k: NDArray[Any]  # (..., G, T_k, d_k)
    v: NDArray[Any]  # (..., G, T_k, d_v)
    bfloat: bool  # q, k and v hold the upper halves of float32 numbers, as uint16
    scale: float
    softcap: float | None
    mask: Bools | None  # (..., H, T_q, T_k)
    bias: Floats | None  # (..., H, T_q, T_k)
    alibi: Floats | None  # (H,)
    sinks: Floats | None  # (H,)
    lengths: NDArray[np.int64] | None  # (...)
    causal: bool
    offset: int  # query i stands at the key i + offset
    window: int | None
    top: int
    pairs: Pairs | None
    one_head: bool  # given as (T, d): the results have no axis H

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle every array once, without its repetitions."""
        values = (getattr(self, field.name) for field in fields(self))
        packed = ((own(x), x.shape) if isinstance(x, np.ndarray) else (x, None) for x in values)
        return _unpacked, tuple(packed)

    @property
    def dtype(self) -> np.dtype[Any]:
        """What the numbers are computed in: float64, or float32 for everything narrower."""
        return np.dtype(np.float64 if self.q.dtype == np.float64 else np.float32)

    @property
    def batch(self) -> tuple[int, ...]:
        """The axes before H."""
        return self.q.shape[:-3]

    def head(self, n: int) -> Job:
        """Return one head alone, without batch axes; ``n`` counts through (*batch, H)."""
        *batch, h = map(int, np.unravel_index(n, self.q.shape[:-2]))
        g = self.kv_head(h)
        at: tuple[Any, ...] = (*batch, slice(h, h + 1))
        of: tuple[Any, ...] = (*batch, slice(g, g + 1))
        return replace(
            self,
            q=self.q[at],
            k=self.k[of],
            v=self.v[of],
            mask=None if self.mask is None else self.mask[at],
            bias=None if self.bias is None else self.bias[at],
            alibi=None if self.alibi is None else self.alibi[at[-1:]],
            sinks=None if self.sinks is None else self.sinks[at[-1:]],
            lengths=None if self.lengths is None else self.lengths[tuple(batch)].reshape(()),
            one_head=True,
        )

    def widened(self) -> Job:
        """Return the same with q, k and v as numbers to compute with, where they came narrower."""
        return replace(self, q=self.read(self.q), k=self.read(self.k), v=self.read(self.v), bfloat=False)

    def kv_head(self, h: int) -> int:
        """The kv head that query head ``h`` reads."""
        group: int = self.q.shape[-3] // self.k.shape[-3]
        return h // group

    def read(self, x: NDArray[Any]) -> Floats:
        """Return a block of q, k or v as numbers to compute with."""
        if self.bfloat:
            return (x.astype(np.uint32) << 16).view(np.float32)
        return x.astype(self.dtype, copy=False)

    def scaled_dots(self, item: tuple[int, ...], h: int, rows: Index, keys: Index) -> Floats:
        """Return scale · q·k (rows, keys) of one head: the scores before anything else happens to them."""
        q, k = self.read(self.q[item][h, rows]), self.read(self.k[item][self.kv_head(h), keys])
        q = q * q.dtype.type(self.scale)
        dots: Floats = q @ k.T if k.ndim == 2 else np.einsum("nd,nmd->nm", q, k)
        return dots

    def scores(self, item: tuple[int, ...], h: int, rows: Index, keys: Index) -> tuple[Floats, Bools | None]:
        """Return the scores (rows, keys) of one head, −∞ where hidden, and what is hidden (None: nothing).

        ``rows`` as an array and ``keys`` (n, m) give each query's scores with m keys of its own.
        """
        scores = self.scaled_dots(item, h, rows, keys)
        if self.softcap is not None:
            scores /= self.softcap
            np.tanh(scores, out=scores)
            scores *= self.softcap
        i, j = self.places(rows, keys)
        if self.bias is not None:
            scores += self.bias[item][h][_cells(rows, keys)]
        if self.alibi is not None:
            scores -= self.alibi[h] * np.abs(i - j).astype(scores.dtype)
        hidden = self.hidden(item, h, rows, keys)
        if hidden is not None:
            np.copyto(scores, -np.inf, where=hidden)
        return scores, hidden

    def places(self, rows: Index, keys: Index) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where the queries (n, 1) and the keys (m,) stand."""
        i, j = (
            np.arange(*at.indices(x.shape[-2])) if isinstance(at, slice) else at.astype(np.int64)
            for at, x in ((rows, self.q), (keys, self.k))
        )
        return i[:, None] + self.offset, j

    def hidden(self, item: tuple[int, ...], h: int, rows: Index, keys: Index) -> Bools | None:
        """Return which keys these queries do not see (n, m), or None if they see all."""
        i, j = self.places(rows, keys)
        if not (i.size and j.size):
            return None
        least, most = i.min() - j.max(), i.max() - j.min()  # how far the queries stand after the keys
        hides = []
        if self.causal and least < 0:
            hides.append(j > i)
        if self.window is not None and (most >= self.window or -least >= self.window):
            hides += [j <= i - self.window, j >= i + self.window]
        if self.lengths is not None and j.max() >= self.lengths[item]:
            hides.append(j >= self.lengths[item])
        if self.mask is not None:
            hides.append(~self.mask[item][h][_cells(rows, keys)])
        if self.bias is not None:
            hides.append(np.isneginf(self.bias[item][h][_cells(rows, keys)]))
        if not hides:
            return None
        hidden = np.zeros(np.broadcast_shapes(i.shape, j.shape), np.bool_)
        for part in hides:
            hidden |= part
        return hidden

    def span(self, item: tuple[int, ...], first: int, last: int) -> slice:
        """Return the keys that queries ``first`` to ``last`` can see by their places."""
        low, high = 0, self.k.shape[-2]
        if self.lengths is not None:
            high = int(self.lengths[item])
        if self.window is not None:
            low = max(low, first + self.offset - self.window + 1)
            high = min(high, last + self.offset + self.window)
        if self.causal:
            high = min(high, last + self.offset + 1)
        return slice(min(low, max(high, 0)), max(high, 0))


def own(x: NDArray[Any]) -> NDArray[Any]:
    """Return ``x`` without its repetitions: of size 1 wherever it has stride 0."""
    return x[tuple(slice(1) if stride == 0 else slice(None) for stride in x.strides)]


def _unpacked(*packed: tuple[Any, tuple[int, ...] | None]) -> Job:
    values: tuple[Any, ...] = tuple(x if shape is None else np.broadcast_to(x, shape) for x, shape in packed)
    return Job(*values)


def _cells(rows: Index, keys: Index) -> tuple[Index, Index]:
    """The index of the cells (rows, keys) in an array (T_q, T_k), which takes these and no others."""
    return (rows, keys) if isinstance(rows, slice) or isinstance(keys, slice) else (rows[:, None], keys)


def job_of(
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    *,
    scale: float | None = None,
    mask: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    causal: bool = False,
    align: Align = "end",
    offset: int | None = None,
    window: int | None = None,
    softcap: float | None = None,
    sinks: ArrayLike | None = None,
    lengths: ArrayLike | None = None,
    alibi: ArrayLike | None = None,
    top: int = 0,
    pairs: tuple[ArrayLike, ArrayLike] | None = None,
) -> Job:
    """Check every argument of `attend`; raises as `attention` does."""
    arrays, kinds = zip(*(narrow(name, x) for name, x in (("q", q), ("k", k), ("v", v))), strict=True)
    check_fit(*(x.shape for x in arrays))
    bfloat = kinds[0] == "bfloat16"
    if len(set(kinds)) > 1:
        wide = np.result_type(*(np.float32 if kind == "bfloat16" else kind for kind in kinds), np.float32)
        arrays = tuple(_widened(x, kind, wide) for x, kind in zip(arrays, kinds, strict=True))
        bfloat = False
    one_head = all(x.ndim == 2 for x in arrays)
    arrays = tuple(x[None] if x.ndim == 2 else x for x in arrays)
    batch = batch_shape(**{name: x.shape[:-3] for name, x in zip("qkv", arrays, strict=True)})
    _check_sizes(batch, *(x.shape[-3:] for x in arrays), dense=mask is not None or bias is not None)
    q_, k_, v_ = (np.broadcast_to(x, batch + x.shape[-3:]) for x in arrays)
    (H, T_q, d_k), T_k = q_.shape[-3:], k_.shape[-2]
    shape = (T_q, T_k) if one_head else (*batch, H, T_q, T_k)
    full = (*batch, H, T_q, T_k)
    check_align(align)
    dtype = np.float64 if q_.dtype == np.float64 else np.float32
    given = None if bias is None else fitting("bias", floats("bias", bias), shape)
    if given is not None:
        with np.errstate(over="ignore"):  # too low for float32 is −∞: hidden
            given = given.astype(dtype, copy=False)
    allowed = None if mask is None else fitting("mask", booleans("mask", mask), shape)
    return Job(
        q_,
        k_,
        v_,
        bfloat,
        scale=1 / math.sqrt(d_k) if scale is None else number("scale", scale),
        softcap=None if softcap is None else number("softcap", softcap, above=0),
        mask=None if allowed is None else np.broadcast_to(allowed, full),
        bias=None if given is None else np.broadcast_to(given, full),
        alibi=None if alibi is None else _per_head("alibi", alibi, H).astype(dtype),
        sinks=None if sinks is None else check_sinks(sinks, H, dtype),
        lengths=None if lengths is None else _lengths(lengths, batch, T_k),
        causal=bool(causal),
        offset=(T_k - T_q if align == "end" else 0) if offset is None else _whole("offset", offset),
        window=None if window is None else min(count("window", window), 2**40),
        top=_top(top),
        pairs=None if pairs is None else _pairs(pairs, T_q, T_k),
        one_head=one_head,
    )


def _check_sizes(
    batch: tuple[int, ...], q: tuple[int, ...], k: tuple[int, ...], v: tuple[int, ...], *, dense: bool
) -> None:
    """Refuse more keys than a ``top_key`` can name, and arrays larger than addresses reach."""
    (H, T_q, d_k), (G, T_k, d_v) = q, v
    if T_k > KEYS:
        raise InputError(f"T_k is {T_k}; at most {KEYS} keys are told apart: split them, and merge the maps")
    rows, keys = (*batch, H, T_q), (*batch, G, T_k)
    for shape in ((*rows, max(d_k, d_v, TOP)), (*keys, max(d_k, d_v)), (*rows, T_k if dense else 1)):
        if math.prod(max(n, 1) for n in shape) >= 1 << 58:
            raise InputError(f"an array {shape} has more numbers than can be addressed, 2^58")


def _widened(x: NDArray[Any], kind: str, wide: np.dtype[Any]) -> Floats:
    if kind == "bfloat16":
        x = (x.astype(np.uint32) << 16).view(np.float32)
    return x.astype(wide, copy=False)


def _per_head(name: str, x: ArrayLike, n_heads: int) -> Floats:
    values = floats(name, x)
    if values.shape != (n_heads,):
        raise ShapeError(f"n_heads differs: {name} is {values.shape}, q has {n_heads}; each head has its own")
    if not np.isfinite(values).all():
        raise InputError(f"{name} holds {values[~np.isfinite(values)][0]:g}; it must be finite")
    return values


def _whole(name: str, n: int) -> int:
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or abs(n) > 2**40:
        raise InputError(f"{name} is {n!r}; it must be a whole number of keys, at most 2^40 either way")
    return int(n)


def _top(top: int) -> int:
    n = count("top", top, 0)
    if n > TOP:
        raise InputError(f"top is {n}; 0 to {TOP} largest weights are kept for each query")
    return n


def _lengths(lengths: ArrayLike, batch: tuple[int, ...], T_k: int) -> NDArray[np.int64]:
    n = array("lengths", lengths)
    if n.dtype.kind not in "iu":
        raise DtypeError(f"lengths is {n.dtype}; it must hold whole numbers")
    if n.size and (n.min() < 0 or n.max() > T_k):
        raise InputError(f"lengths run from {n.min()} to {n.max()}; with T_k {T_k} they lie in 0..{T_k}")
    try:
        return np.ascontiguousarray(np.broadcast_to(n, batch), np.int64).reshape(batch)
    except ValueError as error:
        raise ShapeError(
            f"lengths is {n.shape}; it must broadcast to the axes before n_heads, {batch}"
        ) from error


def _pairs(pairs: tuple[ArrayLike, ArrayLike], T_q: int, T_k: int) -> Pairs:
    if not isinstance(pairs, tuple | list) or len(pairs) != 2:
        raise InputError(f"pairs is {type(pairs).__name__}; it must be two arrays, (start, key)")
    start, key = (array(f"pairs: {name}", x) for name, x in zip(("start", "key"), pairs, strict=True))
    for name, x in (("start", start), ("key", key)):
        if x.dtype.kind not in "iu" or x.ndim != 1:
            raise DtypeError(
                f"pairs: {name} is {x.dtype} {x.shape}; it must hold whole numbers along one axis"
            )
    if (
        start.shape != (T_q + 1,)
        or start[0] != 0
        or start[-1] != len(key)
        or (np.diff(start.astype(np.int64)) < 0).any()
    ):
        raise ShapeError(
            f"pairs: start has {len(start)} numbers, T_q is {T_q}; it must hold T_q + 1, from 0 up to the "
            f"{len(key)} keys, never falling"
        )
    if key.size and (key.min() < 0 or key.max() >= T_k):
        raise InputError(f"pairs: keys run from {key.min()} to {key.max()}; T_k is {T_k}")
    return Pairs(np.ascontiguousarray(start, np.int64), np.ascontiguousarray(key, np.int64))
