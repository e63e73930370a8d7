"""Parameters add up to the arrays a model is stored as, and to the tensors of transformers, all of them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from configs import TINY, configs
from families import FAMILIES, made
from hypothesis import given

from riverhead.cost import Config
from riverhead.cost.parameters import parameters, per_head
from riverhead.transformer.layout import layout

if TYPE_CHECKING:
    from riverhead.transformer import Model


def n_parameters(config: Config) -> int:
    return sum(part.value or 0 for part in parameters(config))


@given(configs())
def test_the_parts_are_the_stored_arrays_of_any_config(config: Config) -> None:
    arrays = dict(layout(config))
    arrays.pop("rope_divisors", None)  # computed, not learned
    assert n_parameters(config) == sum(math.prod(shape) for shape in arrays.values())


@given(configs())
def test_no_part_is_there_for_nothing(config: Config) -> None:
    assert all(part.value and part.unit == "parameters" for part in parameters(config))
    assert len({part.name for part in parameters(config)}) == len(parameters(config))


@pytest.mark.oracle
@pytest.mark.parametrize("name", FAMILIES)
def test_transformers_has_as_many(name: str) -> None:
    theirs, config = made(name)
    assert n_parameters(config) == sum(tensor.numel() for tensor in theirs.parameters())


@pytest.mark.model
def test_smollm2_to_the_last_one(smollm2: Model) -> None:
    assert n_parameters(smollm2.config) == 134_515_008


@pytest.mark.model
def test_minilm_to_the_last_one(minilm: Model) -> None:
    """Its position_ids, 512 more numbers in the file, are counted places and nothing learned."""
    assert n_parameters(minilm.config) == 22_713_216


@given(configs())
def test_the_matrices_of_a_block(config: Config) -> None:
    shapes = {name: shape for name, shape in layout(config) if name.startswith("0.W_")}
    block = per_head(config)[-1]
    assert block.name == "matrices of a block, n_block"
    assert block.value == sum(math.prod(shape) for shape in shapes.values())


def test_a_head_has_three_times_d_model_by_d_k_and_its_rows_of_w_o() -> None:
    alike = replace(TINY, n_kv_heads=10, d_v=14)
    own, out, _ = per_head(alike)
    assert (str(own.formula), own.value) == ("3·d_model·d_k", 3 * 31 * 14)
    assert (str(out.formula), out.value) == ("d_v·d_model", 14 * 31)


def test_grouped_heads_share_keys_and_values() -> None:
    query, shared, _, block = per_head(TINY)
    assert (query.value, shared.value) == (31 * 14, 31 * (14 + 11))
    assert shared.note == "shared by 2 query heads"
    found = {part.name: part.value for part in parameters(TINY)}
    assert found["W_q"] == 3 * 10 * 31 * 14  # 3 layers, 10 heads
    assert found["W_k"] + found["W_v"] == 3 * 5 * 31 * (14 + 11)
    assert found["W_gate"] == found["W_up"] == found["W_down"] == 3 * 31 * 17
    assert block.value == 10 * 31 * 14 + 5 * 31 * (14 + 11) + 10 * 11 * 31 + 3 * 31 * 17
