"""FLOPs are those that torch counts while a model runs, reads on from its cache, and learns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from configs import TINY, configs
from families import CAUSAL, FAMILIES, made
from hypothesis import given, settings
from hypothesis import strategies as st

from riverhead.cost import Config
from riverhead.cost.figures import Figure
from riverhead.cost.flops import (
    ACTIVATION,
    APART,
    EVERY,
    PRODUCTS,
    VISIBLE,
    attention_flops,
    in_group,
    per_token,
    prefill,
    product_flops,
    training_step,
)
from riverhead.errors import InputError
from riverhead.transformer import steps

T, B = 23, 2


def counted(run: Callable[[], Any]) -> int:
    """The FLOPs of every matrix product that torch makes meanwhile."""
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        run()
    return int(counter.get_total_flops())


def ids(n: int = T) -> Any:
    import torch

    return torch.arange(B * n).reshape(B, n) % 53


def value(figures: Iterable[Figure], *groups: str) -> int:
    figures = tuple(figures)
    return sum(in_group(figures, group).value or 0 for group in groups)


@pytest.mark.oracle
@pytest.mark.parametrize("name", FAMILIES)
def test_a_prefill_is_what_torch_counts(name: str) -> None:
    torch = pytest.importorskip("torch", reason="FLOPs as torch counts them: needs the [oracle] extra")
    theirs, config = made(name)
    with torch.no_grad():
        found = counted(lambda: theirs(input_ids=ids()))
    assert found == value(prefill(config, T, B), PRODUCTS, EVERY)


@pytest.mark.oracle
@pytest.mark.parametrize("name", CAUSAL)
def test_one_more_token_is_what_torch_counts(name: str) -> None:
    """Windows are shorter than the text: transformers' cache holds no more of it than a query sees."""
    torch = pytest.importorskip("torch", reason="FLOPs as torch counts them: needs the [oracle] extra")
    theirs, config = made(name)
    with torch.no_grad():
        cache = theirs(input_ids=ids(), use_cache=True).past_key_values
        found = counted(lambda: theirs(input_ids=ids(1), cache=cache, use_cache=True))
    assert found == value(per_token(config, T, B), PRODUCTS, VISIBLE)


@pytest.mark.oracle
@pytest.mark.parametrize("name", FAMILIES)
def test_a_training_step_is_what_torch_counts(name: str) -> None:
    theirs, config = made(name)

    def step() -> None:
        made_of = theirs(input_ids=ids())
        if config.predicts:
            made_of.logits.sum().backward()
        else:
            (made_of.last_hidden_state.sum() + made_of.pooler_output.sum()).backward()

    assert counted(step) == value(training_step(config, T, B), PRODUCTS, EVERY)


# ---------------------------------------------------------------- against plain loops


def visible_pairs(config: Config, n: int) -> int:
    """Count them one by one."""
    return sum(
        (not config.causal or j <= i) and (not window or abs(i - j) < window)
        for window in config.windows or (0,) * config.n_layers
        for i in range(n)
        for j in range(n)
    )


@given(configs(), st.integers(1, 25), st.integers(1, 3))
def test_visible_pairs_are_counted_one_by_one(config: Config, n: int, batch: int) -> None:
    a_pair = 2 * batch * config.n_heads * (config.d_k + config.d_v)
    found = prefill(config, n, batch)
    assert value(found, VISIBLE) == a_pair * visible_pairs(config, n)
    assert value(found, EVERY) == a_pair * config.n_layers * n * n
    assert attention_flops(config, n, batch, visible=True) == value(found, VISIBLE)
    assert attention_flops(config, n, batch, visible=False) == value(found, EVERY)


@settings(max_examples=30, deadline=None)
@given(configs(), st.integers(1, 12), st.integers(1, 3))
def test_a_text_read_token_by_token_costs_as_much(config: Config, n: int, batch: int) -> None:
    config = replace(config, causal=True, pooler=False)
    at_once = prefill(config, n, batch)
    first = prefill(config, 1, batch)
    rest = [per_token(config, before, batch) for before in range(1, n)]
    for group in (PRODUCTS, VISIBLE, APART):
        assert value(at_once, group) == value(first, group) + sum(value(one, group) for one in rest)


@given(configs(), st.integers(1, 25))
def test_every_part_of_a_training_step_is_three_times_a_prefill(config: Config, n: int) -> None:
    forward = {(one.group, one.name): one.value for one in prefill(config, n) if one.group != APART}
    step = {(one.group, one.name): one.value for one in training_step(config, n)}
    assert step == {name: 3 * flops for name, flops in forward.items()}


