"""The maps of heads: their weights, which heads and which tokens are meant, and what a window shows."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fake_model import FakeTokenizer

from riverhead.errors import InputError
from riverhead.inspection import maps as module
from riverhead.inspection.maps import HeadMap, HeadMaps, head_maps, heads_named, window
from riverhead.numbers import fixed
from riverhead.scene import Heatmap, Matrix, Text

CONFIG = SimpleNamespace(n_layers=3, n_heads=5, d_k=7)
TEXT = "The river bank, the other riverbank and a bank"


def plain(head: HeadMap) -> np.ndarray:
    """The weights in Python's own floats."""
    q, k = head.q.astype(float).tolist(), head.k.astype(float).tolist()
    T, found = len(q), np.zeros((len(q), len(q)))
    for i in range(T):
        seen = [
            j
            for j in range(T)
            if not (head.causal and j > i) and (head.window is None or abs(i - j) < head.window)
        ]
        exps = [
            math.exp(head.scale * math.fsum(a * b for a, b in zip(q[i], k[j], strict=True))) for j in seen
        ]
        found[i, seen] = [e / math.fsum(exps) for e in exps]
    return found


def drawn(T: int = 13, d: int = 7, name: str = "L1.H2", **how: Any) -> HeadMap:
    rng = np.random.default_rng(T)
    q, k = rng.standard_normal((2, T, d), np.float32)
    return HeadMap(name, q, k, how.pop("scale", 0.3), how.pop("causal", True), how.pop("window", None))


def maps(T: int, *heads: HeadMap) -> HeadMaps:
    return HeadMaps("fake", tuple(f" t{n}" for n in range(T)), heads or (drawn(T),), "fake")


@pytest.fixture
def reading() -> Any:
    tokenizer = FakeTokenizer(opens=True)
    ids = tokenizer.ids(TEXT)
    model = SimpleNamespace(config=CONFIG, tokenizer=tokenizer, name="fake", title="A fake")

    def head(name: str) -> Any:
        rng = np.random.default_rng(list(name.encode()))
        q, k = rng.standard_normal((2, len(ids), CONFIG.d_k), np.float32)
        return SimpleNamespace(name=name, q=q, k=k, scale=0.5, causal=False, window=3)

    return SimpleNamespace(
        model=model, text=TEXT, token_ids=tuple(ids), tokens=tokenizer.pieces(ids), head=head
    )


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("window", [None, 1, 5, 29])
def test_a_head_has_its_weights_in_float64(causal, window):
    head = drawn(causal=causal, window=window)
    # scores below 20, from 7 products, through exp: a few steps of float64 for each
    assert np.asarray(head.weights) == pytest.approx(plain(head), rel=20 * 2 * 7 * 2.0**-53, abs=0)
    assert [[head.sees(i, j) for j in range(13)] for i in range(13)] == (plain(head) > 0).tolist()


def test_maps_are_taken_from_what_was_read(reading):
    found = head_maps(reading, ["L1.H2", "L0.H4"])
    assert [head.name for head in found.heads] == ["L1.H2", "L0.H4"]
    assert found.tokens == reading.tokens
    head, given = found.heads[1], reading.head("L0.H4")
    assert np.array_equal(head.q, given.q)
    assert np.array_equal(head.k, given.k)
    assert (head.scale, head.causal, head.window) == (0.5, False, 3)
    assert found.title == f"2 heads of A fake, {len(reading.tokens)} tokens"


def test_more_than_can_be_held_is_refused_first(reading, monkeypatch):
    monkeypatch.setattr(module, "HELD_BYTES", 2 * 4 * 2 * len(reading.tokens) * CONFIG.d_k)
    assert len(head_maps(reading, ["L0.H0", "L0.H1"]).heads) == 2
    reading.head = None
    with pytest.raises(InputError, match=rf"q and k of 3 heads over {len(reading.tokens)} tokens take"):
        head_maps(reading, ["L0.H0", "L0.H1", "L0.H2"])


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (["L1.H2"], ["L1.H2"]),
        (["l1.h2", "L0.H0", "L1.H2"], ["L1.H2", "L0.H0"]),
        (["L2.*"], [f"L2.H{h}" for h in range(5)]),
        (["*.H3"], ["L0.H3", "L1.H3", "L2.H3"]),
        (["all"], [f"L{layer}.H{h}" for layer in range(3) for h in range(5)]),
        (["L0.H1", "*.H1"], ["L0.H1", "L1.H1", "L2.H1"]),
    ],
)
def test_patterns_name_heads_each_once(patterns, expected):
    assert list(heads_named(patterns, CONFIG)) == expected


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("L1", "'L1' names no heads; write L16.H0"),
        ("L1.H", "names no heads"),
        ("", "names no heads"),
        ("L3.*", "layer 3, the model has 3: L0 to L2"),
        ("*.H5", "head 5, each layer has 5: H0 to H4"),
    ],
)
def test_patterns_that_name_none_are_refused(pattern, message):
    with pytest.raises(InputError, match=message):
        heads_named([pattern], CONFIG)


