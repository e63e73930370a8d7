"""Tiny random models, and what the statistics of a matrix of weights are, for the tests of `watch`."""

from __future__ import annotations

from typing import Any

import numpy as np

EPS = float(np.finfo(np.float32).eps)
SMALL = {
    "vocab_size": 37,
    "hidden_size": 32,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": None,
}
BART = {
    "vocab_size": 37,
    "d_model": 30,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 6,
    "decoder_attention_heads": 6,
    "encoder_ffn_dim": 31,
    "decoder_ffn_dim": 31,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "bos_token_id": 2,
    "decoder_start_token_id": 2,
}
T5 = {
    "vocab_size": 37,
    "d_model": 30,
    "d_kv": 5,
    "d_ff": 31,
    "num_layers": 2,
    "num_heads": 6,
    "pad_token_id": 0,
}
GPT2 = {"vocab_size": 37, "n_embd": 30, "n_layer": 2, "n_head": 6, "n_positions": 64, "bos_token_id": 1}
CAPPED = {"attn_logit_softcapping": 0.5, "sliding_window": 5, "query_pre_attn_scalar": 3}
EXPERTS = {"num_local_experts": 2, "num_experts_per_tok": 1, "sliding_window": 5}
BERT = {**SMALL, "num_key_value_heads": None, "head_dim": None, "eos_token_id": 2}
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("LlamaForCausalLM", SMALL),
    "mistral": ("MistralForCausalLM", SMALL | {"sliding_window": 5}),
    "qwen3": ("Qwen3ForCausalLM", SMALL),
    "gemma2": ("Gemma2ForCausalLM", SMALL | CAPPED),
    "gpt_oss": ("GptOssForCausalLM", SMALL | EXPERTS),
    "gpt2": ("GPT2LMHeadModel", GPT2 | {"eos_token_id": 2}),
    "bert": ("BertModel", {name: x for name, x in BERT.items() if x is not None}),
    "t5": ("T5ForConditionalGeneration", T5 | {"decoder_start_token_id": 0, "eos_token_id": 1}),
    "bart": ("BartForConditionalGeneration", BART),
}


def model_of(kind: str, implementation: str = "sdpa", seed: int = 0) -> Any:
    """A model of the kind, whose weights are large enough for its attention to be uneven."""
    import torch
    import transformers

    name, options = KINDS[kind]
    cls = getattr(transformers, name)
    torch.manual_seed(seed)
    model = cls(cls.config_class(**options)).eval()
    for weight in model.parameters():
        if weight.ndim > 1:
            torch.nn.init.normal_(weight, std=0.3)
    model.set_attn_implementation(implementation)
    return model


def ids(*shape: int, seed: int = 0) -> Any:
    import torch

    return torch.randint(3, 37, shape, generator=torch.Generator().manual_seed(seed))


def measures(weights: Any, offset: int = 0) -> dict[str, np.ndarray]:
    """Of weights (..., T_q, T_k), every statistic by name; query i stands at key i + offset."""
    w = np.asarray(weights, np.float64)
    T_q, T_k = w.shape[-2:]
    i, j = np.arange(T_q)[:, None] + offset, np.arange(T_k)

    def on(places: np.ndarray) -> np.ndarray:
        return np.where(places == j, w, 0).sum(axis=-1)

    first = (w > 0).argmax(axis=-1)
    return {
        "entropy_nats": -(w * np.log(np.where(w > 0, w, 1))).sum(axis=-1),
        "mean_distance": (w * abs(i - j)).sum(axis=-1),
        "max_weight": w.max(axis=-1),
        "first_weight": np.take_along_axis(w, first[..., None], -1)[..., 0],
        "self_weight": on(i),
        "previous_weight": on(i - 1),
        "received": w.sum(axis=-2),
        "received_max": w.max(axis=-2),
    }


def bound(weights: Any, score: float = 16.0) -> float:
    """How far two float32 ways may be apart, of sums over a row or a column, or of distances.

    A score is off by a few roundings of itself, and a weight by as much of its own size; no score of these
    models is larger than ``score``, and no sum or distance larger than the longer side.
    """
    return 8 * EPS * score * max(np.shape(weights)[-2:])


def agree(call: Any, weights: Any, offset: int = 0) -> None:
    """Every statistic of a record is that of ``weights`` (B, H, T_q, T_k)."""
    for name, expected in measures(weights, offset).items():
        np.testing.assert_allclose(
            call.statistics[name], expected, rtol=0, atol=bound(weights), err_msg=f"{call.module}: {name}"
        )


def agree_on_own(call: Any, weights: Any) -> None:
    """Every statistic of each sequence's own tokens is that of its own square of ``weights``."""
    for item, (low, high) in enumerate(call.spans):
        own = np.asarray(weights)[item, :, low:high, low:high]
        for name, expected in measures(own).items():
            found = call.statistics[name][item]
            np.testing.assert_allclose(found[:, low:high], expected, rtol=0, atol=bound(own), err_msg=name)
            outside = np.delete(found, np.s_[low:high], axis=-1)
            assert not outside.any()
