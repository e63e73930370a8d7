"""The whiteboard: what stands on it, for the toys, for several heads and for heads of a real model's size."""

from __future__ import annotations

import re

import numpy as np
import pytest
from spoken import page, words

from riverhead.derivation import board, derive, example
from riverhead.errors import InputError
from riverhead.scene import Bar, Fold, Formula, Part, Table, Text


@pytest.mark.parametrize(
    "line",
    [
        "Attention(Q, K, V) = softmax(QKᵀ/√d_k) V, d_k = 2",
        "▸ bank (2, 1) (1, 1) (0, 1) bank-ness",
        "1 Score: every query · every key q_bank·k_river = 2·2 + 1·0 = 4",
        "▸ bank 1 4 3 2",
        "2 The bank row becomes a recipe",
        "÷ √2 0.707 2.828 2.121 1.414",
        "exp 2.028 16.92 8.342 4.113 31.40",
        "weight 0.065 0.539 0.266 0.131 1.000",
        "3 Spend it: 0.065·(0, 0) + 0.539·(1, 0) + 0.266·(0, 1) + 0.131·(0.5, 0)",
        "bank′ = (0.604, 0.266) bank was (0, 1); it leaves meaning river bank",
        "bank′ is 0.539 water, 0.266 bank-ness, 0.131 some water, 0.065 nothing much",
        "Board: 8.33 is 8.342, 0.61 is 0.604 (rounded from a rounded number)",
    ],
)
def test_the_first_minute(line: str) -> None:
    river = example("The river bank flooded")
    assert line in page(board(river.derive(), focus=river.focus)).splitlines()


def test_it_fits_80_columns() -> None:
    from riverhead.render import render

    for name in ("river_bank_flooded", "money_bank_grows", "two_heads", "projections"):
        text = render(board(example(name).derive(), full=True), "text", width=80)
        assert max(map(len, str(text).splitlines())) <= 80


def test_the_row_that_gives_another_token_most_is_in_focus() -> None:
    assert "2 The bank row" in page(board(example("The river bank flooded").derive()))
    q = [[1.0, 0.0], [0.0, 5.0]]  # the second gives nearly all to itself, the first much to the second
    derivation = derive(q, [[0.0, 1.0], [3.0, 9.0]], q, tokens=["first", "second"])
    assert "2 The first row" in page(board(derivation))


@pytest.mark.parametrize(
    ("focus", "row"), [("The", "The"), (0, "The"), (3, "flooded"), ("3", "flooded"), ("river#1", "river")]
)
def test_a_focus_is_a_token_or_an_index(focus: str | int, row: str) -> None:
    assert f"2 The {row} row" in page(board(example("The river bank flooded").derive(), focus=focus))


def test_a_focus_that_is_not_there_or_twice_is_refused() -> None:
    with pytest.raises(
        InputError, match="focus 'ocean' is not there; the tokens are The, river, bank, flooded"
    ):
        board(example("The river bank flooded").derive(), focus="ocean")
    with pytest.raises(InputError, match="focus 4 is not there; there are 4, counted from 0"):
        board(example("The river bank flooded").derive(), focus=4)
    assert "2 The 0 row" in page(board(derive(e=np.eye(2), tokens=["1", "0"]), focus=1))  # an int is an index
    twice = derive(e=np.eye(3), tokens=["a", " bank", "bank"])
    assert "2 The bank#2 row" in page(board(twice, focus="bank"))  # the one without the space, exactly
    again = derive(e=np.eye(3), tokens=["a", "bank", "bank"])
    with pytest.raises(InputError, match="stands 2 times; say bank#1 or bank#2"):
        board(again, focus="bank")
    assert "▸ bank#2 (0, 0, 1)" in page(board(again, focus="bank#2"))
    mixed = derive(e=np.eye(3), tokens=["bank", " bank", "bank"])
    with pytest.raises(InputError, match="stands 2 times; say bank#1 or bank#3"):
        board(mixed, focus="bank")
    assert "▸ bank#3 (0, 0, 1)" in page(board(mixed, focus="bank#3"))


@pytest.mark.parametrize(
    ("focus", "row"), [("bank", "bank"), ("Bank", "Bank"), ("THE", "The"), ("the#1", "The")]
)
def test_the_case_counts_where_a_token_has_it(focus: str, row: str) -> None:
    derivation = derive(e=np.eye(3), tokens=["The", "bank", "Bank"])
    assert f"2 The {row} row" in page(board(derivation, focus=focus))
    with pytest.raises(InputError, match="stands 2 times; say bank or Bank"):
        board(derivation, focus="BANK")


