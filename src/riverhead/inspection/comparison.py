"""One word in two texts as plain data, and the sheet that shows where they differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from riverhead.derivation.tokens import bare
from riverhead.display import Displayable
from riverhead.errors import InputError
from riverhead.inspection.findings import quoted
from riverhead.inspection.tables import rules
from riverhead.inspection.words import Word
from riverhead.numbers import fixed, plain
from riverhead.scene import Bar, Cell, Part, Scene, Table, Text

__all__ = [
    "SORTS",
    "Comparison",
    "HeadChange",
    "LayerCosine",
    "Odds",
    "Place",
    "Row",
    "Side",
    "after",
    "around",
    "odds_parts",
]

N_HEADS = 8
N_EXAMPLES = 3
BEFORE, BEHIND = 160, 60  # characters of a text shown around the word
SMALL = 0.0005  # a drop that shows as 0

Row = tuple[float | None, ...]  # by place; None where the text has no such place


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two texts, its tokens, and the word in it."""

    text: str
    tokens: tuple[str, ...]
    word: Word


@dataclass(frozen=True, slots=True)
class Place:
    """A place that the word looks at: ``distance`` tokens back, None for the first token of a text.

    ``keys`` and ``tokens`` are what stands there in each text, None where one has no such place.
    """

    distance: int | None
    keys: tuple[int | None, int | None]
    tokens: tuple[str | None, str | None]


@dataclass(frozen=True, slots=True)
class HeadChange:
    """How far one head's row of weights, layer and head ``at``, differs between the texts; all parts of 1.

    ``change`` is the total variation ½ Σ|p − q| over the places both texts have, each row scaled to sum to 1
    there; ``alone`` the weight on places that one text alone has, the larger of both; ``from_habit`` the same
    sum ½ Σ|w − habit| of each text over the keys that have a habit, None where none has one. ``says`` and
    ``changed`` follow from labels.toml. ``weights`` and ``habit`` are of each text, by place; ``moved`` is
    the index of the one whose weight differs most, the first token and the word itself apart if there is any
    other.
    """

    head: str
    at: tuple[int, int]
    change: float
    alone: float
    from_habit: tuple[float | None, float | None]
    says: str
    changed: bool
    moved: int
    weights: tuple[Row, Row]
    habit: tuple[Row, Row]


SORTS: dict[str, Callable[[HeadChange], Any]] = {
    "change": lambda head: -head.change,
    "-change": lambda head: head.change,
    "alone": lambda head: -head.alone,
    "layer": lambda head: head.at,
}


@dataclass(frozen=True, slots=True)
class LayerCosine:
    """How alike the word's two vectors are after ``layer``; None is before the first block.

    ``drop`` is how much less than one layer before; ``others`` the mean cosine of each with the other words
    of the other text, None where there are none; ``share`` is (1 − cosine) / (1 − others), 0 for the same
    vector and 1 for one no nearer than other words are. ``says`` and ``apart`` follow from labels.toml.
    """

    layer: int | None
    cosine: float
    drop: float
    others: float | None
    share: float
    says: str
    apart: bool


@dataclass(frozen=True, slots=True)
class Odds:
    """The likeliest next tokens of either side, each with the probability that either gives it.

    ``kl_nats`` is KL(a ‖ b) and KL(b ‖ a), in nats. Where the vocabularies differ it is None, and so is the
    probability of what is no token of the other.
    """

    rows: tuple[tuple[str, float | None, float | None], ...]
    kl_nats: tuple[float, float] | None


