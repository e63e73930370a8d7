"""What a function of q, k, v takes: found by tiny calls whose axes all differ, and judged by shapes alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.adapting.arrays import Kind, order
from riverhead.checking.rules.adapting.attention import AttentionAdapter, Way, call_with, hand_over
from riverhead.checking.rules.adapting.layout import GIVEN, KEY_MASKS, MASKS
from riverhead.checking.rules.adapting.returns import Reading, read, said
from riverhead.checking.rules.adapting.roles import Roles
from riverhead.checking.rules.adapting.signature import Asked
from riverhead.checking.rules.call import Call
from riverhead.checking.rules.draw import Draw, Sizes
from riverhead.errors import InputError

__all__ = ["attention_adapter"]

SIZES = Sizes(B=2, H=6, G=3, T_q=5, T_k=7, d_k=4, d_v=8)
DRAW = Draw(SIZES, seed=8)
RANKS = {"T d": 2, "B T d": 3, "T B d": 3}  # the others have 4
LEADING: Mapping[int, tuple[int, ...]] = {2: (), 3: (SIZES.B,), 4: (SIZES.B, SIZES.H)}


@dataclass(frozen=True, slots=True)
class Works:
    """A layout that works: with T_q ≠ T_k, with d_v ≠ d_k, and where the results stand."""

    layout: str
    cross: bool
    wide: bool
    reading: Reading


def rank_of(layout: str) -> int:
    return RANKS.get(layout, 4)


@dataclass
class Probe:
    """Tries a function; keeps what it raised."""

    way: Way
    raised: dict[str, str] = field(default_factory=dict)

    def call(self, works: Works, kv: int | None = None, **more: Any) -> Call:
        """A call of tiny arrays in a layout, with more arrays and options."""
        leading = LEADING[rank_of(works.layout)]
        sizes = {
            "T_q": None if works.cross else SIZES.T_k,
            "d_v": None if works.wide else SIZES.d_k,
        }
        arrays = DRAW.qkv(*leading, kv=(SIZES.B, kv) if kv else None, **sizes)
        arrays |= {name: more.pop(name) for name in ("mask", "key_mask", "bias", "sinks") if name in more}
        return Call(arrays, more.pop("options", {}), **more)

    def reading(self, what: str, call: Call, layout: str, way: Way | None = None) -> Reading | None:
        """Where the results of a call stand; None where it raises, or gives nothing that has a row per query."""
        way = way or self.way
        try:
            handed = hand_over(way, call, layout)
            with np.errstate(all="ignore"):
                result = call_with(way, handed.values)
            found = read(result, layout, handed.sizes)
        except Exception as error:  # noqa: BLE001 - it is somebody's code
            self.raised[what] = f"{type(error).__name__}: {error}".splitlines()[0][:300]
            return None
        if found is None:
            self.raised[what] = f"it returned {said(result)}, in which nothing has a row for each query"
        return found


def attention_adapter(
    thing: Any, name: str, roles: Roles, asked: Asked, said_before: tuple[str, ...] = ()
) -> AttentionAdapter:
    """Return how a function of q, k, v is called.

    Raises `InputError` with what each kind of array gave where none can be handed over.
    """
    gave = {}
    for kind in order(thing, asked.arrays):
        for dtype in ("float64", "float32") if kind.name == "torch" else ("float64",):
            for by_name in (False, True) if roles.lead else (False,):
                probe = Probe(Way(thing, replace(roles, by_name=by_name), kind, dtype))
                if works := _layouts(probe):
                    return _adapter(name, probe, works, said_before)
                gave.setdefault(
                    kind, min(probe.raised.values(), key=lambda why: "no row" not in why, default="")
                )
    lines = "".join(f"\n  {kind.words}: {why}" for kind, why in gave.items())
    raise InputError(f"{name} could not be called with q, k, v:{lines}")


def _layouts(probe: Probe) -> list[Works]:
    """Every layout that works; of two of the same rank, the one that is meant."""
    found = []
    for layout in (each for layouts in GIVEN.values() for each in layouts):
        if "(" in layout and ("n_heads" not in probe.way.roles or any(rank_of(w.layout) == 4 for w in found)):
            continue
        for cross, wide in ((True, True), (False, True), (True, False), (False, False)):
            asked = Works(layout, cross, wide, None)  # type: ignore[arg-type]
            reading = probe.reading(f"({layout})", probe.call(asked), layout)
            if reading is not None:
                found.append(replace(asked, reading=reading))
                break
    return [
        _meant(probe, [w for w in found if rank_of(w.layout) == rank])
        for rank in (2, 3, 4)
        if any(rank_of(w.layout) == rank for w in found)
    ]


def _meant(probe: Probe, works: list[Works]) -> Works:
    """Of layouts that a function takes, the one in which different lengths fit; else the usual one."""
    return max(works, key=lambda w: (w.cross, w.wide))


def _adapter(name: str, probe: Probe, works: list[Works], notes: tuple[str, ...]) -> AttentionAdapter:
    probe.way = replace(probe.way, readings={(w.layout, False): w.reading for w in works})
    masks = {role: _masks(probe, role, works) for role in ("mask", "key_mask", "bias")}
    masked = [w for w in works if masks["mask"].get(w.layout)]
    works = masked or works
    shapes = {(role, layout): found for role, by in masks.items() for layout, found in by.items() if found}
    layouts = _by_rank(works)
    probe.way = replace(probe.way, masks=shapes, layouts=layouts)
    offers = {*probe.way.kind.hows}
    offers |= {"batch"} if 3 in layouts else set()
    offers |= {"heads"} if 4 in layouts else set()
    offers |= {"cross"} if all(w.cross for w in works) else set()
    offers |= {"d_v"} if all(w.wide for w in works) else set()
    offers |= {role for role in masks if all((role, w.layout) in shapes for w in works)}
    offers |= _beside(probe, works[-1])
    said = (
        *notes,
        f"{probe.way.kind.words} of {probe.way.dtype}",
        probe.way.roles.words,
        *(f"layout ({', '.join(layout.split())})" for layout in dict.fromkeys(layouts.values())),
    )
    return AttentionAdapter(name, probe.way, frozenset(offers), said)


def _by_rank(works: list[Works]) -> dict[int, str]:
    """The layout for calls of each rank: its own, or a wider one with axes of 1."""
    found: dict[int, str] = {}
    for rank in (2, 3, 4):
        wide = [w.layout for w in works if rank_of(w.layout) >= rank]
        if wide:
            found[rank] = wide[0]
    return found


def _masks(probe: Probe, role: str, works: list[Works]) -> dict[str, tuple[str, ...]]:
    """The shapes in which a mask is taken, by layout."""
    if role not in probe.way.roles:
        return {}
    return {w.layout: _shapes(probe, role, w) for w in works}


def _shapes(probe: Probe, role: str, w: Works) -> tuple[str, ...]:
    table = KEY_MASKS if role == "key_mask" else MASKS
    for form in ("boolean", "added", "number"):
        taken = []
        for shape in table[w.layout]:
            call = probe.call(w, **{role: _drawn(role, shape, w), "options": {"mask_form": form}})
            way = replace(probe.way, masks={(role, w.layout): (shape,)})
            if probe.reading(f"{role} ({shape})", call, w.layout, way) is not None:
                taken.append(shape)
        if taken:
            return tuple(taken)
    return ()


def _drawn(role: str, shape: str, w: Works) -> NDArray[Any]:
    """A mask or a bias of a shape, in the house's axes: each query sees some keys, no two of them the same ones."""
    leading = [SIZES.B if "B" in shape else 1, SIZES.H if "H" in shape else 1][: rank_of(w.layout) - 2]
    numbers = DRAW.numbers(
        role, *leading, 1 if role == "key_mask" else SIZES.T_q if w.cross else SIZES.T_k, SIZES.T_k
    )
    if role == "bias":
        return numbers
    mask = numbers > 0
    mask[..., 0] = True
    return mask


