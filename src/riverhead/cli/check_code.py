"""``riverhead check code``: somebody's attention, run against the rules, and the mistake by its name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from riverhead.cli.opening import bar
from riverhead.cli.options import format_option, output_option
from riverhead.cli.output import Output, output_of, write
from riverhead.errors import InputError, RiverheadError

if TYPE_CHECKING:
    from riverhead.checking.rules.report import Report
    from riverhead.checking.rules.reports.standing import Standing

__all__ = ["code"]

FORMATS = ("text", "json", "markdown", "junit", "html", "latex", "svg", "png")
KINDS = ("attention", "heads", "rope", "alibi", "positions", "cache", "merge")
ARRAYS = ("numpy", "torch", "list")
SCHEMA = "riverhead.check.code/1"
GIB = 2**30

EXAMPLES = """\b
Examples:
  riverhead check code mine.py:attention
  riverhead check code package.module:MultiHead --argument d_model=12 --argument n_heads=3
  riverhead check code torch.nn.functional:scaled_dot_product_attention --expect mask=keep
  riverhead check code mine.py:attention --known accepted.txt --format junit -o rules.xml
  riverhead check code --rules --kind rope
"""


@click.command(epilog=EXAMPLES)
@click.argument("target", required=False, metavar="MODULE:FUNCTION | FILE.py:FUNCTION")
@click.option("--kind", type=click.Choice(KINDS), help="What it is; its parameters say it otherwise.")
@click.option("--arrays", type=click.Choice(ARRAYS), help="What it takes; tried in turn otherwise.")
@click.option(
    "--expect", multiple=True, metavar="ASPECT=NAME", help="A convention it has to keep: mask=drop."
)
@click.option("--argument", "arguments", multiple=True, metavar="NAME=VALUE",
              help="What else it is given, as JSON or as a word: n_heads=3.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Which numbers are drawn.")
@click.option("--seconds", type=click.FloatRange(0, 3600, min_open=True), default=10.0, show_default=True,
              help="How long one call may take.")  # fmt: skip
@click.option("--memory", type=click.FloatRange(0, 1024, min_open=True), default=2.0, show_default=True,
              metavar="GIB", help="How much memory it may take.")  # fmt: skip
@click.option("--known", "known_path", type=click.Path(path_type=Path), metavar="FILE",
              help="Accepted failures, a rule a line; one that no longer fails is a finding.")  # fmt: skip
@click.option("--strict", is_flag=True, help="What should hold must.")
@click.option("--all", "everything", is_flag=True, help="Show every rule, every number, and a script.")
@click.option("--rules", "list_rules", is_flag=True, help="List the rules, and the mistakes that break them.")
@format_option(*FORMATS)
@output_option
def code(
    target: str | None,
    kind: str | None,
    arrays: str | None,
    expect: tuple[str, ...],
    arguments: tuple[str, ...],
    seed: int,
    seconds: float,
    memory: float,
    known_path: Path | None,
    strict: bool,
    everything: bool,
    list_rules: bool,
    format: str,
    output: Path | None,
) -> None:
    """Run an attention function, a module, a RoPE, an ALiBi or a cache against the rules of attention.

    It is called on tiny arrays, in a process of its own. Each rule that it breaks is shown with the number
    found, the right one and how it is made, and the mistake that gives just what was found. What is only
    agreed upon (True in a mask = may attend) is reported, and wrong only if --expect asks for another.

    Your code is imported and run: there is no sandbox. Exit status 1 says that a rule that must hold is
    broken (with --strict one that should, too), or that a line of --known is stale; 3 that the function could
    not be called.
    """
    out = output_of(format, output, SCHEMA, FORMATS)
    if list_rules:
        return _list(out, kind)
    if target is None:
        raise click.UsageError("give what to check: module:function, file.py:function; or --rules")
    from riverhead.checking.rules import options
    from riverhead.checking.rules.reports.known import NOTHING, known
    from riverhead.checking.rules.reports.standing import Standing

    accepted = NOTHING if known_path is None else known(known_path).of(target)
    asked = {"expect": options.expected(expect), "arguments": options.arguments(arguments)}
    report = _report(target, (seconds, memory), kind=kind, arrays=arrays, seed=seed, **asked)
    return _show(out, Standing(report, accepted, strict), everything)


def _report(target: str, limits: tuple[float, float], **asked: Any) -> Report:
    """Return what was found; what cannot be called is no wrong usage."""
    from riverhead.check import implementation
    from riverhead.checking.rules.running.limits import Limits

    seconds, memory = limits
    try:
        with bar("asking") as tell:
            limited = Limits(seconds, int(memory * GIB))
            return implementation(target, limits=limited, tell=tell, **asked)
    except InputError as wrong:
        raise RiverheadError(f"{target}: {wrong}") from wrong


def _show(out: Output, standing: Standing, everything: bool) -> None:
    from riverhead.checking.rules.reports.data import data
    from riverhead.checking.rules.reports.junit import junit
    from riverhead.checking.rules.reports.scene import scene, table

    if out.format == "junit":
        write(junit(standing), out.path)
    else:
        as_table = out.format == "markdown"
        shown = table(standing, everything) if as_table else scene(standing, everything)
        out.page("code", shown, data(standing))
        out.close()
    if not standing.fine:
        raise click.exceptions.Exit(1)


def _list(out: Output, kind: str | None) -> None:
    from riverhead.checking.rules.reports.listing import listed, listing

    if out.format == "junit":
        raise click.UsageError("--rules runs nothing: there is no junit of it")
    kinds = KINDS if kind is None else (kind,)
    out.page("rules", listing(kinds), listed(kinds))
    out.close()
