"""Layouts: (B, H, T, d) of the house, and those in which a function takes and gives its arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.errors import InputError

__all__ = [
    "GIVEN",
    "MASKS",
    "RETURNED",
    "WEIGHTS",
    "as_four",
    "fits",
    "from_four",
    "mask_as_four",
    "mask_to",
    "to_layout",
]

GIVEN = {  # by rank, the likeliest first
    2: ("T d",),
    3: ("B T d", "T B d"),
    4: ("B H T d", "B T H d"),
    0: ("B T (H d)",),  # heads side by side: only where the number of heads is told
}
RETURNED = {
    "T d": ("T d",),
    "B T d": ("B T d", "T B d"),
    "T B d": ("T B d", "B T d"),
    "B H T d": ("B H T d", "B T H d", "B T (H d)"),
    "B T H d": ("B T H d", "B H T d", "B T (H d)"),
    "B T (H d)": ("B T (H d)", "B T H d", "B H T d"),
}
MASKS = {  # shapes in which a mask may be taken, the one that says least first; S = T_k
    "T d": ("T S",),
    "B T d": ("T S", "B T S"),
    "T B d": ("T S", "B T S"),
    **dict.fromkeys(("B H T d", "B T H d", "B T (H d)"), ("T S", "B T S", "B 1 T S", "B H T S")),
}
KEY_MASKS = {
    "T d": ("S",),
    **dict.fromkeys(("B T d", "T B d", "B H T d", "B T H d", "B T (H d)"), ("B S", "B 1 1 S")),
}
WEIGHTS = {
    "T d": ("T S",),
    "B T d": ("B T S",),
    "T B d": ("B T S",),
    **dict.fromkeys(("B H T d", "B T H d", "B T (H d)"), ("B H T S", "B T S")),
}
AXES = {"B": 0, "H": 1, "T": 2, "S": 3, "d": 3}


def as_four(x: NDArray[Any]) -> NDArray[Any]:  # (B, H, T, d)
    """Give an array of (T, d), (B, T, d) or (B, H, T, d) all four axes.

    >>> as_four(np.ones((2, 3, 4))).shape
    (2, 1, 3, 4)
    """
    if x.ndim == 2:
        return x[None, None]
    return x[:, None] if x.ndim == 3 else x


def from_four(x: NDArray[Any], rank: int) -> NDArray[Any]:
    """Take the axes of 1 away again."""
    return x[0, 0] if rank == 2 else x[:, 0] if rank == 3 else x


def mask_as_four(mask: NDArray[Any], rank: int) -> NDArray[Any]:
    """Give a mask of (T_q, T_k), or one with more axes in front, all four axes; those that lack are 1."""
    if rank == 3 and mask.ndim == 3:
        return mask[:, None]
    return mask.reshape((1,) * (4 - mask.ndim) + mask.shape)


def to_layout(x: NDArray[Any], layout: str) -> NDArray[Any]:
    """Lay (B, H, T, d) out as a function takes it; an axis that it has not must be 1 long.

    >>> to_layout(np.ones((2, 3, 4, 5)), "B T (H d)").shape
    (2, 4, 15)
    """
    if layout == "B T (H d)":
        B, H, T, d = x.shape
        return x.transpose(0, 2, 1, 3).reshape(B, T, H * d)
    letters = layout.split()
    for letter, axis in (("B", 0), ("H", 1)):
        if letter not in letters and x.shape[axis] != 1:
            raise InputError(f"it takes ({', '.join(letters)}): {letter} is {x.shape[axis]}, not 1")
    kept = x.transpose([AXES[letter] for letter in letters] + [AXES[a] for a in "BH" if a not in letters])
    return kept.reshape(kept.shape[: len(letters)])


def from_layout(x: NDArray[Any], layout: str, H: int) -> NDArray[Any]:  # (B, H, T, d)
    """Bring what lies in a function's layout back to (B, H, T, d)."""
    if layout == "B T (H d)":
        return x.reshape(*x.shape[:2], H, -1).transpose(0, 2, 1, 3)
    letters = layout.split()
    lacking = [a for a in "BH" if a not in letters]
    wide = x.reshape(*x.shape, *(1 for _ in lacking))
    places = [*letters, *lacking]
    return wide.transpose([places.index(a) for a in ("B", "H", "T", letters[-1])])


def fits(shape: tuple[int, ...], layout: str, sizes: Mapping[str, int]) -> bool:
    """Whether a shape is that of a layout, whatever its last axis; S is one of ``sizes`` and must fit, too.

    >>> fits((2, 5, 3, 9), "B T H d", {"B": 2, "H": 3, "T": 5})
    True
    """
    if layout == "B T (H d)":
        return len(shape) == 3 and shape[:2] == (sizes["B"], sizes["T"]) and not shape[2] % sizes["H"]
    letters = layout.split()
    right = [sizes.get(letter, 1 if letter == "1" else None) for letter in letters]
    return len(shape) == len(letters) and all(n is None or n == m for n, m in zip(right, shape, strict=True))


def mask_to(mask: NDArray[Any], layout: str, sizes: Mapping[str, int]) -> NDArray[Any] | None:
    """Lay a mask (B, H, T_q, T_k; 1 where it is the same) out as a function takes it; None if it cannot be.

    >>> mask_to(np.ones((2, 1, 3, 4), bool), "T S", {"B": 2, "H": 1, "T": 3, "S": 4}).shape
    (3, 4)
    """
    letters = layout.split()
    for letter, axis in (("B", 0), ("H", 1), ("T", 2)):
        if letter not in letters:
            first = mask.take([0], axis)
            if not np.array_equal(np.broadcast_to(first, mask.shape), mask):
                return None
            mask = first
    full = np.broadcast_to(mask, [sizes[a] if a in letters else 1 for a in "BHTS"])
    return full.reshape([1 if letter == "1" else sizes[letter] for letter in letters])
