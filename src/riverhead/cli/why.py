"""``riverhead why``: predictions first, then what was measured, and whether the two agree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from riverhead.cli.opening import bar
from riverhead.cli.options import format_option, output_option, was_given
from riverhead.cli.output import Output, output_of

if TYPE_CHECKING:
    from riverhead.experiments import Result

__all__ = ["why"]

FORMATS = ("text", "json", "markdown", "latex", "html", "svg", "png")

EXAMPLES = """\b
Examples:
  riverhead why
  riverhead why order
  riverhead why scale --seed 7
  riverhead why growth --thorough
  riverhead why cache -o cache.svg
  riverhead why all --json
"""


def _seed(value: str) -> int:
    """Read a whole number, 0 or more."""
    try:
        seed = int(value)
    except ValueError:
        seed = -1
    if seed < 0:
        raise click.BadParameter(f"{value!r} is no seed; give a whole number, 0 or more")
    return seed


@click.command(epilog=EXAMPLES)
@click.argument("name", required=False)
@click.option(
    "--seed",
    type=_seed,
    metavar="INTEGER",
    default=0,
    show_default=True,
    help="Another draw of numbers, 0 or more.",
)
@click.option("--thorough", is_flag=True, help="More of everything, in minutes rather than seconds.")
@format_option(*FORMATS)
@output_option
def why(name: str | None, seed: int, thorough: bool, format: str, output: Path | None) -> None:
    """Why attention is built as it is: experiments, each predicted before it is measured.

    NAME is one of scale, order, heads, context, cache and growth, or all; without it they are listed. First
    come the question, the argument and what theory predicts, with its bounds; then what was measured. Exit
    status 1 says that a prediction did not hold: it is shown as it is, never drawn again.
    """
    out = output_of(format, output, "riverhead.why/1", FORMATS)

    from riverhead.experiments import EXPERIMENTS, prepare

    if name is None:
        _refuse_without_a_name()
        _list(out)
        return
    names = tuple(EXPERIMENTS) if name == "all" else (name,)
    for each in names:
        prepare(each, thorough)  # a name that there is not is said before anything is measured
    results = [_run(out, each, seed, thorough) for each in names]
    if name == "all":
        _sum_up(out, results)
    out.close()
    if not all(result.agrees for result in results):
        raise click.exceptions.Exit(1)


def _refuse_without_a_name() -> None:
    """Refuse what says how to measure where nothing is measured."""
    for option in ("seed", "thorough"):
        if was_given(option):
            raise click.UsageError(f"--{option} is for an experiment: give its NAME, or all, as well")


def _list(out: Output) -> None:
    from riverhead.experiments import EXPERIMENTS, prepare
    from riverhead.scene import Scene, Table, Text

    questions = {name: prepare(name).question for name in EXPERIMENTS}
    table = Table(("name", "question"), tuple(questions.items()))
    how = Text(("riverhead why NAME runs one of them, riverhead why all every one",), "note")
    out.page("experiments", Scene("Measured experiments", (table, how)), questions)
    out.close()


def _run(out: Output, name: str, seed: int, thorough: bool) -> Result:
    """Say what is predicted, measure, say what was measured; a document holds both together."""
    from riverhead.experiments import measure, prepare

    if out.at_once:
        out.page(name, prepare(name, thorough).scene(), None)
    with bar(name) as tell:
        result = measure(name, seed, thorough, lambda done, doing: tell(done, 1.0, f"{name}: {doing}"))
    data = {key: value for key, value in result.to_dict().items() if key != "schema"}
    out.page(name, result.measured() if out.at_once else result.scene(), data)
    return result


def _sum_up(out: Output, results: list[Result]) -> None:
    from riverhead.scene import Scene, Table

    verdicts = {result.experiment.name: result.verdict for result in results}
    table = Table(("experiment", "verdict"), tuple(verdicts.items()))
    out.page("verdicts", Scene("All experiments", (table,)), verdicts)
