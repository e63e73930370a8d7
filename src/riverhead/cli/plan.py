"""``riverhead plan``: what a model costs, every figure with its formula; no weights are needed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from riverhead.cli.options import format_option, output_option, was_given
from riverhead.cli.output import output_of
from riverhead.cli.plan_sizes import config_of, flag, size_options, whole
from riverhead.errors import InputError

if TYPE_CHECKING:
    from riverhead.cli.output import Output
    from riverhead.cost import Config
    from riverhead.cost.plan import Plan
    from riverhead.cost.sections import PartName
    from riverhead.scene import Scene

__all__ = ["plan"]

FORMATS = ("text", "csv", "json", "markdown", "latex", "html", "svg", "png")
PICTURES = ("svg", "png")  # formats that hold the plot instead of the tables
DTYPES = ("float64", "float32", "float16", "bfloat16", "int8")
PARTS = ("parameters", "flops", "memory", "growth")

MORE = "--full shows every figure, and its formula with the numbers put in; --part those of one part."

EXAMPLES = """\b
Examples:
  riverhead plan llama-3-8b --tokens 8192 --dtype float16
  riverhead plan gpt2 --tokens 100000 --part memory
  riverhead plan llama-3-8b --n-kv-heads 1 --tokens 8192
  riverhead plan --n-layers 12 --n-heads 12 --d-model 768 --vocab-size 50257
  riverhead plan path/to/config.json --json
  riverhead plan llama-3-8b -o cost.svg
  riverhead plan --list
"""


@click.command(epilog=EXAMPLES)
@click.argument("model", required=False, metavar="[NAME|FILE]")
@click.option(
    "--tokens", type=int, callback=whole(), metavar="T", help="Tokens; the model's context unless given."
)
@click.option("--batch", type=int, callback=whole(), default=1, metavar="B", help="Texts at once (1).")
@click.option(
    "--dtype", type=click.Choice(DTYPES), default="float32", show_default=True, help="Of every number."
)
@click.option("--part", type=click.Choice(PARTS), help="One part of the plan.")
@click.option("--full", is_flag=True, help="Every figure, and its formula with the numbers put in.")
@click.option("--list", "listing", is_flag=True, help="The models known by name, with their sources.")
@size_options
@format_option(*FORMATS)
@output_option
def plan(
    model: str | None,
    tokens: int | None,
    batch: int,
    dtype: str,
    part: PartName | None,
    full: bool,
    listing: bool,
    format: str,
    output: Path | None,
    **sizes: int | None,
) -> None:
    """What a model costs: parameters, FLOPs and bytes, each with its formula and the numbers put in.

    The model is a NAME (--list has them), a Hugging Face config.json or its folder, a GGUF file, or sizes
    alone. No weights are needed.

    Sizes alone are a causal model of Llama's kind that reads 2,048 tokens: RMSNorm, SwiGLU, tied embeddings.
    Sizes beside a NAME or a FILE take the place of its own, and those that followed from them there follow
    here: as many kv heads as heads, d_k = d_model / n_heads, a d_ff of a whole number of d_model.
    """
    asked = {name for name in click.get_current_context().params if was_given(name)}
    if listing and (asked := asked - {"listing", "full", "format", "output"}):
        given_as = sorted({"model": "NAME"}.get(name, flag(name)) for name in asked)
        raise click.UsageError(f"--list lists what a NAME can be: leave out {', '.join(given_as)}")
    out = output_of(format, output, f"riverhead.plan{'.list' if listing else ''}/1", FORMATS)
    if out.format in PICTURES and part is not None:
        raise InputError(f"--part {part} has no picture: {out.format} holds the plot of the whole plan")
    if listing:
        return _list(out, full)
    given = {name: value for name, value in sizes.items() if value is not None}
    name, config, notes = config_of(model, given, dtype)
    asked_of = {"tokens": tokens, "batch": batch, "dtype": dtype, "name": name, "notes": notes}
    _page(out, config, part, full, asked_of)


def _page(out: Output, config: Config, part: PartName | None, full: bool, asked: Any) -> None:
    from riverhead.cost.overview import overview
    from riverhead.cost.plan import plan as count
    from riverhead.scene import Scene, Text

    found = count(config, **asked)
    if out.format in PICTURES:
        scene = Scene(f"What {found.name} costs", found.lines())
    elif part is None and out.format == "text" and not full:
        scene = overview(found)
        scene = replace(scene, parts=(*scene.parts, Text((MORE,), "note")))
    else:
        scene = found.scene(part)
    scene = _noted(_opened(scene) if full else scene, found)
    data = _data(found, part) if out.format == "json" else None
    out.page("plan", scene, data, rows=found.rows(part) if out.format == "csv" else ())
    out.close()


def _data(found: Plan, part: PartName | None) -> dict[str, Any]:
    left_out = {"schema"} | ({"doubled"} if part not in (None, "growth") else set())
    data = {name: value for name, value in found.to_dict().items() if name not in left_out}
    return data | {"figures": [row for row in data["figures"] if part in (None, row["part"])]}


def _opened(scene: Scene) -> Scene:
    """Open every fold."""
    from riverhead.scene import Fold

    parts = (replace(part, open=True) if isinstance(part, Fold) else part for part in scene.parts)
    return replace(scene, parts=tuple(parts))


def _noted(scene: Scene, found: Plan) -> Scene:
    """Say first what was assumed or left out, and where more tokens are planned than the model reads."""
    from riverhead.cost.figures import counted_said
    from riverhead.scene import Text

    notes, most = found.notes, counted_said(found.config.context_length, "tokens")
    if found.tokens > found.config.context_length:
        notes += (f"The model reads {most}; the figures are those of {found.tokens:,} all the same.",)
    return replace(scene, parts=(*(Text((note,), "note") for note in notes), *scene.parts))


def _list(out: Output, full: bool) -> None:
    from riverhead.cli.plan_list import known_rows, known_scene

    rows = known_rows()
    scene = known_scene(rows)
    out.page("models", _opened(scene) if full else scene, rows, rows=rows)
    out.close()
