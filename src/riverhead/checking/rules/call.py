"""One run of somebody's function: what it is given, and what came of it. Plain data, both ways."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

__all__ = ["Call", "Outcome"]

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """What a function is to be given, in the house's names and layout; an adapter hands it over in its own.

    ``arrays`` of attention: q (..., H, T_q, d_k) or (T_q, d_k), k, v, and ``mask`` (boolean, True = may
    attend), ``bias``, ``sinks``; of a module: x (B, T, d_model), ``mask``. ``options`` are plain values:
    causal, scale, window, softcap, dropout. ``want`` names what is asked for beside ``out``: weights,
    gradient, inputs (as they are afterwards), peak_bytes. ``how`` says how the arrays lie: strided, …
    """

    arrays: Arrays
    options: Mapping[str, Any] = field(default_factory=dict)
    dtype: str = "float64"
    want: tuple[str, ...] = ()
    how: str = ""

    @property
    def takes(self) -> frozenset[str]:
        """Everything that the function must offer to be called like this."""
        return frozenset({*self.arrays, *self.options, *self.want, *([self.how] if self.how else [])})


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What came of a call: ``arrays`` (out, weights, dq, …), or why there are none.

    ``error`` is what the function raised; ``ended`` how its process ended before it answered; ``facts`` holds
    what is no array: dtype, peak_bytes.
    """

    arrays: Arrays = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    ended: str = ""
    noise: str = ""  # what it printed

    @property
    def out(self) -> NDArray[Any]:
        """The output, in the house's layout."""
        return self.arrays["out"]

    @property
    def trouble(self) -> str:
        """Why there is no output; empty where there is one."""
        return self.ended or self.error
