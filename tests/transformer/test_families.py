"""Every family against transformers: logits, every weight, the stream between blocks; and against itself."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from checkpoints import CAUSAL, MADE, VOCABULARY, make

from riverhead.core import AttentionMap
from riverhead.core.equation import attention
from riverhead.transformer import Model

pytestmark = pytest.mark.oracle

T = 23  # more than any window
IDS = np.random.default_rng(3).integers(0, VOCABULARY, (2, T))

# Logits and streams reach 10 or so, through some 3·(2·35 + 23 + 35 + 37) ≈ 500 sums that round to 2⁻²⁴ of
# that and mostly cancel: √500 · 10 · 6e-8 ≈ 1e-5. Weights are at most 1, behind half as many.
LOGITS, WEIGHTS = 1e-4, 1e-5


class Pair(NamedTuple):
    theirs: Any
    model: Model
    seen: Any  # what theirs gives for IDS


@pytest.fixture(scope="module", params=MADE)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    theirs, model = make(request.param, tmp_path_factory.mktemp("family"))
    return Pair(theirs, model, run_theirs(theirs))


def run_theirs(theirs: Any) -> Any:
    import torch

    with torch.inference_mode():
        return theirs(torch.tensor(IDS), output_attentions=True, output_hidden_states=True)


only_causal = pytest.mark.parametrize("pair", CAUSAL, indirect=True)


def test_every_number_is_transformers(pair: Pair) -> None:
    model, theirs, seen = pair.model, pair.seen, []

    def watch(layer: int, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> None:
        weights = attention(q, k, v, **model.config.attention(layer)).weights
        seen.append(np.abs(weights - theirs.attentions[layer].numpy()).max())

    run = model.run(IDS, watch=watch, keep=True)
    assert len(seen) == len(theirs.attentions) == model.config.n_layers
    assert max(seen) <= WEIGHTS
    for layer in range(model.config.n_layers):
        np.testing.assert_allclose(run.x[layer], theirs.hidden_states[layer], rtol=0, atol=LOGITS)
    if model.config.predicts:
        np.testing.assert_allclose(run.logits(slice(None)), theirs.logits, rtol=0, atol=LOGITS)
    else:
        np.testing.assert_allclose(run.final, theirs.last_hidden_state, rtol=0, atol=LOGITS)


def test_the_maps_on_show_are_the_weights_and_looking_changes_nothing(pair: Pair) -> None:
    model, theirs, maps = pair.model, pair.seen, []
    looked = model.run(IDS, see=lambda layer, A: maps.append(A), top=3)
    for A, weights in zip(maps, theirs.attentions, strict=True):
        assert isinstance(A, AttentionMap)
        np.testing.assert_allclose(np.asarray(A), weights, rtol=0, atol=WEIGHTS)
    np.testing.assert_allclose(looked.final, model.run(IDS).final, rtol=0, atol=LOGITS / 10)


@only_causal
def test_a_cache_changes_nothing(pair: Pair) -> None:
    model, cache = pair.model, pair.model.new_cache()
    whole, start = model.run(IDS).logits(slice(None)), 0
    for stop in (2, 3, 11, 12, 20, T):  # a window of 5 or 7 has lost keys by then
        piece = model.run(IDS[:, start:stop], cache=cache).logits(slice(None))
        np.testing.assert_allclose(piece, whole[:, start:stop], rtol=0, atol=LOGITS / 10)
        start = stop
    for layer, kept in enumerate(cache):
        window = model.config.window(layer)
        assert len(kept) == T
        assert kept.nbytes == cache_bytes(model, T if window is None else window - 1 + (T - 20))


def cache_bytes(model: Model, n_tokens: int) -> int:
    c = model.config
    return 4 * len(IDS) * c.n_kv_heads * (c.d_k + c.d_v) * n_tokens


@only_causal
def test_greedy_generation_is_recomputation(pair: Pair) -> None:
    model, ids = pair.model, IDS[:1]
    cache, new = model.new_cache(), IDS[:1]
    for _ in range(9):
        found = model.run(new, cache=cache).logits(-1)[0]
        np.testing.assert_allclose(found, model.run(ids).logits(-1)[0], rtol=0, atol=LOGITS / 10)
        new = np.array([[found.argmax()]])
        ids = np.concatenate([ids, new], axis=1)


def test_running_on_from_a_block_is_running(pair: Pair) -> None:
    model = pair.model
    run = model.run(IDS, keep=True)
    np.testing.assert_array_equal(run.x[0], model.embed(IDS))
    for layer, x in enumerate(run.x):
        before = x.copy()
        np.testing.assert_array_equal(model.run_from(layer, x).final, run.final)
        np.testing.assert_array_equal(x, before)


def test_a_head_hands_over_another_vector_as_a_hook_in_transformers_does(pair: Pair) -> None:
    import torch

    theirs, model, _ = pair
    layer, head, c = 1, 3, model.config
    vector = np.random.default_rng(4).standard_normal(c.d_v).astype(np.float32)
    place = slice(head * c.d_v, (head + 1) * c.d_v)

    def instead(module: Any, given: tuple[Any, ...]) -> tuple[Any, ...]:
        merged = given[0].clone()
        merged[1, :, place] = torch.tensor(vector)  # the second item alone
        return merged, *given[1:]

    handle = w_o(theirs, layer).register_forward_pre_hook(instead)
    expected = run_theirs(theirs).hidden_states
    handle.remove()
    for see in (None, lambda layer, A: None):
        run = model.run(IDS, without=[[], {(layer, head): vector}], keep=True, see=see)
        np.testing.assert_allclose(run.x[layer + 1], expected[layer + 1], rtol=0, atol=LOGITS)
        zeroed = model.run(IDS, without=[[], [(layer, head)]]).final
        assert np.abs(run.final[1] - zeroed[1]).max() > 100 * LOGITS
        np.testing.assert_array_equal(run.final[0], model.run(IDS, see=see).final[0])


def w_o(theirs: Any, layer: int) -> Any:
    """The module that takes the merged heads."""
    kind = type(theirs).__name__
    if kind.startswith("GPT2"):
        return theirs.transformer.h[layer].attn.c_proj
    if kind.startswith("Bert"):
        return theirs.encoder.layer[layer].attention.output.dense
    return theirs.model.layers[layer].self_attn.o_proj
