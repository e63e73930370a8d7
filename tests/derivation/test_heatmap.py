"""How a map is shown: numbers while it is small, a picture beyond, and what each head does on average."""

import numpy as np
import pytest

import riverhead
from riverhead.core import attend
from riverhead.derivation import heatmap
from riverhead.errors import InputError, ShapeError
from riverhead.scene import Heatmap, Matrix, Table, Text


def random(*shape, keys=None, **options):
    rng = np.random.default_rng(0)
    q = rng.standard_normal((*shape, 8)).astype(np.float32)
    k = rng.standard_normal((*shape[:-1], keys or shape[-1], 8)).astype(np.float32)
    return attend(q, k, k, **options)


def parts(A, kind, *tokens, **how):
    return [part for part in heatmap(A, *tokens, **how).parts if isinstance(part, kind)]


def notes(A):
    return [part.runs[0] for part in parts(A, Text) if part.role == "note"]


def test_up_to_twelve_tokens_every_weight_is_a_number():
    A = random(12, causal=True)
    (matrix,) = parts(A, Matrix, [f" t{n}" for n in range(12)])
    assert matrix.rows == matrix.columns == tuple(f"t{n}" for n in range(12))
    assert matrix.shade
    np.testing.assert_array_equal([[cell.value for cell in row] for row in matrix.cells], A[:, :])
    assert not parts(random(13), Matrix)
    assert not parts(random(1, keys=13), Matrix)


def test_up_to_the_size_every_weight_is_a_cell_with_its_tokens():
    A = random(20, keys=30)
    (picture,) = parts(A, Heatmap, ["a"] * 20, [f"k{n}" for n in range(30)])
    np.testing.assert_allclose(picture.values, A[:, :], rtol=1e-6)
    assert picture.columns.labels == tuple(f"k{n}" for n in range(30))
    assert picture.caption == ""
    (bare,) = parts(A, Heatmap)
    assert bare.rows.labels == tuple(map(str, range(20)))


def test_beyond_it_a_cell_is_the_largest_of_many():
    A = random(70, keys=1000)
    (picture,) = parts(A, Heatmap, [f"q{n}" for n in range(70)], size=16)
    np.testing.assert_array_equal(np.array(picture.values, np.float32), A.pooled(16, 16))
    assert (picture.caption, picture.pooled) == ("", (5, 63))
    assert picture.rows.ends == ("0 q0", "69 q69")
    assert picture.columns.ends == ("0", "999")


def test_of_a_very_large_map_only_some_queries_are_read(monkeypatch):
    """A budget of 8,000 of 40,000 weights: one query in 5, never fewer than the rows of the picture."""
    monkeypatch.setitem(heatmap.__globals__, "CELLS", 8_000)
    A = random(200)
    (picture,) = parts(A, Heatmap, size=10)
    np.testing.assert_array_equal(np.array(picture.values, np.float32), A.pooled(10, 10, every=5))
    assert (picture.caption, picture.pooled) == ("one query in 5 is read", (20, 20))
    (finer,) = parts(A, Heatmap, size=100)
    assert finer.caption.endswith("one query in 2 is read")
    assert len(finer.values) == 100


def test_heads_are_drawn_up_to_four_and_listed_with_their_means():
    A = random(2, 3, 5)
    assert len(parts(A, Matrix)) == 4
    headings = [part.runs[0] for part in parts(A, Text) if part.role == "heading"]
    assert headings == ["item 0, head 0", "item 0, head 1", "item 0, head 2", "item 1, head 0"]
    assert notes(A)[0] == "4 of 6 heads are drawn; the next is A[1, 1]."
    (table,) = parts(A, Table)
    assert table.columns == (None, "entropy", "distance", "largest", "first", "itself", "previous")
    assert [row[0] for row in table.rows][-1] == "item 1, head 2"
    assert table.rows[4][1].value == pytest.approx(A.entropy_nats[1, 1].mean())
    assert table.rows[4][6].value == pytest.approx(A.previous_weight[1, 1].mean())
    assert parts(random(5), Table)[0].rows[0][0] == "mean"


def test_more_heads_than_are_listed_are_counted(monkeypatch):
    monkeypatch.setitem(heatmap.__globals__, "LISTED", 2)
    assert "2 of 3 heads are listed." in notes(random(3, 5))


def test_what_it_takes_is_said():
    A = random(3, 5)
    assert notes(A) == [f"{A.nbytes:,} bytes of statistics; the weights would take 300."]
    assert heatmap(A).title == "Attention map: 5 queries, 5 keys"
    assert heatmap(random(1, keys=2)).title == "Attention map: 1 query, 2 keys"


def test_a_map_of_nothing_is_only_named():
    (note,) = heatmap(random(2, 0)).parts
    assert "would take 0" in note.runs[0]


def test_tokens_have_to_be_as_many_as_their_axis():
    A = random(5, keys=7)
    with pytest.raises(ShapeError, match="T_q differs: tokens has 7, A has 5; each query has one token"):
        heatmap(A, ["a"] * 7)
    with pytest.raises(ShapeError, match="T_k differs: tokens_k has 5, A has 7; each key has one token"):
        heatmap(A, ["a"] * 5, ["a"] * 5)
    with pytest.raises(InputError, match=r"tokens\[1\] is '3'"):
        heatmap(random(2), ["a", 3])
    with pytest.raises(InputError, match="size is 0"):
        heatmap(A, size=0)


def test_a_map_prints_itself_and_shows_itself_in_a_notebook():
    A = random(20)
    assert str(A).startswith("Attention map: 20 queries, 20 keys\n")
    assert "█" in str(A)
    html = A._repr_html_()
    assert html.startswith('<section class="riverhead">')
    assert "<svg" in html
    assert repr(A).startswith("<AttentionMap (20, 20) float32")
    assert riverhead.display.Displayable.scene(A) == heatmap(A)
