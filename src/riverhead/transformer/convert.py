"""A GGUF file becomes a folder of memory-mapped float32: weights.npy, model.json and tokenizer.json."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from riverhead.cost import Config
from riverhead.errors import ModelError
from riverhead.transformer.gguf import Header, Tensor, read_header, read_tensor
from riverhead.transformer.layout import MODEL_FILE, SCHEMA, TOKENIZER_FILE, WEIGHTS_FILE, layout, n_numbers
from riverhead.transformer.tokens import tokenizer_from

__all__ = ["check", "config_from", "convert"]

# What a plain Llama has not: any other value changes the numbers, so it is refused, never ignored.
PLAIN: dict[str, tuple[Any, ...]] = {
    "llama.expert_count": (0,),
    "llama.rope.scaling.type": ("none",),
    "llama.rope.scaling.factor": (0.0, 1.0),
    "llama.rope.scale_linear": (1.0,),
    "llama.attention.sliding_window": (0,),
    "llama.attention.causal": (True,),
}

Progress = Callable[[int, int], None]  # done_bytes, total_bytes
Sources = list[tuple[Tensor, int]]  # the tensors stacked in one array, each beside the heads RoPE turns in it


def convert(gguf_path: Path | str, folder: Path | str, *, progress: Progress | None = None) -> None:
    """Check the GGUF file, then write its dequantised weights and its tokenizer into ``folder``.

    ``progress(done_bytes, total_bytes)`` is called after each array. ``model.json`` is written last: a folder
    without it is no model. Raises `ModelError` for a file that is not a whole plain Llama model.
    """
    header, folder = read_header(Path(gguf_path)), Path(folder)
    config = config_from(header)
    plan = _plan(header, config)
    tokenizer, text = tokenizer_from(header)
    description = {"schema": SCHEMA, "config": config.to_dict(), "text": text}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write_weights(header, config, plan, folder / WEIGHTS_FILE, progress)
        (folder / TOKENIZER_FILE).write_text(tokenizer.to_str(), encoding="utf-8")
        (folder / MODEL_FILE).write_text(json.dumps(description, indent=1), encoding="utf-8")
    except OSError as error:
        raise ModelError(f"{folder}: the converted model cannot be written: {error}") from error


def check(gguf_path: Path) -> int:
    """Return the bytes of the arrays that `convert` would write; or refuse the file as it would."""
    header = read_header(gguf_path)
    config = config_from(header)
    _plan(header, config)
    tokenizer_from(header)
    return 4 * n_numbers(config)  # float32


def _write_weights(
    header: Header, config: Config, plan: dict[str, Sources], path: Path, progress: Progress | None
) -> None:
    """Write one flat array, part by part: a full disk is then an error, where a mapping would crash."""
    total, done = n_numbers(config), 0
    with path.open("wb") as file:
        shape = {"descr": "<f4", "fortran_order": False, "shape": (total,)}
        np.lib.format.write_array_header_1_0(file, shape)
        for name, (*rows, columns) in layout(config):
            array = np.empty((math.prod(rows), columns), "<f4")
            _fill(header, config, plan[name], array)
            file.write(array.data)
            done += array.size
            if progress is not None:
                progress(4 * done, 4 * total)


def config_from(header: Header) -> Config:
    """Read the config out of the header's metadata; refuse what is not a plain Llama."""
    architecture = header.get("general.architecture", str)
    if architecture != "llama":
        raise ModelError(f"{header.path.name}: architecture {architecture!r}, read is 'llama'")
    for key, allowed in PLAIN.items():
        if header.get(key, (str, float, int, bool), allowed[0]) not in allowed:
            raise ModelError(f"{header.path.name}: {key} is {header.metadata[key]!r}, read is {allowed[0]!r}")
    n_heads = header.get("llama.attention.head_count", int)
    d_model = header.get("llama.embedding_length", int)
    d_k = header.get("llama.attention.key_length", int, d_model // max(n_heads, 1))
    if header.get("llama.rope.dimension_count", int, d_k) != d_k or d_k % 2:
        raise ModelError(
            f"{header.path.name}: RoPE turns all of an even d_k, found d_k {d_k} and "
            f"llama.rope.dimension_count {header.metadata.get('llama.rope.dimension_count')}"
        )
    return Config(
        architecture=architecture,
        n_layers=header.get("llama.block_count", int),
        n_heads=n_heads,
        n_kv_heads=header.get("llama.attention.head_count_kv", int, n_heads),
        d_model=d_model,
        d_k=d_k,
        d_v=header.get("llama.attention.value_length", int, d_k),
        d_ff=header.get("llama.feed_forward_length", int),
        vocab_size=len(header.get("tokenizer.ggml.tokens", list)),
        context_length=header.get("llama.context_length", int),
        rope_base=header.get("llama.rope.freq_base", float, 10000.0),
        norm_epsilon=header.get("llama.attention.layer_norm_rms_epsilon", float),
        tied_embeddings="output.weight" not in header.tensors,
    )


def _plan(header: Header, config: Config) -> dict[str, Sources]:
    """Find every tensor the config calls for; the first that is missing ends the walk, however long."""
    plan = dict(_sources(header, config))
    used = {tensor.name for sources in plan.values() for tensor, _ in sources}
    if unused := header.tensors.keys() - used:
        raise ModelError(f"{header.path.name}: tensor {min(unused)} is no part of a plain Llama")
    return plan


def _sources(header: Header, config: Config) -> Iterator[tuple[str, Sources]]:
    def find(name: str, rows: int, columns: int, heads: int = 0) -> tuple[Tensor, int]:
        return _find(header, f"{name}.weight", (rows, columns)), heads

    H, G, d_k, d_v = config.n_heads, config.n_kv_heads, config.d_k, config.d_v
    d_model, d_ff = config.d_model, config.d_ff
    yield "embedding", [find("token_embd", config.vocab_size, d_model)]
    for layer in range(config.n_layers):
        blk = f"blk.{layer}"
        yield f"{layer}.attention_gain", [find(f"{blk}.attn_norm", 1, d_model)]
        yield (
            f"{layer}.W_qkv",
            [
                find(f"{blk}.attn_q", H * d_k, d_model, H),
                find(f"{blk}.attn_k", G * d_k, d_model, G),
                find(f"{blk}.attn_v", G * d_v, d_model),
            ],
        )
        yield f"{layer}.W_o", [find(f"{blk}.attn_output", d_model, H * d_v)]
        yield f"{layer}.feed_forward_gain", [find(f"{blk}.ffn_norm", 1, d_model)]
        yield (
            f"{layer}.W_up",
            [find(f"{blk}.ffn_gate", d_ff, d_model), find(f"{blk}.ffn_up", d_ff, d_model)],
        )
        yield f"{layer}.W_down", [find(f"{blk}.ffn_down", d_model, d_ff)]
    yield "final_gain", [find("output_norm", 1, d_model)]
    if not config.tied_embeddings:
        yield "W_vocab", [find("output", config.vocab_size, d_model)]


def _find(header: Header, name: str, shape: tuple[int, int]) -> Tensor:
    if name not in header.tensors:
        raise ModelError(f"{header.path.name}: tensor {name} is missing")
    tensor = header.tensors[name]
    expected = shape[1:] if shape[0] == 1 else shape
    if tensor.shape != expected:
        raise ModelError(
            f"{header.path.name}: tensor {name} has shape {tensor.shape}, the sizes in the "
            f"metadata make it {expected}"
        )
    return tensor


def _fill(header: Header, config: Config, sources: Sources, out: npt.NDArray[np.float32]) -> None:
    row = 0
    for tensor, n_heads in sources:
        n_rows = math.prod(tensor.shape[:-1])
        part = out[row : row + n_rows]
        read_tensor(header, tensor, part)
        if n_heads:
            # llama.cpp stores the channels that RoPE turns together as neighbours; here they are halves.
            pairs = part.reshape(n_heads, config.d_k // 2, 2, -1)
            part[:] = pairs.swapaxes(1, 2).reshape(part.shape)
        row += n_rows
