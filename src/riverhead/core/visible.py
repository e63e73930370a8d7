"""Matrix products in which what is hidden adds nothing, whatever it holds."""

from collections.abc import Callable

import numpy as np

from riverhead.core.border import Bools, Floats

__all__ = ["product"]


def product(a: Floats, b: Floats, hidden: Callable[[], Bools]) -> Floats:
    """Return ``a @ b``, (..., n, m) times (..., m, p), leaving out the entries of ``a`` that are hidden.

    Those are 0 already, but 0 · NaN is NaN: where ``b`` is not finite the sum is taken term by term, and
    only then ``hidden()`` (..., n, m) is asked for.

    >>> product(np.array([[1.0, 0.0]]), np.array([[2.0], [np.nan]]), lambda: np.array([[False, True]]))
    array([[2.]])
    """
    finite = np.isfinite(b)
    if finite.all():
        return a @ b
    leave_out = hidden()
    out: Floats = a @ np.where(finite, b, 0)
    for j in np.flatnonzero(~finite.all(axis=(*range(b.ndim - 2), -1))):
        term = a[..., j, None] * b[..., j, None, :]  # (..., n, p)
        out += np.where(leave_out[..., j, None] | finite[..., j, None, :], 0, term)
    return out
