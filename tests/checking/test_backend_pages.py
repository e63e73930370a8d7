"""The tables of backends stand on two pages, and are the same on both."""

import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
from refresh_backends import BETWEEN, tables  # noqa: E402


def test_both_pages_show_the_same_tables():
    page, beside = ((DOCS / name).read_text("utf-8") for name in ("checking-backends.md", "checking.md"))
    (shown,) = BETWEEN.findall(beside)
    assert shown == tables(page)
    assert shown.count("### ") == 2
