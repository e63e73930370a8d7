"""How a RoPE function wants its vectors: which axes, how wide, and what table; found by trying."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.call import Call, Outcome
from riverhead.checking.rules.trial import Trial

__all__ = ["PAIR", "Form", "form_of"]

PAIR = "q and k at once"  # what a function offers that turns both
LENGTHS = (11, 13, 17, 19)  # tokens; the first that is no other axis
WIDTHS = (64, 128, 32, 16)  # a module may be made for one width alone
TABLES = ("half", "interleaved", "narrow", "half, batched", "interleaved, batched", "narrow, batched",
          "complex", "pairs")  # fmt: skip
NEAR = 1e-3  # relative: whether a length was kept, in whatever dtype


@dataclass(frozen=True, slots=True)
class Form:
    """Axes in the house's order, and the options that say how the adapter is to hand them over."""

    leading: tuple[str, ...]
    tokens_first: bool = False
    square: bool = False  # as many heads as tokens
    vectors: bool = False  # one token a call
    width: int = 0
    length: int = 0
    table: str = ""

    @property
    def options(self) -> dict[str, Any]:
        """What every call of this form holds."""
        said = {name: True for name in ("tokens_first", "vectors") if getattr(self, name)}
        return {"offset": 0, **said, **({"table": self.table} if self.table else {})}

    def shape(self, trial: Trial, T: int) -> tuple[int, ...]:
        """The axes of T vectors."""
        s = trial.draw.sizes
        heads = T if self.square else s.H
        return (*({"B": s.B, "H": heads}[axis] for axis in self.leading), T, self.width)

    def rows(self, x: NDArray[Any], places: Sequence[int]) -> NDArray[Any]:
        """Take vectors (..., T, d) at these places; of as many heads, where heads and tokens are one."""
        chosen = x[..., list(places), :]
        return chosen[..., : len(places), :, :] if self.square else chosen


FORMS = (
    Form(()),  # (T, d)
    Form(("B",)),  # (B, T, d)
    Form(("B", "H")),  # (B, H, T, d)
    Form(("B", "H"), tokens_first=True),  # (B, T, H, d)
    Form(("H",)),  # (H, T, d)
    Form(("H",), tokens_first=True),  # (T, H, d)
    Form(("B", "H"), square=True),  # (B, H, T, d) where H = T
    Form((), vectors=True),  # (d,)
)


def form_of(trial: Trial) -> Form:
    """Return the first form in which a function turns tokens by their place; else the likeliest."""
    best, most = None, -1
    for form in _forms(trial):
        x = np.broadcast_to(trial.draw.numbers("x", form.width), form.shape(trial, form.length))
        arrays = {"x": x, "y": x} if PAIR in trial.subject.offers else {"x": x}
        worth = _worth(x, trial.subject.call(Call(arrays, form.options)))
        if worth > most:
            best, most = form, worth
        if worth == 2:
            break
    assert best is not None
    return best


def _forms(trial: Trial) -> Iterator[Form]:
    s = trial.draw.sizes
    tables = TABLES if "table" in trial.subject.offers else ("",)
    for width in (max(2 * s.d_k, 4), *WIDTHS):  # two pairs at least, so that it shows what makes one
        length = next(T for T in LENGTHS if T not in (s.B, s.H, width))
        for form in FORMS:
            for table in tables:
                yield replace(form, width=width, length=length, table=table)


def _worth(x: NDArray[Any], outcome: Outcome) -> int:
    """2: a turn that changes with the token alone; 1: some other result that fits; 0: none."""
    if outcome.trouble or outcome.out.shape != x.shape:
        return 0
    found, before = np.asarray(outcome.out, float), np.linalg.norm(x[(0,) * (x.ndim - 1)])
    alike = np.abs(found - found[(0,) * (x.ndim - 2)]).max() <= NEAR * before  # in every head and sample
    moves = np.abs(found - found[..., :1, :]).max() > NEAR * before
    whole = np.allclose(np.linalg.norm(found, axis=-1), before, rtol=NEAR)
    return 2 if alike and moves and whole else 1