def test_visible_pairs_are_told_apart_where_some_are_hidden() -> None:
    both_ways = replace(TINY, causal=False)
    figures = (prefill(TINY, 7), prefill(both_ways, 7), prefill(TINY, 1), per_token(TINY, 7))
    assert [any(one.group == VISIBLE for one in found) for found in figures] == [True, False, False, False]


def test_every_pair_of_one_more_token_is_with_all_before_and_itself() -> None:
    windowed = replace(TINY, windows=(4, 0, 9))
    a_pair = 2 * 2 * 10 * (14 + 11)
    assert value(per_token(windowed, 23, 2), EVERY) == a_pair * 3 * 24
    assert value(per_token(windowed, 23, 2), VISIBLE) == a_pair * (4 + 24 + 9)


def test_products_are_twice_the_numbers_a_token_meets() -> None:
    block = 10 * 31 * 14 + 5 * 31 * (14 + 11) + 10 * 11 * 31 + 3 * 31 * 17
    assert product_flops(TINY, 7, 2) == 2 * 7 * 2 * (3 * block + 53 * 31)
    pooled = replace(TINY, pooler=True)
    assert value(prefill(pooled, 7, 2), PRODUCTS) - product_flops(TINY, 7, 2) == 2 * 2 * 31 * 31


def test_what_is_no_product_stands_apart() -> None:
    found = {one.name: one.value for one in prefill(TINY, 7, 2) if one.group == APART}
    assert found == {
        "softmax, 6 a visible weight": 6 * 2 * 3 * 10 * 28,  # 28 pairs: 1 + 2 + … + 7
        "norms, 4 a number": 4 * 2 * 7 * 31 * 7,  # twice in 3 blocks, and once more
        "RoPE, 3 a number": 3 * 2 * 7 * 3 * 15 * 14,
        "silu, 5 a number": 5 * 2 * 7 * 3 * 17,
        "residual sums": 2 * 2 * 7 * 3 * 31,
    }


def test_what_is_no_product_of_a_model_with_every_part() -> None:
    every = replace(
        TINY, norm="layer", gated=False, activation="gelu_tanh", rope_base=None, qk_norm=True, qkv_bias=True,
        out_bias=True, feed_forward_bias=True, embedding_norm=True,
    )  # fmt: skip
    found = {one.name: one.value for one in prefill(every, 7, 2) if one.group == APART}
    assert found == {
        "softmax, 6 a visible weight": 6 * 2 * 3 * 10 * 28,
        "norms, 7 a number": 7 * 2 * 7 * 31 * 8,  # and once more of the embedding
        "norms of q and k, 4 a number": 4 * 2 * 7 * 3 * 15 * 14,
        "gelu_tanh, 9 a number": 9 * 2 * 7 * 3 * 17,
        "residual sums": 2 * 2 * 7 * 3 * 31,
        "biases of q, k and v": 2 * 7 * 3 * (10 * 14 + 5 * (14 + 11)),
        "bias of W_o": 2 * 7 * 3 * 31,
        "biases of the feed-forward": 2 * 7 * 3 * (17 + 31),
    }


class Counted(np.ndarray):
    """Counts the operations that are done with it."""

    n_operations = 0

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *given: Any, out: Any = (), **how: Any) -> Any:
        Counted.n_operations += 1
        given, out = ([np.asarray(each) for each in arrays] for arrays in (given, out))
        return getattr(ufunc, method)(*given, **how, **({"out": tuple(out)} if out else {})).view(Counted)


@pytest.mark.parametrize("name", steps.ACTIVATIONS)
def test_an_activation_is_as_many_operations_as_are_done(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "erf", np.tanh)  # which is one operation, as an erf is
    monkeypatch.setattr(Counted, "n_operations", 0)
    steps.ACTIVATIONS[name](np.ones(5).view(Counted))
    assert Counted.n_operations == ACTIVATION[name]


def test_a_model_that_sees_both_ways_decodes_nothing() -> None:
    with pytest.raises(InputError, match="sees both ways"):
        per_token(replace(TINY, causal=False), 7)


@pytest.mark.parametrize(("tokens", "batch", "name"), [(0, 1, "tokens"), (3, 0, "batch"), (2.5, 1, "tokens")])
def test_what_cannot_be_counted_is_refused(tokens: int, batch: int, name: str) -> None:
    with pytest.raises(InputError, match=f"{name} is .*whole number"):
        prefill(TINY, tokens, batch)
