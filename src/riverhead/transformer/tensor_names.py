"""What each kind of file calls the arrays of a model; tensors side by side stand in the array's order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

__all__ = ["GGUF_NAMES", "NAMES", "Names"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The tensors of each array: those of the whole model, and those of a block with ``{}`` for its layer."""

    whole: Mapping[str, str]
    block: Mapping[str, str]
    transposed: frozenset[str] = frozenset()  # arrays whose tensors lie as (in, out)
    neighbours: bool = False  # the channels of q and k that RoPE turns together lie side by side
    prefix: str = ""  # which a model with a head has before its names, and one without has not
    respelled: tuple[tuple[str, str], ...] = ()  # older endings, newer endings
    buffers: re.Pattern[str] = re.compile("(?!)")  # constants that were saved, too
    heads: re.Pattern[str] = re.compile("(?!)")  # what stands on top of the model for other uses


# https://github.com/ggml-org/llama.cpp/blob/master/gguf-py/gguf/constants.py (TENSOR_NAMES). llama.cpp
# reorders the rows of q and k for RoPE in its "llama" alone, and stores Llama 3's scaling as divisors.
GGUF_QWEN = Names(
    whole={
        "embedding": "token_embd.weight",
        "rope_divisors": "rope_freqs.weight",
        "final_gain": "output_norm.weight",
        "W_vocab": "output.weight",
    },
    block={
        "attention_gain": "blk.{}.attn_norm.weight",
        "W_qkv": "blk.{0}.attn_q.weight blk.{0}.attn_k.weight blk.{0}.attn_v.weight",
        "b_qkv": "blk.{0}.attn_q.bias blk.{0}.attn_k.bias blk.{0}.attn_v.bias",
        "q_gain": "blk.{}.attn_q_norm.weight",
        "k_gain": "blk.{}.attn_k_norm.weight",
        "W_o": "blk.{}.attn_output.weight",
        "b_o": "blk.{}.attn_output.bias",
        "feed_forward_gain": "blk.{}.ffn_norm.weight",
        "W_up": "blk.{0}.ffn_gate.weight blk.{0}.ffn_up.weight",
        "b_up": "blk.{0}.ffn_gate.bias blk.{0}.ffn_up.bias",
        "W_down": "blk.{}.ffn_down.weight",
        "b_down": "blk.{}.ffn_down.bias",
    },
)
GGUF_NAMES = {"llama": replace(GGUF_QWEN, neighbours=True), "qwen2": GGUF_QWEN, "qwen3": GGUF_QWEN}

# The names of transformers' modules: models/{llama,mistral,qwen2,qwen3,gpt2,bert}/modeling_*.py.
LLAMA = Names(
    prefix="model.",
    whole={"embedding": "embed_tokens.weight", "final_gain": "norm.weight", "W_vocab": "lm_head.weight"},
    block={
        "attention_gain": "layers.{}.input_layernorm.weight",
        "W_qkv": "layers.{0}.self_attn.q_proj.weight layers.{0}.self_attn.k_proj.weight "
        "layers.{0}.self_attn.v_proj.weight",
        "b_qkv": "layers.{0}.self_attn.q_proj.bias layers.{0}.self_attn.k_proj.bias "
        "layers.{0}.self_attn.v_proj.bias",
        "q_gain": "layers.{}.self_attn.q_norm.weight",
        "k_gain": "layers.{}.self_attn.k_norm.weight",
        "W_o": "layers.{}.self_attn.o_proj.weight",
        "b_o": "layers.{}.self_attn.o_proj.bias",
        "feed_forward_gain": "layers.{}.post_attention_layernorm.weight",
        "W_up": "layers.{0}.mlp.gate_proj.weight layers.{0}.mlp.up_proj.weight",
        "b_up": "layers.{0}.mlp.gate_proj.bias layers.{0}.mlp.up_proj.bias",
        "W_down": "layers.{}.mlp.down_proj.weight",
        "b_down": "layers.{}.mlp.down_proj.bias",
    },
    buffers=re.compile(r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq"),
    heads=re.compile(r"(score|qa_outputs|classifier)\..*"),
)
GPT2 = Names(
    prefix="transformer.",
    whole={
        "embedding": "wte.weight",
        "positions": "wpe.weight",
        "final_gain": "ln_f.weight",
        "final_shift": "ln_f.bias",
        "W_vocab": "lm_head.weight",
    },
    block={
        "attention_gain": "h.{}.ln_1.weight",
        "attention_shift": "h.{}.ln_1.bias",
        "W_qkv": "h.{}.attn.c_attn.weight",
        "b_qkv": "h.{}.attn.c_attn.bias",
        "W_o": "h.{}.attn.c_proj.weight",
        "b_o": "h.{}.attn.c_proj.bias",
        "feed_forward_gain": "h.{}.ln_2.weight",
        "feed_forward_shift": "h.{}.ln_2.bias",
        "W_up": "h.{}.mlp.c_fc.weight",
        "b_up": "h.{}.mlp.c_fc.bias",
        "W_down": "h.{}.mlp.c_proj.weight",
        "b_down": "h.{}.mlp.c_proj.bias",
    },
    transposed=frozenset(("W_qkv", "W_o", "W_up", "W_down")),  # its Conv1D
    buffers=re.compile(r"h\.\d+\.attn\.(bias|masked_bias)"),
    heads=re.compile(r"(score|multiple_choice_head|classifier|qa_outputs)\..*"),
)
BERT = Names(
    prefix="bert.",
    whole={
        "embedding": "embeddings.word_embeddings.weight",
        "positions": "embeddings.position_embeddings.weight",
        "segments": "embeddings.token_type_embeddings.weight",
        "embedding_gain": "embeddings.LayerNorm.weight",
        "embedding_shift": "embeddings.LayerNorm.bias",
        "W_pool": "pooler.dense.weight",
        "b_pool": "pooler.dense.bias",
    },
    block={
        "W_qkv": "encoder.layer.{0}.attention.self.query.weight encoder.layer.{0}.attention.self.key.weight "
        "encoder.layer.{0}.attention.self.value.weight",
        "b_qkv": "encoder.layer.{0}.attention.self.query.bias encoder.layer.{0}.attention.self.key.bias "
        "encoder.layer.{0}.attention.self.value.bias",
        "W_o": "encoder.layer.{}.attention.output.dense.weight",
        "b_o": "encoder.layer.{}.attention.output.dense.bias",
        "attention_gain": "encoder.layer.{}.attention.output.LayerNorm.weight",
        "attention_shift": "encoder.layer.{}.attention.output.LayerNorm.bias",
        "W_up": "encoder.layer.{}.intermediate.dense.weight",
        "b_up": "encoder.layer.{}.intermediate.dense.bias",
        "W_down": "encoder.layer.{}.output.dense.weight",
        "b_down": "encoder.layer.{}.output.dense.bias",
        "feed_forward_gain": "encoder.layer.{}.output.LayerNorm.weight",
        "feed_forward_shift": "encoder.layer.{}.output.LayerNorm.bias",
    },
    respelled=((".LayerNorm.gamma", ".LayerNorm.weight"), (".LayerNorm.beta", ".LayerNorm.bias")),
    buffers=re.compile(r"embeddings\.(position_ids|token_type_ids)"),
    heads=re.compile(r"(cls|classifier|qa_outputs)\..*"),
)
NAMES = dict.fromkeys(("llama", "mistral", "qwen2", "qwen3"), LLAMA) | {"gpt2": GPT2, "bert": BERT}
