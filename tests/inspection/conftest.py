"""The fake model, and a reference text short enough for loops."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_model import FakeModel

from riverhead.inspection import reference

PLAIN = " ".join(
    f"{who} {does} {what}."
    for who in ("Nora", "the tall smith", "a neighbour", "she", "everyone")
    for does in ("likes", "sold", "remembers")
    for what in ("it", "two clocks", "his yellow kite", "nothing at all")
)


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(reference, "reference_text", lambda: PLAIN)
    return PLAIN


@pytest.fixture
def bare(tmp_path: Path, plain: str) -> FakeModel:
    """Without an opening: the first word holds the first token."""
    return FakeModel(tmp_path)


@pytest.fixture(params=[False, True], ids=["plain", "opening"])
def fake(request: pytest.FixtureRequest, tmp_path: Path, plain: str) -> FakeModel:
    return FakeModel(tmp_path, opens=request.param)