def test_tokens_that_look_alike_or_like_nothing_are_told_apart() -> None:
    derivation = derive(e=[[1, 0], [0, 1], [1, 1], [0, 0]], tokens=["bank", "", "bank", "\n"])
    text = page(board(derivation, focus=2, full=True))
    assert "2 The bank#2 row becomes a recipe" in text
    assert "q_bank#2·k_bank#1 = 1·1 + 1·0 = 1" in text
    assert "bank#1 · bank#2 0.707 →" in text
    assert re.search(r"^'' · '\\n' ", text, re.M)
    assert "2 The '' row becomes a recipe" in page(board(derivation, focus=1))


def test_what_is_said_of_one_derivation_is_not_said_of_another() -> None:
    changed = page(board(example("The river bank flooded").derive(causal=True), focus="bank"))
    assert "Board" not in changed
    assert "river bank\n" not in changed
    assert "masked 0.707 2.828 2.121 −∞" in changed
    assert "weight 0.074 0.620 0.306 0 1.000" in changed


def test_digits_are_those_asked_for() -> None:
    text = page(board(example("The river bank flooded").derive(), focus="bank", digits=5))
    assert "weight 0.06458 0.53878 0.26565 0.13099 1.00000" in text
    assert "exp 2.02811 16.9188 8.34214 4.11325 31.4023" in text
    with pytest.raises(InputError, match="digits is 16"):
        board(example("The river bank flooded").derive(), digits=16)


def test_full_has_every_cell_of_every_step_and_every_symbol() -> None:
    derivation = example("The river bank flooded").derive(causal=True)
    scene = board(derivation, full=True)
    text = page(scene)
    for step in ("dots", "scores", "masked", "exp", "weights"):
        assert f"{derivation[step].title}: every number" in text
    for i in range(4):
        for j in range(4):
            assert re.search(
                rf"q_{derivation.given.tokens[i]}·k_{derivation.given.tokens[j]} = .* = \d", text
            )
    assert "The, component 2: " in text
    annotated = scene.parts[-1]
    assert annotated.open
    assert [words(symbol) for symbol, _ in annotated.parts[0].terms] == [
        "Q",
        "Kᵀ",
        "QKᵀ",
        "√d_k",
        "softmax",
        "V",
    ]
    unscaled = board(example("The river bank flooded").derive(scale=1)).parts[-1]
    assert not unscaled.open
    assert "√" not in page(unscaled.parts)


def test_two_heads_stand_side_by_side_and_w_o_mixes_them() -> None:
    text = page(board(example("two_heads").derive(), focus="bank"))
    assert text.count("weight ") == 2
    assert "weight 0.050 0.050 0.050 0.849 1.000" in text
    assert "head 1: 0.050·(0, 0) + 0.050·(1, 0) + 0.050·(1, 0) + 0.849·(0, 1)" in text
    assert "2 heads side by side: merged_bank = (0.604, 0.266, 0.100, 0.849)" in text
    assert "mixed by W_o: y_bank = (1.454, 0.266, 0.100, 0.849)" in text


def test_projections_are_three_jobs() -> None:
    text = page(board(example("projections").derive(), focus="bank"))
    assert "q = x W_q k = x W_k v = x W_v" in text
    assert "q_(bank, 1) = 0·1 + 0·1 + 1·2 + 0·0 = 2" in text


def test_cross_attention_has_two_lists() -> None:
    text = page(board(example("dot_similarity").derive()))
    assert "▸ a (4, 2)" in text
    assert "b (6, 1) (6, 1)" in text
    assert "a was" not in text


def test_without_parameters_one_vector_does_three_jobs_and_the_cosines_follow() -> None:
    text = page(board(example("money bank grows").derive(), focus="bank"))
    assert "e = q = k = v: one vector, three jobs" in text
    assert "money · bank 0.500 → 0.978" in text
    assert "q_bank·k_money = 1·1 + 1·0 + 0·1 + 0·0 = 1" in text  # the best of the others, not itself


def real(T: int, d: int = 64) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    q, k, v = (rng.standard_normal((T, d)).astype(np.float32) for _ in range(3))
    return q, k, v


def test_a_real_head_shows_the_focus_row_alone() -> None:
    q, k, v = real(4)
    derivation = derive(q, k, v, tokens=["The", " river", " bank", " flooded"], causal=True, title="L9.H7")
    scene = board(derivation, focus="bank")
    text = page(scene)
    assert text.startswith("L9.H7\n")
    assert "The row of bank, which sees 3 of 4" in text
    assert "÷ √64 = 8" in text
    assert re.search(r"q_bank·k_\w+ = \S+ \+ \S+ \+ … 64 terms = ", text)
    assert "The river bank sum" in text  # not flooded, which bank cannot see
    assert re.search(r"bank′ = \(.*, … 64 numbers\)", text)
    assert not any(isinstance(part, Table) and len(part.rows) != 5 for part in scene.parts)


