"""Hugging Face folders that are not read: each refused by name, before anything is believed or written."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoint_files import SHAPES, header, safetensors, tensors, write_folder, write_index

from riverhead.errors import ModelError
from riverhead.transformer.convert import check, convert

BASE = {"rope_type": "default", "rope_theta": 19.0}
LINEAR = {"type": "linear", "factor": 4}
ROPE = {"rope_type": "llama3", "rope_theta": 19.0, "factor": 8.0, "low_freq_factor": 1.0}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model_type": "mamba"}, "model_type is 'mamba' .LlamaForCausalLM., read are llama, mistral, qwen2"),
        ({"model_type": ..., "architectures": ["T5Model"]}, "model_type is None .T5Model., read are llama"),
        ({"model_type": ["llama"]}, "model_type is .'llama'"),
        ({"quantization_config": {"bits": 4}}, "the weights are quantised .* or take a GGUF file"),
        (
            {"rope_scaling": {"type": "yarn", "factor": 4}},
            "RoPE scaling is .*yarn.* read are 'default'",
        ),
        ({"rope_scaling": {"type": "dynamic", "factor": 4}}, "RoPE scaling is .*dynamic"),
        ({"rope_scaling": {"rope_type": "longrope"}}, "RoPE scaling is .*longrope"),
        ({"rope_scaling": {"type": "linear"}}, "RoPE scaling 'linear': factor is None"),
        ({"rope_scaling": {"type": "linear", "factor": "4"}}, "RoPE scaling 'linear': factor is '4'"),
        ({"rope_scaling": {"type": "linear", "factor": 0}}, "RoPE scaling 'linear': factor is 0"),
        ({"rope_scaling": {"type": "linear", "factor": True}}, "RoPE scaling 'linear': factor is True"),
        ({"rope_scaling": "linear"}, "RoPE has to be the same in every layer, found 'linear'"),
        ({"rope_parameters": ROPE}, "RoPE scaling 'llama3': high_freq_factor is None"),
        (
            {"rope_parameters": ROPE | {"high_freq_factor": 1.0}},
            "low_freq_factor 1.0 has to be below",
        ),
        ({"rope_parameters": {"full_attention": ROPE}}, "RoPE has to be the same in every layer"),
        ({"rope_parameters": BASE, "rope_scaling": {"rope_type": "zzz", "factor": 2}}, "RoPE .*zzz"),
        ({"rope_parameters": {"rope_type": "zzz"}, "rope_scaling": {"type": "default"}}, "RoPE .*zzz"),
        (
            {"rope_parameters": BASE, "rope_scaling": {"type": "linear", "factor": 2}},
            "rope_parameters is .*19.* and rope_scaling is .*linear.* different turns; keep the one",
        ),
        ({"rope_parameters": BASE, "rope_scaling": {"type": "default"}}, "ask for different turns"),
        (
            {
                "rope_parameters": {"type": "linear", "factor": 3},
                "rope_scaling": {"type": "linear", "factor": 2},
            },
            "ask for different turns",
        ),
        ({"rope_parameters": {"partial_rotary_factor": 0.5}}, "RoPE scaling is .*over all of d_k"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor is 0.5, read is 1.0"),
        ({"is_decoder": True}, "is_decoder is True, read is False"),
        ({"is_encoder_decoder": True}, "is_encoder_decoder is True, read is False"),
        ({"is_causal": False}, "is_causal is False, read is True"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type is 'relative_key'"),
        ({"add_cross_attention": True}, "add_cross_attention is True"),
        ({"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx is True"),
        ({"reorder_and_upcast_attn": True}, "reorder_and_upcast_attn is True"),
        ({"scale_attn_weights": False}, "scale_attn_weights is False, read is True"),
        ({"hidden_act": "quick_gelu"}, "hidden_act is 'quick_gelu', read are silu"),
        ({"hidden_act": ["silu"]}, "hidden_act is .'silu'"),
        ({"attention_bias": "yes"}, "attention_bias is 'yes', it has to be true or false"),
        ({"attention_bias": True}, "self_attn.q_proj.bias is missing"),
        ({"mlp_bias": True}, "mlp.gate_proj.bias is missing"),
        ({"model_type": "qwen2"}, "self_attn.q_proj.bias is missing"),
        ({"model_type": "qwen3"}, "self_attn.q_norm.weight is missing"),
        ({"tie_word_embeddings": False}, "tensor lm_head.weight is missing"),
        ({"head_dim": 1 << 62, "rope_scaling": LINEAR}, "heads of 4611686018427387904 channels, at most"),
        ({"num_hidden_layers": ...}, "num_hidden_layers is missing"),
        ({"num_hidden_layers": 10**18}, "1000000000000000000 layers, but there are 11 tensors"),
        ({"num_hidden_layers": 2}, "tensor layers.1.input_layernorm.weight is missing"),
        ({"num_attention_heads": 0}, "num_attention_heads is 0"),
        ({"num_attention_heads": "3"}, "num_attention_heads is '3'"),
        ({"head_dim": ...}, "hidden_size 5 is no multiple of num_attention_heads 3"),
        ({"head_dim": 13}, "head_dim has to be even, it is 13"),
        ({"intermediate_size": ...}, "intermediate_size is missing"),
        (
            {"intermediate_size": 19},
            r"gate_proj.weight has shape \(17, 5\), the sizes .* make it \(19",
        ),
        ({"vocab_size": 1 << 50}, r"embed_tokens.weight has shape \(11, 5\)"),
        ({"rms_norm_eps": "x"}, "norm_epsilon is 'x'"),
        ({"rope_theta": float("nan")}, "rope_base is nan"),
        ({"model_type": "mistral", "sliding_window": -1}, "sliding_window is -1"),
        (
            {"model_type": "qwen3", "layer_types": ["chunked_attention"]},
            "layer_types is .'chunked",
        ),
        (
            {
                "model_type": "qwen2",
                "use_sliding_window": True,
                "max_window_layers": 0,
                "sliding_window": [],
            },
            "sliding_window is ..",
        ),
    ],
)
def test_a_config_that_asks_for_what_is_not_computed(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(ModelError, match=words):
        convert(write_folder(tmp_path, **changes), tmp_path / "converted")
    assert not (tmp_path / "converted").exists()


ODD = ["", "x", 0, -1, 1 << 63, 10**400, 0.5, float("inf"), True, None, [], {}, ["a"], {"a": {}}]


def test_any_config_is_read_or_refused(tmp_path: Path) -> None:
    write_folder(tmp_path)
    whole = json.loads((tmp_path / "config.json").read_text())
    extra = ("rope_theta", "rope_scaling", "rope_parameters", "sliding_window", "layer_types", "hidden_act")
    for base in (whole, whole | {"tie_word_embeddings": False, "rope_scaling": LINEAR}):
        for name in (*whole, *extra, "eos_token_id"):
            for value in ODD:
                (tmp_path / "config.json").write_text(json.dumps(base | {name: value}))
                with suppress(ModelError):  # anything else would be a fault of ours
                    check(tmp_path)


@pytest.mark.parametrize("name", SHAPES)
def test_a_missing_tensor_is_named(tmp_path: Path, name: str) -> None:
    left = {other: array for other, array in tensors().items() if other != name}
    with pytest.raises(ModelError, match=f"tensor {name.removeprefix('model.')} is missing"):
        convert(write_folder(tmp_path, left), tmp_path / "converted")


HEAD, EMBEDDING = "lm_head.weight", "model.embed_tokens.weight"


@pytest.mark.parametrize("shape", [None, (), (0,), (0, 5), (11, 0), (5, 11), (11,)])
def test_a_head_beside_an_embedding_of_no_such_shape_is_named(
    tmp_path: Path, shape: tuple[int, ...] | None
) -> None:
    arrays = tensors()
    del arrays[EMBEDDING]
    if shape is not None:
        arrays[EMBEDDING] = np.ones(shape, np.float32)
    arrays[HEAD] = arrays.get(EMBEDDING, np.ones((11, 5), np.float32))
    with pytest.raises(ModelError, match=r"tensor embed_tokens.weight (is missing|has shape)"):
        check(write_folder(tmp_path, arrays))


def test_a_head_and_an_embedding_of_whole_numbers_are_named(tmp_path: Path) -> None:
    numbers = {"dtype": "I32", "shape": [11, 5], "data_offsets": [0, 220]}
    kept = {name: array for name, array in tensors().items() if name != EMBEDDING}
    write_folder(tmp_path)
    (tmp_path / "a.safetensors").write_bytes(safetensors(kept))
    (tmp_path / "b.safetensors").write_bytes(
        header({EMBEDDING: numbers, HEAD: numbers | {"data_offsets": [220, 440]}}) + bytes(440)
    )
    (tmp_path / "model.safetensors").unlink()
    places = dict.fromkeys(kept, "a.safetensors")
    write_index(tmp_path, places | dict.fromkeys((EMBEDDING, HEAD), "b.safetensors"))
    with pytest.raises(ModelError, match="holds I32, read are F64, F32, F16, BF16"):
        convert(tmp_path, tmp_path / "converted")


@pytest.mark.parametrize("name", ["model.layers.1.mlp.up_proj.weight", "model.layers.0.self_attn.sinks", "x"])
def test_a_tensor_without_a_place_is_named(tmp_path: Path, name: str) -> None:
    write_folder(tmp_path, tensors() | {name: np.ones((2, 3), np.float32)})
    with pytest.raises(ModelError, match=f"tensor {name.removeprefix('model.')} has no place in a llama"):
        convert(tmp_path, tmp_path / "converted")


def test_a_tensor_that_is_there_with_a_prefix_and_without_is_named(tmp_path: Path) -> None:
    write_folder(tmp_path, tensors() | {"norm.weight": np.ones(5, np.float32)})
    with pytest.raises(ModelError, match=r"tensor norm.weight is there twice"):
        convert(tmp_path, tmp_path / "converted")


PLACES = dict.fromkeys(SHAPES, "model-00001-of-00002.safetensors")


@pytest.mark.parametrize(
    ("places", "words"),
    [
        (
            {"x": "../secret.safetensors"},
            "'../secret.safetensors' is no name of a .safetensors file",
        ),
        ({"x": "/etc/passwd.safetensors"}, "is no name of a .safetensors file beside it"),
        ({"x": "..\\\\secret.safetensors"}, "is no name of a .safetensors file beside it"),
        ({"x": "pytorch_model.bin"}, "'pytorch_model.bin' is no name of a .safetensors file"),
        ({"x": ".."}, "is no name of a .safetensors file beside it"),
        ({"x": "model-00003-of-00002.safetensors"}, "model-00003-of-00002.safetensors, which is not there"),
        (PLACES, "tensor .* is not in model-00001-of-00002.safetensors, where it has to be"),
        ({"x": 3}, "weight_map has to name the file of each tensor"),
        ([], "weight_map has to name the file of each tensor"),
    ],
)
def test_an_index_that_cannot_be_followed(tmp_path: Path, places: Any, words: str) -> None:
    (tmp_path / "secret.safetensors").write_bytes(safetensors(tensors()))
    folder = write_folder(tmp_path / "model", n_shards=2)
    write_index(folder, places)
    with pytest.raises(ModelError, match=words):
        convert(folder, tmp_path / "converted")


def test_a_tensor_in_two_shards_is_named(tmp_path: Path) -> None:
    write_folder(tmp_path, n_shards=2)
    both = {"model.norm.weight": np.ones(5, np.float32)}
    (tmp_path / "more.safetensors").write_bytes(safetensors(both))
    file = tmp_path / "model.safetensors.index.json"
    places = json.loads(file.read_text())["weight_map"]
    write_index(tmp_path, places | {"extra": "more.safetensors"})
    with pytest.raises(ModelError, match=r"tensor model.norm.weight is there twice"):
        convert(tmp_path, tmp_path / "converted")


def unlink(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def write(name: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(text)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (unlink("config.json"), "there is no config.json; copy it from where the model came from"),
        (
            unlink("tokenizer.json"),
            "no tokenizer.json; in Python: .*AutoTokenizer.*save_pretrained",
        ),
        (unlink("model.safetensors"), "there is no model.safetensors; a model's folder has config"),
        (write("config.json", "{"), "config.json: cannot be read"),
        (write("config.json", "[]"), "config.json: cannot be read: it has to be a JSON object, it is list"),
        (write("config.json", "[" * 100_000), "config.json: cannot be read"),
        (write("tokenizer.json", "{}"), "tokenizer.json: not a tokenizer"),
        (write("tokenizer_config.json", "x"), "tokenizer_config.json: cannot be read"),
        (write("tokenizer_config.json", r'{"bos_token": "\ud800"}'), "tokenizer_config.json: cannot be read"),
        (write("model.safetensors", "x" * 99), "model.safetensors: a header of"),
        (
            lambda folder: (folder / "chat_template.jinja").write_bytes(b"\xff"),
            "chat_template.jinja: cannot be",
        ),
    ],
)
def test_a_folder_that_is_not_whole(tmp_path: Path, change: Callable[[Path], object], words: str) -> None:
    folder = write_folder(tmp_path / "model")
    change(folder)
    with pytest.raises(ModelError, match=words):
        convert(folder, tmp_path / "converted")
    assert not (tmp_path / "converted").exists()


def test_a_config_too_long_to_be_one_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("riverhead.transformer.files.JSON_BYTES", 100)
    with pytest.raises(ModelError, match=r"config.json: cannot be read: it is longer than 100 bytes"):
        convert(write_folder(tmp_path), tmp_path / "converted")
