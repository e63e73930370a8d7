"""One word in two models as plain data, and the sheet that shows them side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from riverhead.display import Displayable
from riverhead.inspection.comparison import N_HEADS, Comparison, Odds, after, around, odds_parts
from riverhead.inspection.words import Word
from riverhead.numbers import fixed
from riverhead.scene import Bar, Cell, Part, Scene, Table, Text

__all__ = ["Looked", "ModelComparison", "ModelSide", "WordLooked"]


@dataclass(frozen=True, slots=True)
class ModelSide:
    """One of the two models, its tokens of the text, and the word in them.

    ``from_start`` holds the cosine of the word's vector with what it was before the first block: there, and
    after each layer, (n_layers + 1,).
    """

    model: str
    n_layers: int
    n_heads: int
    tokens: tuple[str, ...]
    word: Word
    from_start: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Looked:
    """What one model gives a word: the mean over all heads, and the head with most weight beyond habit.

    The first token and the word itself have no habit; there ``head``, ``weight`` and ``habit`` are None.
    """

    mean: float
    head: str | None = None
    weight: float | None = None
    habit: float | None = None


@dataclass(frozen=True, slots=True)
class WordLooked:
    """A word looked at, in both models; None where one of them cannot see it."""

    text: str
    sides: tuple[Looked | None, Looked | None]


@dataclass(frozen=True)
class ModelComparison(Displayable):
    """A word of one text in two models; ``same`` compares them head by head where they are of one shape.

    ``odds`` is None where one of them predicts no next token.
    """

    text: str
    word: str
    sides: tuple[ModelSide, ModelSide]
    words: tuple[WordLooked, ...]
    same: Comparison | None
    odds: Odds | None
    notes: tuple[str, ...]

    def sorted(self, by: str) -> ModelComparison:
        """Return it with the heads in another order, where they are compared one by one."""
        return self if self.same is None else replace(self, same=self.same.sorted(by))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, ready for JSON."""
        return asdict(self)

    def rows(self) -> list[dict[str, float | int | str | None]]:
        """Return a row for every head and place, or for every word where heads have no counterpart."""
        if self.same is not None:
            return self.same.rows()
        return [
            {"word": looked.text} | _named(looked.sides[0], "a") | _named(looked.sides[1], "b")
            for looked in self.words
        ]

    def scene(self, n: int = N_HEADS) -> Scene:
        """Lay out what the word looks at in both, ``n`` heads if they have counterparts, and the odds."""
        a, b = self.sides
        parts: list[Part] = [
            Text((around(self.text, a.word),)),
            *(Text((f"{name}: {_described(side)}",)) for name, side in (("A", a), ("B", b))),
            Text((f"What {self.word} looks at",), "heading"),
            self._words(),
            *([] if self.same is None else self.same.head_parts(n)),
            *(self._from_start() if self.same is None else self.same.layer_parts()),
            *odds_parts(self.odds, ("A", "B")),
            *(Text((note,), "note") for note in self.notes),
        ]
        return Scene(f"{self.word} in two models", tuple(parts))

    def _words(self) -> Table:
        columns = ("", "A mean", "most", "weight", "habit", "B mean", "most", "weight", "habit")
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (looked.text, *_cells(looked.sides[0]), *_cells(looked.sides[1])) for looked in self.words
        )
        return Table(columns, rows, "mean over all heads, and the head with most weight beyond habit")

    def _from_start(self) -> Iterator[Part]:
        yield Text((f"How far {self.word} goes from where it starts",), "heading")
        a, b = (side.from_start for side in self.sides)
        rows: list[tuple[Cell, ...]] = []
        for n in range(max(len(a), len(b))):
            both = [_cosine(side[n] if n < len(side) else None) for side in (a, b)]
            rows.append((after(n - 1 if n else None), *both[0], *both[1]))
        yield Table(("after", "A", "", "B", ""), tuple(rows), "cosine with the word before the first block")


def _described(side: ModelSide) -> str:
    heads = f"{side.n_layers} layers of {side.n_heads} heads"
    return f"{side.model}, {heads}, {len(side.tokens)} tokens"


def _cells(looked: Looked | None) -> tuple[Cell, ...]:
    if looked is None:
        return ("—", None, None, None)
    rest = (None if x is None else fixed(x) for x in (looked.weight, looked.habit))
    return (fixed(looked.mean), looked.head, *rest)


def _cosine(value: float | None) -> tuple[Cell, Cell]:
    return (None, None) if value is None else (fixed(value), Bar(max(value, 0)))


def _named(looked: Looked | None, side: str) -> dict[str, float | int | str | None]:
    plain = asdict(looked) if looked is not None else dict.fromkeys(("mean", "head", "weight", "habit"))
    return {f"{name}_{side}": value for name, value in plain.items()}
