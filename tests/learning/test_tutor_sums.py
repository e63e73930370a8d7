"""Sums of a streamed reply: the text is the reply, the sums are those that `claims` finds in the whole."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverhead.check import claims
from riverhead.learning.tutor import sums
from riverhead.learning.tutor.events import Sum, Text
from riverhead.learning.tutor.sums import Sums


def streamed(text: str, places: list[int], given: str = "") -> tuple[list[Text | Sum], Sums]:
    """The events of a reply cut at these places."""
    cuts = sorted({0, len(text), *(n % (len(text) + 1) for n in places)})
    found = Sums(given)
    events = [event for a, b in pairwise(cuts) for event in found.feed(text[a:b])]
    return [*events, *found.close()], found


def texts(events: list[Text | Sum]) -> str:
    return "".join(event.text for event in events if isinstance(event, Text))


def marks(events: list[Text | Sum]) -> list[Sum]:
    return [event for event in events if isinstance(event, Sum)]


def as_found(text: str) -> list[tuple[str, str, object]]:
    found = claims(text, "markdown")
    return [(claim.text, claim.how or claim.verdict.value, claim.exact) for claim in found]


# ¤ is a number that makes it true or false. Each on one line: whether a sum goes on in the next one is told
# by how the whole page is wrapped, so that it may be known late.
SENTENCES = [
    "Let us see what bank asks.",
    "Its query is q = (2, 1) and the key k = (2, 0).",
    "So q · k = 2·2 + 1·0 = ¤.",
    "q · k = ¤, right?",
    "Then 4 / sqrt(2) = ¤!",
    "We get e^2.83 = ¤; what comes next?",
    "That is **¤ · 3 = 12**.",
    r"In symbols \( 3 \cdot ¤ = 12 \).",
    "The weight is 16.92 / 31.40 = 0.¤.",
    "softmax([¤, 1]) = [0.95, 0.05].",
    "It is 4 tokens long, so is it not?",
]
PROSE = st.lists(
    st.lists(
        st.builds(lambda said, n: said.replace("¤", str(n)), st.sampled_from(SENTENCES), st.integers(2, 6)),
        min_size=1,
        max_size=4,
    ).map(" ".join),
    min_size=1,
    max_size=4,
).map("\n\n".join)  # fmt: skip
PLACES = st.lists(st.integers(0, 10_000), max_size=60)


@settings(max_examples=30, deadline=None)
@given(PROSE, PLACES)
def test_in_prose_each_sum_is_marked_once_where_it_ends_and_as_claims_finds_it(
    text: str, places: list[int]
) -> None:
    events, found = streamed(text, places)
    assert texts(events) == text
    assert not any(one.late for one in marks(events))
    assert sorted(found.found.values(), key=lambda one: (one.end, one.start)) == marks(events)
    by_start = sorted(marks(events), key=lambda one: (one.start, one.end))
    assert [(one.text, one.standing, one.exact) for one in by_start] == as_found(text)
    out = ""
    for event in events:
        out += event.text if isinstance(event, Text) else ""
        assert not isinstance(event, Sum) or len(out) == event.end


SIGNS = st.text(
    st.sampled_from("0123456789.,=+-·/()[]|*`$\\{}<>!#&;:%\n\r\t \u2028\ufeffqkeπ≈→½"), max_size=60
)
WORDS = st.sampled_from(
    [
        "2 + 2 = 5",
        "q = (2, 1)",
        "\n\n",
        "<!--",
        "-->",
        "```\n",
        "wrong",
        " is false",
        "$$",
        "| 1 | 2 |\n",
        "…",
    ]
)


@settings(max_examples=100, deadline=None)
@given(st.lists(SIGNS | WORDS, max_size=12).map("".join), PLACES)
def test_whatever_the_text_all_of_it_comes_out_and_what_was_said_ends_as_claims_finds_it(
    text: str, places: list[int]
) -> None:
    events, found = streamed(text, places)
    assert texts(events) == text
    said: dict[tuple[int, int], Sum] = {}
    for one in marks(events):
        said[one.start, one.end] = replace(one, late=False)
    stand = {place: one for place, one in said.items() if one.standing != "withdrawn"}
    assert stand == found.found
    shifted = as_found("\n\n" + text)  # no front matter and no byte order mark inside a reply
    in_order = sorted(stand.values(), key=lambda one: (one.start, one.end))
    assert [(one.text, one.standing, one.exact) for one in in_order] == shifted


def test_words_come_at_once_and_a_sentence_with_a_number_when_it_ends() -> None:
    found = Sums()
    came = [texts(list(found.feed(part))) for part in ("Now ", "take ", "2 ", "+ 2 ", "= 4. ", "Well")]
    assert came == ["Now ", "take ", "", "", "", "2 + 2 = 4. Well"]


def test_a_sum_that_the_next_line_denies_is_taken_back() -> None:
    events, found = streamed("He wrote 2 + 2 = 5. \nfalse, as we know.", list(range(60)))
    assert [(one.standing, one.late) for one in marks(events)] == [("false", False), ("withdrawn", True)]
    assert found.found == {}


def test_what_the_text_to_come_makes_of_a_sum_is_said_late() -> None:
    events, _ = streamed("1,250 · 2 = 2,500. 0,25 + 1 = 1,25. That is it.", list(range(60)))
    first = [(one.shown, one.late) for one in marks(events) if one.start == 0]
    assert first == [("2500", False), ("2.5", True)]  # thousands, until a comma is seen to be decimal


def test_a_sum_that_only_the_text_to_come_makes_one_is_late() -> None:
    german = "0,5 + 1 = 1,5. Und 2.5 + 1.5 = 4.1 ist. Dann 0,25 + 1 = 1,25. Mehr 0,75 + 1 = 1,75 und 0,1."
    events, found = streamed(german, list(range(120)))
    before = ""
    for event in events:
        before += event.text if isinstance(event, Text) else ""
        assert not isinstance(event, Sum) or event.late == (event.end < len(before))
    assert any(one.late for one in marks(events))
    assert [one.exact for one in found.found.values()] == [1.5, 4.0, 1.25, 1.75]


def test_names_that_were_given_are_known_and_nothing_of_them_is_given_out() -> None:
    events, _ = streamed("So q_bank · k_river = 5.", [3, 9], "q_bank = (2, 1)\nk_river = (2, 0), 1 + 1 = 3")
    assert texts(events) == "So q_bank · k_river = 5."
    assert [(one.start, one.end, one.exact) for one in marks(events)] == [(3, 23, 4)]


def test_a_name_that_the_reply_binds_anew_is_its_own() -> None:
    events, _ = streamed(
        "Say q_bank = (3, 0).\nThen q_bank · k_river = 6.", [], "q_bank = (2, 1)\nk_river = (2, 0)"
    )
    assert [one.standing for one in marks(events)] == ["exact"]


def test_what_is_held_is_given_out_when_something_else_is_to_be_shown() -> None:
    found = Sums()
    assert texts(list(found.feed("we get 2 + 2 = 5"))) == "we get "
    flushed = list(found.flush())
    assert texts(flushed) == "2 + 2 = 5"
    assert [one.standing for one in marks(flushed)] == ["false"]


@pytest.mark.parametrize("filler", ["x", "1", "1 ", "\n", " ", "1\n", "=[("])
def test_no_reply_is_held_longer_than_is_said(filler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "MOST_HELD", 100)
    found, out = Sums(), 0
    text = "7" + filler * 400
    for at in range(0, len(text), 50):
        part = text[at : at + 50]
        out += len(texts(list(found.feed(part))))
        assert len(found.reply) - out <= 150 + len(found.reply) / sums.SHARE


def test_the_work_grows_with_the_reply_and_not_with_its_square(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    whole = sums.page_of
    monkeypatch.setattr(sums, "page_of", lambda text, kind: read.append(len(text)) or whole(text, kind))
    monkeypatch.setattr(sums, "claims_on", lambda page: [])
    found, text = Sums(), "1+1=3\n" * 1_000
    for at in range(0, len(text), 6):
        list(found.feed(text[at : at + 6]))
    assert len(read) > 4 * sums.SHARE
    # A check of n characters comes after at least n / SHARE new ones: their sum is at most SHARE + 1 texts,
    # and until then, up to 6 · SHARE characters, one a line.
    assert sum(read) <= (sums.SHARE + 1) * len(text) + 6 * sums.SHARE**2
