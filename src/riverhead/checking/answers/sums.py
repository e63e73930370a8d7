"""A short sum as a learner may type it: + − × / ^, brackets, √, sqrt, exp, ln, e and π, and nothing else."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

__all__ = ["work_out"]

_TOKEN = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+|sqrt|exp|ln|pi|[-+*/^()√πe])", re.ASCII)
_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "√": math.sqrt, "sqrt": math.sqrt, "exp": math.exp, "ln": math.log,
}  # fmt: skip
_CONSTANTS = {"e": math.e, "π": math.pi, "pi": math.pi}


def work_out(text: str) -> float | None:
    """Return what a sum comes to; None where it is none, or comes to no finite number.

    Time and depth are bounded by the length of ``text``, which the caller bounds.

    >>> work_out("√4/2"), work_out("2√(1/4)"), work_out("-2^2"), work_out("1/0"), work_out("two")
    (1.0, 1.0, -4.0, None, None)
    """
    tokens, at = [], 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            return None
        tokens.append(found[1])
        at = found.end()
    reader = _Reader(tokens)
    try:
        value = reader.sum()
    except (ArithmeticError, ValueError, IndexError):  # no number: 1/0, √ of −1, e^1000, an operand missing
        return None
    return value if reader.at_end and math.isfinite(value) else None


class _Reader:
    """Recursive descent; every method reads one level and returns its value."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = [*tokens, ""]
        self._at = 0

    @property
    def at_end(self) -> bool:
        """Whether every token was read."""
        return not self._next

    @property
    def _next(self) -> str:
        return self._tokens[self._at]

    def _take(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1]

    def sum(self) -> float:
        """Terms added and taken off."""
        value = self._product()
        while self._next in ("+", "-"):
            value = value + self._product() if self._take() == "+" else value - self._product()
        return value

    def _product(self) -> float:
        value = self._signed()
        while self._next in ("*", "/"):
            value = value * self._signed() if self._take() == "*" else value / self._signed()
        return value

    def _signed(self) -> float:
        if self._next in ("-", "+"):
            return -self._signed() if self._take() == "-" else self._signed()
        return self._beside()

    def _beside(self) -> float:
        """2√3, 2(1 + 1), 2e: a product that is understood, before a root, a bracket or a name."""
        value = self._power()
        while self._next in (*_FUNCTIONS, *_CONSTANTS, "("):
            value *= self._power()
        return value

    def _power(self) -> float:
        base = self._primary()
        if self._next != "^":
            return base
        self._take()
        exponent = -self._power() if self._next == "-" and self._take() else self._power()
        return math.pow(base, exponent)

    def _primary(self) -> float:
        token = self._take()
        if token == "(":
            value = self.sum()
            if self._take() != ")":
                raise ValueError
            return value
        if token in _FUNCTIONS:
            return _FUNCTIONS[token](self._primary())
        return _CONSTANTS[token] if token in _CONSTANTS else float(token)
