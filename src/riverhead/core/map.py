"""The T×T weights that are never stored: any of them exact on demand, and what one pass knows of all."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from riverhead.core import kernel, rowblocks
from riverhead.core.border import Floats, count
from riverhead.core.job import Index, Job
from riverhead.errors import InputError

__all__ = ["AttentionMap"]

DENSE_BYTES = 256 << 20  # the largest matrix that np.asarray makes
ROW_NAMES = ("lse", *kernel.NAMES, "pair_weight", "top_weight", "top_key", "out")
KEY_NAMES = ("received", "received_max")


class AttentionMap:
    """The weights (..., H, T_q, T_k) of one `attend`, array-like, without the matrix.

    Leading indices give a smaller map; with an index for the last two axes it gives the weights themselves,
    ``exp(scale · q·k − lse)``, computed then. Each statistic is an attribute: ``out`` (..., H, T_q, d_v);
    ``lse``, ``entropy_nats``, ``mean_distance`` (in tokens), ``max_weight``, ``first_weight`` (on the first
    key a query sees), ``self_weight``, ``previous_weight`` and ``pair_weight``, each (..., H, T_q);
    ``top_weight`` and ``top_key`` (..., H, T_q, top), −1 where there are fewer keys; ``received`` and
    ``received_max`` (..., H, T_k), what each key received in all and at most. A query without a visible key
    has weights 0, lse −∞ and entropy 0.

    >>> from riverhead.core import attend
    >>> A = attend([[2.0, 1.0]], k=[[2.0, 0.0], [1.0, 1.0]], v=[[1.0, 0.0], [0.0, 1.0]])
    >>> A.shape, A[0].round(3), A.top(0)[0]
    ((1, 2), array([0.67, 0.33]), array([0, 1], dtype=int32))
    """

    def __init__(self, job: Job, heads: NDArray[np.intp], statistics: dict[str, NDArray[Any]]) -> None:
        self._job, self._heads, self._statistics = job, heads, statistics

    @classmethod
    def of(cls, job: Job, statistics: dict[str, NDArray[Any]]) -> AttentionMap:
        """Return the map of a job that has run; ``statistics`` are (*batch, H, ...)."""
        heads = np.arange(int(np.prod(statistics["lse"].shape[:-1]))).reshape(statistics["lse"].shape[:-1])
        if job.one_head:
            heads, statistics = heads.reshape(()), {name: x[0] for name, x in statistics.items()}
        return cls(job, heads, statistics)

    def __getattr__(self, name: str) -> NDArray[Any]:
        if (
            name in KEY_NAMES
            and "lse" in self.__dict__.get("_statistics", {})
            and name not in self._statistics
        ):
            self._statistics |= self._received()
        try:
            return self.__dict__["_statistics"][name]  # type: ignore[no-any-return]
        except KeyError:
            raise AttributeError(f"AttentionMap has no {name!r}; it has {', '.join(self.names)}") from None

    @property
    def names(self) -> tuple[str, ...]:
        """The statistics it has, by name."""
        return tuple(name for name in (*ROW_NAMES, *KEY_NAMES) if name in self._statistics)

    @property
    def shape(self) -> tuple[int, ...]:
        """(..., H, T_q, T_k)."""
        return (*self._heads.shape, self._job.q.shape[-2], self._job.k.shape[-2])

    @property
    def ndim(self) -> int:
        """How many axes it has."""
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of its weights."""
        return self._job.dtype

    @property
    def nbytes(self) -> int:
        """The bytes of its statistics; q, k and v are the caller's."""
        return sum(x.nbytes for x in self._statistics.values())

    @property
    def dense_nbytes(self) -> int:
        """The bytes the weights would take if they were stored."""
        return int(np.prod(self.shape, dtype=object)) * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return (
            f"<AttentionMap {self.shape} {self.dtype}: {self.nbytes:,} bytes of statistics, "
            f"{self.dense_nbytes:,} if it were dense>"
        )

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError(
                "an AttentionMap holds no matrix, so np.asarray must make one: copy cannot be False"
            )
        if self.dense_nbytes > DENSE_BYTES:
            raise InputError(
                f"the weights {self.shape} would take {self.dense_nbytes / 1e9:.3g} GB, at most "
                f"{DENSE_BYTES / 1e6:.0f} MB are made at once: index a tile, or take A.pooled(rows, cols)"
            )
        return self._tile(slice(None), slice(None)).astype(dtype or self.dtype, copy=False)

    def __getitem__(self, index: Any) -> Any:
        n_lead = self._heads.ndim
        lead, rows, keys = _split(index, n_lead)
        chosen = self._heads[lead]
        whole = AttentionMap(self._job, chosen, {name: x[lead] for name, x in self._statistics.items()})
        if rows is None and keys is None:
            return whole
        T_q, T_k = self.shape[-2:]
        i, one_row = _places("T_q", slice(None) if rows is None else rows, T_q)
        j, one_key = _places("T_k", slice(None) if keys is None else keys, T_k)
        tile = whole._tile(i, j)
        return tile[(..., 0 if one_row else slice(None), 0 if one_key else slice(None))]

    def top(self, i: int, n: int | None = None) -> tuple[NDArray[np.int32], Floats]:
        """Return the keys query ``i`` gives most to, with their weights, largest first: two (..., H, n).

        Of equal weights the lower key comes first. Raises `InputError` for more than were kept.
        """
        kept = self._statistics["top_key"].shape[-1]
        wanted = kept if n is None else count("n", n, 0)
        if wanted > kept:
            raise InputError(f"n is {wanted}, {kept} were kept: attend(..., top={wanted}) keeps as many")
        row, _ = _places("T_q", i, self.shape[-2])
        key, weight = self._statistics["top_key"], self._statistics["top_weight"]
        return key[..., row, :wanted][..., 0, :], weight[..., row, :wanted][..., 0, :]

    def pooled(self, rows: int, cols: int, how: Literal["max", "mean", "sum"] = "max") -> Floats:
        """Return the map as a picture of ``rows`` × ``cols`` cells, (..., H, rows, cols), block by block.

        Each cell holds the largest, the mean or the sum of the weights that fall into it.
        """
        reduce = {"max": np.maximum, "mean": np.add, "sum": np.add}.get(how)
        if reduce is None:
            raise InputError(f"how is {how!r}; it is 'max', 'mean' or 'sum'")
        T_q, T_k = self.shape[-2:]
        rows, cols = min(count("rows", rows), max(T_q, 1)), min(count("cols", cols), max(T_k, 1))
        if not T_q or not T_k:
            raise InputError(f"the map is {self.shape}; there is nothing to pool")
        at_row, at_key = np.arange(rows) * T_q // rows, np.arange(cols) * T_k // cols
        picture = np.empty((*self._heads.shape, rows, cols), self.dtype)
        for where in np.ndindex(self._heads.shape):
            for cell, (first, end) in enumerate(zip(at_row, [*at_row[1:], T_q], strict=True)):
                parts = [
                    reduce.reduce(
                        reduce.reduceat(
                            self._weights(where, slice(a, min(a + step, end)), slice(None)), at_key, axis=1
                        ),
                        axis=0,
                    )
                    for step in [self._block_rows()]
                    for a in range(first, end, step)
                ]
                picture[(*where, cell)] = reduce.reduce(parts, axis=0)
        if how == "mean":
            picture /= np.diff([*at_row, T_q])[:, None] * np.diff([*at_key, T_k])
        return picture

    def _block_rows(self) -> int:
        return max(1, rowblocks.BLOCK_BYTES // (self.dtype.itemsize * max(self.shape[-1], 1)))

    def _tile(self, rows: Index, keys: Index) -> Floats:
        """The weights (..., n, m) of some queries on some keys."""
        T_q, T_k = self.shape[-2:]
        size = len(np.arange(T_q)[rows]), len(np.arange(T_k)[keys])
        tile = np.empty((*self._heads.shape, *size), self.dtype)
        for where in np.ndindex(self._heads.shape):
            tile[where] = self._weights(where, rows, keys)
        return tile

    def _weights(self, where: tuple[int, ...], rows: Index, keys: Index) -> Floats:
        """exp(score − lse): the one line that makes every weight a number on demand."""
        job = self._job
        *item, h = np.unravel_index(int(self._heads[where]), (*job.batch, job.q.shape[-3]))
        with np.errstate(all="ignore"):
            scores, hidden = job.scores(tuple(int(n) for n in item), int(h), rows, keys)
            lse = self._statistics["lse"][where][rows, None]
            scores -= np.where(np.isneginf(lse), 0, lse)
            weights: Floats = np.exp(scores, out=scores)
        if hidden is not None:
            np.copyto(weights, 0, where=hidden)
        return weights

    def _received(self) -> dict[str, Floats]:
        """What each key received, from q, k and the lse: for a map that was merged."""
        shape = (*self._heads.shape, self.shape[-1])
        received, most = np.zeros(shape, self.dtype), np.zeros(shape, self.dtype)
        step = self._block_rows()
        for where in np.ndindex(self._heads.shape):
            for first in range(0, self.shape[-2], step):
                weights = self._weights(where, slice(first, first + step), slice(None))
                received[where] += weights.sum(axis=0)
                np.fmax(most[where], weights.max(axis=0, initial=0), out=most[where])
        return {"received": received, "received_max": most}


def _split(index: Any, n_lead: int) -> tuple[tuple[Any, ...], Any, Any]:
    """Take an index apart: the leading axes, the queries, the keys (None where it says nothing of them)."""
    index = index if isinstance(index, tuple) else (index,)
    if any(part is None or (isinstance(part, np.ndarray) and part.dtype == bool) for part in index):
        raise InputError("an AttentionMap is indexed by whole numbers, slices and lists of whole numbers")
    dots = [n for n, part in enumerate(index) if part is Ellipsis]
    if len(dots) > 1 or len(index) - len(dots) > n_lead + 2:
        raise InputError(f"the map has {n_lead + 2} axes; the index {index!r} has more, or two ellipses")
    if dots:
        missing = n_lead + 2 - (len(index) - 1)
        index = (*index[: dots[0]], *[slice(None)] * missing, *index[dots[0] + 1 :])
        lead, last = index[:n_lead], index[n_lead:]
        return lead, last[0], last[1]
    lead, last = index[:n_lead], (*index[n_lead:], None, None)
    return lead, last[0], last[1]


def _places(axis: str, index: Any, size: int) -> tuple[Index, bool]:
    """One axis's index as a slice or an array of places, and whether it was a single number."""
    if isinstance(index, slice):
        return index, False
    places = np.asarray(index)
    if places.dtype.kind not in "iu" or places.ndim > 1:
        raise InputError(
            f"{axis} is indexed by {index!r}; give a whole number, a slice, or a list of whole numbers"
        )
    outside = (
        places[(places < -size) | (places >= size)]
        if places.ndim
        else places[None][(places[None] < -size) | (places[None] >= size)]
    )
    if outside.size:
        raise InputError(f"{axis} is indexed by {outside[0]}; it has {size}")
    return np.atleast_1d(places).astype(np.intp) % max(size, 1), places.ndim == 0
