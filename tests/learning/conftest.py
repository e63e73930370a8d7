"""A file of progress, and what is kept in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from riverhead.learning.progress import Progress


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "progress.sqlite3"


@pytest.fixture
def kept(path: Path) -> Iterator[Progress]:
    with Progress(path) as progress:
        yield progress
