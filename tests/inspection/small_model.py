"""A whole model with random weights, a different prime for every axis, and the fake model's tokenizer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from fake_model import FakeTokenizer

from riverhead.cost import Config
from riverhead.transformer import Model
from riverhead.transformer.bert import TRAITS as BERT
from riverhead.transformer.layout import n_numbers

SIZES = {
    "n_layers": 3,
    "n_heads": 10,
    "n_kv_heads": 5,
    "d_model": 13,
    "d_k": 14,
    "d_v": 7,
    "d_ff": 17,
    "vocab_size": 101,
    "context_length": 61,
    "norm_epsilon": 0.01,
}
EOS = 97


class SmallTokenizer(FakeTokenizer):
    """The fake model's, with the end of a text, and any id spelled."""

    bos_id, eos_id, chat_template = None, EOS, "{{ messages[0].content }}<s>"

    def spelled(self, token_id: int) -> bytes:
        return self.pieces([token_id])[0].encode()

    def id_of(self, token: str) -> int:
        return self.ids(token)[0]


def small_model(folder: Path, seed: int = 0, **traits: Any) -> Model:
    """Make a Llama, or with ``architecture="bert"`` a model that predicts nothing."""
    traits = {"architecture": "llama", "rope_base": 19.0} | traits
    if traits["architecture"] == "bert":
        traits |= BERT | {"rope_base": None, "n_positions": 61, "n_segments": 2, "n_kv_heads": 10}
    config = Config(**SIZES | traits)
    flat = np.random.default_rng(seed).standard_normal(n_numbers(config), np.float32) * np.float32(0.4)
    model = Model("small", folder, config, flat, {})
    model.__dict__["tokenizer"] = SmallTokenizer(opens=False)
    return model
