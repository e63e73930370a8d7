"""GGUF files besides a plain Llama's: Qwen's biases and norms, windows, scaled RoPE."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llamas import Sizes, random_tensors, write_llama

from riverhead.errors import ModelError
from riverhead.transformer import Model, open_model
from riverhead.transformer.convert import convert
from riverhead.transformer.gguf import read_header
from riverhead.transformer.gguf_model import config_from

SIZES = Sizes(d_v=14)  # as wide as d_k, as in every file there is
H, G = SIZES.n_heads * SIZES.d_k, SIZES.n_kv_heads * SIZES.d_k
BIASES = {"attn_q": H, "attn_k": G, "attn_v": G}


def made(
    folder: Path, *, architecture: str = "llama", biases: dict[str, int] | None = None, **more: Any
) -> Path:
    """Write a file with random ``biases`` in each block and ``more`` tensors, by name and length."""
    rng = np.random.default_rng(7)
    tensors = random_tensors(SIZES)
    for name, size in (biases or {}).items():
        for layer in range(SIZES.n_layers):
            tensors[f"blk.{layer}.{name}@bias"] = rng.standard_normal(size, np.float32)
    for name, size in more.items():
        for layer in range(SIZES.n_layers):
            tensors[f"blk.{layer}.{name}"] = rng.standard_normal(size, np.float32)
    return write_llama(folder / "made.gguf", tensors, SIZES, architecture=architecture)


def converted(file: Path) -> Model:
    convert(file, file.parent / "model")
    return open_model(file.parent / "model")


@pytest.fixture
def changed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Say what else stands in the metadata of a file."""

    def change(**metadata: Any) -> None:
        def read(path: Path) -> Any:
            header = read_header(path)
            named = {f"llama.{key.replace('__', '.')}": value for key, value in metadata.items()}
            return replace(header, metadata=header.metadata | named)

        monkeypatch.setattr("riverhead.transformer.gguf_model.read_header", read)

    return change


def parts(model: Model, name: str) -> list[np.ndarray]:
    return np.split(getattr(model.weights.blocks[1], name), [H, H + G], axis=-1)


def test_qwen2_has_biases_and_its_rows_lie_as_they_are(tmp_path: Path) -> None:
    model, tensors = converted(made(tmp_path, architecture="qwen2", biases=BIASES)), random_tensors(SIZES)
    assert (model.config.architecture, model.config.qkv_bias, model.config.qk_norm) == ("qwen2", True, False)
    rng = np.random.default_rng(7)
    biases = {name: [rng.standard_normal(n, np.float32) for _ in range(2)][1] for name, n in BIASES.items()}
    for found, bias, name in zip(parts(model, "W_qkv"), parts(model, "b_qkv"), BIASES, strict=True):
        np.testing.assert_array_equal(found, tensors[f"blk.1.{name}"].T)
        np.testing.assert_array_equal(bias, biases[name])


def test_a_llama_s_biases_are_put_in_order_with_its_rows(tmp_path: Path) -> None:
    model = converted(made(tmp_path, biases=BIASES | {"attn_output": SIZES.d_model}))
    assert (model.config.qkv_bias, model.config.out_bias) == (True, True)
    rng = np.random.default_rng(7)
    q = [rng.standard_normal(H, np.float32) for _ in range(2)][1]
    found, _, v = parts(model, "b_qkv")
    order = [h * 14 + c for h in range(SIZES.n_heads) for c in (*range(0, 14, 2), *range(1, 14, 2))]
    np.testing.assert_array_equal(found, q[order])
    rng.standard_normal(2 * G, np.float32)
    np.testing.assert_array_equal(v, [rng.standard_normal(G, np.float32) for _ in range(2)][1])


def test_qwen3_norms_q_and_k(tmp_path: Path) -> None:
    model = converted(made(tmp_path, architecture="qwen3", attn_q_norm=14, attn_k_norm=14))
    assert (model.config.qk_norm, model.config.qkv_bias) == (True, False)
    rng = np.random.default_rng(7)
    q, k = ([rng.standard_normal(14, np.float32) for _ in range(2)][1] for _ in "qk")
    np.testing.assert_array_equal(model.weights.blocks[1].q_gain, q)
    np.testing.assert_array_equal(model.weights.blocks[1].k_gain, k)


