"""From a GGUF file to a folder of mapped arrays: what is refused, what is written, what opens again."""

from __future__ import annotations

import json
import signal
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from llamas import Sizes, random_tensors, write_llama

from riverhead.cost import Config
from riverhead.errors import ModelError
from riverhead.transformer import Model, open_model
from riverhead.transformer.convert import convert
from riverhead.transformer.gguf import read_header
from riverhead.transformer.gguf_model import config_from
from riverhead.transformer.gguf_tokenizer import tokenizer_from


def test_the_config_is_the_file_s(llama: Model, sizes: Sizes) -> None:
    expected = {name: getattr(sizes, name) for name in sizes.__dataclass_fields__ if name != "epsilon"}
    assert llama.config == Config(
        **expected, architecture="llama", vocab_size=263, norm_epsilon=float(np.float32(sizes.epsilon))
    )


def test_arrays_lie_mapped_and_as_the_design_has_them(
    llama: Model, tensors: dict[str, np.ndarray], sizes: Sizes
) -> None:
    block = llama.weights.blocks[1]
    W_q, W_k, W_v = np.split(block.W_qkv, np.cumsum([15 * 14, 3 * 14]), axis=1)
    for found, name, n_heads in ((W_q, "attn_q", 15), (W_k, "attn_k", 3), (W_v, "attn_v", 0)):
        rows = tensors[f"blk.1.{name}"]
        if n_heads:  # channel c of the file's pairs goes to c // 2, the other of the pair half a head on
            order = [h * 14 + c for h in range(n_heads) for c in (*range(0, 14, 2), *range(1, 14, 2))]
            rows = rows[order]
        np.testing.assert_array_equal(found, rows.T)
    np.testing.assert_array_equal(block.W_o, tensors["blk.1.attn_output"].T)
    np.testing.assert_array_equal(block.W_up[:, :17], tensors["blk.1.ffn_gate"].T)
    np.testing.assert_array_equal(block.W_up[:, 17:], tensors["blk.1.ffn_up"].T)
    np.testing.assert_array_equal(block.W_down, tensors["blk.1.ffn_down"].T)
    np.testing.assert_array_equal(block.attention_gain, tensors["blk.1.attn_norm"])
    np.testing.assert_array_equal(block.feed_forward_gain, tensors["blk.1.ffn_norm"])
    base: Any = block.W_o
    while base.base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
    assert not block.W_o.flags.writeable


def test_progress_counts_bytes_to_the_end(llama_file: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    convert(llama_file, tmp_path, progress=lambda done, total: seen.append((done, total)))
    done, totals = zip(*seen, strict=True)
    assert list(done) == sorted(set(done))
    assert set(totals) == {done[-1]}
    assert done[-1] == np.load(tmp_path / "weights.npy", mmap_mode="r").nbytes


def test_a_disk_that_is_full_is_an_error(llama_file: Path, tmp_path: Path) -> None:
    """A mapped file would end the process with a signal; here one limit stands for a full disk."""
    resource = pytest.importorskip("resource", reason="file size limits: POSIX only")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(ModelError, match=r"the converted model cannot be written: .*too large"):
            convert(llama_file, tmp_path / "model")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, previous)
    with pytest.raises(ModelError, match="no whole converted model here"):
        open_model(tmp_path / "model")


