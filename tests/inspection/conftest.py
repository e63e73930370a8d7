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


@pytest.fixture
def both_ways(tmp_path: Path, plain: str) -> FakeModel:
    """Like a BERT: each token sees all, a text is opened and closed, and no next token is predicted."""
    return FakeModel(tmp_path, opens=True, closes=True, causal=False, predicts=False)


@pytest.fixture(params=["plain", "opening", "both ways"])
def any_fake(request: pytest.FixtureRequest, tmp_path: Path, plain: str) -> FakeModel:
    if request.param == "both ways":
        return request.getfixturevalue("both_ways")
    return FakeModel(tmp_path, opens=request.param == "opening")


@pytest.fixture(params=[False, True], ids=["plain", "opening"])
def fake(request: pytest.FixtureRequest, tmp_path: Path, plain: str) -> FakeModel:
    return FakeModel(tmp_path, opens=request.param)