def test_a_window_is_named_by_numbers_or_by_words(reading):
    # <s> The␣riv… : the tokens are cut after six letters
    assert reading.tokens[:6] == ("<s>", "The", " river", " bank", ",", " the")
    T = len(reading.tokens)
    for said, first, stop in (
        ("2:5", 2, 5),
        (":3", 0, 3),
        ("3:", 3, T),
        (":", 0, T),
        ("4", 4, 5),
        ("river", 2, 3),
        ("bank", T - 1, T),  # the last one, as everywhere
        ("bank#1", 3, 4),
        ("riverbank", 7, 9),  # two tokens
        ("river:riverbank", 2, 9),
        ("2:bank#1", 2, 4),
        ("other:9", 6, 9),
    ):
        assert window(reading, said, "--rows") == range(first, stop), said


@pytest.mark.parametrize("said", ["5:5", "7:3", "0:99", "99", "bank:river", "1:2:3", "flood", "", "-1:"])
def test_a_window_that_is_not_there_is_refused_by_its_axis(reading, said):
    with pytest.raises(InputError, match="--keys"):
        window(reading, said, "--keys")


def test_a_window_ends_with_the_text(reading):
    T = len(reading.tokens)
    assert window(reading, f"2:{T}", "--rows") == range(2, T)
    with pytest.raises(InputError, match=rf"--rows '2:{T + 1}' is 2:{T + 1}; the tokens are 0:{T}"):
        window(reading, f"2:{T + 1}", "--rows")


def test_a_small_window_has_its_numbers_and_nothing_where_hidden():
    found = maps(13)
    (matrix, note) = found.scene(range(2, 5), range(1, 6)).parts
    assert isinstance(matrix, Matrix)
    assert matrix.rows == ("t2", "t3", "t4")
    assert matrix.columns == ("t1", "t2", "t3", "t4", "t5")
    weights = plain(found.heads[0])
    assert matrix.cells == tuple(
        tuple(fixed(found.heads[0].weights[i, j]) if j <= i else None for j in range(1, 6))
        for i in range(2, 5)
    )
    assert matrix.cells[2][1].value == pytest.approx(weights[4, 2])
    assert isinstance(note, Text)
    assert "riverhead show TEXT --model fake --head L1.H2" in note.runs[0]
    (_, note) = maps(13, drawn(causal=False)).scene().parts
    assert "riverhead show" not in note.runs[0]  # it needs next-token odds


def test_a_large_window_shows_the_largest_weight_of_each_cell():
    found = maps(89, drawn(89, causal=False))
    (picture, _) = found.scene(range(3, 74), range(5, 24), size=17).parts
    assert isinstance(picture, Heatmap)
    weights = plain(found.heads[0])[3:74, 5:24]
    edges = [[len(side) * n // 17 for n in range(18)] for side in (range(71), range(19))]
    expected = [
        [weights[a:b, c:d].max() for c, d in zip(edges[1], edges[1][1:], strict=False)]
        for a, b in zip(edges[0], edges[0][1:], strict=False)
    ]
    assert np.array(picture.values) == pytest.approx(np.array(expected))
    assert (picture.caption, picture.pooled) == ("queries 3 to 73, keys 5 to 23", (5, 2))
    assert picture.rows.ends == ("3 t3", "73 t73")


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("windows", [(None, None), (1, 1), (5, 3), (5, None), (29, 29)])
def test_without_keys_they_are_those_that_the_rows_see(causal, windows):
    heads = [drawn(name=f"L{n}.H0", causal=causal, window=w) for n, w in enumerate(windows)]
    found = maps(13, *heads)
    for rows in (range(13), range(6, 9), range(12, 13)):
        seen = [j for j in range(13) if any(head.sees(i, j) for head in heads for i in rows)]
        assert list(found.seen(rows)) == seen
        cut = found.cut(rows)
        assert {name: weights.shape for name, weights in cut.items()} == {
            head.name: (len(rows), len(seen)) for head in heads
        }
        matrix = found.scene(rows).parts[1]
        assert matrix.columns[-1] == f"t{seen[-1]}" if isinstance(matrix, Matrix) else True


def test_labelled_cells_are_numbered_from_the_windows_first():
    (picture, _) = maps(89).scene(range(30, 50), range(10, 31)).parts
    assert (picture.rows.first, picture.rows.labels[0]) == (30, "t30")
    text = str(maps(89).scene(range(30, 50), range(10, 31)))
    assert "  30 t30" in text
    assert "  10        15" in text


def test_several_heads_stand_one_under_the_other():
    parts = maps(13, drawn(name="L0.H1"), drawn(name="L2.H0")).scene().parts
    assert [part.runs for part in parts if isinstance(part, Text)][:2] == [("L0.H1",), ("L2.H0",)]


def test_weights_to_be_written_out_are_counted_first(monkeypatch):
    found = maps(13, drawn(name="L0.H1"), drawn(name="L2.H0"))
    monkeypatch.setattr(module, "LISTED", 2 * 3 * 5)
    cut = found.cut(range(2, 5), range(1, 6))
    assert list(cut) == ["L0.H1", "L2.H0"]
    assert cut["L2.H0"] == pytest.approx(plain(found.heads[1])[2:5, 1:6])
    with pytest.raises(InputError, match=r"the window has 36 weights, at most 30"):
        found.cut(range(2, 5), range(6))
