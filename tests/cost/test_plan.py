"""A plan is exact at any size, shows each figure with its formula and its numbers, and is plain data."""

from __future__ import annotations

import ast
import json
import operator
import re
from dataclasses import replace
from fractions import Fraction

import pytest
from configs import TINY, configs
from hypothesis import given, settings
from hypothesis import strategies as st

from riverhead.cost import Config
from riverhead.cost.activations import activations
from riverhead.cost.counts import Count, count
from riverhead.cost.flops import attention_flops, product_flops
from riverhead.cost.memory import kv_cache
from riverhead.cost.plan import Plan, plan
from riverhead.errors import InputError
from riverhead.render import FORMATS, render
from riverhead.render.plain import Plain
from riverhead.scene import Lines, Math, Table

# ---------------------------------------------------------------- what is shown is what was counted

OPERATIONS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def spelled(math: Math) -> str:
    return Plain().walk(math)


def worked_out(shown: str) -> Fraction:
    """Calculate a formula of numbers as a reader would, from its text."""
    signs = {"·": "*", "−": "-", "²": "**2", ",": ""}
    text = re.sub(r"(?<=[*\-+/(]) | (?=[*\-+/)])", "", "".join(signs.get(char, char) for char in shown))
    return _value(ast.parse(text, mode="eval").body)


def _value(node: ast.expr) -> Fraction:
    if isinstance(node, ast.Constant):
        return Fraction(node.value)
    assert isinstance(node, ast.BinOp), ast.dump(node)
    left, right = _value(node.left), _value(node.right)
    return OPERATIONS[type(node.op)](left, int(right) if isinstance(node.op, ast.Pow) else right)


def is_inequality(numbers: Math) -> bool:
    return any(sign in spelled(numbers) for sign in (">", "≤"))


@settings(deadline=None, max_examples=25)  # a plan has a hundred figures
@given(configs(), st.integers(1, 2000), st.integers(1, 3))
def test_the_numbers_put_in_give_the_value(config: Config, tokens: int, batch: int) -> None:
    found = plan(config, tokens, batch)
    assert found.figures
    for figure in found.figures:
        if is_inequality(figure.numbers):  # of T* under windows
            continue
        limit = worked_out(spelled(figure.numbers))
        if figure.unit == "tokens":
            assert figure.value == max(limit.__floor__() + 1, 1)
        else:
            assert figure.value == limit, figure.name


@settings(deadline=None, max_examples=25)
@given(configs(), st.integers(1, 2000), st.integers(1, 3))
def test_the_formula_with_its_symbols_replaced_is_the_numbers(
    config: Config, tokens: int, batch: int
) -> None:
    """Of figures whose every symbol is in the table of symbols."""
    found = plan(config, tokens, batch)
    table = found.scene("parameters").parts[0]
    assert isinstance(table, Table)
    known = {spelled(symbol): spelled(here) for symbol, _, here in table.rows}  # type: ignore[arg-type]
    tried = 0
    for figure in found.figures:
        symbols = re.findall(r"[A-Za-z]\w*", spelled(figure.formula))
        if set(symbols) <= known.keys():
            tried += 1
            put_in = re.sub(r"[A-Za-z]\w*", lambda name: known[name[0]], spelled(figure.formula))
            assert worked_out(put_in) == worked_out(spelled(figure.numbers)), figure.name
    assert tried > 10


