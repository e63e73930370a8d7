"""Switches: only what changed, before → after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from riverhead.derivation.arrays import Rows
from riverhead.derivation.derivation import Derivation
from riverhead.derivation.given import Given
from riverhead.derivation.notation import Digits, divided, maths, vector
from riverhead.derivation.steps import KINDS
from riverhead.derivation.tokens import position
from riverhead.errors import InputError
from riverhead.numbers.interval import slack
from riverhead.scene import Math, Part, Row, Scene, Table, Text, Word

__all__ = ["changed"]

FIRST = 8  # components of a long vector that are shown
MATRICES = ("W_q", "W_k", "W_v", "W_o")
BY_VECTOR = ("x", "x_k", "q", "k", "v", "out", "merged", "y")  # a vector reads as one thing
BY_CELL = ("dots", "scores", "masked", "exp", "weights")


def changed(
    before: Derivation, after: Derivation, *, focus: str | int | None = None, digits: int | None = None
) -> Scene:
    """Return what two derivations of the same tokens do not share, before → after.

    ``focus`` keeps to one query's row. Raises `InputError` where the tokens, heads or widths differ.

    >>> from riverhead.derivation import derive
    >>> a = derive([[2]], [[1], [2]], [[0], [1]], tokens=["q"], tokens_k=["a", "b"])
    >>> [part.columns[0] or part.columns[1] for part in changed(a, a.but(v=[[0], [2]])).parts]
    ['v', 'out']
    """
    a, b = before.given, after.given
    shapes = [(g.tokens, g.keys, g.n_heads, g.n_kv_heads, g.d_k, g.d_v) for g in (a, b)]
    if shapes[0] != shapes[1]:
        raise InputError(
            "what changed is told of the same tokens, heads and widths; for two sentences: destinations"
        )
    row = None if focus is None else position(a.tokens, focus, "focus")
    found = _Changes(before, after, Digits.of(digits), row)
    parts = [*_settings(a, b, found.digits), *found.matrices()]
    for name in KINDS:
        parts += found.vectors(name) if name in BY_VECTOR else found.cells(name) if name in BY_CELL else []
    if found.small:
        parts.append(Text((f"{found.small} more numbers changed by less than the digits shown.",), "note"))
    return Scene(f"{before.title}: what changed", tuple(parts or [Text(("Nothing changed.",))]))


@dataclass
class _Changes:
    """Two derivations side by side; ``small`` counts changes that the digits do not show."""

    before: Derivation
    after: Derivation
    digits: Digits
    focus: int | None
    small: int = field(default=0)

    def matrices(self) -> list[Part]:
        """The entries of W_q, W_k, W_v and W_o that changed."""
        parts: list[Part] = []
        for name in MATRICES:
            old, new = (getattr(d.given, name) or () for d in (self.before, self.after))
            if old and new:
                rows = [str(n + 1) for n in range(len(old))]
                parts += self._table(name, name, rows, [str(n + 1) for n in range(len(old[0]))], old, new)
        return parts

    def vectors(self, step: str) -> list[Part]:
        """The vectors of a step that changed, each as a whole."""
        parts: list[Part] = []
        for head, old, new in self._heads(step, step):
            labels = self.before.rows(step)
            primed = step in ("out", "merged", "y")
            rows = tuple(
                (maths(Word(labels[n], int(primed))), shown)
                for n, (was, now) in enumerate(zip(old, new, strict=True))
                if not (primed and self.focus not in (None, n)) and (shown := self._vector(step, was, now))
            )
            parts += [Table(("", step), rows, self._caption(head))] if rows else []
        return parts

    def cells(self, step: str) -> list[Part]:
        """The cells of a step that changed; the sum of a row of exponentials stands beside it."""
        names = [d.exponents if step == "masked" else step for d in (self.before, self.after)]
        if step == "masked" and names == ["scores", "scores"]:
            return []
        parts: list[Part] = []
        for head, old, new in self._heads(*names):
            columns = list(self.before.given.answering)
            if step == "exp":
                columns.append("sum")
                old = _beside(old, self.before["sum"].values[head])
                new = _beside(new, self.after["sum"].values[head])
            parts += self._table(step, self._caption(head), self.before.given.asking, columns, old, new)
        return parts

    def _heads(self, old: str, new: str) -> list[tuple[int, Rows, Rows]]:
        if old not in self.before.names or new not in self.after.names:
            return []
        both = zip(self.before[old].values, self.after[new].values, strict=True)
        return [(head, *pair) for head, pair in enumerate(both)]

    def _caption(self, head: int) -> str:
        return f"head {head}" if self.before.given.n_heads > 1 else ""

    def _vector(self, step: str, old: Sequence[float], new: Sequence[float]) -> Row | None:
        """``(2, 0) → (0, 2)``, or None where nothing shows."""
        moved = [_differs(was, now) for was, now in zip(old, new, strict=True)]
        shown = [tuple(self.digits.show(step, value) for value in row) for row in (old, new)]
        if not any(moved) or [n.text for n in shown[0]] == [n.text for n in shown[1]]:
            self.small += sum(moved)
            return None
        return maths(vector(shown[0], FIRST), "→", vector(shown[1], FIRST))

    def _cell(self, step: str, old: float, new: float) -> Row | None:
        """``0.539 → 0.644``, or None where nothing shows."""
        was, now = (self.digits.show(step, value) for value in (old, new))
        if not _differs(old, new) or was.text == now.text:
            self.small += _differs(old, new)
            return None
        return maths(was, "→", now)

    def _table(
        self, step: str, caption: str, rows: Sequence[str], columns: Sequence[str], old: Rows, new: Rows
    ) -> list[Part]:
        """The rows and columns of a grid in which something changed."""
        kept = [n for n in range(len(rows)) if self.focus in (None, n) or step in MATRICES]
        grid = {n: [self._cell(step, *pair) for pair in zip(old[n], new[n], strict=True)] for n in kept}
        lines = [n for n in kept if any(grid[n])]
        across = [j for j in range(len(columns)) if any(grid[n][j] for n in lines)]
        cells = tuple((rows[n], *(grid[n][j] for j in across)) for n in lines)
        return [Table((step, *(columns[j] for j in across)), cells, caption)] if cells else []


def _settings(a: Given, b: Given, digits: Digits) -> list[Part]:
    """The switches that were thrown, each before → after."""
    said: list[tuple[str, str | Math, str | Math]] = []
    if (a.scale, a.temperature) != (b.scale, b.temperature):
        said.append(("q·k", divided(a, digits), divided(b, digits)))
    for name in ("causal", "align"):
        if getattr(a, name) != getattr(b, name):
            said.append((name, str(getattr(a, name)), str(getattr(b, name))))
    if a.mask != b.mask:
        said.append(("mask", _hidden(a), _hidden(b)))
    return [Text((f"{name}: ", was, " → ", now)) for name, was, now in said]


def _beside(left: Rows, right: Rows) -> Rows:
    return tuple(a + b for a, b in zip(left, right, strict=True))


def _hidden(g: Given) -> str:
    cells = [cell for head in g.mask or () for row in head for cell in row]
    return "none" if g.mask is None else f"{cells.count(False)} of {len(cells)} hidden"


def _differs(a: float, b: float) -> bool:
    """Whether two numbers differ by more than float64's own error."""
    return a != b and not abs(a - b) <= slack(a)
