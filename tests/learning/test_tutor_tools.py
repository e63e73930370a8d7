"""The engine as a model calls it: the numbers are NumPy's, and whatever is sent comes back as words."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from talking_server import at_hand

from riverhead.learning.tutor import tools
from riverhead.learning.tutor.arguments import MOST_TOKENS, MOST_WIDE
from riverhead.learning.tutor.tools import schemas, use

AT_HAND = at_hand()


def found(name: str, **arguments: object) -> dict:
    result = use(name, json.dumps(arguments), AT_HAND)
    assert result.ok, result.text
    return json.loads(result.text)


def refused(name: str, arguments: str) -> str:
    result = use(name, arguments, AT_HAND)
    assert not result.ok, result.text
    assert len(result.text) <= tools.MOST_RESULT
    return result.text


def softmax(scores: np.ndarray) -> np.ndarray:
    exps = np.exp(scores - scores.max(-1, keepdims=True))
    return exps / exps.sum(-1, keepdims=True)


def test_derive_is_attention() -> None:
    q, k, v = ([[1, 2, 0], [0, -1, 1]], [[1, 0, 1], [2, 1, 0], [0, 0, 3]], [[1, 5], [2, 0], [-1, 1]])
    made = found("derive", q=q, k=k, v=v)
    weights = softmax(np.array(q) @ np.array(k).T / 3**0.5)
    # six significant digits are given
    np.testing.assert_allclose(made["weights"], weights, rtol=5e-6)
    np.testing.assert_allclose(made["out"], weights @ np.array(v), rtol=5e-6)


def test_derive_hides_what_comes_later_and_scales_as_asked() -> None:
    made = found("derive", e=[[1, 0], [1, 1]], causal=True, scale=2)
    assert made["masked"][0][1] == "−∞"
    np.testing.assert_allclose(made["weights"], [[1, 0], softmax(np.array([2.0, 4.0]))], rtol=5e-6)


@pytest.mark.parametrize("step", ["q", "k", "v", "dots", "scores", "exp", "sum", "weights", "out"])
def test_a_cell_is_the_number_of_the_board_with_its_arithmetic(step: str) -> None:
    column = {"q": 2, "k": 2, "v": 2, "out": 2, "sum": None}.get(step, "river")
    made = found("cell", step=step, row="bank", column=column)
    worked, at = AT_HAND.derivation, {"river": 1, None: 0}.get(column, 1)
    assert made["exact"] == pytest.approx(worked[step].values[0][2][at], rel=5e-6)
    assert made["arithmetic"] == str(worked.arithmetic(step, 2, at))


def test_softmax_is_softmax() -> None:
    assert found("softmax", scores=[4, 3, 1], scale=0.5)["weights"] == pytest.approx(
        softmax(np.array([2, 1.5, 0.5])), rel=5e-6
    )


def test_a_plan_by_name_and_by_sizes() -> None:
    named = found("plan", model="gpt2", tokens=100_000)
    assert named["costs"]["scores of a head"] == "40.0 GB (37.3 GiB), exactly 40,000,000,000"
    sized = found("plan", n_layers=1, n_heads=2, d_model=8, vocab_size=5, tokens=3, dtype="int8", batch=2)
    assert sized["costs"]["scores of a layer's heads"].endswith(f"exactly {2 * 2 * 3 * 3}")


def test_sums_of_a_text_are_checked() -> None:
    assert found("check", text="2 + 2 = 5, and e^0.5 = 1.65") == [
        {"sum": "2 + 2 = 5", "is": "false", "exact": "4"},
        {"sum": "e^0.5 = 1.65", "is": "rounded", "exact": "1.64872"},
    ]
    assert "no sum" in found("check", text="nothing")


REFUSED = {  # what a model may send; what it is told
    ("nonsense", "{}"): "there is no tool 'nonsense'; there are derive",
    ("softmax", "{"): "no JSON",
    ("softmax", "[" * 99_999): "no JSON",
    ("softmax", "[1]"): "by name",
    ("softmax", "{}"): "scores is missing",
    ("softmax", '{"scores": []}'): "1 to 64 numbers",
    ("softmax", json.dumps({"scores": [0] * 65})): "1 to 64 numbers",
    ("softmax", '{"scores": [NaN]}'): "takes a number",
    ("softmax", '{"scores": [1e999]}'): "takes a number",
    ("softmax", '{"scores": [true]}'): "takes a number",
    ("softmax", '{"scores": ["1"]}'): "takes a number",
    ("softmax", '{"scores": [' + "9" * 5_000 + "]}"): "no JSON",
    ("softmax", '{"scores": [1], "temperature": 0}'): "'temperature' is no argument",
    ("derive", "{}"): "give q, k and v",
    ("derive", '{"e": [[1], [1, 2]]}'): "every row needs as many",
    ("derive", '{"q": [[1, 2]], "k": [[1]], "v": [[1]]}'): "d_k differs",
    ("derive", json.dumps({"e": [[1]] * (MOST_TOKENS + 1)})): f"1 to {MOST_TOKENS} vectors",
    ("derive", json.dumps({"e": [[1] * (MOST_WIDE + 1)]})): f"1 to {MOST_WIDE} numbers",
    ("derive", '{"e": [[1]], "causal": "yes"}'): "true or false",
    ("derive", '{"e": [[1]], "tokens": "a"}'): "list of up to",
    ("cell", '{"step": "weights", "row": "bank"}'): "column is missing",
    ("cell", '{"step": "weights", "row": "money", "column": "river"}'): "the tokens are The, river",
    ("cell", '{"step": "tokens", "row": "bank"}'): "there is no step",
    (
        "cell",
        '{"step": "out", "row": "bank", "column": 3}',
    ): "column is 3; it takes a whole number from 1 to 2",
    ("cell", '{"step": "out", "row": "bank", "column": 1, "head": 1}'): "head",
    ("cell", '{"step": "out", "row": "bank", "column": 1, "head": -1}'): "head",
    ("plan", "{}"): "give model, or sizes",
    ("plan", '{"model": "gpt2", "d_model": 4}'): "give model, or sizes",
    ("plan", '{"model": "gpt-9"}'): "nearest",
    ("plan", '{"model": "../../etc/passwd"}'): "no known model",
    ("plan", '{"model": "gpt2", "tokens": 0}'): "from 1 to",
    ("plan", '{"n_layers": 999999, "n_heads": 1, "d_model": 1, "vocab_size": 1}'): "n_layers",
    ("plan", '{"n_layers": 1, "n_heads": 3, "d_model": 4, "vocab_size": 1}'): "no multiple",
    ("plan", '{"model": "gpt2", "dtype": "float7"}'): "dtype",
    ("check", json.dumps({"text": "1" * 4_001})): "1 to 4,000 characters",
}


@pytest.mark.parametrize(("name", "arguments"), REFUSED)
def test_what_a_tool_cannot_take_is_said_to_the_model(name: str, arguments: str) -> None:
    assert REFUSED[name, arguments] in refused(name, arguments)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["bank", "out", "v", "\0"]),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_whatever_the_arguments_words_come_back(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(tools.TOOLS)))
    names = st.sampled_from(sorted(tools.TOOLS[name].arguments))
    given_ = data.draw(st.dictionaries(names, VALUES, max_size=5))
    result = use(name, json.dumps(given_), AT_HAND)
    assert 0 < len(result.text) <= tools.MOST_RESULT
    assert result.ok or result.text.startswith("error: ")


def test_vectors_nested_as_deep_as_json_is_read_are_refused_in_words() -> None:
    # somewhere below Python's own limit JSON is still read, and what is read can no longer be printed
    for depth in range(sys.getrecursionlimit() - 150, sys.getrecursionlimit()):
        said = refused("derive", f'{{"e": {"[" * depth}{"]" * depth}}}')
        assert said.startswith(("error: e[0]", "error: the arguments are no JSON"))


def test_the_largest_vectors_that_may_be_sent_fit_the_result() -> None:
    wide = [[1.2345678 * (n + m) / 7 for m in range(MOST_WIDE)] for n in range(MOST_TOKENS)]
    assert len(json.dumps(found("derive", e=wide))) <= tools.MOST_RESULT


def test_the_schemas_name_every_argument_and_are_json() -> None:
    for schema in json.loads(json.dumps(schemas())):
        function = schema["function"]
        assert set(function["parameters"]["required"]) <= set(function["parameters"]["properties"])
        assert function["description"]
