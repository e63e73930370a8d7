"""Axis names in every message: checks that say which axis differs, who has what, and why it matters."""

from riverhead.errors import ShapeError

__all__ = ["check_axis", "check_rank"]


def check_axis(axis: str, why: str, **found: int) -> None:
    """Raise `ShapeError` unless every array has the same size along ``axis``.

    >>> check_axis("T_k", "each key is paired with one value", k=7, v=6)
    Traceback (most recent call last):
    riverhead.errors.ShapeError: T_k differs: k has 7, v has 6; each key is paired with one value
    """
    if len(set(found.values())) > 1:
        sizes = ", ".join(f"{name} has {size}" for name, size in found.items())
        raise ShapeError(f"{axis} differs: {sizes}; {why}")


def check_rank(name: str, shape: tuple[int, ...], axes: str) -> None:
    """Raise `ShapeError` unless ``shape`` has at least the axes named, as in ``"T_q d_k"``.

    >>> check_rank("q", (5,), "T_q d_k")
    Traceback (most recent call last):
    riverhead.errors.ShapeError: q has 1 axis (5,), it needs at least 2: (..., T_q, d_k)
    """
    needed = axes.split()
    if len(shape) < len(needed):
        axis = "axis" if len(shape) == 1 else "axes"
        raise ShapeError(
            f"{name} has {len(shape)} {axis} {shape}, it needs at least {len(needed)}: "
            f"(..., {', '.join(needed)})"
        )
