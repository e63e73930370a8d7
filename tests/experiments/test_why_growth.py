"""``why growth``: the claims hold for any seed, and fail where weights are stored or outputs differ."""

from __future__ import annotations

import dataclasses
import tracemalloc

import numpy as np
import pytest

from riverhead.core import attend, attention
from riverhead.experiments import growth, measure, prepare

LENGTHS = (256, 512, 1024)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "_lengths", lambda thorough: LENGTHS)


def failed(result) -> set[str]:
    return {claim.prediction.name for claim in result.claims if not claim.holds}


@pytest.mark.parametrize("seed", [0, 101, 102, 103])
def test_measured_and_predicted_agree(seed: int) -> None:
    assert failed(measure("growth", seed)) == set()


def test_every_length_is_within_what_is_predicted() -> None:
    for row in measure("growth").data["rows"]:
        T = row["T"]
        assert row["stored_peak_bytes"] >= 2 * 4 * T * T
        assert 4 * T * (growth.D + 1) <= row["never_stored_peak_bytes"] <= growth._never_bytes(T)
        assert row["attend_kept_bytes"] == growth._kept_bytes(T)


def test_weights_that_are_stored_after_all_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "_blocks", lambda q, k, v: attention(q, k, v).out)
    assert failed(measure("growth")) >= {"never-stored", "never-stored-exponent", "times"}


def test_two_more_blocks_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = growth._blocks

    def kept_besides(q, k, v):
        kept = np.zeros(2 * growth.BLOCK_BYTES, np.uint8)
        return blocks(q, k, v) + kept[0]

    monkeypatch.setattr(growth, "_blocks", kept_besides)
    assert failed(measure("growth")) == {"never-stored", "times"}


def test_weights_that_are_stored_twice_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(q, k, v):
        found = attention(q, k, v)
        return dataclasses.replace(found, weights=found.weights.copy())

    monkeypatch.setattr(growth, "attention", twice)
    assert failed(measure("growth")) == {"stored"}


def test_other_outputs_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "attend", lambda q, k, v, top: attend(q, k, v, top=top, causal=True))
    assert failed(measure("growth")) == {"outputs"}


def test_a_mixing_a_little_too_sharp_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "attend", lambda q, k, v, top: attend(1.01 * q, k, v, top=top))
    assert failed(measure("growth")) == {"outputs"}


def test_the_mean_of_the_values_would_fail_at_most_entries() -> None:
    (high,) = (each.high for each in growth.prepare().predictions if each.name == "outputs")
    T, rng = LENGTHS[-1], np.random.default_rng(3)
    q, k = rng.uniform(-1, 1, (2, T, growth.D))
    v = rng.uniform(0, 1, (T, growth.D))
    off = float(np.median(np.abs(attention(q, k, v).out - v.mean(axis=0))))
    # an output is off its mean as 1/√T, the bound as √T: from T to LAST each moves by √(LAST/T)
    assert off * T / growth.LAST > high


def test_more_that_is_kept_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "attend", lambda q, k, v, top: attend(q, k, v, top=top + 1))
    assert failed(measure("growth")) == {"kept"}


def test_peak_bytes_are_those_of_one_run() -> None:
    kept = np.zeros(1 << 20, np.uint8)  # taken before, and not to be counted
    size, _ = 3 << 20, kept
    found, n_bytes, seconds = growth._taken(lambda: np.zeros(size, np.uint8)[:1].copy())
    assert size <= n_bytes < size + 10_000
    assert found.nbytes == 1
    assert seconds > 0
    assert not tracemalloc.is_tracing()


def test_what_was_taken_before_is_not_counted_and_tracing_goes_on() -> None:
    tracemalloc.start()
    try:
        np.zeros(5 << 20, np.uint8)  # a peak that is over
        kept = np.zeros(1 << 20, np.uint8)
        _, n_bytes, _ = growth._taken(lambda: np.zeros(1 << 10, np.uint8))
        assert 1 << 10 <= n_bytes < kept.nbytes / 2
        assert tracemalloc.is_tracing()
    finally:
        tracemalloc.stop()


def test_lengths_stop_where_memory_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    lengths = growth._lengths.__wrapped__  # type: ignore[attr-defined]
    for free, thorough, last in (
        (0, False, 1024),
        (1 << 30, True, 8192),  # which takes half of it
        ((1 << 30) - 2, True, 4096),
        (1 << 40, True, 32768),
        (1 << 40, False, 8192),
    ):
        monkeypatch.setattr(growth, "_free_bytes", lambda free=free: free)
        assert lengths(thorough)[0] == 256
        assert lengths(thorough)[-1] == last


def test_a_run_that_memory_cuts_short_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert any("Up to 1,024 tokens, not 8,192" in note for note in measure("growth").notes)
    monkeypatch.setattr(growth, "LAST", 1024)
    assert not any("Up to" in note for note in measure("growth").notes)


def test_charts_go_on_as_predicted_beyond_what_was_run() -> None:
    _, in_bytes, _ = measure("growth").parts
    measured, predicted = in_bytes.lines[0], in_bytes.lines[2]
    assert (measured.predicted, predicted.predicted) == (False, True)
    assert predicted.points[0][0] == measured.points[-1][0]
    assert predicted.points[-1] == (131_072, 8 * 131_072**2)
    assert prepare("growth") == measure("growth").experiment