def test_of_many_tokens_the_largest_weights_are_shown_and_the_others_counted() -> None:
    q, k, v = real(50, 4)
    derivation = derive(q[:1], k, v, tokens=["q"], tokens_k=[f"t{n}" for n in range(50)])
    (table,) = [part for part in board(derivation).parts if isinstance(part, Table)]
    weights = derivation["weights"].array[0][0]
    largest = sorted(np.argsort(-weights)[:6])
    assert table.columns == ("", *(f"t{n}" for n in largest), "44 others", "sum")
    row = next(row for row in table.rows if row[0] == "weight")
    assert [float(str(cell)) for cell in row[1:-1]] == pytest.approx(
        [*weights[largest], 1 - weights[largest].sum()], abs=0.0005 + 1e-9
    )
    bars = [cell.fraction for cell in table.rows[-1] if isinstance(cell, Bar)]
    assert sum(bars) == pytest.approx(1)
    assert "44 more tokens share" in page(board(derivation))


def test_every_term_and_every_token_on_request() -> None:
    q, k, v = real(20)
    scene = board(derive(q, k, v), focus=3, full=True)
    folds = {part.summary: part for part in scene.parts if isinstance(part, Fold)}
    assert len(folds["every token it sees"].parts[0].rows) == 20
    terms = page(folds["every term"].parts).splitlines()
    assert [line.count("·") for line in terms] == [65] * 6  # 64 products, and the one in front


def test_wide_projections_are_not_written_out() -> None:
    rng = np.random.default_rng(5)
    W = {name: rng.random((17, 6)) for name in ("W_q", "W_k", "W_v")}
    derivation = derive(x=rng.random((3, 17)), **W, W_o=rng.random((6, 17)), n_heads=2)
    text = page(board(derivation, focus=1, full=True))
    assert "W_o, 6 × 17, is not written out" in text
    assert "head 1: The row of 1" in text
    assert len(text) < 5_000


def test_a_query_that_sees_nothing_is_shown_as_it_is() -> None:
    derivation = derive([[1.0]], [[1.0]], [[1.0]], mask=[[False]])
    assert "weight 0 0.000" in page(board(derivation))
    q, k, v = real(3)
    blind = derive(q, k, v, mask=[[False] * 3] * 3)
    assert "sees 0 of 3" in page(board(blind, focus=1))


def test_a_derivation_shows_itself() -> None:
    import riverhead

    derivation = example("The river bank flooded").derive()
    assert derivation.scene() == board(derivation)
    assert "0.539" in str(derivation)
    assert "0.539" in derivation._repr_html_()
    assert "weight 0.065" in " ".join(
        str(riverhead.show(derivation["q"].array, *(derivation[n].array for n in "kv"))).split()
    )


def test_every_number_is_printed_from_the_library_too() -> None:
    import riverhead

    derivation = example("The river bank flooded").derive()
    assert str(derivation.arithmetic("weights", 2, 1)) == "16.92 ÷ 31.40 = 0.539"
    wide = derive(e=np.ones((1, 64)))
    assert str(wide.arithmetic("dots", 0, 0, terms=None)).count("1·1") == 64
    full = str(board(derivation, focus="bank", full=True))
    assert "16.92 ÷ 31.40 = 0.539" in full
    assert "<math" in board(derivation)._repr_html_()
    given = (derivation[name].array for name in "qkv")
    assert "16.92 ÷ 31.40 = 0.539" in str(riverhead.show(*given, focus=2, full=True))


def test_what_another_source_prints_is_told_of_its_own_row_and_told_apart() -> None:
    derivation = example("The river bank flooded").derive()
    assert "Board:" not in page(board(derivation, focus="flooded"))
    for digits in (0, 1, 2):
        assert "Board: 8.33 is 8.34, 0.61 is 0.60 " in page(board(derivation, focus="bank", digits=digits))
    assert "0.61 is 0.60427" in page(board(derivation, focus="bank", digits=5))


def test_symbols_in_the_notes_are_formulas() -> None:
    from riverhead.render import render

    rng = np.random.default_rng(5)
    W = {name: rng.random((3, 4)) for name in ("W_q", "W_k", "W_v")}
    scene = board(derive(x=rng.random((2, 3)), **W, W_o=rng.random((4, 3)), n_heads=2), full=True)
    runs = [run for part in flat(scene.parts) if isinstance(part, Text) for run in part.runs]
    runs += [meaning for part in flat(scene.parts) if isinstance(part, Formula) for _, meaning in part.terms]
    assert "what each token asks, 2 rows of 2 numbers" in runs
    assert not [run for run in runs if isinstance(run, str) and re.search("[dW]_[a-z]", run)]
    assert "divided by √d_k = √2 it is the same" in page(scene)
    assert "mixed by W_o: y_" in page(scene)
    assert "<msub><mi>W</mi><mi>o</mi></msub>" in render(scene, "html-fragment")


def flat(parts: tuple[Part, ...]) -> list[Part]:
    """Every part, those in folds too."""
    return [inner for part in parts for inner in (flat(part.parts) if isinstance(part, Fold) else [part])]
