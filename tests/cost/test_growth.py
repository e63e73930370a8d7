"""T* is the first length at which attention overtakes, found by trying every length; growth is exact."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from configs import TINY, configs
from hypothesis import given, settings
from hypothesis import strategies as st

from riverhead.cost import Config
from riverhead.cost.figures import Figure
from riverhead.cost.flops import attention_flops, product_flops
from riverhead.cost.growth import crossover, doubled

GPT2 = replace(
    TINY, n_layers=12, n_heads=12, n_kv_heads=12, d_model=768, d_k=64, d_v=64, d_ff=3072, vocab_size=50257,
    gated=False,
)  # fmt: skip


def found(config: Config) -> dict[str, Figure]:
    return {figure.name: figure for figure in crossover(config)}


def overtakes(config: Config, T: int, *, visible: bool, blocks: bool) -> bool:
    bare = replace(config, predicts=False) if blocks else config
    return attention_flops(config, T, visible=visible) > product_flops(bare, T)


@settings(max_examples=50, deadline=None)
@given(configs())
def test_it_overtakes_there_and_not_one_token_before(config: Config) -> None:
    for name, figure in found(config).items():
        kind = {"visible": "visible" in name, "blocks": name.startswith("blocks")}
        if figure.value is None:
            assert all(config.windows)
            assert not overtakes(config, 10**30, **kind), "not even where every query's window is full"
        else:
            assert overtakes(config, figure.value, **kind)
            assert figure.value == 1 or not overtakes(config, figure.value - 1, **kind)


@settings(max_examples=50, deadline=None)
@given(configs(), st.integers(1, 40))
def test_once_ahead_it_stays_ahead(config: Config, T: int) -> None:
    for name, figure in found(config).items():
        kind = {"visible": "visible" in name, "blocks": name.startswith("blocks")}
        assert overtakes(config, T, **kind) == (figure.value is not None and figure.value <= T)


def test_six_times_d_model_in_a_block_of_the_usual_shape() -> None:
    """12·d_model² numbers in a block, and 2·d_model FLOPs a pair: at T = 6·d_model both are equal."""
    assert found(GPT2)["blocks alone, every pair"].value == 6 * 768 + 1
    assert found(GPT2)["blocks alone, visible pairs"].value == 12 * 768
    with_vocab = 6 * 768 + Fraction(768 * 50257, 12 * 12 * (64 + 64))
    assert found(GPT2)["whole model, every pair"].value == int(with_vocab) + 1
    assert found(GPT2)["whole model, every pair"].note == f"above {float(with_vocab):,.2f}"


def test_a_model_that_sees_both_ways_and_predicts_nothing_has_one() -> None:
    (only,) = crossover(replace(GPT2, causal=False, predicts=False))
    assert (only.name, only.value) == ("whole model, every pair", 4609)


def test_windows_keep_attention_below_for_ever() -> None:
    never = found(replace(GPT2, windows=(4608,) * 12))["blocks alone, visible pairs"]
    assert (never.value, never.said) == (None, "never")
    assert never.note == "a token sees at most 55,296 keys in all layers, at any length"
    at_last = found(replace(GPT2, windows=(4609,) * 12))["blocks alone, visible pairs"]
    assert at_last.value == 4609 * 4608 // 2 + 1, "where what the first tokens did not see is made up for"


def test_one_layer_without_a_window_gets_there_in_the_end() -> None:
    mixed = replace(GPT2, n_layers=3, windows=(0, 4, 4))
    T = found(mixed)["blocks alone, visible pairs"].value
    assert T == 27_632, "T² + T + 2·2·(4·T − 6) > 2·3·4608·T"


def test_twice_the_text() -> None:
    ratios = {cost.name: cost.ratio for cost in doubled(TINY, 50)}
    products, visible = product_flops(TINY, 50), attention_flops(TINY, 50, visible=True)
    assert ratios == {
        "matrix products": 2,
        "attention, every pair": 4,
        "attention, visible pairs": Fraction(100 * 101, 50 * 51),
        "all products, visible pairs": Fraction(
            2 * products + visible * Fraction(202, 51), products + visible
        ),
        "scores of a head": 4,
        "KV cache": 2,
        "peak of a prefill, no cache": 2,
    }


def test_twice_the_text_in_a_full_window() -> None:
    ratios = {cost.name: cost.ratio for cost in doubled(replace(TINY, windows=(50, 50, 50)), 50)}
    assert ratios["KV cache"] == 1
    assert ratios["attention, visible pairs"] == Fraction(50 * 51 // 2 + 50 * 50, 50 * 51 // 2)


@pytest.mark.parametrize("causal", [True, False])
def test_what_there_is_none_of_does_not_grow(causal: bool) -> None:
    names = [cost.name for cost in doubled(replace(TINY, causal=causal), 50)]
    assert ("KV cache" in names, "attention, visible pairs" in names) == (causal, causal)


def test_windows_to_both_sides_see_twice_as_far() -> None:
    both = replace(GPT2, causal=False, windows=(2305,) * 12)
    assert found(both)["blocks alone, visible pairs"].value == 2305 * 2304 + 1
