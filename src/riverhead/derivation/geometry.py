"""Where the vectors go: cosines before and after, the hull, and the two widest directions of many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from riverhead.derivation.derivation import Derivation

__all__ = ["Projection", "after", "before", "cosine", "cosines", "hull"]

Array = NDArray[np.float64]
Point = tuple[float, float]


def before(derivation: Derivation) -> Array | None:
    """Return the vectors (T, d) the outputs are to be compared with, or None where no two lie in one space.

    The outputs blend values, so it is the values; after W_o it is x or e, if they are as wide.
    """
    given = derivation.given
    if given.tokens_k is not None:
        return None
    if given.W_o is not None:
        rows = given.x or given.e
        return np.array(rows) if rows and len(rows[0]) == len(given.W_o[0]) else None
    group = given.n_heads // given.n_kv_heads
    values = np.repeat(derivation["v"].array, group, axis=0)  # (H, T, d_v)
    return values.swapaxes(0, 1).reshape(given.T_k, -1)


def after(derivation: Derivation) -> Array:
    """Return the vectors (T_q, d) that leave: y, or the heads side by side."""
    name = next(name for name in ("y", "merged", "out") if name in derivation.names)
    found: Array = derivation[name].array[0]
    return found


def cosine(a: Array, b: Array) -> float | None:
    """Return the cosine of two vectors; None where one of them has no direction.

    >>> cosine(np.array([1.0, 1.0]), np.array([3.0, 3.0])), cosine(np.zeros(2), np.ones(2))
    (1.0, None)
    """
    found = float(cosines(a[None], b[None])[0, 0])
    return None if np.isnan(found) else found


def cosines(a: Array, b: Array) -> Array:
    """Return the cosine of every row of ``a (m, d)`` with every row of ``b (n, d)``; NaN where there is none.

    >>> cosines(np.eye(2), np.array([[3.0, 0.0], [1.0, 1.0]])).round(3).tolist()
    [[1.0, 0.707], [0.0, 0.707]]
    """
    with np.errstate(invalid="ignore"):  # 0 / 0, for a vector of zeros
        a, b = (rows / np.abs(rows).max(axis=1, keepdims=True) for rows in (a, b))  # squares stay in float64
        lengths = np.sqrt(np.outer((a * a).sum(axis=1), (b * b).sum(axis=1)))  # (m, n)
        return np.clip(a @ b.T / lengths, -1, 1)


class Projection:
    """A plane to draw vectors in: their own two components, or the two directions they spread most in."""

    def __init__(self, rows: Array) -> None:
        width = rows.shape[1]
        self.reach = float(np.abs(rows).max())
        self.flat = width <= 2
        if self.flat:
            self.center, self.axes, self.share = np.zeros(width), np.eye(2, width), 1.0
            return
        self.center = rows.mean(axis=0)
        flat = np.vstack((rows - self.center, np.zeros(width)))  # one vector alone has two directions too
        _, spread, directions = np.linalg.svd(flat, full_matrices=False)  # (T + 1, d), never (d, d)
        signs = np.sign(
            [axis[np.abs(axis).argmax()] for axis in directions[:2]]
        )  # the same way up every time
        self.axes = directions[:2] * signs[:, None]
        total = float((spread**2).sum())
        self.share = float((spread[:2] ** 2).sum()) / total if total else 1.0

    def point(self, row: Array) -> Point:
        """Return where ``row`` lies in the plane."""
        x, y = self.axes @ (row - self.center)
        edge = 1e-12 * self.reach  # float64's own error, which would print as 2.5e-16
        return 0.0 if abs(x) < edge else float(x), 0.0 if abs(y) < edge else float(y)

    @property
    def names(self) -> tuple[str, str]:
        """What the two directions are."""
        return ("component 1", "component 2") if self.flat else ("widest direction", "second widest")

    @property
    def says(self) -> str:
        """What the plane leaves out."""
        return (
            "" if self.flat else f"the two directions the vectors spread most in hold {self.share:.0%} of it"
        )


def hull(points: list[Point]) -> tuple[Point, ...]:
    """Return the corners of the convex hull, counter-clockwise (Andrew 1979).

    >>> hull([(0, 0), (2, 0), (1, 0.5), (2, 2), (0, 2)])
    ((0, 0), (2, 0), (2, 2), (0, 2))
    """
    ordered = sorted(set(points))
    if len(ordered) < 3:
        return tuple(ordered)
    lower, upper = _chain(ordered), _chain(ordered[::-1])
    return tuple(lower[:-1] + upper[:-1])


def _chain(points: list[Point]) -> list[Point]:
    chain: list[Point] = []
    for point in points:
        while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 0:
            chain.pop()
        chain.append(point)
    return chain


def _turn(a: Point, b: Point, c: Point) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
