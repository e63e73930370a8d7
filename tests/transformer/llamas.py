"""Random Llamas in GGUF, a different prime for every axis, and what they compute in plain float64."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np

from riverhead.transformer.tokens import BYTE_OF

MERGES = ["h e", "Ġ t", "Ġt he", "a b"]
SPECIAL = ["<|begin|>", "<|end|>", "<think of it>"]
TOKENS = [*BYTE_OF, *(merge.replace(" ", "") for merge in MERGES), *SPECIAL]  # 263 of them
BEGIN, END, THINK = (TOKENS.index(token) for token in SPECIAL)


@dataclass(frozen=True)
class Sizes:
    n_layers: int = 2
    n_heads: int = 15
    n_kv_heads: int = 3
    d_model: int = 13
    d_k: int = 14
    d_v: int = 11
    d_ff: int = 17
    context_length: int = 29
    rope_base: float = 19.0
    epsilon: float = 0.03


def shapes(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """The tensors by GGUF name; rows are outputs."""
    s = sizes
    block = {
        "attn_norm": (s.d_model,),
        "attn_q": (s.n_heads * s.d_k, s.d_model),
        "attn_k": (s.n_kv_heads * s.d_k, s.d_model),
        "attn_v": (s.n_kv_heads * s.d_v, s.d_model),
        "attn_output": (s.d_model, s.n_heads * s.d_v),
        "ffn_norm": (s.d_model,),
        "ffn_gate": (s.d_ff, s.d_model),
        "ffn_up": (s.d_ff, s.d_model),
        "ffn_down": (s.d_model, s.d_ff),
    }
    return {
        "token_embd": (len(TOKENS), s.d_model),
        **{f"blk.{layer}.{name}": shape for layer in range(s.n_layers) for name, shape in block.items()},
        "output_norm": (s.d_model,),
    }


def random_tensors(sizes: Sizes, *, tied: bool = True, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    named = shapes(sizes) | ({} if tied else {"output": (len(TOKENS), sizes.d_model)})
    return {
        name: rng.standard_normal(shape, np.float32) / np.float32(np.sqrt(shape[-1]) if len(shape) > 1 else 1)
        for name, shape in named.items()
    }


def write_llama(
    path: Path,
    tensors: dict[str, np.ndarray],
    sizes: Sizes = Sizes(),
    *,
    architecture: str = "llama",
    pre: str = "smollm",
    add_bos: bool = False,
    chat_template: str | None = None,
    kinds: dict[str, gguf.GGMLQuantizationType] | None = None,
) -> Path:
    """Write the tensors as they are: q and k rows are read by llama.cpp's rule, neighbours turn together."""
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(sizes.n_layers)
    writer.add_context_length(sizes.context_length)
    writer.add_embedding_length(sizes.d_model)
    writer.add_feed_forward_length(sizes.d_ff)
    writer.add_head_count(sizes.n_heads)
    writer.add_head_count_kv(sizes.n_kv_heads)
    writer.add_key_length(sizes.d_k)
    writer.add_value_length(sizes.d_v)
    writer.add_rope_dimension_count(sizes.d_k)
    writer.add_rope_freq_base(sizes.rope_base)
    writer.add_layer_norm_rms_eps(sizes.epsilon)
    writer.add_vocab_size(len(TOKENS))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(TOKENS)
    writer.add_token_types([1] * (len(TOKENS) - 3) + [3, 3, 4])
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(BEGIN)
    writer.add_eos_token_id(END)
    writer.add_add_bos_token(add_bos)
    if chat_template is not None:
        writer.add_chat_template(chat_template)
    for name, tensor in tensors.items():
        if name.endswith("@bias"):
            writer.add_tensor(name.replace("@bias", ".bias"), tensor)
        elif kind := (kinds or {}).get(name):
            writer.add_tensor(f"{name}.weight", gguf.quantize(tensor, kind), raw_dtype=kind)
        else:
            writer.add_tensor(f"{name}.weight", tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def plain_forward(
    tensors: dict[str, np.ndarray],
    sizes: Sizes,
    ids: list[int],
    off: frozenset[tuple[int, int]] = frozenset(),
) -> dict[str, np.ndarray]:
    """The model in float64, one token, one head, one key at a time, straight from the file's own tensors."""
    t = {name: tensor.astype(np.float64) for name, tensor in tensors.items()}
    T, group = len(ids), sizes.n_heads // sizes.n_kv_heads

    def normed(vector: np.ndarray, gain: np.ndarray) -> np.ndarray:
        return vector / np.sqrt((vector**2).mean() + sizes.epsilon) * gain

    def turned(vector: np.ndarray, position: int) -> np.ndarray:  # neighbours are one complex number
        pairs = vector[0::2] + 1j * vector[1::2]
        pairs = pairs * np.exp(1j * position * sizes.rope_base ** (-np.arange(0, sizes.d_k, 2) / sizes.d_k))
        return np.stack([pairs.real, pairs.imag], axis=-1).ravel()

    x = [t["token_embd"][i] for i in ids]
    seen: dict[str, np.ndarray] = {}
    for layer in range(sizes.n_layers):
        w = {name.split(".")[-1]: tensor for name, tensor in t.items() if name.startswith(f"blk.{layer}.")}
        seen[f"x{layer}"] = np.array(x)
        a = [normed(row, w["attn_norm"]) for row in x]
        weights = np.zeros((sizes.n_heads, T, T))
        outs = np.zeros((T, sizes.n_heads, sizes.d_v))
        for h in range(sizes.n_heads):
            g = h // group
            q, k = (w[name].reshape(-1, sizes.d_k, sizes.d_model) for name in ("attn_q", "attn_k"))
            v = w["attn_v"].reshape(-1, sizes.d_v, sizes.d_model)
            for i in range(T):
                query = turned(q[h] @ a[i], i)
                exps = [np.exp(query @ turned(k[g] @ a[j], j) / np.sqrt(sizes.d_k)) for j in range(i + 1)]
                weights[h, i, : i + 1] = np.array(exps) / sum(exps)
                if (layer, h) not in off:
                    outs[i, h] = sum(weights[h, i, j] * (v[g] @ a[j]) for j in range(i + 1))
        seen[f"weights{layer}"], seen[f"out{layer}"] = weights, outs.swapaxes(0, 1)
        seen[f"attention{layer}"] = np.array([w["attn_output"] @ outs[i].ravel() for i in range(T)])
        x = [x[i] + seen[f"attention{layer}"][i] for i in range(T)]
        b = [normed(row, w["ffn_norm"]) for row in x]
        hidden = [
            (w["ffn_gate"] @ row) / (1 + np.exp(-(w["ffn_gate"] @ row))) * (w["ffn_up"] @ row) for row in b
        ]
        seen[f"feed_forward{layer}"] = np.array([w["ffn_down"] @ row for row in hidden])
        x = [x[i] + seen[f"feed_forward{layer}"][i] for i in range(T)]
    unembedding = t.get("output", t["token_embd"])
    seen["final"] = np.array(x)
    seen["logits"] = np.array([unembedding @ normed(row, t["output_norm"]) for row in x])
    return seen


def bound(sizes: Sizes, T: int, reach: float) -> float:
    """What float32 may be off by: each of n terms in a sum rounds once, and sums follow one another."""
    terms = sizes.n_layers * (2 * sizes.d_model + sizes.d_k + T + sizes.n_heads * sizes.d_v + sizes.d_ff)
    return float(np.finfo(np.float32).eps / 2 * (terms + sizes.d_model) * reach)