@dataclass(frozen=True)
class Comparison(Displayable):
    """A word in two texts as one model reads them: ``heads`` are all of them, the most changed first.

    ``odds`` is None of a model that predicts no next token; ``notes`` hold what was decided on the way.
    """

    model: str
    word: str
    sides: tuple[Side, Side]
    places: tuple[Place, ...]
    heads: tuple[HeadChange, ...]
    layers: tuple[LayerCosine, ...]
    odds: Odds | None
    notes: tuple[str, ...]

    @property
    def splits(self) -> LayerCosine | None:
        """The first layer after which the two vectors are apart, or None where they stay together."""
        return next((layer for layer in self.layers if layer.apart), None)

    @property
    def largest_drop(self) -> LayerCosine:
        """The layer that takes the two vectors farthest from each other."""
        return max(self.layers, key=lambda layer: layer.drop)

    def sorted(self, by: str) -> Comparison:
        """Return it with the heads in another order; raise `InputError` for an order there is not."""
        if by not in SORTS:
            raise InputError(f"heads are not sorted by {by!r:.40}; choose one of {', '.join(SORTS)}")
        return replace(self, heads=tuple(sorted(self.heads, key=SORTS[by])))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, ready for JSON."""
        return asdict(self)

    def rows(self) -> list[dict[str, float | int | str | None]]:
        """Return a row for every head and place, plain numbers: what CSV holds."""
        return [
            {
                "head": head.head,
                "change": head.change,
                "alone": head.alone,
                "says": head.says,
                "distance": place.distance,
                "token_a": place.tokens[0],
                "token_b": place.tokens[1],
                "weight_a": head.weights[0][n],
                "weight_b": head.weights[1][n],
                "habit_a": head.habit[0][n],
                "habit_b": head.habit[1][n],
            }
            for head in self.heads
            for n, place in enumerate(self.places)
        ]

    def scene(self, n: int = N_HEADS) -> Scene:
        """Lay out what changed: the heads by what they do, ``n`` of them, the layers, the next tokens."""
        a, b = (around(side.text, side.word) for side in self.sides)
        parts: list[Part] = [
            Text((f"A: {a}",)),
            Text((f"B: {b}",)),
            *self.head_parts(n),
            *self.layer_parts(),
            *odds_parts(self.odds, ("A", "B")),
            *(Text((note,), "note") for note in self.notes),
        ]
        return Scene(f"{self.word} in two texts: {self.model}", tuple(parts))

    def head_parts(self, n: int = N_HEADS) -> Iterator[Part]:
        """Lay out how many heads do what, and the first ``n`` with the place that most weight moved in."""
        yield Text(("Which heads changed with the words",), "heading")
        by_words = defaultdict(list)
        for head in self.heads:
            by_words[head.says].append(head.head)
        columns: tuple[Cell, ...] = (f"weights of {self.word}", "", "heads", "for example")
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (rule.words, rule.condition, plain(len(of)), ", ".join(of[:N_EXAMPLES]))
            for rule in rules("change")
            if (of := by_words[rule.words])
        )
        yield Table(columns, rows)
        heads = tuple(map(self._cells, self.heads[:n]))
        yield Table(("", "change", "A", "B", "in A", "in B", "habit", ""), heads, "where most weight moved")

    def _cells(self, head: HeadChange) -> tuple[Cell, ...]:
        tokens = self.places[head.moved].tokens
        habits = [row[head.moved] for row in head.habit]
        habit = max((x for x in habits if x is not None), default=None)
        numbers = (*(row[head.moved] for row in head.weights), habit)
        shown = ("—" if x is None else fixed(x) for x in numbers)
        return head.head, fixed(head.change), *map(_token, tokens), *shown, head.says

    def layer_parts(self) -> Iterator[Part]:
        """Lay out the cosine of the two vectors after every layer."""
        yield Text((f"Where {self.word} splits",), "heading")
        yield Text((self._split_said(),))
        columns = ("after", "cosine", "", "drop", "others", "share", "")
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (
                after(layer.layer),
                fixed(layer.cosine),
                Bar(max(layer.cosine, 0)),
                fixed(layer.drop),
                "—" if layer.others is None else fixed(layer.others),
                fixed(layer.share),
                layer.says,
            )
            for layer in self.layers
        )
        yield Table(columns, rows, f"cosine of {self.word} in A with {self.word} in B, and with other words")

    def _split_said(self) -> str:
        splits, drop = self.splits, self.largest_drop
        where = "stay together" if splits is None else f"first come apart after {after(splits.layer)}"
        most = (
            f"; the largest drop, {fixed(drop.drop)}, is {after(drop.layer)}'s" if drop.drop > SMALL else ""
        )
        return f"The two vectors of {self.word} {where}{most}."


def odds_parts(odds: Odds | None, names: tuple[str, str]) -> Iterator[Part]:
    """Lay out the next tokens of two sides, called by ``names``."""
    if odds is None:
        return
    yield Text(("The next token",), "heading")
    rows = tuple((quoted(token), *_share(p), *_share(q)) for token, p, q in odds.rows)
    yield Table(("", names[0], "", names[1], ""), rows, "the likeliest of either, with both probabilities")
    if odds.kl_nats is not None:
        there, back = map(fixed, odds.kl_nats)
        a, b = names
        yield Text((f"KL({a} ‖ {b}) = {there} nats, KL({b} ‖ {a}) = {back} nats",))


def _share(p: float | None) -> tuple[Cell, Cell]:
    return ("—", None) if p is None else (fixed(p), Bar(p))


def around(text: str, word: Word) -> str:
    """Return a long text cut to what stands around ``word``, for a headline.

    >>> around("It is a bank.", Word("bank", 3, 4, (8, 12)))
    'It is a bank.'
    """
    first, end = max(word.place[0] - BEFORE, 0), word.place[1] + BEHIND
    return "…" * (first > 0) + text[first:end] + "…" * (end < len(text))


def after(layer: int | None) -> str:
    """Name a point of the residual stream: ``L4``, or the embedding before the first block."""
    return "embedding" if layer is None else f"L{layer}"


def _token(token: str | None) -> str:
    return "—" if token is None else bare(token)
