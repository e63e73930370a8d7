"""``why order``: the claims hold for any seed, and fail where attention knows places or loses them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from riverhead.core import Attention, attention
from riverhead.experiments import measure, order


def failed(result) -> set[str]:
    return {claim.prediction.name for claim in result.claims if not claim.holds}


@pytest.mark.parametrize("seed", [0, 101, 102, 103])
def test_measured_and_predicted_agree(seed: int) -> None:
    assert failed(measure("order", seed)) == set()


def test_a_seed_gives_its_numbers_again_and_another_gives_others() -> None:
    first = measure("order", 7)
    assert first == measure("order", 7)
    assert first.data != measure("order", 8).data


@pytest.mark.parametrize("n", order.MOVED)
def test_as_many_tokens_move_as_is_said(n: int) -> None:
    moved = order._moved(np.random.default_rng(n), n)
    assert sorted(moved) == list(range(order.T))
    assert (moved != np.arange(order.T)).sum() == n


def test_attention_that_knows_places_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def leaning(q: Any, k: Any, v: Any, **options: Any) -> Attention:
        found = attention(q, k, v, **options)
        return Attention(found.out * (1 + 1e-12 * np.arange(order.T))[:, None], found.weights, found.scores)

    monkeypatch.setattr(order, "attention", leaning)
    assert failed(measure("order")) >= {"permuted", "mean"}


def test_positions_that_are_lost_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "attention", lambda q, k, v, **options: attention(q, k, v))
    assert failed(measure("order")) == {"alibi", "causal"}


def test_the_bound_is_more_than_rounding_and_less_than_a_change() -> None:
    unit = np.finfo(np.float64).eps
    assert 100 * unit < order._bound() < 1e-12
    found = measure("order")
    rows = found.data["rows"]
    for claim in found.claims[2:-1]:  # of the order that changes it least
        name = claim.prediction.name
        assert claim.measured == min(row["mean_changes"] for row in rows if row["way"] == name)
    assert {row["way"] for row in rows} == {way.name for way in order.WAYS}
    moves = [row for row in rows if row["way"] == "alibi" and row["moved"] == 2]
    assert max(row["outputs_change"] for row in moves) >= max(row["mean_changes"] for row in moves)
