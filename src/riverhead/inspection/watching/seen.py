"""What was seen of a model: a record of each attention call, and the heads' means over all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.core import AttentionMap
from riverhead.core.border import Floats
from riverhead.display import Displayable
from riverhead.errors import InputError
from riverhead.numbers import fixed
from riverhead.scene import Cell, Fold, Part, Scene, Table, Text
from riverhead.transformer.names import head_name

__all__ = ["Call", "HeadMeans", "Seen"]

MEANS = ("entropy_nats", "mean_distance", "max_weight", "first_weight", "previous_weight", "self_weight")
COLUMNS = ("entropy", "distance", "largest", "on first", "on previous", "on itself")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Call:
    """One attention call: which module made it, and every statistic of the weights of the heads watched.

    The statistics are attributes, by the names `AttentionMap` has, of float32 (float64 where the model is):
    ``lse``, ``entropy_nats``, ``mean_distance`` (tokens), ``max_weight``, ``first_weight`` (on the first key
    a query sees), ``self_weight`` and ``previous_weight``, each (..., n_heads, T_q); ``received`` and
    ``received_max`` (..., n_heads, T_k); with ``top``, ``top_weight`` and ``top_key``
    (..., n_heads, T_q, top).
    A query that sees no key, and one that is padding, has zeros and lse −∞. Where T_q ≠ T_k the last query
    stands at the last key that any query sees.
    """

    layer: int
    module: str  # its name in the model
    kind: str  # its class
    function: str  # what computed its output
    heads: tuple[int, ...]
    shape: tuple[int, ...]  # (..., n_heads, T_q, T_k)
    spans: tuple[tuple[int, int], ...] | None  # of each sequence, its tokens that are not padding
    statistics: Mapping[str, NDArray[Any]]  # rows of padding are 0, lse −∞, top_key −1: `Seen.means` has none
    sinks: Floats | None  # (n_heads,) learned logits that take weight and are no key
    notes: tuple[str, ...]
    kept: AttentionMap | None
    n_bytes: int  # what the record holds in memory

    def __getattr__(self, name: str) -> NDArray[Any]:
        if name in Call.__slots__:  # a record half made, as copy and pickle have it
            raise AttributeError(name)
        try:
            return self.statistics[name]
        except KeyError:
            more = " top=8 keeps it" if name.startswith("top_") else f" it has {', '.join(self.statistics)}"
            raise AttributeError(f"the record of {self.module} has no {name!r};{more}") from None

    def __repr__(self) -> str:
        shape, has = " × ".join(map(str, self.shape)), ", ".join(self.statistics)
        return (
            f"<Call of {self.module or 'the model'} ({self.kind}): layer {self.layer}, {shape}; {has}"
            f"{'; map' if self.kept is not None else ''}; {self.n_bytes:,} bytes>"
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The heads by name, as L3.H5, in the order of the statistics' axis."""
        return tuple(head_name(self.layer, h) for h in self.heads)

    @property
    def map(self) -> AttentionMap:
        """The weights (..., n_heads, T_q, T_k), any of them on demand; `InputError` where it was not kept."""
        if self.kept is None:
            raise InputError('the maps were not kept; riverhead.watch(model, keep="map") keeps them')
        return self.kept

    @property
    def row_sum(self) -> Floats:
        """What each query's weights sum to, (..., n_heads, T_q): 1; less with sinks; 0 if it sees no key."""
        lse: Floats = self.statistics["lse"]
        sees = np.isfinite(lse) if self.sinks is None else self.statistics["max_weight"] > 0
        if self.sinks is None:
            return sees.astype(lse.dtype)
        with np.errstate(over="ignore"):
            return np.where(sees, -np.expm1(np.minimum(self.sinks[:, None] - lse, 0)), 0).astype(lse.dtype)

    def _sums(self, name: str) -> tuple[Floats, NDArray[np.int64]]:
        """Each head's sum of a statistic over the queries that see a key, and how many these are."""
        heads_last = tuple(n for n in range(len(self.shape) - 1) if n != len(self.shape) - 3)
        sees = self.row_sum > 0
        values = np.where(sees, self.statistics[name], 0)
        return values.sum(axis=heads_last, dtype=np.float64), sees.sum(axis=heads_last)


