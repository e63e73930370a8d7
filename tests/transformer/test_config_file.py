"""A config read without weights is the one that is read with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from riverhead.errors import InputError, ModelError
from riverhead.transformer import Model
from riverhead.transformer.config_file import read_config

LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "num_hidden_layers": 3,
    "num_attention_heads": 10,
    "hidden_size": 20,
    "intermediate_size": 17,
    "vocab_size": 11,
    "max_position_embeddings": 64,
}


def write(folder: Path, given: dict[str, Any]) -> Path:
    file = folder / "config.json"
    file.write_text(json.dumps(given))
    return file


@pytest.mark.model
def test_a_real_model_in_each_form_it_lies_in(minilm: Model, smollm2: Model) -> None:
    for model, original in ((minilm, "original"), (smollm2, "model.gguf")):
        assert read_config(model.folder) == read_config(model.folder / original) == model.config


@pytest.mark.parametrize(
    ("change", "predicts"),
    [
        ({}, True),
        ({"architectures": None}, True),
        ({"architectures": ["LlamaModel"]}, False),
        ({"architectures": ["LlamaModel"], "tie_word_embeddings": True}, True),
    ],
)
def test_odds_of_a_next_token_need_a_class_that_has_them(
    tmp_path: Path, change: dict[str, Any], predicts: bool
) -> None:
    assert read_config(write(tmp_path, LLAMA | change)).predicts is predicts


@pytest.mark.parametrize(
    "change",
    [
        {"quantization_config": {"quant_method": "awq", "bits": 4}},
        {"rope_scaling": {"rope_type": "yarn", "factor": 4.0}},
    ],
)
def test_what_costs_nothing_is_no_obstacle(tmp_path: Path, change: dict[str, Any]) -> None:
    assert read_config(write(tmp_path, LLAMA | change)) == read_config(write(tmp_path, LLAMA))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"num_hidden_layers": 10**9}, "1000000000 layers, but there are never more than 65536"),
        ({"model_type": "t5"}, "model_type is 't5'"),
        ({"hidden_size": None}, "hidden_size is missing"),
        ({"intermediate_size": "17"}, "d_ff is '17'"),
    ],
)
def test_what_describes_no_model(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelError, match=words):
        read_config(write(tmp_path, LLAMA | change))


def test_what_holds_no_sizes(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"")
    for path, found in (
        (tmp_path, "a folder without one"),
        (tmp_path / "config.json", "no such file"),
        (tmp_path / "model.bin", "another file"),
    ):
        with pytest.raises(InputError, match=found):
            read_config(path)
    (tmp_path / "model.json").write_text("{}")
    with pytest.raises(ModelError, match="it has no config"):
        read_config(tmp_path)