@pytest.mark.parametrize(
    ("metadata", "kind", "divisors"),
    [
        ({"rope__scaling__type": "linear", "rope__scaling__factor": 4.0}, "linear", [4.0] * 7),
        ({"rope__scaling__factor": 4.0}, "linear", [4.0] * 7),  # llama.cpp's default
        ({"rope__scaling__type": "none", "rope__scaling__factor": 4.0}, None, None),
        ({"rope__scaling__type": "linear", "rope__scaling__factor": 1.0}, None, None),
        ({"rope__scaling__type": "linear"}, None, None),
    ],
)
def test_linear_scaling(
    tmp_path: Path, changed: Any, metadata: dict[str, Any], kind: str | None, divisors: list[float] | None
) -> None:
    changed(**metadata)
    model = converted(made(tmp_path))
    assert model.config.rope_scaling == kind
    found = model.weights.rope_divisors
    assert (None if found is None else found.tolist()) == divisors


def test_llama_3_s_divisors_lie_in_the_file(tmp_path: Path, changed: Any) -> None:
    divisors = np.linspace(1, 8, 7, dtype=np.float32)
    tensors = random_tensors(SIZES) | {"rope_freqs": divisors}
    model = converted(write_llama(tmp_path / "made.gguf", tensors, SIZES))
    assert model.config.rope_scaling == "llama3"
    np.testing.assert_array_equal(model.weights.rope_divisors, divisors)
    changed(rope__scaling__factor=4.0)
    with pytest.raises(ModelError, match=r"RoPE is scaled twice, by rope_freqs.weight and by 4.0"):
        converted(tmp_path / "made.gguf")


def test_a_window_is_every_layer_s(tmp_path: Path, changed: Any) -> None:
    changed(attention__sliding_window=7)
    assert converted(made(tmp_path)).config.windows == (7, 7)


def test_what_a_header_leaves_unsaid_is_as_llama_cpp_has_it(tmp_path: Path) -> None:
    """One kv head for each query head, values as wide as keys, all of them turned, by 10000."""
    header = read_header(made(tmp_path))
    left_out = ("attention.head_count_kv", "attention.value_length", "rope.dimension_count", "rope.freq_base")
    assert {f"llama.{key}" for key in left_out} <= header.metadata.keys()
    few = {key: value for key, value in header.metadata.items() if not key.endswith(left_out)}
    config = config_from(replace(header, metadata=few))
    assert (config.n_kv_heads, config.d_v, config.rope_base) == (SIZES.n_heads, SIZES.d_k, 10000.0)


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({"rope__scaling__type": "yarn"}, "llama.rope.scaling.type is 'yarn', read is 'none'"),
        ({"rope__scaling__type": "longrope"}, "llama.rope.scaling.type is 'longrope'"),
        ({"rope__scaling__factor": -2.0}, "RoPE scaling 'linear': factor is -2.0"),
        ({"rope__scaling__attn_factor": 0.5}, "llama.rope.scaling.attn_factor is 0.5, read is 1.0"),
        ({"attention__causal": False}, "llama.attention.causal is False"),
        ({"attention__scale": 0.5}, "llama.attention.scale is 0.5"),
        ({"attention__clamp_kqv": 8.0}, "llama.attention.clamp_kqv is 8.0, read is 0.0"),
        ({"attention__sliding_window_pattern": 6}, "llama.attention.sliding_window_pattern is 6, read is 0"),
        ({"rope__scale_linear": 2.0}, "llama.rope.scale_linear is 2.0, read is 1.0"),
        ({"logit_scale": 0.5}, "llama.logit_scale is 0.5, read is 0.0"),
        ({"attention__sliding_window": -7}, "windows is .-7"),
        ({"attention__sliding_window": 7, "block_count": 1 << 62}, "windows are 20, there are n_layers"),
    ],
)
def test_what_would_change_the_numbers_is_refused(
    tmp_path: Path, changed: Any, metadata: dict[str, Any], words: str
) -> None:
    changed(**metadata)
    with pytest.raises(ModelError, match=words):
        converted(made(tmp_path))


def test_a_norm_of_one_of_q_and_k_alone_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"tensor blk.0.attn_k_norm.weight is missing"):
        converted(made(tmp_path, architecture="qwen3", attn_q_norm=14))
    with pytest.raises(ModelError, match=r"tensor blk.0.attn_k_norm.weight has no place in a qwen3"):
        converted(made(tmp_path, architecture="qwen3", attn_k_norm=14))
