"""What a function of q, k, v takes: found by tiny calls whose axes all differ, and judged by shapes alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.adapting.attention import Handed, Way, hand_over
from riverhead.checking.rules.adapting.layout import GIVEN, MASKS, as_four, from_layout
from riverhead.checking.rules.adapting.returns import Reading, as_array, pick, read, said
from riverhead.checking.rules.adapting.wants import call_with
from riverhead.checking.rules.call import Call
from riverhead.checking.rules.draw import Draw, Sizes

__all__ = ["DRAW", "SIZES", "Probe", "Works", "layouts_of", "rank_of"]

SIZES = Sizes(B=2, H=6, G=3, T_q=5, T_k=7, d_k=4, d_v=8)  # all different
DRAW = Draw(SIZES, seed=8)
LEADING: Mapping[int, tuple[int, ...]] = {2: (), 3: (SIZES.B,), 4: (SIZES.B, SIZES.H)}
FITTING = ((True, True), (False, True), (True, False), (False, False))  # T_q ≠ T_k, d_v ≠ d_k: the most first
USUAL = {rank: layouts[0] for rank, layouts in GIVEN.items() if rank}  # axes in front of (T, d)
OTHER = {"True": "False", "1": "0"}  # of a mask that hides nothing, or everything


def rank_of(layout: str) -> int:
    """How many axes q of a call has that a layout is made for."""
    return {"T d": 2, "B T d": 3, "T B d": 3}.get(layout, 4)


@dataclass(frozen=True, slots=True)
class Works:
    """A layout that works: whether T_q ≠ T_k and d_v ≠ d_k fit, and where the results stand."""

    layout: str
    cross: bool
    wide: bool
    reading: Reading
    way: Way


@dataclass
class Probe:
    """Tries a function in small, and keeps why what did not work did not."""

    way: Way
    raised: dict[str, str] = field(default_factory=dict)

    def ask(self, what: str, call: Call, layout: str, way: Way | None = None) -> tuple[Any, Handed] | None:
        """Call the function; None where it raises."""
        way = way or self.way
        try:
            handed = hand_over(way, call, layout)
            return call_with(way, handed.values), handed
        except Exception as error:  # noqa: BLE001 - it is somebody's code
            self.raised[what] = f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
            return None

    def reading(self, what: str, call: Call, layout: str, way: Way | None = None) -> Reading | None:
        """Where the results of a call stand; None where it raises, or has no row for each query."""
        answer = self.ask(what, call, layout, way)
        if answer is None:
            return None
        result, handed = answer
        found = read(result, layout, handed.sizes)
        if found is None:
            self.raised[what] = f"it returned {said(result)}, in which nothing has a row for each query"
        return found

    def takes(self, what: str, works: Works, **more: Any) -> bool:
        """Whether a call with more in it gives an output like one without, if only where T_q = T_k."""
        calls = (call_of(works.layout, cross, works.wide, **more) for cross in {works.cross, False})
        return any(self.reading(what, call, works.layout) is not None for call in calls)

    def touched(self, works: Works, changed: Mapping[str, tuple[int, ...]]) -> NDArray[np.bool_] | None:
        """Which rows (B, H, T_q) of the output change with one row of each input; None if they do anyway."""
        call = call_of(works.layout, False, works.wide)
        arrays = {name: x.copy() for name, x in call.arrays.items()}
        for name, place in changed.items():
            as_four(arrays[name])[place] += 0.25
        outs = [self._out(works, each) for each in (call, call, Call(arrays))]
        if any(out is None for out in outs) or not np.array_equal(outs[0], outs[1], equal_nan=True):
            return None
        same = (outs[0] == outs[2]) | (np.isnan(outs[0]) & np.isnan(outs[2]))
        return np.asarray(~same.all(axis=-1))

    def _out(self, works: Works, call: Call) -> Any:
        answer = self.ask("twice", call, works.layout, works.way)
        if answer is None:
            return None
        result, handed = answer
        return from_layout(as_array(pick(result, works.reading.out)), works.reading.layout, handed.sizes["H"])


def call_of(layout: str, cross: bool, wide: bool, **more: Any) -> Call:
    """A tiny call for a layout; ``more`` are arrays by name, how many kv heads, what else a call has."""
    kv = more.pop("kv", None)
    beside = {name: more.pop(name) for name in list(more) if isinstance(more[name], np.ndarray)}
    return Call(_arrays(rank_of(layout), cross, wide, kv) | beside, more.pop("options", {}), **more)


@cache
def _arrays(rank: int, cross: bool, wide: bool, kv: int | None) -> dict[str, NDArray[Any]]:
    return DRAW.qkv(
        *LEADING[rank],
        kv=(SIZES.B, kv) if kv else None,
        T_q=None if cross else SIZES.T_k,
        d_v=None if wide else SIZES.d_k,
    )


def layouts_of(probe: Probe) -> list[Works]:
    """Return the layouts that work, the fewest axes first; of two with as many, the one that is meant.

    Whoever takes (T, d) means (B, T, d) by three axes, and then (B, H, T, d) by four, even where other axes
    turn out to be attended over: that is a mistake, no layout. Else a layout in which what a key holds
    reaches no other query is left out: it only fits because axes are mistaken for others.
    """
    chosen: dict[int, Works] = {}
    reach: dict[str, tuple[int, int]] = {}
    meant: set[str] = set()
    for rank, layouts in GIVEN.items():
        if rank == 0 and 4 in chosen:
            continue  # heads side by side need not be tried
        some = [works for layout in layouts if (works := _works(probe, layout)) is not None]
        reach |= {works.layout: _reach(probe, works) for works in some}
        below = chosen[rank - 1].layout if rank - 1 in chosen else ""
        follows = below == USUAL.get(rank - 1) and (reach[below][0] > 0 or below in meant)
        if follows and some and some[0].layout == USUAL[rank]:
            some = some[:1]
            meant.add(USUAL[rank])
        if some:
            chosen[rank or 4] = max(some, key=lambda w: (w.cross, reach[w.layout][1]))
    found = list(chosen.values())
    return [works for works in found if works.layout in meant or reach[works.layout][0]] or found


def _works(probe: Probe, layout: str) -> Works | None:
    if "(" in layout and "n_heads" not in probe.way.roles:
        return None
    for way in _ways(probe.way, layout):
        for cross, wide in FITTING:
            reading = probe.reading(f"({layout})", call_of(layout, cross, wide), layout, way)
            if reading is not None:
                return _seeing(probe, Works(layout, cross, wide, reading, way))
    return None


def _ways(way: Way, layout: str) -> Iterator[Way]:
    """As it is; and where a mask must be given, with one that hides nothing, in every form and shape."""
    yield way
    if "mask" in way.roles and way.roles.default("mask") is way.roles.by_role["mask"].empty:
        for form in ("True", "1", "0.0"):
            for shape in MASKS[layout]:
                yield replace(way, forms={"mask": form}, masks={("mask", layout): (shape,)})


def _seeing(probe: Probe, works: Works) -> Works:
    """Where a mask must be given: the one under which the queries matter, for it hides nothing."""
    other = OTHER.get(works.way.forms.get("mask", ""))
    if other is None:
        return works
    turned = replace(works, way=replace(works.way, forms={"mask": other}))
    row = {"q": (0, 0, 0)}
    one, two = (probe.touched(each, row) for each in (works, turned))
    return turned if one is not None and two is not None and two.any() and not one.any() else works


def _reach(probe: Probe, works: Works) -> tuple[int, int]:
    """How many other queries of its head a value reaches; the same, less those of other heads and samples."""
    for name in ("v", "k"):  # what mixes keys never looks at values
        touched = probe.touched(works, {name: (0, 0, 0)})
        if touched is None:
            return 1, 0  # it cannot be told
        if touched.any():
            within = int(touched[0, 0, 1:].sum())
            touched[0, 0] = False
            return within, within - int(touched.sum())
    return 0, 0
