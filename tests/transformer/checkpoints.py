"""Tiny random models of every family, made by transformers, their weights laid out as riverhead's."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from riverhead.cost import Config
from riverhead.transformer import Model
from riverhead.transformer.layout import layout

VOCABULARY, CONTEXT, LAYERS = 53, 61, 3

LLAMA = {  # no axis is as long as another; heads are not as wide as d_model shared out would make them
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
GPT2 = {
    "vocab_size": VOCABULARY,
    "n_positions": CONTEXT,
    "n_layer": LAYERS,
    "n_head": 5,
    "n_embd": 35,
    "n_inner": 37,
    "layer_norm_epsilon": 0.03,
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
LLAMA_TRAITS = {
    "n_layers": LAYERS,
    "n_heads": 6,
    "n_kv_heads": 2,
    "d_model": 30,
    "d_k": 14,
    "d_v": 14,
    "d_ff": 17,
    "rope_base": 10_000.0,
    "tied_embeddings": False,
}
WIDE_TRAITS = {
    "n_layers": LAYERS,
    "n_heads": 5,
    "n_kv_heads": 5,
    "d_model": 35,
    "d_k": 7,
    "d_v": 7,
    "d_ff": 37,
    "n_positions": CONTEXT,
    "norm": "layer",
    "gated": False,
    "qkv_bias": True,
    "out_bias": True,
    "feed_forward_bias": True,
}


class Made(NamedTuple):
    """How transformers makes a model, what riverhead's config says of it, and the rope divisors of both."""

    kind: str  # transformers' names: LlamaConfig, LlamaForCausalLM
    given: dict[str, Any]
    traits: dict[str, Any]
    divisors: list[float] | None = None


def llama3_divisors() -> list[float]:
    """What the config's five numbers ask for, pair by pair (Llama 3.1's own code, apply_scaling)."""
    divisors = []
    for pair in range(7):
        wavelength = 2 * np.pi * 500.0 ** (2 * pair / 14)
        turns = 29 / wavelength
        share = (turns - 1.0) / (4.0 - 1.0)  # of the unscaled frequency, where neither end is reached
        divisors.append(1.0 if turns > 4 else 8.0 if turns < 1 else 1 / ((1 - share) / 8.0 + share))
    return divisors