def test_a_missing_tensor_is_named(tmp_path: Path, tensors: dict[str, np.ndarray], sizes: Sizes) -> None:
    for name in ("token_embd", "blk.0.attn_norm", "blk.1.ffn_down", "output_norm"):
        left = {other: tensor for other, tensor in tensors.items() if other != name}
        write_llama(tmp_path / "missing.gguf", left, sizes)
        with pytest.raises(ModelError, match=rf"missing.gguf: tensor {name}.weight is missing"):
            convert(tmp_path / "missing.gguf", tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_tensor_of_another_shape_is_named(
    tmp_path: Path, tensors: dict[str, np.ndarray], sizes: Sizes
) -> None:
    odd = tensors | {"blk.1.attn_k": tensors["blk.1.attn_k"][:-1]}
    write_llama(tmp_path / "odd.gguf", odd, sizes)
    with pytest.raises(ModelError, match=r"blk.1.attn_k.weight has shape \(41, 13\), .* make it \(42, 13\)"):
        convert(tmp_path / "odd.gguf", tmp_path / "model")


def test_a_tensor_too_many_is_refused_not_ignored(
    tmp_path: Path, tensors: dict[str, np.ndarray], sizes: Sizes
) -> None:
    write_llama(tmp_path / "more.gguf", tensors | {"blk.1.attn_sinks": np.ones(15, np.float32)}, sizes)
    with pytest.raises(ModelError, match=r"tensor blk.1.attn_sinks.weight has no place in a llama"):
        convert(tmp_path / "more.gguf", tmp_path / "model")


def test_another_architecture_is_refused(
    tmp_path: Path, tensors: dict[str, np.ndarray], sizes: Sizes
) -> None:
    write_llama(tmp_path / "bert.gguf", tensors, sizes, architecture="bert")
    with pytest.raises(ModelError, match=r"bert.gguf: architecture 'bert', read are llama, qwen2, qwen3"):
        convert(tmp_path / "bert.gguf", tmp_path / "model")


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("llama.expert_count", 8, "llama.expert_count is 8, read is 0"),
        ("llama.rope.scaling.type", "yarn", "llama.rope.scaling.type is 'yarn', read is 'none'"),
        ("llama.rope.dimension_count", 12, "found d_k 14 and llama.rope.dimension_count 12"),
        ("llama.attention.head_count_kv", 4, "n_heads 15 is no multiple of n_kv_heads 4"),
        ("llama.attention.head_count", np.array([15, 15]), "head_count is '.15 15.', it has to be int"),
        ("llama.attention.head_count", 0, "n_heads is 0"),
        ("llama.rope.freq_base", float("nan"), "rope_base is nan"),
        ("llama.block_count", 1 << 62, "tensor blk.2.attn_norm.weight is missing"),
        ("llama.feed_forward_length", 1 << 40, r"ffn_gate.weight has shape \(17, 13\)"),
        ("tokenizer.ggml.model", "llama", "token_type has no unknown token .type 2."),
        ("tokenizer.ggml.model", "rwkv", "tokenizer 'rwkv' with pre-tokenizer 'smollm'; read are"),
        ("tokenizer.ggml.pre", "tekken", "with pre-tokenizer 'tekken'"),
        ("tokenizer.ggml.merges", ["a b c"], "merges do not fit the tokens"),
        ("tokenizer.ggml.merges", ["x y"], "merges do not fit the tokens"),
        ("tokenizer.ggml.tokens", ["a"] * 263, "an empty token, a repeated one"),
        ("tokenizer.ggml.token_type", np.ones(262), "263 tokens, but token_type has 262"),
        ("tokenizer.ggml.eos_token_id", 263, "eos_token_id is 263, the vocabulary has 263"),
    ],
)
def test_what_is_no_plain_llama(
    llama_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, key: str, value: Any, words: str
) -> None:
    header = read_header(llama_file)
    changed = replace(header, metadata={**header.metadata, key: value})
    monkeypatch.setattr("riverhead.transformer.gguf_model.read_header", lambda path: changed)
    with pytest.raises(ModelError, match=words):
        convert(llama_file, tmp_path / "model")
    assert not (tmp_path / "model").exists()


ODD = ["", "x", 0, -1, 1 << 63, 0.5, float("inf"), True, [], ["a"], ["", ""], np.array([7, 7]), np.zeros(0)]


def test_any_metadata_of_any_type_is_read_or_refused(llama_file: Path) -> None:
    header = read_header(llama_file)
    for key in header.metadata:
        for value in ODD:
            changed = replace(header, metadata={**header.metadata, key: value})
            with suppress(ModelError):  # anything else would be a fault of ours
                config_from(changed)
                tokenizer_from(changed)


@pytest.mark.parametrize(
    ("file", "change", "words"),
    [
        ("model.json", lambda path: path.unlink(), "no whole converted model here"),
        ("weights.npy", lambda path: path.unlink(), "no whole converted model here"),
        ("model.json", lambda path: path.write_text("{"), "no whole converted model here"),
        ("model.json", lambda path: path.write_text('{"schema": "other/1"}'), "schema 'other/1', read is"),
        ("model.json", lambda path: path.write_text("[]"), "no whole converted model here"),
        ("weights.npy", lambda path: path.write_bytes(path.read_bytes()[:-4]), "no whole converted model"),
        (
            "weights.npy",
            lambda path: np.save(path, np.zeros(5, np.float32)),
            r"weights.npy is float32 \(5,\)",
        ),
        ("weights.npy", lambda path: np.save(path, np.array([{}])), "no whole converted model"),  # a pickle
    ],
)
def test_a_damaged_folder_does_not_open(
    llama_file: Path, tmp_path: Path, file: str, change: Any, words: str
) -> None:
    convert(llama_file, tmp_path)
    assert open_model(tmp_path).name == tmp_path.name
    change(tmp_path / file)
    with pytest.raises(ModelError, match=words):
        open_model(tmp_path)


def test_a_damaged_size_in_model_json_is_found_before_it_is_walked(llama_file: Path, tmp_path: Path) -> None:
    convert(llama_file, tmp_path)
    description = json.loads((tmp_path / "model.json").read_text())
    description["config"]["n_layers"] = 10**15
    (tmp_path / "model.json").write_text(json.dumps(description))
    with pytest.raises(ModelError, match=r"model.json makes it float32"):
        open_model(tmp_path)


def test_quantised_tensors_come_out_dequantised(tmp_path: Path) -> None:
    sizes = Sizes(d_model=64, d_ff=96)
    tensors = random_tensors(sizes)
    kinds = {"token_embd": gguf.GGMLQuantizationType.Q8_0, "blk.0.ffn_down": gguf.GGMLQuantizationType.Q4_1}
    convert(write_llama(tmp_path / "q.gguf", tensors, sizes, kinds=kinds), tmp_path / "model")
    weights = open_model(tmp_path / "model").weights
    for found, name in ((weights.embedding, "token_embd"), (weights.blocks[0].W_down.T, "blk.0.ffn_down")):
        exact = gguf.dequantize(gguf.quantize(tensors[name], kinds[name]), kinds[name])
        np.testing.assert_array_equal(found, exact)
