"""The heads of one layer of a real model, side by side: the same word, other rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from riverhead.derivation.notation import Digits
from riverhead.inspection import whole_layer
from riverhead.inspection.words import find, words_read
from riverhead.numbers import fixed
from riverhead.scene import Cell, Part, Table, Text

if TYPE_CHECKING:
    from riverhead.transformer import Model

__all__ = ["IN_A_MODEL"]


def layer(model: Model, text: str, layer: int, focus: str) -> list[Part]:
    """Every head of a layer: its row for one word, and the three questions about the word it looks at."""
    found = whole_layer(model, text, layer, focus=focus)
    reading, rows = model.read(text), list[tuple[Cell, ...]]()
    for row in found.rows:
        weights = reading.head(row.head).weights[found.query.last]
        shown = (Digits().show("weights", float(weight)) for weight in weights)
        swap = "—" if row.swap_mean is None else fixed(row.swap_mean)
        off = "—" if row.if_off_nats is None else fixed(row.if_off_nats)
        rows.append((row.head, *shown, fixed(row.habit), swap, off, row.says))
    names = [token.strip() for token in found.tokens]
    caption = f"the row of {found.query.text}; habit and swap of its weight on {found.key.text}"
    table = Table(("", *names, "habit", "swap", "if off", ""), tuple(rows), caption)
    return [table, *(Text((note,), "note") for note in found.notes)]


def texts(model: Model, texts: Sequence[str], heads: Sequence[str], focus: str) -> Table:
    """One word's row in a few heads, text by text; the texts have as many tokens."""
    readings = [model.read(text) for text in texts]
    rows: list[tuple[Cell, ...]] = []
    for head in heads:
        for reading in readings:
            asking = find(words_read(model.tokenizer, reading.text, reading.token_ids), focus).last
            weights = reading.head(head).weights[asking]
            rows.append(
                (head, reading.text, *(Digits().show("weights", float(weight)) for weight in weights))
            )
    places = zip(*(reading.tokens for reading in readings), strict=True)
    columns = (same[0].strip() if len(set(same)) == 1 else "…" for same in places)
    return Table(("", f"the row of {focus} in", *columns), tuple(rows))


IN_A_MODEL = {"real_layer": layer, "real_texts": texts}
