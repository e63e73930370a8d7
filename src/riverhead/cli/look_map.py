"""``riverhead look map``: heads of a real model, from the whole text to single tokens."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from riverhead.cli.models import say
from riverhead.cli.opening import opened, working
from riverhead.cli.options import format_option, model_options, output_option, read_text, text_options
from riverhead.cli.output import Output, output_of, write

if TYPE_CHECKING:
    from riverhead.inspection.maps import HeadMaps
    from riverhead.render.map_page import Precision

__all__ = ["map"]

FORMATS = ("text", "html", "svg", "png", "json", "csv")
SIZES = {"text": 64, "svg": 256, "png": 256}  # shades along a side, unless --size says

EXAMPLES = """\b
Examples:
  riverhead look map --file book.txt --head L16.H0 -o map.html
  riverhead look map "The river bank flooded" --head L9.H7
  riverhead look map --file book.txt --head L16.H0 --rows 100:160 --keys 90:160 -o map.svg
  riverhead look map --file book.txt --head L16.H0 --rows bank --format csv
  riverhead look map "The river bank flooded" --head L0.H3 --head "L5.*" -o maps.html
"""


@click.command("map", epilog=EXAMPLES)
@text_options
@click.option(
    "--head",
    "heads",
    multiple=True,
    required=True,
    metavar="L16.H0",
    help="A head; L16.* is a layer, all is all. May be given several times.",
)
@click.option("--rows", metavar="100:160", help="These queries alone: numbers from 0, or a word.")
@click.option("--keys", metavar="90:160", help="These keys alone; else those that the rows see.")
@click.option("--size", type=click.IntRange(1, 256), help="Shades along a side (64 in text, 256 drawn).")
@click.option(
    "--precision",
    type=click.Choice(("exact", "rounded")),
    help="HTML: to float32, or to three decimals. The default is exact up to 16 MB.",
)
@model_options
@format_option(*FORMATS)
@output_option
def map_(text: str | None, file: str | None, heads: tuple[str, ...], **asked: Any) -> None:
    """The map of a head over TEXT: how much each token (a row) looks at each other (a column).

    HTML is one page that zooms from the whole map to single tokens and needs no network; its address with
    #L16.H0,412,408,40 opens it at a head, a query, a key, and 40 pixels a token. Any other format shows the
    window that --rows and --keys ask for, by the largest weight in each square where it is large.
    """
    from riverhead.inspection.maps import head_maps, heads_named, window

    output = output_of(asked["format"], asked["output"], "riverhead.look.map/1", FORMATS)
    _refuse_what_would_be_ignored(output.format, asked)
    text = read_text(text, file)
    model = opened(asked["name"], yes=asked["yes"], offline=asked["offline"])
    names = heads_named(heads, model.config)
    with working() as progress:
        progress("reading")
        reading = model.read(text)
        maps = head_maps(reading, names)
        rows, keys = (
            None if asked[side] is None else window(reading, asked[side], f"--{side}")
            for side in ("rows", "keys")
        )
        if output.format == "html":
            progress("writing the page")
            return _page(maps, asked["precision"], output.path)
        _window(maps, rows, keys, asked["size"], output)
    output.close()
    return None


map = map_  # what the group of verbs looks for

NOT_OF_A_PAGE = ("rows", "keys", "size")


def _refuse_what_would_be_ignored(format: str, asked: dict[str, Any]) -> None:
    ignored = NOT_OF_A_PAGE if format == "html" else ("precision",)
    if given := next((name for name in ignored if asked[name] is not None), None):
        why = "the page holds the whole map and zooms by itself" if format == "html" else "it is for html"
        raise click.UsageError(f"--{given} does nothing with --format {format}: {why}; leave it out")


def _page(maps: HeadMaps, precision: Precision | None, path: Path | None) -> None:
    from riverhead.render.map_page import map_page

    page = map_page(maps.title, maps.tokens, maps.heads, precision)
    write(page.html, path)
    say(f"{path or 'page'}: {len(page.html.encode()) / 1e6:.2f} MB. {page.said}")


def _window(maps: HeadMaps, rows: range | None, keys: range | None, size: int | None, output: Output) -> None:
    data, listed = None, []
    rows = rows or range(len(maps.tokens))
    keys = keys or maps.seen(rows)
    if output.format in ("json", "csv"):
        cut = {name: weights.tolist() for name, weights in maps.cut(rows, keys).items()}
        sides = {"rows": [rows.start, rows.stop], "keys": [keys.start, keys.stop]}
        data = {"model": maps.model, "tokens": maps.tokens, **sides, "weights": cut}
        listed = _listed(maps.tokens, cut, rows, keys) if output.format == "csv" else []
    scene = maps.scene(rows, keys, size or SIZES.get(output.format, 64))
    output.page("map", scene, data, rows=listed)


def _listed(
    tokens: tuple[str, ...], cut: dict[str, list[list[float]]], rows: range, keys: range
) -> list[dict[str, Any]]:
    """A line of CSV for each weight."""
    return [
        {
            "head": head,
            "query": i,
            "query_token": tokens[i],
            "key": j,
            "key_token": tokens[j],
            "weight": weight,
        }
        for head, weights in cut.items()
        for i, row in zip(rows, weights, strict=True)
        for j, weight in zip(keys, row, strict=True)
    ]