MADE = {
    "llama": Made(
        "Llama",
        LLAMA | {"rope_parameters": {"rope_type": "default", "rope_theta": 19.0}},
        {"rope_base": 19.0},
    ),
    "llama tied": Made("Llama", LLAMA | {"tie_word_embeddings": True}, {"tied_embeddings": True}),
    "llama with biases": Made(
        "Llama",
        LLAMA | {"attention_bias": True, "mlp_bias": True},
        {"qkv_bias": True, "out_bias": True, "feed_forward_bias": True},
    ),
    "llama linear": Made(
        "Llama",
        LLAMA | {"rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 10_000.0}},
        {"rope_scaling": "linear"},
        [4.0] * 7,
    ),
    "llama3": Made(
        "Llama",
        LLAMA | {"rope_parameters": LLAMA3},
        {"rope_base": 500.0, "rope_scaling": "llama3"},
        llama3_divisors(),
    ),
    "mistral": Made("Mistral", LLAMA | {"sliding_window": 7}, {"windows": (7,) * LAYERS}),
    "qwen2": Made(
        "Qwen2",
        LLAMA | {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1},
        {"qkv_bias": True, "windows": (0, 5, 5)},
    ),
    "qwen3": Made("Qwen3", LLAMA | {"tie_word_embeddings": True}, {"qk_norm": True, "tied_embeddings": True}),
    "gpt2": Made("GPT2", GPT2, {"activation": "gelu_tanh"}),
    "gpt2 untied": Made(
        "GPT2",
        GPT2 | {"tie_word_embeddings": False, "activation_function": "relu"},
        {"activation": "relu", "tied_embeddings": False},
    ),
    "bert": Made(
        "Bert",
        BERT,
        {
            "activation": "gelu",
            "causal": False,
            "norm_after": True,
            "n_segments": 2,
            "embedding_norm": True,
            "final_norm": False,
            "predicts": False,
        },
    ),
}
CAUSAL = [name for name in MADE if name != "bert"]

LLAMA_NAMES = {
    "attention_gain": ["input_layernorm.weight"],
    "W_qkv": ["self_attn.q_proj.weight", "self_attn.k_proj.weight", "self_attn.v_proj.weight"],
    "b_qkv": ["self_attn.q_proj.bias", "self_attn.k_proj.bias", "self_attn.v_proj.bias"],
    "q_gain": ["self_attn.q_norm.weight"],
    "k_gain": ["self_attn.k_norm.weight"],
    "W_o": ["self_attn.o_proj.weight"],
    "b_o": ["self_attn.o_proj.bias"],
    "feed_forward_gain": ["post_attention_layernorm.weight"],
    "W_up": ["mlp.gate_proj.weight", "mlp.up_proj.weight"],
    "b_up": ["mlp.gate_proj.bias", "mlp.up_proj.bias"],
    "W_down": ["mlp.down_proj.weight"],
    "b_down": ["mlp.down_proj.bias"],
}
GPT2_NAMES = {
    "attention_gain": ["ln_1.weight"],
    "attention_shift": ["ln_1.bias"],
    "W_qkv": ["attn.c_attn.weight"],
    "b_qkv": ["attn.c_attn.bias"],
    "W_o": ["attn.c_proj.weight"],
    "b_o": ["attn.c_proj.bias"],
    "feed_forward_gain": ["ln_2.weight"],
    "feed_forward_shift": ["ln_2.bias"],
    "W_up": ["mlp.c_fc.weight"],
    "b_up": ["mlp.c_fc.bias"],
    "W_down": ["mlp.c_proj.weight"],
    "b_down": ["mlp.c_proj.bias"],
}
BERT_NAMES = {
    "attention_gain": ["attention.output.LayerNorm.weight"],
    "attention_shift": ["attention.output.LayerNorm.bias"],
    "W_qkv": [f"attention.self.{part}.weight" for part in ("query", "key", "value")],
    "b_qkv": [f"attention.self.{part}.bias" for part in ("query", "key", "value")],
    "W_o": ["attention.output.dense.weight"],
    "b_o": ["attention.output.dense.bias"],
    "feed_forward_gain": ["output.LayerNorm.weight"],
    "feed_forward_shift": ["output.LayerNorm.bias"],
    "W_up": ["intermediate.dense.weight"],
    "b_up": ["intermediate.dense.bias"],
    "W_down": ["output.dense.weight"],
    "b_down": ["output.dense.bias"],
}
PLACES: dict[str, tuple[str, dict[str, list[str]], dict[str, str]]] = {
    "Llama": (
        "model.layers",
        LLAMA_NAMES,
        {
            "embedding": "model.embed_tokens.weight",
            "final_gain": "model.norm.weight",
            "W_vocab": "lm_head.weight",
        },
    ),
    "GPT2": (
        "transformer.h",
        GPT2_NAMES,
        {
            "embedding": "transformer.wte.weight",
            "positions": "transformer.wpe.weight",
            "final_gain": "transformer.ln_f.weight",
            "final_shift": "transformer.ln_f.bias",
            "W_vocab": "lm_head.weight",
        },
    ),
    "Bert": (
        "encoder.layer",
        BERT_NAMES,
        {
            "embedding": "embeddings.word_embeddings.weight",
            "positions": "embeddings.position_embeddings.weight",
            "segments": "embeddings.token_type_embeddings.weight",
            "embedding_gain": "embeddings.LayerNorm.weight",
            "embedding_shift": "embeddings.LayerNorm.bias",
        },
    ),
}
PLACES |= dict.fromkeys(("Mistral", "Qwen2", "Qwen3"), PLACES["Llama"])


def make(name: str) -> tuple[Any, Model]:
    """The model in transformers, eager and float32, and in riverhead."""
    torch = pytest.importorskip("torch", reason="parity with transformers: needs the [oracle] extra")
    transformers = pytest.importorskip("transformers", reason="parity: needs the [oracle] extra")
    made = MADE[name]
    bare = made.kind == "Bert"
    head = {"Bert": "Model", "GPT2": "LMHeadModel"}.get(made.kind, "ForCausalLM")
    given = getattr(transformers, f"{made.kind}Config")(**made.given, attn_implementation="eager")
    options = {"add_pooling_layer": False} if bare else {}
    theirs = getattr(transformers, f"{made.kind}{head}")(given, **options).eval()
    random = torch.Generator().manual_seed(len(name))
    with (
        torch.no_grad()
    ):  # transformers starts with weights near 0, norms of 1 and shifts of 0: they would hide
        for parameter in theirs.parameters():
            spread = 1.3 / parameter.shape[-1] ** 0.5 if parameter.ndim > 1 else 0.7
            parameter.copy_(torch.randn(parameter.shape, generator=random) * spread)
    traits = LLAMA_TRAITS if made.given.get("head_dim") else WIDE_TRAITS
    config = Config(
        architecture=made.kind.lower(),
        vocab_size=VOCABULARY,
        context_length=CONTEXT,
        norm_epsilon=0.03,
        **traits | made.traits,
    )
    return theirs, Model(name, Path(), config, flat(theirs.state_dict(), made, config), {})


def flat(state: dict[str, Any], made: Made, config: Config) -> np.ndarray:
    """Lay the weights out in riverhead's order."""
    prefix, block_names, names = PLACES[made.kind]
    parts = []
    for name, shape in layout(config):
        layer, _, own = name.rpartition(".")
        if own == "rope_divisors":
            array = np.array(made.divisors, np.float32)
        elif layer:
            array = np.concatenate(
                [state[f"{prefix}.{layer}.{theirs}"].numpy() for theirs in block_names[own]]
            )
        else:
            array = state[names[name]].numpy()
        if made.kind == "GPT2" and layer and own.startswith("W_"):  # Conv1D lies as (in, out)
            array = array.T
        assert array.shape == shape, name
        parts.append(array.ravel())
    return np.concatenate(parts)