@pytest.mark.parametrize(
    ("made", "shown", "value"),
    [
        (lambda a, b: a - (a - b), "7 − (7 − 3)", 3),
        (lambda a, b: 2 * (a + b) * a, "2·(7 + 3)·7", 140),
        (lambda a, b: (a + b) ** 2, "(7 + 3)²", 100),
        (lambda a, b: (a * b) ** 2 + 1, "(7·3)² + 1", 442),
        (lambda a, b: a * (a + 1) / 2 * b, "7·(7 + 1)/2·3", 84),
        (lambda a, b: (a + b) / (a - b), "(7 + 3)/(7 − 3)", Fraction(5, 2)),
        (lambda a, b: a / b / b, "(7/3)/3", Fraction(7, 9)),
        (lambda a, b: a * b / (a * b), "7·3/(7·3)", 1),
    ],
)
def test_counts_keep_their_parentheses(made: object, shown: str, value: int | Fraction) -> None:
    found: Count = made(count("a", 7), count("b", 3))  # type: ignore[operator]
    assert (str(found.numbers), found.value) == (shown, value)
    assert str(found.symbols) == shown.replace("7", "a").replace("3", "b")


# ---------------------------------------------------------------- any size


def test_absurd_sizes_are_counted_exactly() -> None:
    absurd = replace(TINY, n_layers=10**9, vocab_size=10**12)
    found = {(figure.group, figure.name): figure.value for figure in plan(absurd, 10**12, 10**6).figures}
    block = 10 * 31 * 14 + 5 * 31 * (14 + 11) + 10 * 11 * 31 + 3 * 31 * 17 + 2 * 31
    assert found["together", "together"] == 10**9 * block + 31 + 31 * 10**12
    assert found["", "scores of all layers"] == 10**9 * 10**6 * 10 * 10**24 * 4
    assert found["", "KV cache"] == 10**9 * 10**6 * 5 * (14 + 11) * 4 * 10**12


@pytest.mark.parametrize(
    ("config", "tokens", "name"),
    [(replace(TINY, d_ff=10**101), 3, "d_ff"), (TINY, 10**5000, "tokens")],
    ids=["d_ff", "tokens"],
)
def test_sizes_beyond_counting_are_named(config: Config, tokens: int, name: str) -> None:
    with pytest.raises(InputError, match=f"{name} has [0-9]+ bits; sizes up to 10\\^100 are counted"):
        plan(config, tokens)


def test_the_largest_sizes_are_shown() -> None:
    largest = replace(TINY, n_layers=10**100, d_ff=10**100, vocab_size=10**100)
    assert "10" + ",000" * 33 in render(
        plan(largest, 10**100, 10**100).scene("parameters"), "text", width=200
    )


# ---------------------------------------------------------------- the sheet, the rows, the curves


@pytest.fixture(scope="module")
def found() -> Plan:
    return plan(replace(TINY, windows=(4, 0, 9)), 23, 2, "float16", name="tiny")


def test_plain_data(found: Plan) -> None:
    data = json.loads(json.dumps(found.to_dict()))
    assert data["schema"] == "riverhead.plan/1"
    assert Config.from_dict(data["config"]) == found.config
    assert (data["model"], data["tokens"], data["batch"], data["dtype"]) == ("tiny", 23, 2, "float16")
    cache = next(row for row in data["figures"] if row["name"] == "KV cache")
    assert cache == {
        "part": "memory",
        "table": "KV cache of 2 × 23 tokens, float16",
        "group": "",
        "name": "KV cache",
        "value": 2 * 5 * 25 * 2 * (4 + 23 + 9),
        "unit": "bytes",
        "said": "18.0 kB (17.6 KiB)",
        "formula": "B·G·(d_k + d_v)·b·(n_all·T + n_4·w_4 + n_9·w_9)",
        "numbers": "2·5·(14 + 11)·2·(1·23 + 1·4 + 1·9)",
        "note": "5 kv heads",
    }


def test_one_part_alone(found: Plan) -> None:
    parts = ("parameters", "flops", "memory", "growth")
    assert [row for part in parts for row in found.rows(part)] == found.rows()
    sheets = [found.scene(part).parts for part in parts]
    assert all(set(sheet) < set(found.scene().parts) for sheet in sheets)
    with pytest.raises(
        InputError, match="part is 'bytes', it has to be one of parameters, flops, memory, growth"
    ):
        found.scene("bytes")  # type: ignore[arg-type]


