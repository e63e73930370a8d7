"""``riverhead plan --list``: the models known by name, counted, with where their sizes stand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from riverhead.cost.known import Known
    from riverhead.scene import Scene

__all__ = ["known_rows", "known_scene"]

CAPTION = (
    "Parameters are added up part by part; they are the published count to the last one, but for those with "
    "a note."
)


def known_rows() -> list[dict[str, Any]]:
    """Return a row for each known model: its sizes, our count of its parameters, the published one."""
    from riverhead.cost.known import known_models

    return [_row(model) for model in known_models().values()]


def _row(model: Known) -> dict[str, Any]:
    from riverhead.cost.parameters import parameters

    config = model.config
    sizes = {name: getattr(config, name) for name in SIZES}
    n_parameters = sum(part.value or 0 for part in parameters(config))
    about = {name: getattr(model, name) for name in ("published", "published_at", "note", "source")}
    return {"name": model.name, "title": model.title, "parameters": n_parameters} | sizes | about


SIZES = ("n_layers", "n_heads", "n_kv_heads", "d_model", "d_k", "d_ff", "vocab_size", "context_length")
SHOWN = {
    "name": "name",
    "parameters": "parameters",
    "n_layers": "layers",
    "n_heads": "heads",
    "n_kv_heads": "kv heads",
    "d_model": "d_model",
    "context_length": "reads",
}


def known_scene(rows: list[dict[str, Any]]) -> Scene:
    """Show the rows as a table, the notes under it, and the sources folded."""
    from riverhead.numbers import Number, grouped
    from riverhead.scene import Fold, Scene, Table, Text

    def cells(row: Mapping[str, Any]) -> tuple[str | Number, ...]:
        values = (row[name] for name in SHOWN)
        return tuple(value if isinstance(value, str) else grouped(value) for value in values)

    table = Table(tuple(SHOWN.values()), tuple(cells(row) for row in rows), CAPTION)
    notes = (
        Text((f"{row['name']}: published {row['published']:,}, {row['note']}.",), "note")
        for row in rows
        if row["note"]
    )
    sources = Table(("name", "", "where"), tuple(where for row in rows for where in _sources(row)))
    return Scene(
        "Models known by name", (table, *notes, Fold("Where the sizes and the counts stand", (sources,)))
    )


def _sources(row: Mapping[str, Any]) -> tuple[tuple[str, str, str], ...]:
    return (row["name"], "sizes", row["source"]), ("", "count", row["published_at"])
