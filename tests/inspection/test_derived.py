"""A head's row as a derivation."""

from __future__ import annotations

from itertools import accumulate
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from riverhead.core import attention
from riverhead.errors import InputError
from riverhead.inspection import Word, head_derivation
from riverhead.transformer import Head

T, D_K, D_V = 7, 3, 5
TEXT = "the river bank, the bank"
SPELLED = ["the", " ri", "ver", " bank", ",", " the", " bank"]
SCALE = 0.25


def reading_with(causal: bool = True, window: int | None = None) -> Any:
    rng = np.random.default_rng(2)
    q, k, v = (rng.standard_normal((T, width), np.float32) for width in (D_K, D_K, D_V))
    head = Head(1, 2, 0, tuple(SPELLED), q, k, v, SCALE, causal, window)
    ends = list(accumulate(map(len, SPELLED)))
    places = list(zip([0, *ends], ends, strict=False))
    tokenizer = SimpleNamespace(offsets=lambda text: (list(range(T)), places), special_ids=frozenset())
    return SimpleNamespace(
        text=TEXT,
        tokens=tuple(SPELLED),
        token_ids=tuple(range(T)),
        model=SimpleNamespace(tokenizer=tokenizer),
        chosen=head,
        head=lambda name: head,
    )


@pytest.fixture
def reading() -> Any:
    return reading_with()


@pytest.mark.parametrize(
    ("focus", "row"), [("bank", 6), ("bank#1", 3), ("river", 2), (Word("ri", 1, 2, (4, 6)), 1)]
)
def test_it_is_the_row_of_the_words_last_token_over_all_it_can_see(reading, focus, row: int) -> None:
    worked = head_derivation(reading, "L1.H2", focus)
    head = reading.chosen
    whole = attention(*(x.astype(np.float64) for x in (head.q, head.k, head.v)), scale=SCALE, causal=True)
    assert worked.given.tokens == (SPELLED[row],)
    assert worked.given.keys == tuple(SPELLED[: row + 1])
    assert worked.title == "L1.H2"
    # float64 all the way: a few roundings apart
    np.testing.assert_allclose(worked["weights"].array[0, 0], whole.weights[row, : row + 1], rtol=1e-13)
    np.testing.assert_allclose(worked["out"].array[0, 0], whole.out[row], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("causal", "window", "keys"),
    [(False, None, slice(0, 7)), (False, 2, slice(2, 5)), (True, 2, slice(2, 4)), (True, 9, slice(0, 4))],
)
def test_it_sees_later_tokens_where_the_model_does_and_the_nearest_where_it_has_a_window(
    causal: bool, window: int | None, keys: slice
) -> None:
    reading = reading_with(causal, window)
    head, worked = reading.chosen, head_derivation(reading, "L1.H2", "bank#1")
    q, k, v = (x.astype(np.float64) for x in (head.q, head.k, head.v))
    whole = attention(q, k, v, scale=SCALE, causal=causal, window=window)
    assert worked.given.keys == tuple(SPELLED[keys])
    np.testing.assert_allclose(worked["weights"].array[0, 0], whole.weights[3, keys], rtol=1e-13)
    np.testing.assert_allclose(worked["out"].array[0, 0], whole.out[3], rtol=1e-12, atol=1e-14)
    assert not np.delete(whole.weights[3], keys).any()


def test_a_word_that_is_not_there_is_refused(reading) -> None:
    with pytest.raises(InputError, match="no word 'money'; its words are: the, river, bank"):
        head_derivation(reading, "L1.H2", "money")
