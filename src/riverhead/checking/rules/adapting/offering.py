"""What a function of q, k, v offers: each thing is tried by itself, and offered only where it worked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.adapting.arrays import order
from riverhead.checking.rules.adapting.attention import AttentionAdapter, Way
from riverhead.checking.rules.adapting.layout import KEY_MASKS, MASKS
from riverhead.checking.rules.adapting.probing import DRAW, SIZES, Probe, Works, call_of, layouts_of, rank_of
from riverhead.checking.rules.adapting.returns import Reading
from riverhead.checking.rules.adapting.roles import Roles
from riverhead.checking.rules.adapting.signature import Asked
from riverhead.errors import InputError

__all__ = ["attention_adapter"]

MASK_ROLES = ("mask", "key_mask", "bias")
NUMBERS: Mapping[str, Any] = {"causal": True, "scale": 0.3, "softcap": 1.5}
TRIED = (*NUMBERS, "window", "sinks", "weights")


def attention_adapter(thing: Any, name: str, roles: Roles, asked: Asked) -> AttentionAdapter:
    """Return how a function of q, k, v is called.

    Raises `InputError` with what each kind of array gave, where none can be handed over.
    """
    gave: dict[str, str] = {}
    for way in _ways(thing, roles, asked):
        probe = Probe(way)
        if works := layouts_of(probe):
            return _adapter(name, probe, works)
        gave.setdefault(way.kind.words, _nearest(probe.raised))
    if len(set(gave.values())) == 1:
        as_any, why = " or ".join(gave), next(iter(gave.values()))
        raise InputError(f"{name} could not be called with q, k, v as {as_any}: {why}")
    lines = "".join(f"\n  {words}: {why}" for words, why in gave.items())
    raise InputError(f"{name} could not be called with q, k, v:{lines}")


def _ways(thing: Any, roles: Roles, asked: Asked) -> list[Way]:
    """The ways to try, the likeliest first."""
    return [
        Way(thing, replace(roles, by_name=by_name), kind, dtype)
        for kind in order(thing, asked.arrays)
        for dtype in (("float64", "float32") if kind.name == "torch" else ("float64",))
        for by_name in ((False, True) if roles.lead else (False,))
    ]


def _nearest(raised: Mapping[str, str]) -> str:
    """Of all reasons, the one of the call that came nearest: it returned something; else the first."""
    return min(raised.values(), key=lambda why: not why.startswith("it returned"), default="")


def _adapter(name: str, probe: Probe, works: list[Works]) -> AttentionAdapter:
    probe.way = _known(probe.way, works)
    probe.way = _key_mask_called_mask(probe, works)
    shapes = {(role, w.layout): _shapes(probe, role, w) for role in MASK_ROLES for w in works}
    for role in ("mask", "key_mask"):
        works = [w for w in works if shapes[role, w.layout]] or works
    layouts = _by_rank(works)
    probe.way = replace(
        probe.way,
        masks=probe.way.masks | {key: found for key, found in shapes.items() if found},
        layouts=layouts,
    )
    richest = works[-1]
    offers = {"inputs", *probe.way.kind.hows, *_fitting(works, layouts)}
    offers |= {role for role in MASK_ROLES if all(shapes[role, w.layout] for w in works)}
    offers |= _options(probe, richest) | _more(probe, richest) | _weights(probe, works)
    return AttentionAdapter(name, probe.way, frozenset(offers), tuple(_notes(probe, offers)))


def _known(way: Way, works: list[Works]) -> Way:
    """What is known of all layouts together."""
    readings = {(w.layout, False): w.reading for w in works}
    masks = {key: shapes for w in works for key, shapes in w.way.masks.items()}
    return replace(way, readings=readings, masks=masks, forms=works[-1].way.forms)


def _notes(probe: Probe, offers: Set[str]) -> Iterator[str]:
    """How the function is called, and why what it has a parameter for is not asked."""
    way = probe.way
    laid = (f"({', '.join(layout.split())})" for layout in dict.fromkeys(way.layouts.values()))
    yield f"{way.kind.words} of {way.dtype}"
    yield way.roles.words
    yield f"layout {', '.join(laid)}"
    if way.roles.fixed:
        fixed = (f"{name}={value!r:.40}" for name, value in way.roles.fixed.items())
        yield f"every call with {', '.join(fixed)}"
    if forced := way.forms.get("mask"):
        yield f"a mask must be given: where none is asked for, one that is {forced} everywhere"
    for role in (*MASK_ROLES, *TRIED):
        if role in way.roles and role not in offers:
            whys = [why for what, why in probe.raised.items() if what.split(" ")[0] == role]
            if whys:
                yield f"{way.roles.by_role[role].name} is not asked for: {whys[0]}"


def _by_rank(works: list[Works]) -> dict[int, str]:
    """The layout for calls of each rank: its own, or a wider one with axes of 1."""
    wider = {rank: [w.layout for w in works if rank_of(w.layout) >= rank] for rank in (2, 3, 4)}
    return {rank: found[0] for rank, found in wider.items() if found}


def _fitting(works: list[Works], layouts: Mapping[int, str]) -> set[str]:
    fits = {
        "batch": 3 in layouts,
        "heads": 4 in layouts,
        "cross": all(w.cross for w in works),
        "d_v": all(w.wide for w in works),
    }
    return {word for word, offered in fits.items() if offered}


def _key_mask_called_mask(probe: Probe, works: list[Works]) -> Way:
    """A parameter called mask that takes (B, T_k) where there is a batch, not (T_q, T_k), is one of keys."""
    way, roles, richest = probe.way, probe.way.roles, works[-1]
    if "mask" not in roles or "key_mask" in roles or _shapes(probe, "mask", richest):
        return way
    renamed = {"key_mask" if role == "mask" else role: p for role, p in roles.by_role.items()}
    other = Probe(replace(way, roles=replace(roles, by_role=renamed)))
    return other.way if _shapes(other, "key_mask", richest) else way


def _shapes(probe: Probe, role: str, w: Works) -> tuple[str, ...]:
    """The shapes in which a mask or a bias is taken: with T_q ≠ T_k, or else with T_q = T_k alone."""
    if role not in probe.way.roles:
        return ()
    return _shapes_of(probe, role, w) or (_shapes_of(probe, role, replace(w, cross=False)) if w.cross else ())


def _shapes_of(probe: Probe, role: str, w: Works) -> tuple[str, ...]:
    for form in ("boolean", "added", "number")[: 1 if role == "bias" else 3]:
        taken = []
        for shape in (KEY_MASKS if role == "key_mask" else MASKS)[w.layout]:
            way = replace(probe.way, masks={(role, w.layout): (shape,)})
            more = {role: _drawn(role, shape, w), "options": {"mask_form": form}}
            call = call_of(w.layout, w.cross, w.wide, **more)
            if probe.reading(f"{role} ({shape})", call, w.layout, way) is not None:
                taken.append(shape)
        if taken:
            return tuple(taken)
    return ()


def _drawn(role: str, shape: str, w: Works) -> NDArray[Any]:
    """A mask or a bias that varies along the axes of a shape, as a call has it: all see the first key."""
    rows = SIZES.T_q if w.cross else SIZES.T_k
    if role == "key_mask":
        numbers = DRAW.numbers(role, SIZES.B if "B" in shape else 1, SIZES.T_k)
    else:
        leading = [SIZES.B if "B" in shape else 1, SIZES.H if "H" in shape else 1][: rank_of(w.layout) - 2]
        numbers = DRAW.numbers(role, *leading, rows, SIZES.T_k)
    if role == "bias":
        return numbers
    mask = numbers > 0
    mask[..., 0] = True
    return np.asarray(mask)


def _options(probe: Probe, w: Works) -> set[str]:
    """What is asked for by a number or a flag."""
    roles = probe.way.roles
    offers = {
        role
        for role, value in NUMBERS.items()
        if role in roles and probe.takes(role, w, options={role: value})
    }
    modules = ("", "module") if probe.way.kind.name == "torch" else ("",)
    for role, forms, value in (("window", ("", "pair"), 2), ("dropout", modules, 0.5)):
        for form in forms if role in roles else ():
            way = probe.way
            probe.way = replace(way, forms={**way.forms, role: form})
            if probe.takes(role, w, options={role: value}):
                offers.add(role)
                break
            probe.way = way
    evaluates = probe.way.forms.get("dropout") == "module" or "training" in roles or "deterministic" in roles
    return offers if evaluates else offers - {"dropout"}


def _more(probe: Probe, w: Works) -> set[str]:
    """Other arrays, other dtypes; what follows from the arrays' kind."""
    kind, heads = probe.way.kind, rank_of(w.layout) == 4
    tried: dict[str, dict[str, Any]] = {
        dtype: {"dtype": dtype} for dtype in kind.dtypes if dtype != "float64"
    }
    if heads:
        tried["grouped"] = {"kv": SIZES.G}
        if "sinks" in probe.way.roles:
            tried["sinks"] = {"sinks": DRAW.numbers("sinks", SIZES.H)}
    offers = {what for what, more in tried.items() if probe.takes(what, w, **more)}
    if "causal" not in probe.way.roles and _always_causal(probe, w):
        offers.add("always_causal")
    return offers | _measured(probe, w)


