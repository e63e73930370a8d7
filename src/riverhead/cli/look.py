"""``riverhead look``: inside a real model; each of its verbs is loaded when it is called."""

from __future__ import annotations

import click

from riverhead.cli.verbs import Verbs

__all__ = ["look"]

VERBS = {
    "heads": ("riverhead.cli.look_heads", "Every head of a model: what it does with a text, a row each."),
    "map": ("riverhead.cli.look_map", "One head's map, from the whole text to single tokens."),
    "compare": ("riverhead.cli.look_compare", "Two texts, or two models: which heads changed."),
    "without": ("riverhead.cli.look_without", "Switch a head off, or each in turn: what the odds do."),
    "generate": ("riverhead.cli.look_generate", "Token by token: the KV cache, and where each token looked."),
}

EXAMPLES = """\b
Examples:
  riverhead look heads "The river bank flooded"
  riverhead look map --file book.txt --head L16.H0 -o map.html
  riverhead look compare "money bank grows" "river bank flows"
  riverhead look without "The river bank flooded" --all
  riverhead look generate "The river bank" --tokens 8
"""


@click.command(cls=Verbs, verbs=VERBS, epilog=EXAMPLES)
def look() -> None:
    """Look inside a real model: every head, at any length it can read."""