@pytest.mark.parametrize("format", [name for name in FORMATS if name != "png"])  # which is SVG, drawn
def test_every_format_shows_it(found: Plan, format: str) -> None:
    assert len(render(found.scene("memory"), format)) > 1000


def test_a_model_that_sees_both_ways_says_why_nothing_is_cached() -> None:
    text = str(plan(replace(TINY, causal=False), 23))
    assert text.count("sees both ways") == 2
    assert "KV cache of 23 tokens" in text


def test_a_window_is_told_as_it_is_counted() -> None:
    """Where a query sees both ways the window is to each side, so it sees 2·w − 1 keys."""
    for causal, words in (
        (True, "keys a query sees, itself"),
        (False, "keys a query sees to each side, itself"),
    ):
        text = str(plan(replace(TINY, causal=causal, windows=(4,) * 3), 23))
        assert words in text
        assert ("2·w − 1" in text) != causal


def test_what_is_held_throughout_has_a_name_for_its_numbers_and_one_for_its_bytes() -> None:
    found = plan(TINY, 7, 2)
    held = next(figure for figure in found.figures if figure.name == "held throughout")
    q_k_v = 10 * 14 + 5 * (14 + 11)
    turned = 10 * 14 + 5 * 14 if TINY.rope_base is not None else 0
    n_held = 2 * 31 + q_k_v + turned + 10 * 11
    assert f"= {n_held:,}." in " ".join(str(found).split())
    assert str(held.formula).startswith("B·T·n_held·b")


def test_one_is_no_plural() -> None:
    assert not re.search(r"\b1 (tokens|bytes|parameters)\b", str(plan(replace(TINY, context_length=1), 1)))


def test_heads_without_groups_are_said() -> None:
    assert "No GQA: n_heads is 11" in str(plan(replace(TINY, n_heads=11, n_kv_heads=11), 23))


def test_a_name_is_words_never_markup() -> None:
    page = render(plan(TINY, 23, name="</script><b>").scene(), "html")
    assert "</script><b>" not in str(page)


def test_the_context_is_the_length_unless_one_is_given() -> None:
    assert plan(TINY).tokens == TINY.context_length


def test_curves_are_the_figures_at_each_length(found: Plan) -> None:
    config = found.config
    flops, held = found.lines((5, 50))
    lines = {line.label: line.points for line in (*flops.lines, *held.lines)}
    assert lines["matrix products"] == tuple((T, product_flops(config, T, 2)) for T in (5, 50))
    for label, visible in (("attention, every pair", False), ("attention, visible pairs", True)):
        assert lines[label] == tuple((T, attention_flops(config, T, 2, visible=visible)) for T in (5, 50))
    cache = [kv_cache(config, T, 2, "float16") for T in (5, 50)]
    assert lines["KV cache"] == tuple(zip((5, 50), (one.value for one in cache), strict=True))
    assert lines["riverhead's prefill"] == tuple(
        (T, activations(config, T, 2, "float16")[-1].value) for T in (5, 50)
    )


def test_a_point_marks_where_attention_overtakes() -> None:
    flops, _ = plan(TINY, 23).lines()
    marks = [line for line in flops.lines if len(line.points) == 1]
    assert [line.label.partition(",")[2] for line in marks] == [" every pair", " visible pairs"]
    for mark in marks:
        ((T, y),) = mark.points
        assert y == product_flops(TINY, int(T))
        assert f"{int(T):,}" in flops.caption


def test_curves_reach_past_the_crossing_the_context_and_the_text() -> None:
    flops, held = plan(TINY, 300_000).lines()
    assert isinstance(held, Lines)
    assert flops.lines[0].points[0][0] == 128
    assert 300_000 < flops.lines[0].points[-1][0] < 600_000


def test_worked_lines_fold_away(found: Plan) -> None:
    assert any(type(part).__name__ == "Fold" for part in found.scene().parts)
    assert not any(type(part).__name__ == "Fold" for part in found.scene(numbers=False).parts)