@dataclass(frozen=True, slots=True)
class HeadMeans:
    """One head's statistics, each the mean, padding apart, over every query of every call that saw a key."""

    head: str
    module: str
    n_calls: int
    n_queries: int
    entropy_nats: float
    mean_distance: float
    max_weight: float
    first_weight: float
    previous_weight: float
    self_weight: float


class Seen(Displayable):
    """The records of `riverhead.watch`, in the order in which the attention calls were made.

    It counts, indexes and iterates as a sequence of `Call`; printed, or at the end of a notebook's cell, it
    is a table of the heads' means.
    """

    def __init__(self, model: str) -> None:
        self.model = model
        self._calls: list[Call] = []
        self.unseen: dict[str, str] = {}  # modules named attention in which no call was seen, and their class

    def _add(self, call: Call) -> None:
        self._calls.append(call)

    @property
    def calls(self) -> tuple[Call, ...]:
        """Every record; `InputError` while there is none."""
        if not self._calls:
            raise InputError(
                f"nothing has been seen yet: call the {self.model} inside the block, and look after"
            )
        return tuple(self._calls)

    def __len__(self) -> int:
        return len(self._calls)

    def __getitem__(self, n: int) -> Call:
        return self.calls[n]

    def __iter__(self) -> Iterator[Call]:
        return iter(self.calls)

    @property
    def layers(self) -> tuple[int, ...]:
        """The numbers of the layers that were seen."""
        return tuple(sorted({call.layer for call in self.calls}))

    @property
    def n_bytes(self) -> int:
        """What the records hold in memory."""
        return sum(call.n_bytes for call in self._calls)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the records say beside their numbers, each once."""
        missing = ", ".join(f"{name} ({kind})" for name, kind in self.unseen.items())
        said = [note for call in self.calls for note in call.notes]
        if missing:
            said.append(f"not seen, as they compute attention by themselves: {missing}")
        return tuple(dict.fromkeys(said))

    def means(self) -> tuple[HeadMeans, ...]:
        """Return each head's means, by layer and head; a head no query of which sees a key has NaN."""
        of: dict[tuple[int, int], list[tuple[Call, int]]] = {}
        for call in self.calls:
            for n, h in enumerate(call.heads):
                of.setdefault((call.layer, h), []).append((call, n))
        sums = {id(call): [call._sums(name) for name in MEANS] for call in self.calls}
        return tuple(
            _mean(head_name(*head), [(call, n, sums[id(call)]) for call, n in of[head]])
            for head in sorted(of)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the means as plain data, with their ``schema``."""
        heads = [asdict(means) for means in self.means()]
        return {"schema": "riverhead/watch/1", "model": self.model, "heads": heads, "notes": list(self.notes)}

    def scene(self) -> Scene:
        """Lay out the table of heads, and the notes."""
        means = self.means()
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (m.head, *(fixed(getattr(m, name)) for name in MEANS)) for m in means
        )
        caption = (
            f"{len(self)} attention calls, {self.n_bytes:,} bytes; means over every query that sees a key, "
            "padding apart"
        )
        told = all(str(call.layer) in call.module.split(".") for call in self.calls)
        modules = {f"L{call.layer}": f"{call.module} ({call.kind}, {call.function})" for call in self.calls}
        parts: list[Part] = [Table(("", *COLUMNS), rows, caption)]
        parts += [Text((note,), role="note") for note in self.notes]
        which = Table(("", "module"), tuple(modules.items()))
        parts.append(Fold("Which module is which layer", (which,), open=not told))
        return Scene(f"The heads of {self.model}", tuple(parts))

    def __repr__(self) -> str:
        if not self._calls:
            return f"<Seen of {self.model}: nothing yet>"
        return f"<Seen of {self.model}: {len(self)} attention calls, {self.n_bytes:,} bytes>"


def _mean(head: str, calls: list[tuple[Call, int, list[tuple[Floats, NDArray[np.int64]]]]]) -> HeadMeans:
    n_queries = sum(int(sums[0][1][n]) for _, n, sums in calls)
    totals = (sum(float(sums[m][0][n]) for _, n, sums in calls) for m in range(len(MEANS)))
    means = {
        name: x / n_queries if n_queries else float("nan") for name, x in zip(MEANS, totals, strict=True)
    }
    return HeadMeans(head, calls[0][0].module, len(calls), n_queries, **means)
