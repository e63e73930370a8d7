"""The models known by name: their sizes give the parameter counts that others print."""

from __future__ import annotations

import pytest

from riverhead.cost.known import Known, known, known_models, sized
from riverhead.cost.parameters import parameters
from riverhead.errors import InputError, ModelError

BY_NAME = pytest.mark.parametrize("model", known_models().values(), ids=lambda model: model.name)


def n_parameters(model: Known) -> int:
    return sum(part.value or 0 for part in parameters(model.config))


@BY_NAME
def test_counts_are_the_published_ones_or_said_to_differ(model: Known) -> None:
    assert (n_parameters(model) == model.published) == (not model.note)


@BY_NAME
def test_a_source_is_an_address(model: Known) -> None:
    assert model.source.startswith("https://")
    assert model.published_at.startswith("https://")


def test_a_note_says_the_difference() -> None:
    """What the notes say, worked out apart: buffers, and a count of four digits."""
    assert (
        known("minilm").published - n_parameters(known("minilm")) == known("minilm").config.n_positions == 512
    )
    for name, n_layers in (("llama-2-13b", 40), ("llama-2-70b", 80)):
        config = known(name).config
        assert known(name).published - n_parameters(known(name)) == n_layers * config.d_k // 2
        assert f"{n_layers * config.d_k // 2:,} more" in known(name).note
    assert round(n_parameters(known("gpt3-175b")) / 1e8) * 10**8 == known("gpt3-175b").published


@pytest.mark.parametrize(
    ("called", "name"),
    [
        ("llama-3-8b", "llama-3-8b"),
        ("Llama 3 8B", "llama-3-8b"),
        ("LLAMA_3_8B", "llama-3-8b"),
        ("SmolLM2-135M", "smollm2"),
        ("GPT-2 small", "gpt2"),
        ("meta-llama/Meta-Llama-3-8B", "llama-3-8b"),
        ("sentence-transformers/all-MiniLM-L6-v2", "minilm"),
    ],
)
def test_what_a_model_is_called(called: str, name: str) -> None:
    assert known(called).name == name


def test_no_two_models_are_called_the_same() -> None:
    for model in known_models().values():
        assert known(model.name) is known(model.title) is model


def test_nearest_names_are_suggested() -> None:
    with pytest.raises(InputError, match="'lama3-8'; nearest: llama-3-8b,"):
        known("lama3-8")
    with pytest.raises(InputError, match="'zzz'; known: gpt2, gpt2-medium,"):
        known("zzz")
    with pytest.raises(InputError, match="no known model is named ''"):
        known("")


def test_sizes_that_are_missing_are_those_of_plain_attention() -> None:
    config = sized({"n_layers": 3, "n_heads": 5, "d_model": 35, "vocab_size": 11, "window": 13})
    assert (config.n_kv_heads, config.d_k, config.d_v, config.d_ff) == (5, 7, 7, 140)
    assert config.windows == (13, 13, 13)
    assert sized({"n_layers": 3, "n_heads": 5, "d_model": 35, "vocab_size": 11, "window": 0}).windows == ()


@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        ({"n_heads": 4, "d_model": 30}, InputError, "d_model 30 is no multiple of n_heads 4; give d_k"),
        ({"n_heads": 0, "d_model": 30}, ModelError, "n_heads is 0"),
        ({"n_heads": 4}, ModelError, "missing .*'d_model'"),
        (
            {"n_heads": 5, "d_model": 30, "n_kv_heads": 3},
            ModelError,
            "n_heads 5 is no multiple of n_kv_heads",
        ),
        ({"n_heads": 5, "d_model": 30, "n_layers": 10**12, "window": 7}, InputError, "up to 65536 layers"),
    ],
)
def test_sizes_that_cannot_be(fields: dict[str, int], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        sized({"n_layers": 2, "vocab_size": 11} | fields)
