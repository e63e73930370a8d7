"""The sheet of findings: a golden of plain parts."""

from __future__ import annotations

import dataclasses
import json

import pytest

from riverhead.inspection import Finding, Findings, Word
from riverhead.scene import Table, Text


@pytest.fixture
def findings() -> Findings:
    return Findings(
        model="tiny",
        text="A hot river bank",
        tokens=("A", " hot", " river", " bank"),
        query=Word("bank", 3, 4, (12, 16)),
        key=Word("river", 2, 3, (6, 11)),
        head="L3.H5",
        rows=(
            Finding("L0.H1", 0.6339, 0.1234, 0.1642, 0.25, "chair", 0.1054, "none", "looks for river", True),
            Finding(
                "L3.H5", 0.96852, 0.84652, 0.9, 0.95, "lamp", 0.003, "previous-token", "no finding", False
            ),
        ),
        next_token=((",", 0.2007), ("\n", 0.1), ("\\xd7", 0.05)),
        nouns=("chair", "lamp"),
        notes=("a note", "another"),
    )


def test_the_table_has_a_row_for_each_head_and_points_at_the_one_derived(findings: Findings) -> None:
    table, *texts = findings.scene().parts
    assert isinstance(table, Table)
    assert table.columns == ("bank → river", "weight", "habit", "swap", "if off", "")
    assert [[str(cell) for cell in row] for row in table.rows] == [
        ["L0.H1", "0.634", "0.123", "0.164", "0.105", "looks for river"],
        ["L3.H5", "0.969", "0.847", "0.900", "0.003", "no finding"],
    ]
    assert (table.caption, table.focus) == ("A hot river bank", 1)
    assert texts == [
        Text(("a note",), role="note"),
        Text(("another",), role="note"),
        Text(('Next token: "," 0.20   "\\n" 0.10   "\\xd7" 0.05',)),
    ]


def test_a_model_that_predicts_no_next_token_shows_how_far_vectors_move_instead(findings: Findings) -> None:
    rows = [
        dataclasses.replace(row, if_off_nats=None, if_off_vector_change=moved)
        for row, moved in zip(findings.rows, (0.2884, None), strict=True)
    ]
    table, *texts = dataclasses.replace(findings, rows=tuple(rows), next_token=()).scene().parts
    assert table.columns[4] == "vectors"
    assert [str(row[4]) for row in table.rows] == ["0.288", "—"]
    assert texts[-1] == Text(("Next token: none, as the model predicts none",))


def test_findings_are_plain_data(findings: Findings) -> None:
    data = json.loads(json.dumps(dataclasses.asdict(findings)))
    assert data["rows"][0]["weight"] == 0.6339
    assert data["query"] == {"text": "bank", "start": 3, "stop": 4, "place": [12, 16]}
    with pytest.raises(dataclasses.FrozenInstanceError):
        findings.head = "L0.H0"
