"""``riverhead check``: what others say about attention; each of its verbs is loaded when it is called."""

from __future__ import annotations

import click

from riverhead.cli.verbs import Verbs

__all__ = ["check"]

VERBS = {
    "article": ("riverhead.cli.check_article", "Every number of an article, a notebook, a chat answer."),
    "backend": ("riverhead.cli.check_backend", "torch's attention, or a model's own, against the rules."),
    "code": ("riverhead.cli.check_code", "An attention function, against the rules of attention."),
}

EXAMPLES = """\b
Examples:
  riverhead check article README.md docs/*.md
  riverhead check article notes.ipynb --all
  pbpaste | riverhead check article -
  riverhead check code mine.py:attention
  riverhead check backend torch
"""


@click.command(cls=Verbs, verbs=VERBS, epilog=EXAMPLES)
def check() -> None:
    """Check what others say about attention, number by number; and what their code does."""
