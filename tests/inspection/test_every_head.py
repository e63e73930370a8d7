"""Every head's means over a text, against plain loops over whole rows of weights."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fake_model import HEADS, LAYERS, WEIGHT_BOUND, FakeModel
from planted_model import PLANTED, PlantedModel

from riverhead.errors import InputError
from riverhead.inspection import copies
from riverhead.inspection.copies import LayerWeights, on_copies
from riverhead.inspection.every_head import Heads, heads
from riverhead.inspection.habit import habit_of, silent
from riverhead.inspection.labels import labels_of
from riverhead.render import render
from riverhead.scene import Table
from riverhead.transformer import Model

SHORT = "Nora sold it to Nora, it"
LONG = "Nora likes two clocks.<s> Nora sold it, Nora likes it, and everyone likes two likes."


def mean(values: list[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def by_loops(fake: FakeModel, ids: list[int], layer: int, head: int) -> dict[str, float]:
    """Each column from its definition, one query after the other."""
    T = len(ids)
    rows = [fake.row(ids, layer, head, i) for i in range(T)]
    habit = habit_of(fake, T, silent).rows(np.arange(T))[layer, head].astype(float)
    reach = fake.window or T
    seen = [[j for j in range(T if not fake.causal else i + 1) if abs(i - j) < reach] for i in range(T)]
    entropy = [-math.fsum(w * math.log(w) for w in row if w) for row in rows]
    earlier = {i: [j for j in range(1, i) if ids[j] == ids[i]] for i in range(1, T)}
    copied = [i for i in earlier if earlier[i]]
    beyond = {
        i: [rows[i][j] - habit[i, j] for j in seen[i] if ids[j] and j not in (0, i)] for i in range(1, T)
    }
    return {
        "entropy": mean(entropy[1:]),
        "entropy_share": mean(entropy[1:]) / mean([math.log(len(keys)) for keys in seen[1:]]),
        "distance": mean([math.fsum(w * abs(i - j) for j, w in enumerate(rows[i])) for i in range(1, T)]),
        "first": mean([rows[i][0] for i in range(1, T)]),
        "previous": mean([rows[i][i - 1] for i in range(2, T)]),
        "self": mean([rows[i][i] for i in range(1, T)]),
        "near": mean([math.fsum(rows[i][max(i - 4, 0) : i + 5]) for i in range(5, T)]),
        "duplicate": mean([math.fsum(rows[i][j] for j in earlier[i]) for i in copied]),
        "induction": mean([math.fsum(rows[i][j + 1] for j in earlier[i]) for i in copied]),
        "next": math.nan if fake.causal else mean([rows[i][i + 1] for i in range(1, T - 1)]),
        "last": math.nan if fake.causal else mean([rows[i][-1] for i in range(1, T)]),
        "surprise": mean([max(beyond[i]) for i in beyond if beyond[i]]),
    }


def slack_by_loops(fake: FakeModel, ids: list[int], layer: int, head: int) -> float:
    """How much more a key beyond the 8 with most weight may surprise than those do, the mean over queries."""
    habit = habit_of(fake, len(ids), silent).rows(np.arange(len(ids)))[layer, head].astype(float)
    found = []
    for i in range(1, len(ids)):
        row = fake.row(ids, layer, head, i)
        kept = sorted(range(len(row)), key=lambda j: -row[j])[:8]
        beyond = [row[j] - habit[i, j] for j in kept if ids[j] and j not in (0, i)]
        if beyond:
            found.append(max(row[kept[-1]] - max(beyond), 0) if len(kept) == 8 else 0)
    return mean(found)


def test_a_surprise_is_too_small_by_no_more_than_the_smallest_weight_kept_allows(fake: FakeModel) -> None:
    ids = fake.tokenize(LONG)
    slacks = [slack_by_loops(fake, ids, *at) for at in np.ndindex(LAYERS, HEADS)]
    assert max(slacks) > 100 * WEIGHT_BOUND
    assert heads(fake, LONG).surprise_slack == pytest.approx(max(slacks), abs=2 * WEIGHT_BOUND)  # two weights


@pytest.mark.parametrize(
    "how", [{}, {"causal": False}, {"window": 3}, {"causal": False, "window": 7}], ids=str
)
@pytest.mark.parametrize("text", [SHORT, LONG], ids=["short", "long"])
def test_every_column_is_what_loops_over_the_rows_give(
    fake: FakeModel, how: dict, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "FEW", 4)  # so that both ways to the weights on copies are taken
    fake = dataclasses.replace(fake, **how)
    found = heads(fake, text)
    ids = fake.tokenize(text)
    assert (found.n_tokens, len(found.rows)) == (len(ids), LAYERS * HEADS)
    for row in found.rows:
        for name, value in by_loops(fake, ids, row.layer, row.head).items():
            number = row.number(name)
            if math.isnan(value):
                assert number is None, name
                continue
            # a sum over the row adds up its weights' errors; ln w and |i − j| multiply them
            bound = WEIGHT_BOUND * {"entropy": 8, "distance": len(ids)}.get(name, 2)
            slack = found.surprise_slack if name == "surprise" else 0.0
            assert value - slack - bound <= number <= value + bound, (row.name, name)
    if text == SHORT:
        assert found.surprise_slack == 0


def test_the_note_on_habit_says_by_what_it_is_known(fake: FakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    for by_place, said in ((512, "of plain text, by place"), (3, "of plain text, by distance")):
        monkeypatch.setattr("riverhead.inspection.every_head.BY_PLACE", by_place)
        assert any(said in note for note in heads(fake, SHORT).notes)


def test_the_first_token_is_no_copy_and_a_text_without_copies_says_so(fake: FakeModel) -> None:
    found = heads(fake, "one two one" if not fake.opens else "one two")
    assert found.n_copied == 0
    assert {row.induction_weight for row in found.rows} == {None}
    assert found.where("induction<1").rows == ()
    assert any("here are none" in note for note in found.notes)
    with pytest.raises(InputError, match="no token stands twice"):
        found.heatmap("induction")


def test_a_head_is_called_what_it_does_in_plain_text(tmp_path: Path, plain: str) -> None:
    planted = PlantedModel(tmp_path)
    assert [label.words for label in labels_of(planted, silent).values()] == list(PLANTED)
    row = next(row for row in heads(planted, "any text").rows if row.label == "sink")
    value, _, bound = row.reason.removeprefix("first ").partition(" ≥ ")
    assert float(value) >= float(bound) == 0.5
    assert next(row for row in heads(planted, "any text").rows if row.label == "none").reason


def test_labels_are_measured_once_and_kept(fake: FakeModel) -> None:
    said: list[str] = []
    first = labels_of(fake, said.append)
    assert len(said) == 2
    assert labels_of(fake, said.append) == first
    assert len(said) == 2


@pytest.mark.parametrize("few", [0, 99], ids=["the pass", "the equation"])
@pytest.mark.parametrize("window", [None, 5])
def test_the_weights_on_copies_are_sums_of_weights(
    few: int, window: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "FEW", few)
    monkeypatch.setattr(copies, "MASK", 50)  # a window's mask comes in pieces
    rng = np.random.default_rng(3)
    T, H, G, d = 29, 6, 3, 7
    ids = rng.integers(0, 5, T)
    q, k = (rng.standard_normal((n, T, d)).astype(np.float32) for n in (H, G))
    lse = rng.standard_normal((H, T)).astype(np.float32)
    weights = LayerWeights(q, k, lse, 0.3, window)
    for behind in (0, 1):
        found = on_copies(weights, copies.copies(ids), behind)
        for h in range(H):
            terms = [
                math.exp(0.3 * float(q[h, i].astype(float) @ k[h // 2, j + behind]) - float(lse[h, i]))
                for i in range(T)
                for j in range(i)
                if ids[j] == ids[i] and (window is None or i - j - behind < window)
            ]
            # each weight is off by its score's and its lse's rounding, |x| · d · 2⁻²³ with |x| < 16
            assert found[h] == pytest.approx(math.fsum(terms), rel=16 * d * 2.0**-23)


@pytest.fixture
def few_heads(bare: FakeModel) -> Heads:
    return heads(bare, LONG)


def test_rows_are_sorted_by_any_column_and_those_without_a_number_come_last(few_heads: Heads) -> None:
    def column(by: str, of: Heads = few_heads) -> list:
        return [row.number(by.removeprefix("-")) for row in of.sorted(by).rows]

    for by in ("surprise", "first", "entropy"):
        assert column(by) == sorted(column(by), reverse=True)
        assert column("-" + by) == column(by)[::-1]
    order = [row.name for row in few_heads.sorted("head").rows]
    assert order == [f"L{layer}.H{head}" for layer in range(LAYERS) for head in range(HEADS)]
    assert [row.name for row in few_heads.sorted("-head").rows] == order[::-1]
    rows = few_heads.sorted("head").rows
    gap = dataclasses.replace(few_heads, rows=(dataclasses.replace(rows[0], near_weight=None), *rows[1:]))
    assert column("near", gap)[-1] is column("-near", gap)[-1] is None


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("first>=0.2", lambda row: row.first_weight >= 0.2),
        (" entropy < 1.5 ", lambda row: row.entropy_nats < 1.5),
        ("layer=1", lambda row: row.layer == 1),
        ("head<2", lambda row: row.head < 2),
        ("head<=2", lambda row: row.head <= 2),
        ("label=none", lambda row: row.label == "none"),
        ("next>0", lambda row: False),
    ],
)
def test_conditions_choose_rows(few_heads: Heads, condition: str, holds: Callable) -> None:
    assert few_heads.where(condition).rows == tuple(row for row in few_heads.rows if holds(row))
    both = few_heads.where(condition, "first>0.1").rows
    assert both == tuple(row for row in few_heads.rows if holds(row) and row.first_weight > 0.1)


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("previous", "no condition"),
        ("previous=>1", "'>1' is not a number"),
        ("__class__>=1", "no column"),
        ("colour>=1", "the columns are entropy"),
        ("first>=lots", "'lots' is not a number"),
        ("label=cat", "one of previous-token"),
        ("label>sink", "write label="),
    ],
)
def test_what_is_no_condition_is_refused(few_heads: Heads, condition: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        few_heads.where(condition)


def test_a_grid_has_a_row_a_layer_and_no_number_where_no_row_is(few_heads: Heads) -> None:
    grid = few_heads.grid("first")
    assert np.shape(grid) == (LAYERS, HEADS)
    assert all(grid[row.layer][row.head] == row.first_weight for row in few_heads.rows)
    assert np.isnan(few_heads.where("layer=1").grid("first")[0]).all()
    for map_of in (few_heads.grid, few_heads.heatmap, few_heads.sorted):
        with pytest.raises(InputError, match="colour"):
            map_of("colour")


def test_a_heat_map_has_no_number_below_0(few_heads: Heads) -> None:
    rows = few_heads.rows
    below = dataclasses.replace(few_heads, rows=(dataclasses.replace(rows[0], surprise=-0.25), *rows[1:]))
    values = below.heatmap("surprise").values
    assert values[rows[0].layer][rows[0].head] == 0
    assert values[rows[1].layer][rows[1].head] == rows[1].surprise


@pytest.mark.parametrize(
    ("format", "raw"),
    [
        ("text", "\x1b"),
        ("html", "</script>"),
        ("svg", "</script>"),
        ("latex", "\\input{"),
        ("markdown", "| \x1b"),
    ],
)
def test_a_hostile_text_is_text_in_every_format(bare: FakeModel, format: str, raw: str) -> None:
    found = heads(bare, "</script> \\input{x} | \x1b[31m \u202e and </script> |")
    sheet = render(found.scene(above=found.heatmap("first")), format)
    assert "input" in sheet
    assert raw not in sheet
    assert "\u202e" not in sheet


def test_a_sheet_says_how_many_heads_have_each_label_and_how_many_are_shown(few_heads: Heads) -> None:
    sheet = str(few_heads.scene(5))
    assert "Shown: 5 of 12 heads" in sheet
    assert "previous ≥ 0.5" in sheet
    assert "next" not in sheet  # a causal model sees no later token
    assert "Shown" not in str(few_heads.scene(None))


def test_that_labels_are_from_plain_text_stands_where_the_labels_stand(few_heads: Heads) -> None:
    (table,) = (
        part for part in few_heads.scene().parts if isinstance(part, Table) and part.columns[0] == "head"
    )
    assert table.columns[1] == "label"
    assert table.caption == "label: what the head does in plain text; the numbers are of this text"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("one", "the text has 1 token; heads are looked at in 2 or more: give a longer text$"),
        ("it " * 600, "^601 tokens, fake reads at most 511; nothing was cut: give a shorter text$"),
        (5, "has to be a str"),
    ],
    ids=["one token", "beyond the context", "no text"],
)
def test_what_cannot_be_read_is_said_and_nothing_is_run(bare: FakeModel, text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        heads(bare, text)
    assert not bare.runs


def test_progress_is_told_layer_by_layer(bare: FakeModel) -> None:
    told: list[tuple[int, int]] = []
    heads(bare, SHORT, progress=lambda done, total: told.append((done, total)))
    assert told == [(layer + 1, LAYERS) for layer in range(LAYERS)]


@pytest.mark.model
def test_a_reading_brings_its_text_and_its_heads_off(smollm2: Model) -> None:
    reading = smollm2.read("The river bank flooded")
    found = heads(reading)
    assert found == heads(smollm2, reading.text)
    off = heads(reading.without("L0.H0", "L0.H1"))
    assert any("2 heads are switched off" in note for note in off.notes)
    first, second = (
        {row.name: dataclasses.astuple(row) for row in some.rows if row.layer == layer}
        for some, layer in ((off, 0), (off, 1))
    )
    same = {row.name: dataclasses.astuple(row) for row in found.rows}
    assert all(same[name] == row for name, row in first.items())
    assert all(same[name] != row for name, row in second.items())
    with pytest.raises(InputError, match="has its text"):
        heads(reading, "another")
