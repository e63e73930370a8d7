"""Bytes are those of real arrays: caches of real runs, and what a prefill holds at its peak."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from configs import TINY, configs
from families import CAUSAL, made
from hypothesis import given
from hypothesis import strategies as st

from riverhead.core import kernel, positions
from riverhead.core.cache import KVCache
from riverhead.cost import Config
from riverhead.cost.figures import bytes_of, bytes_said
from riverhead.cost.memory import (
    activations,
    gqa_heads,
    kv_cache,
    score_matrix,
    training_activations,
    weights,
)
from riverhead.cost.plan import plan
from riverhead.errors import InputError
from riverhead.transformer.layout import n_numbers
from riverhead.transformer.model import Model as Opened

if TYPE_CHECKING:
    from riverhead.transformer import Model

T, B = 23, 2


# ---------------------------------------------------------------- the KV cache


@given(configs(), st.integers(1, 25), st.integers(1, 3), st.sampled_from(("float32", "float64")))
def test_a_cache_filled_token_by_token_has_as_many_bytes(
    config: Config, tokens: int, batch: int, dtype: str
) -> None:
    config = replace(config, causal=True)
    caches = [KVCache(window=config.window(layer)) for layer in range(config.n_layers)]
    key, value = (np.zeros((batch, config.n_kv_heads, 1, d), dtype) for d in (config.d_k, config.d_v))
    for cache in caches:
        for _ in range(tokens):
            cache.append(key, value)
    assert kv_cache(config, tokens, batch, dtype).value == sum(cache.nbytes for cache in caches)


@pytest.mark.oracle
@pytest.mark.parametrize("name", CAUSAL)
def test_transformers_cache_has_as_many_bytes(name: str) -> None:
    """Between two tokens its sliding layers drop the one that no coming query sees."""
    torch = pytest.importorskip("torch", reason="a cache of transformers: needs the [oracle] extra")
    theirs, config = made(name)
    with torch.no_grad():
        cache = theirs(input_ids=torch.zeros((B, T), dtype=torch.long), use_cache=True).past_key_values
    found = sum(part.nbytes for layer in cache.layers for part in (layer.keys, layer.values))
    dropped = sum(0 < window <= T for window in config.windows)
    a_token = 4 * B * config.n_kv_heads * (config.d_k + config.d_v)
    assert kv_cache(config, T, B).value == found + dropped * a_token


@pytest.mark.model
def test_smollm2s_cache_after_a_run(smollm2: Model) -> None:
    cache = smollm2.new_cache()
    smollm2.run([[504, 3575, 3692]], cache=cache)
    assert kv_cache(smollm2.config, 3).value == sum(part.nbytes for part in cache)


def test_as_if_the_heads_shared_otherwise() -> None:
    a_head = 2 * 7 * 3 * (14 + 11) * 4  # texts, tokens, layers, numbers, bytes
    found = {as_: kv_cache(TINY, 7, 2, as_=as_).value for as_ in ("own", "mha", "gqa", "mqa")}
    assert found == {"own": 5 * a_head, "mha": 10 * a_head, "gqa": 5 * a_head, "mqa": a_head}


@pytest.mark.parametrize(
    ("n_heads", "n_kv_heads", "groups"), [(10, 5, 5), (32, 32, 8), (32, 1, 8), (6, 6, 3)]
)
def test_groups_are_the_models_own_or_of_four(n_heads: int, n_kv_heads: int, groups: int) -> None:
    config = replace(TINY, n_heads=n_heads, n_kv_heads=n_kv_heads)
    assert gqa_heads(config) == groups
    found = kv_cache(config, 7, as_="gqa")
    assert found.value == groups * kv_cache(config, 7, as_="mqa").value
    assert found.note == f"{groups} kv heads"


@pytest.mark.parametrize("n_heads", [1, 2, 3, 11])
def test_heads_that_form_no_groups_are_said(n_heads: int) -> None:
    with pytest.raises(InputError, match=f"n_heads is {n_heads}"):
        kv_cache(replace(TINY, n_heads=n_heads, n_kv_heads=n_heads), 7, as_="gqa")


def test_a_window_holds_no_more() -> None:
    windowed = replace(TINY, windows=(4, 0, 9))
    assert kv_cache(windowed, 100).value == 5 * 25 * 4 * (4 + 100 + 9)
    assert kv_cache(windowed, 100, windows=False).value == kv_cache(TINY, 100).value


def test_nothing_is_cached_by_a_model_that_sees_both_ways() -> None:
    with pytest.raises(InputError, match="sees both ways"):
        kv_cache(replace(TINY, causal=False), 7)


def test_an_unknown_way_or_dtype_is_refused_with_those_there_are() -> None:
    with pytest.raises(InputError, match="'mla', it has to be one of own, mha, gqa, mqa"):
        kv_cache(TINY, 7, as_="mla")  # type: ignore[arg-type]
    with pytest.raises(
        InputError, match="'q4', it has to be one of float64, float32, float16, bfloat16, int8"
    ):
        kv_cache(TINY, 7, dtype="q4")


# ---------------------------------------------------------------- scores, weights, units


def test_a_hundred_thousand_tokens_would_take_40_gb_a_head() -> None:
    head, layer, model = score_matrix(TINY, 100_000)
    assert (head.value, head.said) == (40_000_000_000, "40.0 GB (37.3 GiB)")
    assert (layer.value, model.value) == (10 * head.value, 30 * head.value)
    assert [one.value for one in score_matrix(TINY, 7, 2)] == [4 * 49, 4 * 49 * 20, 4 * 49 * 60]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8"])
def test_a_number_takes_what_numpy_says(dtype: str) -> None:
    assert bytes_of(dtype) == np.dtype(dtype).itemsize
    assert weights(TINY, dtype).value == n_numbers(TINY) * np.dtype(dtype).itemsize


def test_bfloat16_is_two_bytes() -> None:
    assert bytes_of("bfloat16") == 2


@pytest.mark.parametrize(
    ("n_bytes", "words"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (1023, "1,023 bytes"),
        (1024, "1.02 kB (1.00 KiB)"),
        (999_499, "999 kB (976 KiB)"),
        (999_500, "1.00 MB (976 KiB)"),
        (2**20 - 1, "1.05 MB (1.00 MiB)"),
        (2**30, "1.07 GB (1.00 GiB)"),
        (16 * 2**30, "17.2 GB (16.0 GiB)"),
        (10**33, "1,000 QB (789 QiB)"),
    ],
)
def test_bytes_are_said_in_both_units(n_bytes: int, words: str) -> None:
    assert bytes_said(n_bytes) == words


# ---------------------------------------------------------------- activations


def peak_of(run: Callable[[], Any]) -> int:
    """What NumPy holds at the most meanwhile; it reports to tracemalloc, the compiled pass's tiles do not."""
    positions._table.cache_clear()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        run()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def random_model(config: Config) -> Opened:
    flat = np.random.default_rng(0).standard_normal(n_numbers(config), np.float32) / np.float32(30)
    return Opened("random", Path(), config, flat, {})


