"""How somebody's function is called: its parameters by their names, its arrays, its layout."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from riverhead.checking.rules.adapting.signature import Asked
from riverhead.checking.rules.running.subject import Adapter
from riverhead.errors import InputError

__all__ = ["Asked", "adapt"]


def adapt(thing: Any, asked: Asked | None = None) -> Adapter:
    """Return how a function, a module or a class is called.

    Raises `InputError` where it cannot be called, or where it is not known what it is.

    >>> import numpy as np
    >>> adapt(lambda q, k, v: np.exp(q @ k.T) @ v).notes
    ('NumPy arrays of float64', 'q, k, v by position: q, k, v', 'layout (T, d)')
    """
    from riverhead.checking.rules.adapting.kinds import adapter_of
    from riverhead.checking.rules.adapting.looks import looks_like

    asked = asked or Asked()
    if not callable(thing) and looks_like(thing) != "cache":
        raise InputError(f"{thing!r:.100} cannot be called; a function, a module or a class is checked")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it is tried with is not what it was written for
        return adapter_of(thing, asked)
