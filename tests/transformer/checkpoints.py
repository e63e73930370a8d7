"""Tiny random models of every family, made and saved by transformers, and converted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from riverhead.transformer import Model, open_model
from riverhead.transformer.convert import convert

VOCABULARY, CONTEXT, LAYERS = 53, 61, 3

LLAMA = {  # heads are not as wide as d_model shared out would make them, and no two axes are alike
    "vocab_size": VOCABULARY,
    "max_position_embeddings": CONTEXT,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "hidden_size": 30,
    "head_dim": 14,
    "intermediate_size": 17,
    "rms_norm_eps": 0.03,
}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 29,
}
LINEAR = {"rope_type": "linear", "rope_theta": 19.0, "factor": 4.0}
GPT2 = {
    "vocab_size": VOCABULARY,
    "n_positions": CONTEXT,
    "n_layer": LAYERS,
    "n_head": 5,
    "n_embd": 35,
    "n_inner": 37,
    "layer_norm_epsilon": 0.03,
    "bos_token_id": None,
    "eos_token_id": None,
}
BERT = {
    "vocab_size": VOCABULARY,
    "max_position_embeddings": CONTEXT,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 5,
    "hidden_size": 35,
    "intermediate_size": 37,
    "layer_norm_eps": 0.03,
}

MADE: dict[str, tuple[str, str, dict[str, Any]]] = {  # transformers' names of config and model, what they get
    "llama": ("LlamaConfig", "LlamaForCausalLM", LLAMA),
    "llama tied": ("LlamaConfig", "LlamaForCausalLM", LLAMA | {"tie_word_embeddings": True}),
    "llama with biases": (
        "LlamaConfig",
        "LlamaForCausalLM",
        LLAMA | {"attention_bias": True, "mlp_bias": True},
    ),
    "llama linear": ("LlamaConfig", "LlamaForCausalLM", LLAMA | {"rope_parameters": LINEAR}),
    "llama3": ("LlamaConfig", "LlamaForCausalLM", LLAMA | {"rope_parameters": LLAMA3}),
    "mistral": ("MistralConfig", "MistralForCausalLM", LLAMA | {"sliding_window": 7}),
    "qwen2": (
        "Qwen2Config",
        "Qwen2ForCausalLM",
        LLAMA | {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1},
    ),
    "qwen3": ("Qwen3Config", "Qwen3ForCausalLM", LLAMA | {"tie_word_embeddings": True}),
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", GPT2),
    "gpt2 untied": (
        "GPT2Config",
        "GPT2LMHeadModel",
        GPT2 | {"tie_word_embeddings": False, "activation_function": "relu"},
    ),
    "bert": ("BertConfig", "BertModel", BERT),
}
CAUSAL = [name for name in MADE if name != "bert"]


def make(name: str, folder: Path) -> tuple[Any, Model]:
    """The model in transformers, eager and float32, and what riverhead makes of the files it is saved to."""
    torch = pytest.importorskip("torch", reason="parity with transformers: needs the [oracle] extra")
    transformers = pytest.importorskip("transformers", reason="parity: needs the [oracle] extra")
    config, kind, given = MADE[name]
    config = getattr(transformers, config)(**given, attn_implementation="eager")
    theirs = getattr(transformers, kind)(config).eval()
    random = torch.Generator().manual_seed(len(name))
    with (
        torch.no_grad()
    ):  # transformers starts with weights near 0, gains of 1 and shifts of 0: they would hide
        for parameter in theirs.parameters():
            spread = 1.3 / parameter.shape[-1] ** 0.5 if parameter.ndim > 1 else 0.7
            parameter.copy_(torch.randn(parameter.shape, generator=random) * spread)
    theirs.save_pretrained(folder / "theirs")
    spell().save(str(folder / "theirs" / "tokenizer.json"))
    convert(folder / "theirs", folder / "ours")
    return theirs, open_model(folder / "ours", name=name)


def spell() -> Tokenizer:
    """As many letters as there are tokens."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())[:VOCABULARY]
    tokenizer = Tokenizer(models.BPE({letter: i for i, letter in enumerate(letters)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer
