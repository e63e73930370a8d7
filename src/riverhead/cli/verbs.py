"""A group of commands that are imported when they are called, so that ``--help`` costs no NumPy."""

from __future__ import annotations

import importlib
from typing import Any

import click

__all__ = ["Verbs"]


class Verbs(click.Group):
    """``verbs`` names each command with its module and its line in ``--help``; the module has it by name."""

    def __init__(self, *args: Any, verbs: dict[str, tuple[str, str]], **options: Any) -> None:
        super().__init__(*args, **options)
        self.verbs = verbs

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.verbs)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.verbs:
            return None
        command: click.Command = getattr(importlib.import_module(self.verbs[name][0]), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self.verbs.items()])