SHIFTED = {"norm": "layer", "gated": False, "rope_base": None, "n_positions": 2048}
WIDE = replace(TINY, n_layers=2, n_heads=8, n_kv_heads=4, d_model=96, d_k=24, d_v=24, context_length=2048)
MODELS = {
    "a wide feed-forward": replace(WIDE, d_ff=1009),
    "wide heads": replace(WIDE, d_ff=7, d_k=50, d_v=50),
    "many kv heads": replace(WIDE, d_ff=7, d_k=50, d_v=50, n_kv_heads=8),
    "one wide head": replace(WIDE, d_ff=7, d_k=256, d_v=5, d_model=11, n_heads=1, n_kv_heads=1),
    "a wide stream": replace(WIDE, d_ff=7, d_k=4, d_v=4, d_model=389),
    "normed q and k": replace(WIDE, qk_norm=True, d_ff=31),
    "gpt2": replace(WIDE, **SHIFTED, architecture="gpt2", activation="gelu_tanh", d_ff=331, n_kv_heads=8),
    "relu": replace(WIDE, **SHIFTED, architecture="gpt2", activation="relu", d_ff=331, n_kv_heads=8),
    "bert": replace(
        WIDE, **SHIFTED, architecture="bert", activation="gelu", d_ff=331, n_kv_heads=8, causal=False,
        norm_after=True, embedding_norm=True, final_norm=False, predicts=False,
    ),
    "a bert of wide streams": replace(
        WIDE, **SHIFTED, architecture="bert", activation="gelu", d_ff=7, n_kv_heads=8, causal=False, d_k=4,
        d_v=4, d_model=389, norm_after=True, embedding_norm=True, final_norm=False, predicts=False,
    ),
}  # fmt: skip


