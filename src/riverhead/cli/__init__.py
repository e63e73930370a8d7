"""The command: parse, call, draw. Only here is anything printed, and only here does the process exit."""

from riverhead.cli.main import main

__all__ = ["main"]
