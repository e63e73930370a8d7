"""A head's row as a derivation."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from riverhead.core import attention
from riverhead.errors import InputError
from riverhead.inspection import Word, head_derivation

T, D_K, D_V = 7, 3, 5
TEXT = "the river bank, the bank"
SPELLED = ["the", " ri", "ver", " bank", ",", " the", " bank"]
SCALE = 0.25


@pytest.fixture
def reading() -> Any:
    rng = np.random.default_rng(2)
    head = SimpleNamespace(
        name="L1.H2",
        q=rng.standard_normal((T, D_K), np.float32),
        k=rng.standard_normal((T, D_K), np.float32),
        v=rng.standard_normal((T, D_V), np.float32),
        scale=SCALE,
    )
    tokenizer = SimpleNamespace(
        ids=lambda text: [], spelled=lambda i: SPELLED[i].encode(), special_ids=frozenset()
    )
    return SimpleNamespace(
        text=TEXT,
        tokens=tuple(SPELLED),
        token_ids=tuple(range(T)),
        model=SimpleNamespace(tokenizer=tokenizer),
        chosen=head,
        head=lambda name: head,
    )


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


def test_a_word_that_is_not_there_is_refused(reading) -> None:
    with pytest.raises(InputError, match="no word 'money'; its words are: the, river, bank"):
        head_derivation(reading, "L1.H2", "money")
