"""RoPE as a row of named steps, and the ways in which each is done otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.rule import Change, Choice

__all__ = ["BASE", "BITS", "COUNTED", "INTERLEAVED", "KEPT", "ROPE", "WAYS", "geometric", "laid", "rounded"]

BASE = 10_000.0
BITS = {"float16": 11, "bfloat16": 8}  # of a number, the leading one counted


def geometric(width: int, base: float = BASE, first: float = 1.0) -> NDArray[np.float64]:
    """Return the speeds base^(−2i/width) of the pairs, in radians a token: (width/2,)."""
    speeds: NDArray[np.float64] = first * base ** (-np.arange(0, width, 2) / width)
    return speeds


def laid(x: NDArray[Any], pairs: str) -> NDArray[Any]:
    """Give both components of a pair its number: (..., d/2) to (..., d)."""
    found = np.concatenate([x, x], axis=-1) if pairs == "half" else np.repeat(x, 2, axis=-1)
    return np.asarray(found)


def split(x: NDArray[Any], pairs: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the first and the second component of each pair, (..., d/2) both."""
    half = x.shape[-1] // 2
    return (x[..., :half], x[..., half:]) if pairs == "half" else (x[..., ::2], x[..., 1::2])


def joined(first: NDArray[Any], second: NDArray[Any], pairs: str) -> NDArray[Any]:
    """Put the components of pairs back: (..., d)."""
    if pairs == "half":
        return np.concatenate([first, second], axis=-1)
    return np.stack([first, second], axis=-1).reshape(*first.shape[:-1], -1)


