"""How far the next-token odds move without a head."""

from __future__ import annotations

import math

import numpy as np
import pytest
from fake_model import HEADS, FakeModel
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from riverhead.errors import InputError
from riverhead.inspection.off import if_off_nats, if_off_vector_change, kl_nats


def plain_odds(logits: np.ndarray) -> list[float]:
    exps = [math.exp(x) for x in logits]
    return [e / math.fsum(exps) for e in exps]


def plain_kl(p: list[float], q: list[float]) -> float:
    return math.fsum(a * math.log(a / b) for a, b in zip(p, q, strict=True))


def test_the_divergence_is_from_the_first_to_the_second() -> None:
    half, quarter = np.log([1.0, 1.0]), np.log([1.0, 3.0])
    assert kl_nats(half, quarter) == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(2 / 3))
    assert kl_nats(quarter, half) == pytest.approx(0.25 * math.log(0.5) + 0.75 * math.log(1.5))


@given(
    hnp.arrays(np.float64, (3, 5), elements=st.floats(-20, 20)),
    st.floats(-1e6, 1e6),
)
def test_the_divergence_is_that_of_the_definition_and_blind_to_a_shift(
    logits: np.ndarray, shift: float
) -> None:
    found = kl_nats(logits[0], logits[1:] + shift)
    assert (found >= 0).all()
    expected = [plain_kl(plain_odds(logits[0]), plain_odds(other)) for other in logits[1:]]
    # logits of size s come in as s·ε, and each of five terms takes part with at most its odds
    np.testing.assert_allclose(found, expected, atol=8 * np.finfo(np.float64).eps * (abs(shift) + 40))


def test_odds_of_hundreds_of_nats_do_not_overflow() -> None:
    assert kl_nats([900.0, 0.0], [[0.0, 900.0], [900.0, 0.0]]).tolist() == [900.0, 0.0]


def test_each_head_is_switched_off_alone_and_the_odds_are_those_after_the_last_token(fake: FakeModel) -> None:
    ids = fake.tokenizer.ids("The river bank flooded")
    heads = [(1, HEADS - 1), (0, 2), (1, 0)]
    odds, nats = if_off_nats(fake, np.array(ids), heads)
    base = plain_odds(fake.logits(ids, len(ids) - 1))
    np.testing.assert_allclose(odds, base, rtol=1e-12)
    for head, moved in zip(heads, nats, strict=True):
        expected = plain_kl(base, plain_odds(fake.logits(ids, len(ids) - 1, [head])))
        assert moved == pytest.approx(expected, rel=1e-9)
        assert moved > 1e-3


def test_without_odds_it_is_the_mean_move_of_the_final_vectors(both_ways: FakeModel) -> None:
    ids = both_ways.tokenizer.ids("The river bank flooded")
    heads = [(1, HEADS - 1), (0, 2), (1, 0)]
    found = if_off_vector_change(both_ways, np.array(ids), heads)
    assert found.shape == (3,)
    for head, moved in zip(heads, found, strict=True):
        changes = []
        for row in range(len(ids)):
            x, other = both_ways.logits(ids, row), both_ways.logits(ids, row, [head])
            difference = math.sqrt(math.fsum((b - a) ** 2 for a, b in zip(x, other, strict=True)))
            changes.append(difference / math.sqrt(math.fsum(a * a for a in x)))
        assert moved == pytest.approx(math.fsum(changes) / len(changes), rel=1e-12)
        assert moved > 0.01
    with pytest.raises(InputError, match="predicts no next token"):
        if_off_nats(both_ways, np.array(ids), heads)
