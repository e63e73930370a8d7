"""The T×T weights that are never stored: any of them exact on demand, and what one pass knows of all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import DTypeLike, NDArray

from riverhead import display
from riverhead.core import kernel
from riverhead.core.blas import one_blas_thread
from riverhead.core.border import Floats, count
from riverhead.core.indexing import place, split, taken, within
from riverhead.core.job import Index, Job
from riverhead.core.tiles import How, logs, pooled
from riverhead.errors import InputError

__all__ = ["AttentionMap"]

DENSE_BYTES = 256 << 20  # the most weights, and cells of a picture, that are made at once
ROW_NAMES = ("out", "lse", *kernel.NAMES, "top_weight", "top_key", "pair_weight")
KEY_NAMES = ("received", "received_max")


class AttentionMap(display.Displayable, NDArrayOperatorsMixin):
    """The weights (..., H, T_q, T_k) of one `attend`, array-like, without the matrix.

    Leading indices give a smaller map; an index for the last two axes gives the weights themselves,
    ``exp(score − lse)``, made then from the q and k that were given: leave those as they are. Each statistic
    is an attribute: ``out`` (..., H, T_q, d_v); ``lse``, ``entropy_nats``, ``mean_distance`` (in tokens),
    ``max_weight``, ``first_weight`` (on the first key a query sees), ``self_weight``, ``previous_weight`` and
    ``pair_weight``, each (..., H, T_q); ``top_weight`` and ``top_key`` (..., H, T_q, top), −1 where there are
    fewer keys; ``received`` and ``received_max`` (..., H, T_k), what each key received in all and at most.
    A query without a visible key has weights 0, lse −∞ and entropy 0.

    In arithmetic and comparisons it is the matrix, as long as that is at most 256 MB. Printed, or at the end
    of a notebook's cell, it is a heat map.

    >>> from riverhead.core import attend
    >>> A = attend([[2.0, 1.0]], k=[[2.0, 0.0], [1.0, 1.0]], v=[[1.0, 0.0], [0.0, 1.0]])
    >>> A.shape, A[0].round(3), A.top(0)[0], A > 0.5
    ((1, 2), array([0.67, 0.33]), array([0, 1], dtype=int32), array([[ True, False]]))
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

    # what the pass knows

    def __getattr__(self, name: str) -> NDArray[Any]:
        try:
            return self.__dict__["_statistics"][name]  # type: ignore[no-any-return]
        except KeyError:
            raise AttributeError(f"AttentionMap has no {name!r}; its statistics are in names") from None

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.names})

    @property
    def names(self) -> tuple[str, ...]:
        """The statistics it has, by name."""
        return (*(name for name in ROW_NAMES if name in self._statistics), *KEY_NAMES)

    @property
    def received(self) -> Floats:
        """What each key received in all, (..., H, T_k)."""
        return self._of_keys("received", "sum")

    @property
    def received_max(self) -> Floats:
        """The largest weight on each key, (..., H, T_k)."""
        return self._of_keys("received_max", "max")

    def _of_keys(self, name: str, how: How) -> Floats:
        """A statistic of keys; a map that was merged makes it when it is asked for."""
        if name not in self._statistics:
            self._statistics[name] = self._picture(1, self.shape[-1], how)[..., 0, :]
        return self._statistics[name]

    def top(self, i: int, n: int | None = None) -> tuple[NDArray[np.int32], Floats]:
        """Return the keys query ``i`` gives most to, with their weights, largest first: two (..., H, n).

        Of equal weights the lower key comes first; −1 stands where it sees fewer. Raises `InputError` for
        more than were kept.
        """
        key, weight = self.top_key, self.top_weight
        kept = key.shape[-1]
        wanted = min(kept, self.shape[-1]) if n is None else count("n", n, 0)
        if wanted > kept:
            raise InputError(f"n is {wanted}, {kept} were kept: attend(..., top={wanted}) keeps as many")
        row = place("T_q", i, self.shape[-2])
        return key[..., row, :wanted], weight[..., row, :wanted]

    def pooled(self, rows: int, cols: int, how: How = "max", *, every: int = 1) -> Floats:
        """Return the map as a picture of ``rows`` × ``cols`` cells, (..., H, rows, cols), at most T_q × T_k.

        Each cell holds the largest, the mean or the sum of the weights that fall into it. A picture takes
        about as long as the pass did; with ``every`` only one query in as many is read.

        >>> from riverhead.core import attend
        >>> attend(np.eye(4), np.eye(4), np.eye(4), causal=True).pooled(2, 2, "sum").round(3)
        array([[2.   , 0.   ],
               [0.978, 1.022]])
        """
        if how not in get_args(How):
            raise InputError(f"how is {how!r}; it is 'max', 'mean' or 'sum'")
        T_q, T_k = self.shape[-2:]
        if not T_q or not T_k:
            raise InputError(f"the map is {self.shape}; there is nothing to pool")
        n_q = -(-T_q // count("every", every))
        return self._picture(min(count("rows", rows), n_q), min(count("cols", cols), T_k), how, every)

    def _picture(self, rows: int, cols: int, how: How, every: int = 1) -> Floats:
        T_q, T_k = self.shape[-2:]
        picture = self._empty("picture", rows, cols)
        at_row, at_key = np.arange(rows) * -(-T_q // every) // rows, np.arange(cols) * T_k // max(cols, 1)
        for where in np.ndindex(self._heads.shape):
            lse = self._statistics["lse"][where]
            picture[where] = pooled(self._head(where), lse, at_row, at_key, how, every)
        return picture

    # the array it stands for

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

    def __iter__(self) -> Iterator[Any]:
        return (self[n] for n in range(len(self)))

    def __repr__(self) -> str:
        return (
            f"<AttentionMap {self.shape} {self.dtype}: {self.nbytes:,} bytes of statistics, "
            f"{self.dense_nbytes:,} if it were dense>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return AttentionMap, (self._job, self._heads, self._statistics)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError(
                "an AttentionMap holds no matrix, so np.asarray must make one: copy cannot be False"
            )
        return self._block(slice(None), slice(None)).astype(dtype or self.dtype, copy=False)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **how: Any) -> Any:
        arrays = (np.asarray(x) if isinstance(x, AttentionMap) else x for x in inputs)
        return getattr(ufunc, method)(*arrays, **how)

    def __getitem__(self, index: Any) -> Any:
        parts, dots = split(index, self.shape)
        if dots is None:
            lead = tuple(parts[:-2])
            statistics = {name: x[lead] for name, x in self._statistics.items()}
            return AttentionMap(self._job, np.asarray(self._heads[lead]), statistics)
        (*lead_cuts, rows, keys), rest = within(parts, dots)
        heads, lse = self._heads, self._statistics["lse"]
        for axis, cut in enumerate(lead_cuts):
            heads, lse = (x[(slice(None),) * axis + (cut,)] for x in (heads, lse))
        return AttentionMap(self._job, heads, {"lse": lse})._block(rows, keys)[rest][()]

    def _block(self, rows: Index, keys: Index) -> Floats:
        """The weights (..., n, m) of some queries on some keys."""
        block = self._empty("weights", *map(taken, self.shape[-2:], (rows, keys)))
        with np.errstate(all="ignore"), one_blas_thread():
            for where in np.ndindex(self._heads.shape):
                lse = self._statistics["lse"][where]
                np.exp(logs(self._head(where), lse, rows, keys), out=block[where])
        return block

    def _head(self, where: tuple[int, ...]) -> Job:
        return self._job.head(int(self._heads[where]))

    def _empty(self, what: str, rows: int, cols: int) -> Floats:
        shape = (*self._heads.shape, rows, cols)
        size = int(np.prod(shape, dtype=object)) * self.dtype.itemsize
        if size > DENSE_BYTES:
            raise InputError(
                f"the {what} {shape} would take {size / 1e9:.3g} GB; at most {DENSE_BYTES >> 20} MB are made "
                "at once: index a tile, or take A.pooled(rows, cols)"
            )
        return np.empty(shape, self.dtype)