def rounded(x: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Round numbers as ``dtype`` keeps them, within its range of normal numbers.

    >>> rounded(np.arange(255.0, 260.0), "bfloat16")
    array([255., 256., 256., 258., 260.])
    """
    parts, powers = np.frexp(x)
    found: NDArray[Any] = np.ldexp(np.rint(np.ldexp(parts, BITS[dtype])), powers - BITS[dtype])
    return found


def turned(p: SimpleNamespace) -> Any:  # (..., T, width)
    """Turn each pair: x·cos + partner·sin."""
    first, second = split(p.part, p.turned_as)
    partner = joined(p.signs[0] * second, p.signs[1] * first, p.turned_as)
    return p.part * p.cos + partner * p.sin


def overwritten(p: SimpleNamespace) -> Any:  # (..., T, width)
    """Turn in place: the second component sees the first one's new number."""
    first, second = split(p.part, p.turned_as)
    (cos, other_cos), (sin, other_sin) = split(p.cos, p.turned_as), split(p.sin, p.turned_as)
    new = first * cos + p.signs[0] * second * sin
    return joined(new, second * other_cos + p.signs[1] * new * other_sin, p.turned_as)


def half_turned(p: SimpleNamespace) -> Any:  # (..., T, width)
    """Turn the first component of each pair alone."""
    _, second = split(p.part, p.turned_as)
    return joined(split(turned(p), p.turned_as)[0], second, p.turned_as)


def added(p: SimpleNamespace) -> Any:  # (..., T, width)
    """Add sines and cosines, as sinusoidal positions do."""
    return p.part + joined(np.sin(p.angles), np.cos(p.angles), p.turned_as)


# In this order. p.x is (..., T, d), or (2, ..., T, d) where a function takes q and k at once.
ROPE: Mapping[str, Change] = {
    "part": lambda p: p.x[..., : p.width],  # (..., T, width): partial rotary leaves the rest
    "places": lambda p: p.offset + np.arange(p.x.shape[-2]),  # (T,)
    "speeds": lambda p: p.speeds,  # (width/2,), radians a token
    "angles": lambda p: p.places[:, None] * p.speeds,  # (T, width/2)
    "laid_as": lambda p: "half",  # the table
    "turned_as": lambda p: "half",  # the vectors
    "signs": lambda p: (-1, 1),  # with which the partner of a first and of a second component enters
    "cos": lambda p: laid(np.cos(p.angles), p.laid_as),  # (T, width)
    "sin": lambda p: laid(np.sin(p.angles), p.laid_as),  # (T, width)
    "turned": turned,
    "out": lambda p: np.concatenate([p.gain * p.turned, p.x[..., p.width :]], axis=-1),
}


def only(side: int) -> Change:
    """Turn the queries alone (0), or the keys alone (1)."""
    return lambda p: np.stack([each if s == side else p.x[s] for s, each in enumerate(p.out)])


def opposite(p: SimpleNamespace) -> Any:
    """Turn the keys the other way."""
    back = turned(SimpleNamespace(**{**vars(p), "signs": tuple(-s for s in p.signs)}))
    return np.stack([p.turned[0], back[1]])


INTERLEAVED = Choice(
    "rope-interleaved", "rope-turn", "components 2i and 2i + 1 make a pair",
    {"laid_as": lambda p: "interleaved", "turned_as": lambda p: "interleaved"}, ("rope", "interleaved"),
)  # fmt: skip

# Agreements, then mistakes. Those of two sides are told apart only where a function takes q and k.
ONE_SIDE = (
    INTERLEAVED,
    Choice("rope-backwards", "rope-turn", "each pair is turned by −angle",
           {"signs": lambda p: (1, -1)}, ("rope-direction", "backwards")),
    Choice("rope-from-one", "rope-turn", "the first token stands at position 1",
           {"places+": lambda p: p.places + 1}, ("rope-start", "1")),
    Choice("rope-quarter-turn", "rope-turn",
           "sine and cosine are exchanged: every token is turned by another 90°",
           {"cos": lambda p: laid(np.sin(p.angles), p.laid_as),
            "sin": lambda p: laid(np.cos(p.angles), p.laid_as)},
           ("rope-start", "quarter-turn")),
    Choice("rope-frequencies-reversed", "rope-speeds", "the first pair is the slowest",
           {"speeds": lambda p: p.speeds[::-1]}, ("rope-order", "slowest-first")),
    Choice("rope-mixed", "rope-relative",
           "the table is laid out for pairs 2i, 2i + 1, the vectors are turned in pairs i, i + d/2",
           {"laid_as": lambda p: "interleaved"}),
    Choice("rope-mixed-halves", "rope-relative",
           "the table is laid out for pairs i, i + d/2, the vectors are turned in pairs 2i, 2i + 1",
           {"turned_as": lambda p: "interleaved"}),
    Choice("rope-sign", "rope-norm", "both sines enter with +: [[cos, sin], [sin, cos]] is no rotation",
           {"signs": lambda p: (1, 1)}),
    Choice("rope-sign-minus", "rope-norm",
           "both sines enter with −: [[cos, −sin], [−sin, cos]] is no rotation",
           {"signs": lambda p: (-1, -1)}),
    Choice("rope-cosines-only", "rope-norm",
           "each component is multiplied by its cosine, its partner left out",
           {"turned": lambda p: p.part * p.cos}),
    Choice("rope-half-turned", "rope-norm",
           "the first component of each pair is turned, the second left as it was",
           {"turned": half_turned}),
    Choice("rope-overwritten", "rope-norm",
           "it turns in place: the second of a pair is worked out from the first one's new number",
           {"turned": overwritten}),
    Choice("rope-added", "rope-turn", "sines and cosines are added to the vector, which is not turned",
           {"turned": added}),
    Choice("rope-unchanged", "rope-speeds", "the vectors come back as they were",
           {"turned": lambda p: p.part}),
    Choice("rope-same-frequency", "rope-speeds", "every pair turns by 1 radian a token",
           {"speeds": lambda p: np.ones_like(p.speeds)}),
    Choice("rope-degrees", "rope-speeds", "angles are taken for degrees: multiplied by π/180",
           {"angles+": lambda p: np.radians(p.angles)}),
    Choice("rope-degrees-up", "rope-speeds", "angles are turned into degrees: multiplied by 180/π",
           {"angles+": lambda p: np.degrees(p.angles)}),
    Choice("rope-from-the-end", "rope-place", "positions are counted from the last token",
           {"places+": lambda p: p.places[::-1]}),
    Choice("rope-by-length", "rope-place", "positions are divided by the number of tokens",
           {"places+": lambda p: p.places / len(p.places)}),
)  # fmt: skip

TWO_SIDES = (
    Choice("rope-one-sided", "rope-both", "only the queries are turned", {"out+": only(0)}),
    Choice("rope-one-sided-keys", "rope-both", "only the keys are turned", {"out+": only(1)}),
    Choice("rope-opposite", "rope-both", "the keys are turned the other way", {"turned+": opposite}),
)


def kept(name: str, rule: str, words: str, *steps: str) -> list[Choice]:
    """Steps whose numbers are kept in too few bits."""

    def change(step: str, dtype: str) -> Change:
        return lambda p: rounded(getattr(p, step), dtype)

    return [
        Choice(f"rope-{name}-in-{dtype}", rule, words.format(dtype, 2**bits),
               {f"{step}+": change(step, dtype) for step in steps})
        for dtype, bits in BITS.items()
    ]  # fmt: skip


COUNTED = kept(
    "positions", "rope-counts", "positions are kept in {}: whole numbers above {} collapse", "places"
)
KEPT = (
    *kept("angles", "rope-angles", "angles are kept in {}", "angles"),
    *kept("speeds", "rope-speeds-kept", "the speeds of the pairs are kept in {}", "speeds"),
    *kept("table", "rope-speeds-kept", "cosines and sines are kept in {}", "cos", "sin"),
    *kept("all", "rope-angles", "speeds, positions, angles, cosines and sines are all kept in {}",
          "speeds", "places", "angles", "cos", "sin"),
)  # fmt: skip
WAYS = {
    False: (*ONE_SIDE, *KEPT),
    True: (*ONE_SIDE, *TWO_SIDES, *KEPT),
}  # by whether q and k are taken at once