def check_peak(model: Opened, tokens: int, batch: int = 1) -> None:
    if kernel.path() == "numpy":
        pytest.skip("the row blocks in NumPy hold tiles that the plan leaves out: needs the compiled pass")
    ids = np.random.default_rng(1).integers(0, model.config.vocab_size, (batch, tokens))
    model.run(ids[:, :7])  # what is imported or built once is no part of a prefill
    found = peak_of(lambda: model.run(ids))
    assert activations(model.config, tokens, batch)[-1].value == pytest.approx(found, rel=0.05)


@pytest.mark.parametrize("tokens", [1024, 2048])
@pytest.mark.parametrize("name", MODELS)
def test_the_peak_of_a_prefill_is_within_a_twentieth(name: str, tokens: int) -> None:
    check_peak(random_model(MODELS[name]), tokens)


@pytest.mark.parametrize("tokens", [3, 101])
def test_the_room_of_a_new_cache_is_what_the_plan_adds(tokens: int) -> None:
    """Of keys and values of every token: a prefill at once drops none, windows or not."""
    model = random_model(replace(MODELS["a wide feed-forward"], windows=(5, 0)))
    cache = model.new_cache()
    model.run([[0] * tokens], cache=cache)
    room = sum(array.nbytes for layer in cache for array in layer._rooms)
    assert bytes_said(room) in str(plan(model.config, tokens).scene("memory"))


def test_texts_at_once_are_counted_each() -> None:
    check_peak(random_model(MODELS["a wide feed-forward"]), 1024, batch=3)


@pytest.mark.model
@pytest.mark.parametrize("tokens", [1024, 2048])
def test_the_peak_of_smollm2_is_within_a_twentieth(smollm2: Model, tokens: int) -> None:
    """Of its first three blocks: the others hold the same again."""
    config = replace(smollm2.config, n_layers=3)
    flat = smollm2.weights.embedding.base
    assert flat is not None
    check_peak(Opened("smollm2", smollm2.folder, config, np.ravel(flat)[: n_numbers(config)], {}), tokens)


@given(configs(), st.integers(1, 25), st.integers(1, 3))
def test_stored_weights_are_what_training_would_keep_besides(config: Config, tokens: int, batch: int) -> None:
    _, never, stored = training_activations(config, tokens, batch)
    assert stored.value - never.value == score_matrix(config, tokens, batch)[-1].value


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["llama", "gpt2", "bert"])
def test_what_torch_keeps_besides_without_a_fused_pass_grows_as_stored_weights_do(name: str) -> None:
    """What eager keeps and sdpa does not is a·T² + b·T, copies of q, k and v among it: a is compared."""
    more = [kept(name, tokens, "eager") - kept(name, tokens, "sdpa") for tokens in (T, 2 * T)]
    _, config = made(name)
    ours = [training_activations(config, tokens, B) for tokens in (T, 2 * T)]
    stored = [found[-1].value - found[-2].value for found in ours]
    assert more[1] - 2 * more[0] == stored[1] - 2 * stored[0] > 0


def kept(name: str, tokens: int, how: str) -> int:
    """The bytes that torch's autograd keeps of a forward pass, each storage once, parameters apart."""
    torch = pytest.importorskip("torch", reason="what torch keeps for backward: needs the [oracle] extra")
    theirs, _ = made(name, how)
    known = {parameter.untyped_storage().data_ptr() for parameter in theirs.parameters()}
    alive: list[Any] = []  # or a freed storage's address would come again
    with torch.autograd.graph.saved_tensors_hooks(lambda x: alive.append(x) or x, lambda x: x):
        theirs(input_ids=torch.zeros((B, tokens), dtype=torch.long))
    storages = {x.untyped_storage().data_ptr(): x.untyped_storage().nbytes() for x in alive}
    return sum(n_bytes for place, n_bytes in storages.items() if place not in known)


def test_what_backward_needs_array_by_array() -> None:
    block = [
        31,
        31,
        10 * 14,
        5 * 14,
        5 * 11,
        10 * 11,
        10,
        31,
        31,
        17,
        17,
        17,
    ]  # x, normed, q, k, v, out, lse …
    whole = 3 * sum(block) + 31 + 31 + 53
    assert [one.value for one in training_activations(TINY, 7, 2)[:2]] == [
        2 * 7 * 4 * sum(block),
        2 * 7 * 4 * whole,
    ]
