"""Derivations as JSON, and vectors from files: what goes in comes out, and what is wrong is named."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverhead.derivation import Derivation, derive, example, examples, read_vectors
from riverhead.errors import InputError, RiverheadError

number = st.floats(-1e3, 1e3)
token = st.text(max_size=8)  # any characters: controls, right-to-left, emoji


def rows(count: int, width: int) -> st.SearchStrategy[list[list[float]]]:
    return st.lists(st.lists(number, min_size=width, max_size=width), min_size=count, max_size=count)


@st.composite
def derivations(draw: st.DrawFn) -> Derivation:
    T, d, heads = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 2))
    kind = draw(st.sampled_from(["vectors", "projections", "e", "cross"]))
    settings = {
        "tokens": draw(st.lists(token, min_size=T, max_size=T)),
        "title": draw(token),
        "causal": draw(st.booleans()),
        "scale": draw(st.none() | st.floats(-3, 3)),
        "temperature": draw(st.floats(0.01, 100)),
    }
    if kind == "e":
        return derive(e=draw(rows(T, d * heads)), n_heads=heads, W_o=draw(rows(d * heads, 2)), **settings)
    if kind == "projections":
        W = {name: draw(rows(d, 2 * heads)) for name in ("W_q", "W_k", "W_v")}
        return derive(
            x=draw(rows(T, d)),
            **W,
            n_heads=heads,
            meanings=draw(st.lists(token, min_size=T, max_size=T)),
            **settings,
        )
    T_k = T if kind == "vectors" else T + 1
    if kind == "cross":
        settings["tokens_k"] = draw(st.lists(token, min_size=T_k, max_size=T_k))
    mask = draw(
        st.none() | st.lists(st.lists(st.booleans(), min_size=T_k, max_size=T_k), min_size=T, max_size=T)
    )
    q = [draw(rows(T, d)) for _ in range(2 * heads)]
    k, v = ([draw(rows(T_k, width)) for _ in range(heads)] for width in (d, 2))
    return derive(q, k, v, mask=mask, align="start", **settings)


@settings(max_examples=80)
@given(derivations())
def test_a_document_gives_the_same_derivation_back(derivation: Derivation) -> None:
    document = derivation.to_json()
    assert Derivation.from_json(document) == derivation
    assert json.loads(document)["schema"] == "riverhead.derivation/1"
    assert Derivation.from_json(json.dumps(json.loads(document), indent=1)) == derivation


@pytest.mark.parametrize("known", examples(), ids=lambda known: known.name)
def test_every_example_survives_with_what_is_printed_of_it(known) -> None:
    derivation = known.derive()
    assert Derivation.from_json(derivation.to_json()) == derivation


def document() -> dict:
    return json.loads(example("The river bank flooded").derive(causal=True).to_json())


STEPS = [step["name"] for step in document()["steps"]]


def _set(path: str, value: object) -> dict:
    found = document()
    *outer, last = path.split(".")
    inner = found
    for name in outer:
        if name in STEPS and isinstance(inner, list):
            inner = next(step for step in inner if step["name"] == name)
        else:
            inner = inner[int(name) if name.isdecimal() else name]
    inner[int(last) if last.isdecimal() else last] = value
    return found


W = "steps.weights.values.0"
REFUSED = {
    "another schema": ("schema", "riverhead.derivation/2", "schema is 'riverhead.derivation/2'"),
    "more fields": ("code", "x", "has the fields"),
    "no steps": ("steps", {}, "has the fields"),
    "steps in another order": ("steps", document()["steps"][::-1], "steps of the document are not tokens"),
    "a step that is a word": ("steps.0", "tokens", "steps of the document"),
    "another weight": (f"{W}.2.1", 0.64, r"weights\[0\]\[2\]\[1\] is 0.64 .* makes it 0.6199"),
    "a weight that is a word": (f"{W}.2.1", "0.5", r"weights\[0\]\[2\]\[1\] is 0.5"),
    "a weight that is true": (f"{W}.0.0", True, r"weights\[0\]\[0\]\[0\] is True"),
    "a weight that is null": (f"{W}.2.1", None, r"weights\[0\]\[2\]\[1\] is None"),
    "a number beyond float64": (f"{W}.2.1", 10**400, r"weights\[0\]\[2\]\[1\] is 1000"),
    "a row less": (W, [[]] * 3, r"weights\[0\] has 3 entries"),
    "no values": ("steps.weights.values", None, "weights has none entries"),
    "another query": ("given.q.0.2", [2, 2], r"q\[0\]\[2\]\[1\] is 1.0 in the document"),
    "an unknown field": ("given.Q", [[1]], "'Q' is not a field"),
    "a query that is ragged": ("given.q.0.2", [2], r"q\[0\]\[2\] has 1"),
    "printed without digits": ("given.printed", {"where": "here"}, "printed has where; it has the fields"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_document_that_was_changed_is_refused_by_name(name: str) -> None:
    path, value, says = REFUSED[name]
    with pytest.raises(InputError, match=says):
        Derivation.from_json(json.dumps(_set(path, value)))


def test_a_document_is_an_object() -> None:
    with pytest.raises(InputError, match="is a list; it has to be an object"):
        Derivation.from_json("[]")


@pytest.mark.parametrize(
    "text",
    ["", "{", "null", "[" * 100_000, '{"schema": NaN}', '{"a": ' * 50_000, "1" * 10_000, "\ud800", "\x00"],
    ids=["empty", "half", "null", "deep", "NaN", "deep objects", "digits", "surrogate", "zero"],
)
def test_what_is_no_document_is_an_input_error(text: str) -> None:
    with pytest.raises(InputError):
        Derivation.from_json(text)
    with pytest.raises(InputError):
        read_vectors(text or "{", "json")


def test_a_document_too_large_is_refused_before_it_is_read() -> None:
    class Vast(str):
        def __len__(self) -> int:
            return 1 << 40

    with pytest.raises(InputError, match="characters"):
        Derivation.from_json(Vast("{}"))


VECTORS = {"tokens": ["a", "b"], "q": [[1, 2], [3, 4]], "k": [[1, 2], [3, 4]], "v": [[1], [2]], "focus": "b"}


def test_vectors_from_a_file_and_from_a_text(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text(json.dumps(VECTORS))
    (tmp_path / "mine.TOML").write_text(
        "\n".join(f"{name} = {json.dumps(value)}" for name, value in VECTORS.items())
    )
    expected = derive(VECTORS["q"], VECTORS["k"], VECTORS["v"], tokens=["a", "b"])
    for found in (
        read_vectors(tmp_path / "mine.json"),
        read_vectors(str(tmp_path / "mine.TOML")),
        read_vectors(json.dumps(VECTORS), "json"),
    ):
        assert found.derive() == expected
        assert found.focus == "b"


def PRINTED(**fields: object) -> dict:  # noqa: N802
    return VECTORS | {"printed": {"where": "x", "digits": {}, "rows": []} | fields}


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "found none of them"),
        (VECTORS | {"w": 1}, "'w' is not a field of a derivation; it has tokens, tokens_k, q"),
        (VECTORS | {"focus": "c"}, "focus 'c' is not there; the tokens are a, b"),
        (VECTORS | {"focus": 1}, r"focus\[0\] is '1'"),
        (VECTORS | {"k": [[1, 2], [3]]}, r"k\[1\] has 1, k\[0\] has 2"),
        (VECTORS | {"v": [[1], ["2"]]}, r"v\[1\]\[0\] is '2'"),
        (VECTORS | {"v": [[1], [1e999]]}, "Infinity is no JSON number"),
        (VECTORS | {"q": {"a": [1, 2]}}, "q is"),
        (VECTORS | {"tokens": {"a": 1, "b": 2}}, "tokens is"),
        (VECTORS | {"n_heads": 2.0}, "n_heads is '2.0'"),
        (VECTORS | {"mask": [["yes", "no"], ["yes", "no"]]}, r"mask\[0\]\[0\] is 'yes'"),
        (PRINTED(digits={"exp": "two"}), "'two' says no digits"),
        (PRINTED(rows=[{"step": "exp"}]), r"printed.rows\[0\] has step"),
        (PRINTED(rows=[{"step": "exp", "row": "a", "numbers": ["?"]}]), "'[?]' is not a printed number"),
        (PRINTED(rows=[{"step": "exp", "row": "c", "numbers": []}]), "row 'c' is not there"),
        (PRINTED(where=1), "printed.where is '1', which is a int"),
    ],
)  # fmt: skip
def test_vectors_that_do_not_fit_are_refused_by_name(fields: dict, says: str) -> None:
    with pytest.raises(RiverheadError, match=says):
        read_vectors(json.dumps(fields), "json")


def test_toml_is_checked_as_json_is() -> None:
    with pytest.raises(InputError, match=re.escape("v[0][0] is nan")):
        read_vectors("q = [[1]]\nk = [[1]]\nv = [[nan]]", "toml")
    with pytest.raises(InputError, match="this is not TOML"):
        read_vectors("q = [[1]", "toml")
    with pytest.raises(InputError, match=re.escape("v[0][0] is '1979-05-27'")):
        read_vectors("q = [[1]]\nk = [[1]]\nv = [[1979-05-27]]", "toml")
    with pytest.raises(InputError):
        read_vectors("q = " + "[" * 100_000, "toml")


def test_a_file_of_another_kind_or_size_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.toml or \.json, not 'yaml'"):
        read_vectors(tmp_path / "mine.yaml")
    (tmp_path / "vast.json").write_bytes(b" " * (4 << 20) + b"{}")
    with pytest.raises(InputError, match="more than 4,194,304 bytes"):
        read_vectors(tmp_path / "vast.json")
    (tmp_path / "latin.json").write_bytes('{"tokens": ["é"]}'.encode("latin-1"))
    with pytest.raises(InputError, match=r"not UTF-8 text: .* at byte 13"):
        read_vectors(tmp_path / "latin.json")
    with pytest.raises(FileNotFoundError):
        read_vectors(tmp_path / "none.json")
