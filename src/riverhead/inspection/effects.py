"""What a model makes of a text without some heads, beside what it makes of it with them: as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from riverhead.display import Displayable
from riverhead.inspection.findings import excerpt, quoted
from riverhead.numbers import Number, fixed
from riverhead.scene import Cell, Scene, Table, Text

__all__ = ["DECIMALS", "Effect", "Mode", "NextToken", "TokenEffect", "notes_on", "signed"]

Mode = Literal["zero", "mean"]

DECIMALS = 4  # most heads move the odds by less than 0.001 nats
SHOWN_TOKENS = 8

MODES: dict[Mode, str] = {
    "zero": "A head that is off hands over zeros",
    "mean": "A head that is off hands over its mean output over plain text, the same at every token",
}
ODDS = "odds moved = KL divergence in nats of the odds after the last token, from those with every head"
LOSS = "loss = −ln p of each token given those before it, the first apart; of the text, their mean"
VECTORS = "vectors moved = ‖x′ − x‖ / ‖x‖ of a token's final vector; of the text, the mean over its tokens"
NO_ODDS = "The model predicts no next token: it has no odds and no loss"
WHOSE = "Each effect is one in this model, on this text"


@dataclass(frozen=True, slots=True)
class TokenEffect:
    """One token of a text; what its model or place does not have is None.

    ``loss_nats`` is −ln p of the token given those before it; ``vector_change`` is ‖x′ − x‖ / ‖x‖ of its
    final vector.
    """

    position: int
    token: str
    loss_nats: float | None = None
    loss_without_nats: float | None = None
    vector_change: float | None = None

    @property
    def change(self) -> float | None:
        """What its loss rose by, in nats, or how far its vector moved."""
        if self.loss_nats is None or self.loss_without_nats is None:
            return self.vector_change
        return self.loss_without_nats - self.loss_nats


@dataclass(frozen=True, slots=True)
class NextToken:
    """A token that may come next: its probability with every head, and without some."""

    token: str
    probability: float
    probability_without: float


@dataclass(frozen=True)
class Effect(Displayable):
    """A text read without ``heads``, all of them off together, beside the same text with every head.

    ``kl_nats`` is how far the odds after the last token move; ``loss_nats`` and ``loss_without_nats`` are the
    mean over the text's tokens, None where it has but one. A model without odds has none of the three, but
    ``vector_change``, how far its tokens' final vectors move. ``next_token`` holds the likeliest of both.
    """

    model: str
    text: str
    heads: tuple[str, ...]
    mode: Mode
    kl_nats: float | None
    loss_nats: float | None
    loss_without_nats: float | None
    vector_change: float | None
    next_token: tuple[NextToken, ...]
    tokens: tuple[TokenEffect, ...]

    def moved_most(self, n: int = SHOWN_TOKENS) -> tuple[TokenEffect, ...]:
        """Return the ``n`` tokens whose loss, or vector, changed most, either way."""
        changed = [(token, token.change) for token in self.tokens]
        known = [(token, abs(change)) for token, change in changed if change is not None]
        return tuple(token for token, _ in sorted(known, key=lambda pair: -pair[1])[:n])

    def scene(self) -> Scene:
        """Lay out what moved in all, the next tokens, and the tokens that changed most."""
        tables = self._losses() if self.vector_change is None else self._vectors(self.vector_change)
        notes = (Text((note,), role="note") for note in notes_on(self.mode, self.kl_nats))
        return Scene(f"Without {', '.join(self.heads)}: {self.model}", (*tables, *notes))

    def _losses(self) -> Iterator[Table]:
        sides = ("with", "without", "moved")
        totals: list[tuple[Cell, ...]] = [
            ("odds, KL in nats", None, None, fixed(self.kl_nats or 0, DECIMALS))
        ]
        if self.loss_nats is not None and self.loss_without_nats is not None:
            totals.append(("loss, nats a token", *_pair(self.loss_nats, self.loss_without_nats, DECIMALS)))
        yield Table(("", *sides), tuple(totals), excerpt(self.text))
        odds = ((quoted(x.token), *_pair(x.probability, x.probability_without)) for x in self.next_token)
        yield Table(("next token", *sides), tuple(odds))
        if most := self.moved_most():
            losses = ((_name(x), *_pair(x.loss_nats or 0, x.loss_without_nats or 0)) for x in most)
            yield Table(("losses that moved most", *sides), tuple(losses))

    def _vectors(self, mean: float) -> Iterator[Table]:
        moved = ((_name(token), fixed(token.change or 0, DECIMALS)) for token in self.moved_most())
        total = ("the mean of all tokens", fixed(mean, DECIMALS))
        yield Table(("vectors that moved most", "moved"), (*moved, total), excerpt(self.text))

    def rows(self) -> list[dict[str, Any]]:
        """Return a row per token, for CSV."""
        return [asdict(token) for token in self.tokens]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, ready for JSON."""
        return asdict(self)


def notes_on(mode: Mode, kl_nats: float | None) -> tuple[str, ...]:
    """Say what the numbers are; ``kl_nats`` is None for a model that has no odds."""
    numbers = (ODDS, LOSS) if kl_nats is not None else (NO_ODDS, VECTORS)
    return MODES[mode], *numbers, WHOSE


def signed(value: float, decimals: int) -> Number:
    """Show a change with its sign.

    >>> signed(0.25, 2).text, signed(-0.25, 2).text
    ('+0.25', '−0.25')
    """
    number = fixed(value, decimals)
    return Number(value, f"+{number}") if value > 0 else number


def _pair(before: float, after: float, decimals: int = 3) -> tuple[Cell, ...]:
    return fixed(before, decimals), fixed(after, decimals), signed(after - before, decimals)


def _name(token: TokenEffect) -> str:
    return f"{token.position}  {quoted(token.token)}"
