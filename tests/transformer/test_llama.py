"""The forward pass against the same model in plain float64 loops."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llamas import TOKENS, Sizes, bound, plain_forward, random_tensors, write_llama

from riverhead.core.cache import KVCache
from riverhead.errors import InputError
from riverhead.transformer import Model, open_model
from riverhead.transformer.convert import convert

IDS = [3, 259, 17, 101, 259, 0, 262]


def close(found: np.ndarray, expected: np.ndarray, sizes: Sizes) -> None:
    reach = float(np.abs(expected).max())
    np.testing.assert_allclose(found, expected, rtol=0, atol=bound(sizes, len(IDS), reach))


def test_logits_equal_the_plain_loops(llama: Model, tensors: dict[str, np.ndarray], sizes: Sizes) -> None:
    expected = plain_forward(tensors, sizes, IDS)
    found = llama.run([IDS], keep=True)
    close(found.logits(slice(None))[0], expected["logits"], sizes)
    close(found.final[0], expected["final"], sizes)
    for layer in range(sizes.n_layers):
        close(found.x[layer][0], expected[f"x{layer}"], sizes)


def test_untied_embeddings_have_their_own_matrix(tmp_path: Path, sizes: Sizes) -> None:
    tensors = random_tensors(sizes, tied=False, seed=1)
    convert(write_llama(tmp_path / "untied.gguf", tensors, sizes), tmp_path / "model")
    model = open_model(tmp_path / "model")
    assert not model.config.tied_embeddings
    close(model.run([IDS]).logits(-1)[0], plain_forward(tensors, sizes, IDS)["logits"][-1], sizes)


def test_a_batch_is_its_items(llama: Model) -> None:
    batch = np.random.default_rng(5).integers(0, len(TOKENS), (3, 7))
    together = llama.run(batch).logits([0, -1])
    assert together.shape == (3, 2, len(TOKENS))
    for item, ids in enumerate(batch):
        alone = llama.run([ids]).logits([0, -1])[0]
        np.testing.assert_allclose(together[item], alone, atol=bound(Sizes(), 7, float(np.abs(alone).max())))


@given(cuts=st.lists(st.integers(1, 6), unique=True).map(sorted))
@settings(max_examples=20, deadline=None)
def test_reading_in_pieces_with_a_cache_changes_nothing(llama: Model, cuts: list[int]) -> None:
    whole = llama.run([IDS]).logits(slice(None))[0]
    cache = [KVCache() for _ in range(llama.config.n_layers)]
    pieces = [
        llama.run([IDS[start:stop]], cache=cache).logits(slice(None))[0]
        for start, stop in zip([0, *cuts], [*cuts, len(IDS)], strict=True)
    ]
    np.testing.assert_allclose(
        np.concatenate(pieces), whole, rtol=0, atol=bound(Sizes(), len(IDS), float(np.abs(whole).max()))
    )


def test_heads_switched_off_per_item(llama: Model, tensors: dict[str, np.ndarray], sizes: Sizes) -> None:
    off = [frozenset[tuple[int, int]](), frozenset({(0, 4), (1, 14), (1, 2)})]
    names = [[], ["L0.H4", (1, 14), "L1.H2"]]
    logits = llama.run([IDS, IDS], without=names).logits(-1)
    for item in range(2):
        close(logits[item], plain_forward(tensors, sizes, IDS, off[item])["logits"][-1], sizes)
    assert np.abs(logits[0] - logits[1]).max() > 100 * bound(sizes, len(IDS), 1.0)


def test_watch_sees_q_and_k_after_rope(llama: Model, tensors: dict[str, np.ndarray], sizes: Sizes) -> None:
    seen = {}
    llama.run([IDS], watch=lambda layer, q, k, v: seen.update({layer: (q, k, v)}))
    expected = plain_forward(tensors, sizes, IDS)
    B, T = 1, len(IDS)
    assert list(seen) == [0, 1]
    for layer, (q, k, v) in seen.items():
        assert q.shape == (B, sizes.n_heads, T, sizes.d_k)
        assert k.shape == (B, sizes.n_kv_heads, T, sizes.d_k)
        assert v.shape == (B, sizes.n_kv_heads, T, sizes.d_v)
        for h in range(sizes.n_heads):
            scores = q[0, h] @ k[0, h // 5].T / np.sqrt(sizes.d_k)
            exps = np.tril(np.exp(scores))
            close(exps / exps.sum(-1, keepdims=True), expected[f"weights{layer}"][h], sizes)


def test_the_fused_pass_is_the_equation(llama: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = llama.run([IDS]).logits(slice(None))
    monkeypatch.setattr("riverhead.transformer.steps.FEW", len(IDS) + 1)
    again = llama.run([IDS]).logits(slice(None))
    np.testing.assert_allclose(again, whole, rtol=0, atol=bound(Sizes(), 7, float(np.abs(whole).max())))


def test_a_strong_gate_does_not_overflow(tmp_path: Path, sizes: Sizes) -> None:
    tensors = random_tensors(sizes, seed=2)
    for layer in range(sizes.n_layers):
        tensors[f"blk.{layer}.ffn_gate"] *= 1000  # exp(−gate) is ∞ in float32, and so it has to be
    convert(write_llama(tmp_path / "gate.gguf", tensors, sizes), tmp_path / "model")
    logits = open_model(tmp_path / "model").run([IDS]).logits(-1)
    assert np.isfinite(logits).all()


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ([], r"token_ids is float64 \(0,\)"),
        ([[]], r"none of them 0"),
        ([1, 2], r"token_ids is int64 \(2,\)"),
        ([[1.0]], r"token_ids is float64"),
        ([[263]], r"run from 263 to 263, tiny has 0 to 262"),
        ([[-1]], r"run from -1 to -1"),
        ([[0] * 30], r"30 tokens, tiny reads at most 29; nothing was cut"),
    ],
)
def test_tokens_that_cannot_be_run(llama: Model, ids: list, words: str) -> None:
    with pytest.raises(InputError, match=words):
        llama.run(ids)


def test_the_context_counts_what_is_cached(llama: Model) -> None:
    cache = [KVCache() for _ in range(llama.config.n_layers)]
    llama.run([[0] * 29], cache=cache)
    with pytest.raises(InputError, match="30 tokens, tiny reads at most 29"):
        llama.run([[0]], cache=cache)


def test_without_needs_one_collection_per_item(llama: Model) -> None:
    with pytest.raises(InputError, match="without has 1 collections of heads, the batch 2 items"):
        llama.run([[1], [2]], without=[["L0.H0"]])


def test_logits_beyond_256_mb_are_refused_by_name(llama: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("riverhead.transformer.model.LOGITS_BYTES", 4 * 263 * 6)
    run = llama.run([IDS])
    assert run.logits(slice(6)).shape == (1, 6, 263)
    with pytest.raises(InputError, match=r"logits \(1, 7, 263\) take 7364 bytes, .* up to 6 rows at a time"):
        run.logits(slice(None))
