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
from riverhead.transformer.layout import MODEL_FILE, SCHEMA, TOKENIZER_FILE, WEIGHTS_FILE, layout
from riverhead.transformer.tokens import tokenizer_from

__all__ = ["config_from", "convert"]

# What a plain Llama has not: any other value changes the numbers, so it is refused, never ignored.
PLAIN: dict[str, tuple[Any, ...]] = {
    "llama.expert_count": (0,),
    "llama.rope.scaling.type": ("none",),
    "llama.rope.scaling.factor": (0.0, 1.0),
    "llama.rope.scale_linear": (1.0,),
    "llama.attention.sliding_window": (0,),
    "llama.attention.causal": (True,),
}


def convert(
    gguf_path: Path | str, folder: Path | str, *, progress: Callable[[int, int], None] | None = None
) -> None:
    """Check the GGUF file, then write its dequantised weights and its tokenizer into ``folder``.

    ``progress(done_bytes, total_bytes)`` is called after each array. ``model.json`` is written last: a folder
    without it is no model. Raises `ModelError` for a file that is not a whole plain Llama model.
    """
    header, folder = read_header(Path(gguf_path)), Path(folder)
    config = config_from(header)
    plan = dict(_plan(header, config))
    tokenizer, text = tokenizer_from(header)
    folder.mkdir(parents=True, exist_ok=True)
    total = sum(math.prod(shape) for shape in layout(config).values())
    flat = np.lib.format.open_memmap(folder / WEIGHTS_FILE, "w+", np.dtype("<f4"), (total,))
    done = 0
    for name, shape in layout(config).items():
        stop = done + math.prod(shape)
        _fill(header, config, plan[name], flat[done:stop].reshape(-1, shape[-1]))
        done = stop
        if progress is not None:
            progress(4 * done, 4 * total)
    flat.flush()
    tokenizer.save(str(folder / TOKENIZER_FILE), pretty=False)
    description = {"schema": SCHEMA, "config": config.to_dict(), "text": text}
    (folder / MODEL_FILE).write_text(json.dumps(description, indent=1), encoding="utf-8")


def config_from(header: Header) -> Config:
    """Read the config out of the header's metadata; refuse what is not a plain Llama."""
    architecture = header.get("general.architecture", str)
    if architecture != "llama":
        raise ModelError(f"{header.path.name}: architecture {architecture!r}, read is 'llama'")
    for key, allowed in PLAIN.items():
        if header.metadata.get(key, allowed[0]) not in allowed:
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


def _plan(header: Header, config: Config) -> Iterator[tuple[str, list[tuple[Tensor, int]]]]:
    """Pair each stored array with the file's tensors stacked in it, each beside the heads it interleaves."""
    if len(header.tensors) > (expected := 9 * config.n_layers + 3 - config.tied_embeddings):
        raise ModelError(
            f"{header.path.name}: {len(header.tensors)} tensors, a plain Llama of "
            f"{config.n_layers} layers has {expected}"
        )
    H, G, d_ff, d_model = config.n_heads, config.n_kv_heads, config.d_ff, config.d_model
    q, k, v = ("attn_q", H * config.d_k, H), ("attn_k", G * config.d_k, G), ("attn_v", G * config.d_v, 0)
    parts = {
        "attention_gain": [("attn_norm", 1, 0)],
        "W_qkv": [q, k, v],
        "W_o": [("attn_output", d_model, 0)],
        "feed_forward_gain": [("ffn_norm", 1, 0)],
        "W_gate_up": [("ffn_gate", d_ff, 0), ("ffn_up", d_ff, 0)],
        "W_down": [("ffn_down", d_model, 0)],
        "embedding": [("token_embd", config.vocab_size, 0)],
        "final_gain": [("output_norm", 1, 0)],
        "W_vocab": [("output", config.vocab_size, 0)],
    }
    for name, shape in layout(config).items():
        layer, _, part = name.rpartition(".")
        prefix = f"blk.{layer}." if layer else ""
        yield (
            name,
            [
                (_find(header, f"{prefix}{source}.weight", (rows, shape[-1])), heads)
                for source, rows, heads in parts[part]
            ],
        )


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


def _fill(
    header: Header, config: Config, sources: list[tuple[Tensor, int]], out: npt.NDArray[np.float32]
) -> None:
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
