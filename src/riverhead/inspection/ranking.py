"""Every head of a model by what moves without it: as plain data, and the sheet that shows it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from riverhead.core.border import count
from riverhead.display import Displayable
from riverhead.errors import InputError
from riverhead.inspection.effects import DECIMALS, Mode, notes_on, signed
from riverhead.inspection.findings import excerpt
from riverhead.numbers import fixed
from riverhead.scene import Axis, Cell, Heatmap, Part, Scene, Table, Text

__all__ = ["By", "HeadEffect", "Ranking", "chosen", "measured"]

By = Literal["odds", "loss", "vectors"]

FIELDS: dict[By, str] = {"odds": "kl_nats", "loss": "loss_change_nats", "vectors": "vector_change"}
COLUMNS: dict[By, str] = {
    "odds": "odds moved, nats",
    "loss": "loss moved, nats a token",
    "vectors": "vectors moved",
}
PICTURES: dict[By, str] = {
    "odds": "How far the next-token odds move without each head, in nats",
    "loss": "How far the text's loss moves without each head, either way, in nats a token",
    "vectors": "How far the tokens' final vectors move without each head",
}
SHOWN = 20


@dataclass(frozen=True, slots=True)
class HeadEffect:
    """What moves with one head off: as the fields of `Effect`; what the model or the text has not is None."""

    head: str
    kl_nats: float | None = None
    loss_change_nats: float | None = None  # above 0 where the text is likelier with the head
    vector_change: float | None = None


@dataclass(frozen=True)
class Ranking(Displayable):
    """Each head of a model switched off alone; ``heads`` are in the model's order.

    ``loss_nats`` is the text's with every head, per token.
    """

    model: str
    text: str
    n_tokens: int
    n_layers: int
    mode: Mode
    loss_nats: float | None
    heads: tuple[HeadEffect, ...]

    @property
    def measured(self) -> tuple[By, ...]:
        """What was measured of each head."""
        return measured(self.heads[0].kl_nats is not None, self.n_tokens)

    def by(self, by: By | None = None) -> tuple[HeadEffect, ...]:
        """Return the heads, largest effect first, on the ``"odds"``, the ``"loss"`` or the ``"vectors"``.

        Raises `InputError` for one that was not measured; the default is the first that was.
        """
        field = FIELDS[chosen(by, self.measured)]
        return tuple(sorted(self.heads, key=lambda head: -abs(getattr(head, field))))

    def scene(self, n: int = SHOWN, by: By | None = None) -> Scene:
        """Lay out the ``n`` first heads, and all of them as a picture of layers and heads."""
        by = chosen(by, self.measured)
        ranked = self.by(by)[: count("n", n)]
        columns = ("", *(COLUMNS[what] for what in self.measured))
        notes = list(notes_on(self.mode, self.heads[0].kl_nats))
        if len(ranked) < len(self.heads):
            notes.insert(0, f"Shown: the {len(ranked)} heads of {len(self.heads)} that move the {by} most")
        table = Table(columns, tuple(map(self._cells, ranked)), excerpt(self.text))
        parts: list[Part] = [table, self._picture(by)]
        parts += [Text((note,), role="note") for note in notes]
        return Scene(f"Each head off in turn: {self.model}", tuple(parts))

    def rows(self, by: By | None = None) -> list[dict[str, Any]]:
        """Return a row per head, ranked, for CSV."""
        return [asdict(head) for head in self.by(by)]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, ready for JSON."""
        return asdict(self)

    def _cells(self, head: HeadEffect) -> tuple[Cell, ...]:
        effects = [(by, getattr(head, FIELDS[by])) for by in self.measured]
        shown = (signed(x, DECIMALS) if by == "loss" else fixed(x, DECIMALS) for by, x in effects)
        return head.head, *shown

    def _picture(self, by: By) -> Heatmap:
        effects = [abs(getattr(head, FIELDS[by])) for head in self.heads]
        n_heads = len(effects) // self.n_layers
        values = tuple(tuple(effects[at : at + n_heads]) for at in range(0, len(effects), n_heads))
        layers = Axis("layer", tuple(map(str, range(self.n_layers))))
        return Heatmap(values, layers, Axis("head", ends=("H0", f"H{n_heads - 1}")), PICTURES[by])


def measured(predicts: bool, n_tokens: int) -> tuple[By, ...]:
    """Return what moves when a head is off: vectors where nothing is predicted; one token has no loss.

    >>> measured(True, 4), measured(True, 1), measured(False, 4)
    (('odds', 'loss'), ('odds',), ('vectors',))
    """
    if not predicts:
        return ("vectors",)
    return ("odds", "loss") if n_tokens > 1 else ("odds",)


def chosen(by: By | None, measured: tuple[By, ...], asked: str = "by") -> By:
    """Return what to rank by, by default the first of ``measured``; raise `InputError` for what is none."""
    if by is not None and by not in measured:
        raise InputError(
            f"{asked} is {by!r}; with this model and text heads are ranked by {' or '.join(measured)}"
        )
    return by or measured[0]
