"""``riverhead check backend``: what torch's attention, or a model's, does where implementations differ."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from riverhead.cli.opening import bar
from riverhead.cli.options import format_option, output_option
from riverhead.cli.output import output_of
from riverhead.errors import InputError

if TYPE_CHECKING:
    from riverhead.checking.backends import Audit

__all__ = ["backend"]

FORMATS = ("text", "json", "markdown", "html", "latex", "svg", "png")
SCHEMA = "riverhead.check.backend/1"
MODEL = "transformers:"

EXAMPLES = """\b
Examples:
  riverhead check backend torch
  riverhead check backend torch --only "SDPA math" --only MHA
  riverhead check backend transformers:llama
  riverhead check backend transformers:path/to/model --format markdown -o model.md
  riverhead check backend torch --json
"""


@click.command(epilog=EXAMPLES)
@click.argument("which", metavar="torch | transformers:MODEL")
@click.option("--only", multiple=True, metavar="NAME", help="Only this column of the table; may be repeated.")
@format_option(*FORMATS)
@output_option
def backend(which: str, only: tuple[str, ...], format: str, output: Path | None) -> None:
    """Measure what torch's attention, or a model's own, does where implementations differ.

    torch: F.scaled_dot_product_attention and its kernels, FlexAttention, nn.MultiheadAttention. MODEL is a
    model's folder, or a kind that transformers knows (llama, gpt2, bert, …), of which a tiny one is made: its
    eager and its sdpa attention, and the model that they stand in. Nothing is fetched.

    Each is run against the rules of attention, as `check code` does, and against float64. Every cell of the
    table is measured here and now. Exit status 1 says that one of them breaks a rule that must hold.
    """
    out = output_of(format, output, SCHEMA, FORMATS)
    with bar("trying") as tell:
        found = _audit(which, only, tell)
    out.page("audit", found.scene(), found.to_dict())
    out.close()
    if not found.ok:
        raise click.exceptions.Exit(1)


def _audit(which: str, only: tuple[str, ...], tell: Callable[[float, float, str | None], None]) -> Audit:
    from riverhead.checking.backends import audit_model, audit_torch

    if which == "torch":
        return audit_torch(only, tell)
    if which.startswith(MODEL) and which != MODEL:
        return audit_model(which.removeprefix(MODEL), only, tell)
    raise InputError(f"{which!r} is no backend; give torch, or transformers:MODEL, as in transformers:llama")