def _beside(probe: Probe, w: Works) -> set[str]:
    """What else it takes, each tried by itself."""
    offers: set[str] = set()
    layout = w.layout

    def takes(what: str, **more: Any) -> bool:
        return probe.reading(what, probe.call(w, **more), layout) is not None

    for role, value in (("causal", True), ("scale", 0.3), ("window", 2), ("softcap", 1.5)):
        if role in probe.way.roles and takes(role, options={role: value}):
            offers.add(role)
    if "dropout" in probe.way.roles and takes("dropout", options={"dropout": 0.5}):
        offers.add("dropout")
    if (
        "sinks" in probe.way.roles
        and rank_of(layout) == 4
        and takes("sinks", sinks=DRAW.numbers("sinks", SIZES.H))
    ):
        offers.add("sinks")
    if rank_of(layout) == 4 and takes("grouped", kv=SIZES.G):
        offers.add("grouped")
    offers |= {dtype for dtype in probe.way.kind.dtypes if dtype != "float64" and takes(dtype, dtype=dtype)}
    return offers | _weights(probe)


def _weights(probe: Probe) -> set[str]:
    """Where the weights stand when they are asked for; offered if they come back in every layout."""
    found: dict[tuple[str, bool], Reading] = {}
    for layout in dict.fromkeys(probe.way.layouts.values()):
        usual = probe.way.readings[layout, False]
        works = Works(layout, False, True, usual)
        asked = probe.reading("weights", probe.call(works, want=("weights",)), layout)
        if asked is not None and asked.weights is not None:
            found[layout, True] = asked
    probe.way = replace(probe.way, readings={**probe.way.readings, **found})
    return {"weights"} if len(found) == len(set(probe.way.layouts.values())) else set()
