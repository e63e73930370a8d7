"""What a RoPE function does, read from its results: a matrix per position, the speeds, the laws that hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.call import Call, Outcome
from riverhead.checking.rules.judge import differ, explain
from riverhead.checking.rules.pipeline import follow
from riverhead.checking.rules.rule import Choice
from riverhead.checking.rules.studies.rotation import BASE, INTERLEAVED, ROPE, WAYS, geometric

__all__ = ["CARRIED", "Turning", "cell_of", "matrices", "stacked", "turning_of"]

CARRIED = 2.0**-20  # relative, a token: angles kept in float32, a speed and its product rounded some times
FLOAT32 = Choice("float32-angles", "", "", loose=16 * CARRIED)  # the calls are shorter than 16 tokens
POWERS = 1e-3  # relative: speeds this near to the powers of a base are those


@dataclass(frozen=True, slots=True)
class Turning:
    """What explains the results: the ways gone, and what is free to choose. Empty ``ways``: as published."""

    ways: tuple[Choice, ...]
    speeds: tuple[float, ...]  # (width/2,), radians a token
    width: int  # components that are turned
    gain: float  # YaRN's: both tables times one number
    base: float | None = None  # None: the speeds are no powers of one

    def call(self, call: Call) -> Call:
        """Put what was found beside what was given, for `follow`."""
        free = {"width": self.width, "gain": self.gain}
        return Call({**call.arrays, "speeds": np.array(self.speeds)}, {**call.options, **free}, call.dtype)


def stacked(call: Call, outcome: Outcome) -> tuple[Call, Outcome]:
    """Put a function's q and k into one array (2, …)."""
    if "y" not in call.arrays or outcome.trouble:
        return call, outcome
    both = {"x": np.stack([call.arrays["x"], call.arrays["y"]])}
    out = np.stack([outcome.arrays["out"], outcome.arrays["y"]])
    return Call(both, call.options, call.dtype), replace(outcome, arrays={"out": out})


def cell_of(found: Turning, case: tuple[Call, Outcome], ways: Sequence[Choice]) -> dict[str, Any]:
    """Return the first cell that differs from what these ways give, with how the right one is made."""
    call, outcome = stacked(*case)
    p = follow(found.call(call), ways, ROPE)
    cell = differ(outcome.out, p.out, 16 * CARRIED * float(np.abs(p.out).max()))
    if cell is None:
        return {}
    *leading, t, c = cell
    shown = {"cell": cell[1:] if "y" in case[0].arrays else cell,
             "found": float(outcome.out[cell]), "right": float(p.out[cell])}  # fmt: skip
    if c >= found.width:
        return shown
    half = found.width // 2
    other, pair = ((c + half) % found.width, c % half) if p.turned_as == "half" else (c ^ 1, c // 2)
    first = c < half if p.turned_as == "half" else c % 2 == 0
    sign = "+" if p.signs[0 if first else 1] > 0 else "−"
    x = p.part[*leading, t]
    angle = f"{p.angles[t, pair]:.4g}"
    sum_ = f"({x[c]:.4g})·cos {angle} {sign} ({x[other]:.4g})·sin {angle} = {p.out[cell]:.4g}"
    return {**shown, "arithmetic": sum_.replace("-", "−")}


def matrices(probes: Sequence[Outcome]) -> NDArray[np.float64]:
    """Return R (..., T, d, d) of out = R x from what comes of the unit vectors, one a call."""
    return np.stack([np.asarray(probe.out, float) for probe in probes], axis=-1)


def turning_of(observed: Sequence[tuple[Call, Outcome]], R: NDArray[Any], pair: bool) -> Turning | None:
    """Return the fewest ways, at the likeliest speeds, that give all that was observed; R is (T, d, d)."""
    for free in _free(R):
        calls = [(free.call(call), outcome) for call, outcome in observed]
        for pairs in ([], [INTERLEAVED]):  # beside which there may be two ways more
            others = [way for way in WAYS[pair] if way not in pairs]
            ways = explain(calls, [FLOAT32, *pairs], others, ROPE)
            if ways is not None:
                return replace(free, ways=(*pairs, *ways))
    return None


def _free(R: NDArray[Any]) -> Iterator[Turning]:
    """The speeds that a function may turn at: as published, of another base, of none; each once."""
    seen: list[NDArray[Any]] = []
    for width in dict.fromkeys((R.shape[-1], _width(R))):
        for free in _of_width(R, width):
            speeds = np.array(free.speeds)
            if not any(len(x) == len(speeds) and np.allclose(x, speeds, rtol=CARRIED, atol=0) for x in seen):
                seen.append(speeds)
                yield free


def _of_width(R: NDArray[Any], width: int) -> Iterator[Turning]:
    gain = float(np.linalg.norm(R[0, 0]))
    usual = Turning((), tuple(geometric(width)), width, gain, BASE)
    yield usual
    step = R[1] @ np.linalg.pinv(R[0])  # what one token more does
    across = step[:width, :width] - np.diag(np.diag(step)[:width])
    read = np.arctan2(np.linalg.norm(across, axis=-1), np.diag(step)[:width])  # (width,)
    for speeds in (read[: width // 2], read[::2], np.sort(read)[::-2]):
        base, first = _powers(speeds)
        if base is not None:
            yield replace(usual, speeds=tuple(geometric(width, base)), base=base)
            yield replace(usual, speeds=tuple(geometric(width, base, first)), base=base)
        yield replace(usual, speeds=tuple(map(float, speeds)), base=None)


def _width(R: NDArray[Any]) -> int:
    """How many components are turned: the last ones may be left as they are."""
    d = R.shape[-1]
    still = np.isclose(R, np.eye(d), rtol=0, atol=CARRIED).all(axis=(0, 2))  # (d,)
    moved = np.flatnonzero(~still)
    last = int(moved[-1]) + 1 if len(moved) else d
    return last + last % 2


def _powers(speeds: NDArray[Any]) -> tuple[float | None, float]:
    """The base whose powers the speeds are, and the first speed; None where they are powers of none."""
    n = len(speeds)
    if n < 2 or not (speeds > 0).all() or not speeds[0] > speeds[-1]:
        return None, 1.0
    exact = float((speeds[0] / speeds[-1]) ** (n / (n - 1)))
    base = float(f"{exact:.6g}")
    near = geometric(2 * n, base, speeds[0])
    return (base if np.allclose(near, speeds, rtol=POWERS) else None), float(speeds[0])
