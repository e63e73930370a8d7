"""A GGUF file's metadata becomes a Config, and with its tensors and tokenizer a model to convert."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from riverhead.cost import Config
from riverhead.errors import ModelError
from riverhead.transformer.gguf import Header, read_header, read_tensor
from riverhead.transformer.gguf_tokenizer import tokenizer_from
from riverhead.transformer.plan import Original
from riverhead.transformer.rope import divisors
from riverhead.transformer.tensor_names import GGUF_NAMES

__all__ = ["config_from", "read_gguf"]

Array = npt.NDArray[np.float32]

# Any other value changes the numbers, so it is refused, never ignored; "{}" is the architecture.
PLAIN: dict[str, tuple[Any, ...]] = {
    "{}.expert_count": (0,),
    "{}.rope.scaling.type": ("none", "linear"),
    "{}.rope.scaling.attn_factor": (1.0,),
    "{}.rope.scale_linear": (1.0,),
    "{}.attention.causal": (True,),
    "{}.attention.scale": (0.0,),
    "{}.attention.clamp_kqv": (0.0,),
    "{}.attention.sliding_window_pattern": (0,),
    "{}.logit_scale": (0.0, 1.0),
}


def read_gguf(path: Path) -> Original:
    """Read all a GGUF file says about its model, its header checked; `ModelError` for what is not read."""
    header = read_header(path)
    config = config_from(header)
    computed: dict[str, Array] = {}
    if config.rope_scaling == "linear":
        factor = {"factor": header.metadata[f"{config.architecture}.rope.scaling.factor"]}
        computed["rope_divisors"] = divisors("linear", factor, float(config.rope_base or 0), config.d_k)
    tokenizer, text = tokenizer_from(header)
    return Original(_Tensors(header), config, GGUF_NAMES[config.architecture], tokenizer, text, computed)


class _Tensors:
    """The tensors of a GGUF file."""

    def __init__(self, header: Header) -> None:
        self.header, self.name = header, header.path.name
        self.shapes: Mapping[str, tuple[int, ...]] = {
            name: tensor.shape for name, tensor in header.tensors.items()
        }

    def read(self, tensor: str, out: Array) -> None:
        read_tensor(self.header, self.header.tensors[tensor], out.reshape(-1, out.shape[-1]))


def config_from(header: Header) -> Config:
    """Read the config out of the header's metadata; refuse what would change the numbers unsaid."""
    name, architecture = header.path.name, header.get("general.architecture", str)
    if architecture not in GGUF_NAMES:
        raise ModelError(f"{name}: architecture {architecture!r:.60}, read are {', '.join(GGUF_NAMES)}")
    for template, allowed in PLAIN.items():
        key = template.format(architecture)
        if header.get(key, (str, float, int, bool), allowed[0]) not in allowed:
            raise ModelError(f"{name}: {key} is {header.metadata[key]!r:.60}, read is {allowed[0]!r}")

    def get(key: str, kind: type = int, default: Any = None) -> Any:
        return header.get(f"{architecture}.{key}", kind, default)

    n_heads, d_model, n_layers = get("attention.head_count"), get("embedding_length"), get("block_count")
    d_k = get("attention.key_length", default=d_model // max(n_heads, 1))
    if get("rope.dimension_count", default=d_k) != d_k or d_k % 2:
        raise ModelError(
            f"{name}: RoPE turns all of an even d_k, found d_k {d_k} and {architecture}.rope.dimension_count "
            f"{header.metadata.get(f'{architecture}.rope.dimension_count')}"
        )
    window = get("attention.sliding_window", default=0)
    return Config(
        architecture=architecture,
        n_layers=n_layers,
        n_heads=n_heads,
        n_kv_heads=get("attention.head_count_kv", default=n_heads),
        d_model=d_model,
        d_k=d_k,
        d_v=get("attention.value_length", default=d_k),
        d_ff=get("feed_forward_length"),
        vocab_size=len(header.get("tokenizer.ggml.tokens", list)),
        context_length=get("context_length"),
        rope_base=get("rope.freq_base", float, 10000.0),
        rope_scaling=_rope_scaling(header, architecture),
        windows=(window,) * min(n_layers, len(header.tensors)) if window else (),
        norm_epsilon=get("attention.layer_norm_rms_epsilon", float),
        qkv_bias="blk.0.attn_q.bias" in header.tensors,
        qk_norm="blk.0.attn_q_norm.weight" in header.tensors,
        out_bias="blk.0.attn_output.bias" in header.tensors,
        feed_forward_bias="blk.0.ffn_down.bias" in header.tensors,
        tied_embeddings="output.weight" not in header.tensors,
    )


def _rope_scaling(header: Header, architecture: str) -> str | None:
    """llama.cpp's rules: divisors that are there are Llama 3's; a factor alone is linear."""
    factor = header.get(f"{architecture}.rope.scaling.factor", (float, int), 0.0)
    kind = header.get(f"{architecture}.rope.scaling.type", str, "linear")
    linear = kind == "linear" and factor not in (0, 1)
    if "rope_freqs.weight" not in header.tensors:
        return "linear" if linear else None
    if linear:
        raise ModelError(f"{header.path.name}: RoPE is scaled twice, by rope_freqs.weight and by {factor}")
    return "llama3"