def _always_causal(probe: Probe, w: Works) -> bool:
    """Whether either the last key never reaches the first query, or the first key never the last query."""
    last = SIZES.T_k - 1
    rows = [probe.touched(replace(w, way=probe.way), {"k": (0, 0, j), "v": (0, 0, j)}) for j in (last, 0)]
    if rows[0] is None or rows[1] is None:
        return False
    return bool(rows[0][0, 0, 0]) != bool(rows[1][0, 0, last])


def _measured(probe: Probe, w: Works) -> set[str]:
    """Whether a gradient runs through it, and whether its memory can be measured."""
    adapter = AttentionAdapter("", replace(probe.way, layouts={rank_of(w.layout): w.layout}), frozenset(), ())
    call = call_of(w.layout, w.cross, w.wide)
    offers = set()
    for want in ("gradient", "peak_bytes"):
        arrays = {
            **call.arrays,
            "probe": DRAW.numbers("probe", *call.arrays["q"].shape[:-1], call.arrays["v"].shape[-1]),
        }
        try:
            adapter.run(replace(call, arrays=arrays, want=(want,)))
        except Exception as error:  # noqa: BLE001 - it is somebody's code
            probe.raised[want] = f"{type(error).__name__}: {error}"[:300]
        else:
            offers.add(want)
    return offers


def _weights(probe: Probe, works: list[Works]) -> set[str]:
    """Offered where they come back in every layout; what is known of where they stand goes into the way."""
    found: dict[tuple[str, bool], Reading] = {}
    for w in works:
        call = call_of(w.layout, w.cross, w.wide, want=("weights",))
        reading = probe.reading("weights", call, w.layout)
        if reading is not None and reading.weights is not None:
            found[w.layout, True] = reading
    probe.way = replace(probe.way, readings={**probe.way.readings, **found})
    return {"weights"} if len(found) == len(works) else set()
