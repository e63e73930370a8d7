from __future__ import annotations

from typing import Any

import pytest

from riverhead.cost import Config
from riverhead.errors import ModelError

TINY = {
    "architecture": "llama",
    "n_layers": 2,
    "n_heads": 15,
    "n_kv_heads": 3,
    "d_model": 13,
    "d_k": 14,
    "d_v": 11,
    "d_ff": 17,
    "vocab_size": 263,
    "context_length": 29,
    "rope_base": 19.0,
    "norm_epsilon": 0.03,
    "tied_embeddings": False,
}


def test_plain_data_round_trip() -> None:
    config = Config.from_dict(TINY)
    assert config.to_dict().items() >= TINY.items()
    assert Config.from_dict(config.to_dict()) == config
    assert config.group == 5


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("n_layers", 0, "n_layers is 0, it has to be a whole number of at least 1"),
        ("d_ff", 17.0, "d_ff is 17.0, it has to be a whole number"),
        ("d_k", True, "d_k is True"),
        ("rope_base", float("inf"), "rope_base is inf, it has to be a finite number above 0"),
        ("norm_epsilon", -1e-5, "norm_epsilon is -1e-05"),
        ("tied_embeddings", 1, "tied_embeddings is 1, it has to be true or false"),
        ("architecture", "", "architecture is '', it has to be a name"),
        ("rope_base", 0, "rope_base is 0, it has to be a finite number above 0, or none"),
        ("n_positions", -1, "n_positions is -1, it has to be a whole number of at least 0"),
        ("norm", "batch", "norm is 'batch', it has to be one of rms, layer"),
        ("windows", [7, -1], r"windows is \(7, -1\), it has to be whole numbers of at least 0"),
        ("windows", [7], "windows are 1, there are n_layers 2"),
        ("n_kv_heads", 4, "n_heads 15 is no multiple of n_kv_heads 4"),
    ],
)
def test_what_describes_no_model(name: str, value: Any, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        Config.from_dict({**TINY, name: value})


def test_fields_are_all_there_and_no_others() -> None:
    with pytest.raises(ModelError, match=r"missing \['d_k'\], unknown \['d_head'\]"):
        Config.from_dict({("d_head" if name == "d_k" else name): value for name, value in TINY.items()})


def test_a_window_of_0_is_none() -> None:
    config = Config.from_dict({**TINY, "windows": [0, 7]})
    assert (config.window(0), config.window(1)) == (None, 7)
    assert config.attention(1) == {"scale": 14**-0.5, "causal": True, "window": 7}
