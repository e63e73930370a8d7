"""A derivation: the ordered steps of one calculation of attention, each number with its arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from riverhead.derivation.arithmetic import FIRST_TERMS, arithmetic
from riverhead.derivation.document import adopt, dump, restore
from riverhead.derivation.given import Given, given
from riverhead.derivation.steps import KINDS, Step
from riverhead.derivation.tokens import bare
from riverhead.derivation.verdicts import judge_cell
from riverhead.derivation.work import work
from riverhead.display import Displayable
from riverhead.errors import InputError
from riverhead.numbers import Rounding, Verdict
from riverhead.scene import Row, Scene

__all__ = ["Derivation", "derive"]


@dataclass(frozen=True, slots=True, repr=False)
class Derivation(Displayable):
    """What was given, and the steps that follow from it, as plain frozen data."""

    given: Given
    steps: tuple[Step, ...]

    def __getitem__(self, name: str) -> Step:
        for step in self.steps:
            if step.name == name:
                return step
        raise InputError(f"there is no step {name!r:.60} here; the steps are {', '.join(self.names)}")

    def __repr__(self) -> str:
        return f"Derivation({self.title!r:.80}: {', '.join(self.names)})"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the steps, in order."""
        return tuple(step.name for step in self.steps)

    @property
    def title(self) -> str:
        """The title given, or else the sentence."""
        sides = [self.given.tokens, *([self.given.tokens_k] if self.given.tokens_k else [])]
        return self.given.title or " → ".join(" ".join(map(bare, tokens)) for tokens in sides)

    @property
    def exponents(self) -> str:
        """The step whose numbers are exponentiated: masked where something is hidden, else scores."""
        return "masked" if "masked" in self.names else "scores"

    def rows(self, step: str) -> tuple[str, ...]:
        """What the tokens are called to which the rows of ``step`` belong."""
        return self.given.answering if KINDS[step].rows == "keys" else self.given.asking

    def check(self, step: str, i: int, j: int, head: int) -> None:
        """Raise `InputError` unless ``step`` has a number there."""
        values = self[step].values
        if not values:
            raise InputError(f"step {step!r} has no numbers")
        for axis, at, size in (
            ("head", head, len(values)),
            ("i", i, len(values[0])),
            ("j", j, len(values[0][0])),
        ):
            if not 0 <= at < size:
                raise InputError(f"{axis} is {at}; step {step!r} has {axis} from 0 to {size - 1}")

    def arithmetic(
        self,
        step: str,
        i: int,
        j: int,
        head: int = 0,
        *,
        terms: int | None = FIRST_TERMS,
        digits: int | None = None,
    ) -> Row:
        """Return how the number in row ``i``, column ``j`` of ``step`` is made, as a formula.

        A sum of more than ``terms`` terms shows the first of them, their count and the total; ``terms=None``
        shows every one. Raises `InputError` where there is no such cell.

        >>> worked = derive(q=[[2, 1]], k=[[2, 0]], v=[[1]])
        >>> print(worked.arithmetic("dots", 0, 0))
        q_0·k_0 = 2·2 + 1·0 = 4
        """
        return arithmetic(self, step, i, j, head, terms=terms, digits=digits)

    def judge(
        self,
        step: str,
        i: int,
        j: int | None,
        printed: str,
        head: int = 0,
        digits: Mapping[str, Rounding | str] | None = None,
    ) -> Verdict:
        """Say whether a printed number is exact, rounded, carried or false; ``j=None`` is the sum of the row.

        ``digits`` says how the source rounds each step (``{"weights": ".2f", "exp": ".3g"}``); without it
        every step is taken to be rounded to as many decimals as ``printed`` shows digits behind its first.

        >>> worked = derive([[0.0]], [[1.0], [2.0]], [[0.0], [3.0]], tokens=["q"], tokens_k=["a", "b"])
        >>> [worked.judge("out", 0, 0, printed).value for printed in ("1.5", "1.50", "1.6")]
        ['exact', 'exact', 'false']
        """
        return judge_cell(self, step, i, j, printed, head, digits)

    def but(self, **changes: Any) -> Derivation:
        """Return the same derivation with other settings or operands.

        >>> derive(e=[[1], [2]]).but(causal=True)["weights"].values[0][0]
        (1.0, 0.0)
        """
        return derived(self.given.but(**changes))

    def to_json(self) -> str:
        """Return the derivation as a JSON document with a ``schema``; `from_json` reads it back the same."""
        return dump(self.title, self.given, self.steps)

    @classmethod
    def from_json(cls, text: str) -> Derivation:
        """Return the derivation of a document; everything is derived again, and what does not follow refused.

        Raises `InputError` where the document is not one, or was changed.

        >>> worked = derive(e=[[1.0], [2.0]])
        >>> Derivation.from_json(worked.to_json()) == worked
        True
        """
        found, claimed = restore(text)
        return cls(found, adopt(work(found), claimed))

    def scene(self) -> Scene:
        """Return the whiteboard."""
        from riverhead.derivation.whiteboard import board

        return board(self)


def derive(
    q: Any = None,  # (T_q, d_k) or (H, T_q, d_k)
    k: Any = None,  # (T_k, d_k) or (G, T_k, d_k)
    v: Any = None,  # (T_k, d_v) or (G, T_k, d_v)
    *,
    tokens: Any = None,  # T_q texts
    tokens_k: Any = None,  # T_k texts, where they are others: cross-attention
    x: Any = None,  # (T_q, d_model)
    x_k: Any = None,  # (T_k, d_model): keys and values from a second sequence
    W_q: Any = None,  # (d_model, H·d_k), used as x @ W_q
    W_k: Any = None,  # (d_model, G·d_k)
    W_v: Any = None,  # (d_model, G·d_v)
    W_o: Any = None,  # (H·d_v, d_out)
    e: Any = None,  # (T, d): q = k = v = e
    n_heads: int | None = None,
    n_kv_heads: int | None = None,
    scale: float | None = None,  # multiplies; 1/√d_k
    temperature: float = 1.0,  # divides the scores
    mask: Any = None,  # boolean (T_q, T_k) or (H, T_q, T_k), True = may attend
    causal: bool = False,
    align: Literal["end", "start"] = "end",
    title: str = "",
    meanings: Any = None,  # T_k texts: what each value "means"
) -> Derivation:
    """Derive attention by hand, from vectors (q, k, v), projections (x, W_q, W_k, W_v) or e alone.

    Takes nested lists, arrays and CPU tensors; with several heads, three axes or widths they share. Every
    number is float64. Raises `ShapeError`, `DtypeError` or `InputError`, naming the field, what was found and
    what is allowed. Vaswani et al. 2017, §3.2.

    >>> k, v = [[2, 0], [1, 1]], [[1, 0], [0, 1]]
    >>> worked = derive([[2, 1]], k, v, tokens=["bank"], tokens_k=["river", "bank"])
    >>> worked["dots"].values, worked["out"].array.round(3).tolist()
    ((((4.0, 3.0),),), [[[0.67, 0.33]]])
    """
    return derived(given(locals()))  # the parameters are the fields of Given


def derived(checked: Given) -> Derivation:
    """Work out what is given."""
    return Derivation(checked, work(checked))
