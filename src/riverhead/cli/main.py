"""The ``riverhead`` command: its verbs, loaded when they are called, and what each error exits with."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Sequence

import click

from riverhead._version import __version__
from riverhead.cli.escapes import in_words, printable
from riverhead.cli.verbs import Verbs
from riverhead.errors import InputError, RiverheadError

VERBS = {  # name: (module, the line in --help); a verb's module is imported only when it is called
    "show": ("riverhead.cli.show", "Attention worked by hand, then in a real head."),
    "look": ("riverhead.cli.look", "Inside a real model: heads, map, compare, without, generate."),
    "check": ("riverhead.cli.check", "An article's numbers, an attention function, a backend."),
    "learn": ("riverhead.cli.learn", "Attention by hand: six lessons, graded exercises, a tutor."),
    "plan": ("riverhead.cli.plan", "What a model costs: parameters, FLOPs, bytes, with their formulas."),
    "why": ("riverhead.cli.why", "Measured experiments: why attention is built as it is."),
    "models": ("riverhead.cli.models", "Fetch, add, list, verify and remove models."),
    "doctor": ("riverhead.cli.doctor", "What is installed, what is cached, what runs."),
}

EXAMPLES = """\b
Examples:
  riverhead show "The river bank flooded"
  riverhead show "The river bank flooded" --causal
  riverhead show "She paid the money into the bank" --yes
  riverhead look heads "The river bank flooded"
  riverhead check article README.md
  riverhead check code mine.py:attention
  riverhead learn
  riverhead learn exercise softmax
  riverhead plan llama-3-8b --tokens 100000
  riverhead why scale
  riverhead models list
"""


@click.command(
    cls=Verbs, verbs=VERBS, epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="riverhead")
def riverhead() -> None:
    """See every number in attention: softmax(QKᵀ/√d_k) V, by hand and in every head of a real model.

    Exit status: 0 fine, 1 a finding, 2 usage, 3 could not (file, network, model, memory), 130 Ctrl-C.
    """


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command and exit; errors made on purpose become one line and an exit status."""
    sys.exit(_run(argv))


def _run(argv: Sequence[str] | None) -> int:
    _open_closed_streams()
    try:
        # Not riverhead.main(): click would turn a closed pipe into exit status 1 by itself.
        with riverhead.make_context("riverhead", list(sys.argv[1:] if argv is None else argv)) as context:
            riverhead.invoke(context)
        sys.stdout.flush()
        return 0
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as wrong:
        wrong.show(said := io.StringIO())
        click.echo(printable(said.getvalue()), nl=False, err=True)
        return wrong.exit_code
    except (KeyboardInterrupt, click.Abort):
        return _say("stopped", 128 + signal.SIGINT)
    except BrokenPipeError:
        # Whoever read our output has left, which is fine; the interpreter must not flush into it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except io.UnsupportedOperation:
        return _say("error: standard output is closed; write to a file with -o, or open it", 3)
    except InputError as wrong:
        return _say(f"error: {wrong}", 2)
    except (RiverheadError, OSError, MemoryError) as failed:
        return _say(f"error: {in_words(failed)}", 3)


def _open_closed_streams() -> None:
    """Give closed standard streams a file: an empty one to read, one that refuses what is written to it."""
    for name, mode in (("stdin", "r"), ("stdout", "r"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def _say(line: str, code: int) -> int:
    click.echo(f"riverhead: {printable(line)}", err=True)
    return code
