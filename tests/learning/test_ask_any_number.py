"""Any number of any small calculation is found by its words or its print, and all that is said is true."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverhead.check import claims
from riverhead.checking.claims.claim import Truth
from riverhead.derivation import Derivation, derive
from riverhead.learning.tutor.asking import asked
from riverhead.learning.tutor.at_hand import AtHand
from riverhead.learning.tutor.cells import which
from riverhead.learning.tutor.numbers import answer
from riverhead.numbers import fixed
from riverhead.render import render
from riverhead.scene import Scene

TOKENS = ["Cats", "chase", "mice"]  # three words, two numbers a query, five a value: no two axes alike
WORDS = {  # of one number of each step: {i} and {j} are words of the sentence, {c} a component
    "dots": "what is the dot product of {i} with {j}",
    "scores": "what's the scaled score of {i} on {j}",
    "exp": "what is the exponential of {i} on {j}",
    "weights": "how much does {i} look at {j}",
    "sum": "what is the sum of the exponentials in {i}'s row",
    "out": "where does component {c} of {i}' come from",
    "q": "what is component {c} of {i}'s query",
    "k": "what is component {c} of {i}'s key",
    "v": "what is component {c} of {i}'s value",
}
PRINTED = {
    "weights": "why is {i}'s weight on {j} {x}?",
    "scores": "why is the score of {i} on {j} {x}",
    "exp": "where does {x} come from, the exponential of {i} on {j}",
    "sum": "why is {i}'s total {x}",
    "out": "why is component {c} of {i}' {x}?",
}


@st.composite
def sentences(draw: st.DrawFn) -> Derivation:
    """A calculation of one or two heads, masked or not."""
    heads = draw(st.integers(1, 2))

    def operand(width: int) -> list:
        numbers = st.integers(-2, 2)  # no row adds up to 1000: from there on four digits show no decimals
        rows = st.lists(st.lists(numbers, min_size=width, max_size=width), min_size=3, max_size=3)
        return draw(st.lists(rows, min_size=heads, max_size=heads))

    return derive(operand(2), operand(2), operand(5), tokens=TOKENS, causal=draw(st.booleans()))


def asked_for(worked: Derivation, step: str, ways: dict[str, str], draw: st.DrawFn) -> tuple[str, float]:
    """A question about one number of ``step``, and that number."""
    head = draw(st.integers(0, worked.given.n_heads - 1))
    grid = worked[step].values[head]
    i, j = draw(st.integers(0, len(grid) - 1)), draw(st.integers(0, len(grid[0]) - 1))
    x = grid[i][j]
    key = "itself" if i == j else TOKENS[j % 3]  # one word twice would be "cats on cats"
    question = ways[step].format(i=TOKENS[i], j=key, c=j + 1, x=fixed(x).text.replace("−", "-"))
    return question + (f" in head {head}" if worked.given.n_heads > 1 else ""), x


def said(question: str, at_hand: AtHand) -> str:
    return str(Scene("", answer(question, at_hand)))


def wrong(question: str, at_hand: AtHand) -> list[str]:
    """What is said and not so, where each cell of a table stands for itself."""
    page = render(Scene("", answer(question, at_hand)), "markdown")
    return [claim.text for claim in claims(page, "markdown") if claim.verdict is Truth.FALSE]


def is_plain_english(text: str) -> bool:
    sentence = " ".join(text.split("\n  \n")[0].split())
    return bool(re.match(r"(?:[A-Z]|[−-]?[0-9.]).* (?:is|are|has|add) .*\.", sentence)) and "{" not in text


@settings(max_examples=60, deadline=None)
@given(sentences(), st.sampled_from(sorted(WORDS)), st.data())
def test_any_number_is_found_by_its_words(worked: Derivation, step: str, data: st.DataObject) -> None:
    question, x = asked_for(worked, step, WORDS, data.draw)
    at_hand = AtHand("Cats chase mice", worked)
    (spot,) = which(asked(question, at_hand), at_hand)
    assert spot.step == step, question
    assert worked[step].values[spot.head][spot.i][spot.j] == x, question
    text = said(question, at_hand)
    assert is_plain_english(text), text
    assert not wrong(question, at_hand), text


@settings(max_examples=60, deadline=None)
@given(sentences(), st.sampled_from(sorted(PRINTED)), st.data())
def test_any_number_is_found_by_its_words_and_its_print(
    worked: Derivation, step: str, data: st.DataObject
) -> None:
    question, x = asked_for(worked, step, PRINTED, data.draw)
    if "∞" in question:
        return  # nobody types it
    at_hand = AtHand("Cats chase mice", worked)
    (spot,) = which(asked(question, at_hand), at_hand)
    assert spot.fits is not None, question
    assert abs(worked[spot.step].values[spot.head][spot.i][spot.j] - x) <= 0.0005 + 1e-9  # as printed
    text = said(question, at_hand)
    assert is_plain_english(text), text
    assert not wrong(question, at_hand), text


PIECES = [
    "what", "is", "why", "if", "without", "the", "weight", "weights", "score", "query", "key", "of",
    "on", "Cats", "chase's", "mice'", "q_mice", "head 1", "head 7", "component 9", "second", "was",
    "(1, 2)", "(1, 2, 3)", "0,2", "0.5", "-1", "100%", "temperature 0", "temperature 1e9", "hidden",
    "most", "add up to", "become", "e^", "√", "·", "->", "'", "here", "tokens",
]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(sentences(), st.lists(st.sampled_from(PIECES), max_size=12))
def test_whatever_is_asked_nothing_breaks(worked: Derivation, pieces: list[str]) -> None:
    said(" ".join(pieces), AtHand("Cats chase mice", worked))


@pytest.mark.parametrize(
    "way",
    [
        "what are {}'s weights", "what does {} become", "what is {}'s query", "{}'s key", "v_{}",
        "who does {} listen to most", "do {}'s weights add up to 1", "what are the scores of {}",
        "what if I don't divide, what are {}'s weights", "what if {} was hidden",
        "what if {}'s key was (1, 2)",
        "what if it were causal, what does {} become", "what if temperature is 2, the weights of {}",
    ],
)  # fmt: skip
@settings(max_examples=8, deadline=None)
@given(worked=sentences(), token=st.sampled_from(TOKENS))
def test_a_row_a_vector_and_a_change_are_said_truly(worked: Derivation, token: str, way: str) -> None:
    question, at_hand = way.format(token), AtHand("Cats chase mice", worked)
    text = said(question, at_hand)
    assert text.strip(), question
    assert not wrong(question, at_hand), text
