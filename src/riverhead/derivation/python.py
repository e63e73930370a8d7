"""A derivation as a NumPy script: a few lines that make its numbers again, and assert them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from riverhead.derivation.scaling import is_usual, shift

if TYPE_CHECKING:
    from riverhead.derivation.derivation import Derivation

__all__ = ["script"]

DECIMALS = 6  # of the asserted numbers


def script(derivation: Derivation) -> str:
    """Return a self-contained Python script that needs NumPy alone, makes the numbers and asserts them.

    Tokens stand in it as Python literals, whatever they hold.

    >>> from riverhead.derivation import example
    >>> print(script(example("money bank grows").derive()).splitlines()[4])
    e = np.array([[1.0, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0]])
    """
    lines = [f"# {derivation.title!r}, worked in NumPy", "import numpy as np", ""]
    lines += [*_operands(derivation), *_scores(derivation), *_weights(derivation), *_out(derivation), ""]
    last = next(name for name in ("y", "merged", "out") if name in derivation.names)
    for name in ("weights", last):
        lines.append(
            f"assert np.allclose({name}, {_rounded(derivation, name)}, rtol=1e-9, atol=1e-{DECIMALS})"
        )
    lines.append(f'print(*zip(tokens, {last}.round(3).tolist()), sep="\\n")')
    return "\n".join(lines) + "\n"


def _operands(derivation: Derivation) -> list[str]:
    """q, k and v: as given, e three times, or projected; several heads get an axis of their own."""
    given = derivation.given
    lines = [f"tokens = {list(given.tokens)!r}"]
    lines += [] if given.tokens_k is None else [f"tokens_k = {list(given.tokens_k)!r}"]
    for name in ("x", "x_k", "e", "W_q", "W_k", "W_v", "W_o", "q", "k", "v"):
        value = getattr(given, name)
        if value is not None:
            value = value[0] if name in ("q", "k", "v") and given.n_heads == 1 else value
            lines.append(f"{name} = np.array({_lists(value)})")
    if given.e is not None:
        lines.append("q = k = v = e")
    if given.x is not None:
        source = "x" if given.x_k is None else "x_k"
        lines.append(f"q, k, v = x @ W_q, {source} @ W_k, {source} @ W_v")
    H, G = given.n_heads, given.n_kv_heads
    if H > 1 and given.q is None:
        lines.append(f"q = q.reshape(len(q), {H}, -1).swapaxes(0, 1)")
        lines.append(f"k, v = (a.reshape(len(a), {G}, -1).swapaxes(0, 1) for a in (k, v))")
    if G < H:
        lines.append(f"k, v = (a.repeat({H // G}, axis=0) for a in (k, v))  # {H // G} query heads share one")
    return lines


def _scores(derivation: Derivation) -> list[str]:
    given = derivation.given
    scaled = f" / np.sqrt({given.d_k})" if is_usual(given) else f" * {given.scale!r}"
    heat = "" if given.temperature == 1 else f" / {given.temperature!r}"
    turned = "k.T" if given.n_heads == 1 else "k.swapaxes(-1, -2)"
    lines = [f"scores = q @ {turned}{scaled}{heat}"]
    if "masked" in derivation.names:
        if given.mask is None:
            diagonal = given.T_k - given.T_q if given.align == "end" else 0
            visible = f"np.tri({given.T_q}, {given.T_k}, {diagonal}, dtype=bool)"
        else:
            seen = np.isfinite(derivation["masked"].array).astype(int)
            visible = f"np.array({(seen[0] if given.n_heads == 1 else seen).tolist()}, dtype=bool)"
        lines.append(f"scores = np.where({visible}, scores, -np.inf)")
    return lines


def _weights(derivation: Derivation) -> list[str]:
    peak = ""
    if shift(derivation[derivation.exponents].array).any():
        peak = " - scores.max(-1, keepdims=True, initial=-1e300)"
    empty = not derivation["sum"].array.all()
    total = "exp.sum(-1, keepdims=True)"
    total = f"np.maximum({total}, 1e-300)  # a row that sees nothing: 0" if empty else total
    return [f"exp = np.exp(scores{peak})", f"weights = exp / {total}"]


def _out(derivation: Derivation) -> list[str]:
    given = derivation.given
    lines = ["out = weights @ v"]
    if given.n_heads > 1:
        lines.append("merged = out.swapaxes(0, 1).reshape(len(tokens), -1)")
    if given.W_o is not None:
        lines.append(f"y = {'merged' if given.n_heads > 1 else 'out'} @ W_o")
    return lines


def _rounded(derivation: Derivation, name: str) -> str:
    array = derivation[name].array.round(DECIMALS) + 0.0  # + 0.0: no −0
    return str((array[0] if len(array) == 1 else array).tolist())


def _lists(value: object) -> str:
    """Return nested tuples as a Python literal of lists."""
    return str(np.array(value).tolist())
