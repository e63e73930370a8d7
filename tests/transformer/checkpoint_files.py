"""Hugging Face folders written by hand: random tensors in safetensors, a config, a tokenizer of few words."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

CONFIG = {  # of a Llama with one layer, every axis another prime or its double
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "num_hidden_layers": 1,
    "num_attention_heads": 3,
    "num_key_value_heads": 1,
    "hidden_size": 5,
    "head_dim": 14,
    "intermediate_size": 17,
    "vocab_size": 11,
    "max_position_embeddings": 29,
    "rms_norm_eps": 0.01,
    "tie_word_embeddings": True,
}
SHAPES = {
    "model.embed_tokens.weight": (11, 5),
    "model.layers.0.input_layernorm.weight": (5,),
    "model.layers.0.self_attn.q_proj.weight": (42, 5),
    "model.layers.0.self_attn.k_proj.weight": (14, 5),
    "model.layers.0.self_attn.v_proj.weight": (14, 5),
    "model.layers.0.self_attn.o_proj.weight": (5, 42),
    "model.layers.0.post_attention_layernorm.weight": (5,),
    "model.layers.0.mlp.gate_proj.weight": (17, 5),
    "model.layers.0.mlp.up_proj.weight": (17, 5),
    "model.layers.0.mlp.down_proj.weight": (5, 17),
    "model.norm.weight": (5,),
}
WORDS = ["[UNK]", "[CLS]", "[SEP]", "the", "river", "bank", "flood", "##ed", ",", "a", "b"]


def tensors(seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.standard_normal(shape, np.float32) for name, shape in SHAPES.items()}


def header(entries: dict[str, Any]) -> bytes:
    text = json.dumps(entries).encode()
    return len(text).to_bytes(8, "little") + text


def safetensors(arrays: dict[str, np.ndarray], dtype: str = "F32") -> bytes:
    """The file's bytes, by the format's own text; BF16 cuts a float32 in half."""
    kinds = {"F32": "<f4", "F16": "<f2", "F64": "<f8", "BF16": "<f4"}
    entries, data = {"__metadata__": {"format": "pt"}}, b""
    for name, array in arrays.items():
        own = array.astype(kinds[dtype])
        raw = (own.view("<u4") >> 16).astype("<u2").tobytes() if dtype == "BF16" else own.tobytes()
        entries[name] = {
            "dtype": dtype, "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)]
        }  # fmt: skip
        data += raw
    return header(entries) + data


def wordpiece() -> tokenizers.Tokenizer:
    backend = tokenizers.Tokenizer(
        models.WordPiece({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    backend.add_special_tokens(["[UNK]", "[CLS]", "[SEP]"])
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return backend


def write_folder(
    folder: Path,
    arrays: dict[str, np.ndarray] | None = None,
    *,
    dtype: str = "F32",
    n_shards: int = 1,
    **changes: Any,
) -> Path:
    """Write a whole folder; a change of the config to ``...`` takes the field away."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {name: value for name, value in (CONFIG | changes).items() if value is not ...}
    (folder / "config.json").write_text(json.dumps(config))
    wordpiece().save(str(folder / "tokenizer.json"))
    arrays = tensors() if arrays is None else arrays
    if n_shards == 1:
        (folder / "model.safetensors").write_bytes(safetensors(arrays, dtype))
        return folder
    places, names = {}, list(arrays)
    step = math.ceil(len(names) / n_shards)
    for n in range(n_shards):
        shard = f"model-{n + 1:05}-of-{n_shards:05}.safetensors"
        own = names[n * step : (n + 1) * step]
        (folder / shard).write_bytes(safetensors({name: arrays[name] for name in own}, dtype))
        places |= dict.fromkeys(own, shard)
    write_index(folder, places)
    return folder


def write_index(folder: Path, places: Any) -> None:
    index = {"metadata": {}, "weight_map": places}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
