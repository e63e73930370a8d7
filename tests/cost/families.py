"""Tiny models of every family as transformers makes them, no two sizes alike, and their configs."""

from __future__ import annotations

from typing import Any

import pytest

from riverhead.cost import Config
from riverhead.transformer.huggingface import config_from

CONTEXT = 61

LLAMA = {
    "vocab_size": 53,
    "max_position_embeddings": CONTEXT,
    "num_hidden_layers": 3,
    "num_attention_heads": 10,
    "num_key_value_heads": 5,
    "hidden_size": 30,
    "head_dim": 14,
    "intermediate_size": 17,
}
GPT2 = {
    "vocab_size": 53,
    "n_positions": CONTEXT,
    "n_layer": 3,
    "n_head": 5,
    "n_embd": 35,
    "n_inner": 37,
    "bos_token_id": None,
    "eos_token_id": None,
}
BERT = {
    "vocab_size": 53,
    "max_position_embeddings": CONTEXT,
    "num_hidden_layers": 3,
    "num_attention_heads": 5,
    "hidden_size": 35,
    "intermediate_size": 37,
}
QWEN = LLAMA | {"use_sliding_window": True, "sliding_window": 11, "max_window_layers": 1}

FAMILIES: dict[str, tuple[str, str, dict[str, Any]]] = {  # transformers' names of config and model, the sizes
    "llama": ("LlamaConfig", "LlamaForCausalLM", LLAMA),
    "llama, tied": ("LlamaConfig", "LlamaForCausalLM", LLAMA | {"tie_word_embeddings": True}),
    "llama, biases": (
        "LlamaConfig",
        "LlamaForCausalLM",
        LLAMA | {"attention_bias": True, "mlp_bias": True},
    ),
    "llama, one kv head": ("LlamaConfig", "LlamaForCausalLM", LLAMA | {"num_key_value_heads": 1}),
    "mistral": ("MistralConfig", "MistralForCausalLM", LLAMA | {"sliding_window": 7}),
    "qwen2": ("Qwen2Config", "Qwen2ForCausalLM", QWEN),
    "qwen3": ("Qwen3Config", "Qwen3ForCausalLM", LLAMA | {"tie_word_embeddings": True}),
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", GPT2),
    "gpt2, untied": ("GPT2Config", "GPT2LMHeadModel", GPT2 | {"tie_word_embeddings": False}),
    "bert": ("BertConfig", "BertModel", BERT),
}
CAUSAL = [name for name in FAMILIES if name != "bert"]


def made(name: str, how: str = "eager") -> tuple[Any, Config]:
    """The model in transformers, its attention as ``how`` says, and what its config.json says to us."""
    pytest.importorskip("torch", reason="torch counts: needs the [oracle] extra")
    transformers = pytest.importorskip(
        "transformers", reason="transformers' models: needs the [oracle] extra"
    )
    config, kind, given = FAMILIES[name]
    theirs = getattr(transformers, config)(**given, attn_implementation=how)
    model = getattr(transformers, kind)(theirs)
    return model.eval(), config_from(theirs.to_dict())
