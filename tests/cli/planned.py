"""``riverhead plan`` in this process, and one figure of what it counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from riverhead.cli.main import main


class Run:
    """The command in this process: its exit status and what it printed."""

    def __init__(self, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
        self.capsys = capsysbinary

    def __call__(self, *argv: str) -> tuple[int, str, str]:
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as done:
            main(["plan", *argv])
        out, err = self.capsys.readouterr()
        assert isinstance(done.value.code, int)
        return done.value.code, out.decode(), err.decode()

    def json(self, *argv: str) -> dict[str, Any]:
        code, out, err = self(*argv, "--json")
        assert (code, err) == (0, "")
        found: dict[str, Any] = json.loads(out)
        return found["plan"]


def value(found: dict[str, Any], name: str) -> int:
    """The one figure of that name."""
    (figure,) = [figure for figure in found["figures"] if figure["name"] == name]
    number: int = figure["value"]
    return number
