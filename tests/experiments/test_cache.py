"""``why cache``: counts against loops that count one by one and torch, and what a faulty cache does."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from riverhead.core import KVCache
from riverhead.experiments import cache, measure, prepare

LENGTHS = (5, 11, 23)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_lengths", lambda thorough: LENGTHS)


def failed(result) -> set[str]:
    return {claim.prediction.name for claim in result.claims if not claim.holds}


@pytest.mark.parametrize("seed", [0, 101, 102, 103])
def test_measured_and_predicted_agree(seed: int) -> None:
    assert failed(measure("cache", seed)) == set()


@pytest.mark.parametrize("G", cache.SHARING.values())
@pytest.mark.parametrize("cached", [False, True])
def test_the_formula_counts_what_loops_count(G: int, cached: bool) -> None:
    H, d, d_model = cache.H, cache.D_K, cache.D_MODEL
    n_flops = 0
    for t in range(1, LENGTHS[-1] + 1):
        for _query in range(1 if cached else t):  # of each token that is worked on, and all its keys
            n_flops += 2 * d_model * H * d + 2 * d_model * G * d + 2 * d_model * G * d  # W_q, W_k, W_v
            n_flops += sum(2 * d + 2 * d for _head in range(H) for _key in range(t))
            n_flops += 2 * H * d * d_model  # W_o
        if t in LENGTHS:
            assert cache._flops(t, G, cached=cached) == n_flops


def test_every_row_has_the_bytes_and_operations_of_its_length() -> None:
    found = measure("cache")
    for _, _, without, cached, fewer, _ in found.parts[0].rows:
        assert fewer.value == pytest.approx(without.value / cached.value, abs=0.05)  # shown to a tenth
    rows = found.data["rows"]
    assert len(rows) == len(LENGTHS) * 6
    for row in rows:
        T, G = row["T"], row["n_kv_heads"]
        assert row["flops"] == cache._flops(T, G, cached=row["cache"])
        assert row["cache_bytes"] == (T * G * cache.D_K * 2 * 8 if row["cache"] else 0)


@pytest.mark.oracle
def test_torch_counts_as_many_operations() -> None:
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode

    T, H, d, d_model = LENGTHS[-1], cache.H, cache.D_K, cache.D_MODEL
    with FlopCounterMode(display=False) as counter:
        for t in range(1, T + 1):
            x, W = torch.ones(t, d_model), torch.ones(d_model, H * d)
            q, k, v = ((x @ W).view(t, H, d).transpose(0, 1) for _ in "qkv")
            (torch.matmul(torch.matmul(q, k.transpose(1, 2)), v).transpose(0, 1).reshape(t, -1) @ W.T)
    assert cache._flops(T, H, cached=False) == counter.get_total_flops()


def test_a_cache_that_forgets_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "KVCache", partial(KVCache, window=7))
    assert failed(measure("cache")) == {
        "outputs",
        *(f"{name.lower()}-{what}" for name in cache.SHARING for what in ("bytes", "flops-with")),
    }


def test_a_cache_of_wrong_keys_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    class Leaning(KVCache):
        def append(self, k, v):
            return super().append(np.asarray(k) * (1 + 1e-6), v)

    monkeypatch.setattr(cache, "KVCache", Leaning)
    assert failed(measure("cache")) == {"outputs"}


def test_keys_and_values_in_float32_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    class Single(KVCache):
        def append(self, k, v):
            return super().append(*(np.asarray(each, np.float32).astype(np.float64) for each in (k, v)))

    monkeypatch.setattr(cache, "KVCache", Single)
    assert failed(measure("cache")) == {"outputs"}


def test_progress_goes_up_and_says_what_is_done() -> None:
    told: list[tuple[float, str]] = []
    measure("cache", progress=lambda fraction, doing: told.append((fraction, doing)))
    assert [fraction for fraction, _ in told] == sorted({fraction for fraction, _ in told})
    assert told[0] == (0, "MHA without a cache")
    assert prepare("cache") == measure("cache").experiment
