"""A model that sees both ways and predicts nothing says so; windows and streams as a reading shows them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riverhead
from riverhead.core.equation import attention
from riverhead.cost import Config
from riverhead.errors import InputError, ModelError
from riverhead.inspection import block_scene, head_derivation
from riverhead.scene import Table
from riverhead.transformer import Model, Reading
from riverhead.transformer.layout import n_numbers

TEXT = "the bank by the river bank"
BASE: dict[str, Any] = {
    "n_layers": 3,
    "n_heads": 3,
    "n_kv_heads": 3,
    "d_model": 15,
    "d_k": 14,
    "d_v": 5,
    "d_ff": 17,
    "vocab_size": 11,
    "context_length": 13,
    "norm_epsilon": 0.03,
}
LAYERED = {"norm": "layer", "gated": False, "n_positions": 13, "qkv_bias": True, "out_bias": True}
CONFIGS = {
    "llama": Config(**BASE, architecture="llama", rope_base=19.0),
    "mistral": Config(**BASE, architecture="mistral", rope_base=19.0, windows=(2, 0, 3)),
    "qwen3": Config(**BASE, architecture="qwen3", rope_base=19.0, qk_norm=True),
    "gpt2": Config(**BASE, **LAYERED, architecture="gpt2", activation="gelu_tanh"),
    "bert": Config(
        **BASE,
        **LAYERED,
        architecture="bert",
        activation="gelu",
        causal=False,
        norm_after=True,
        n_segments=2,
        embedding_norm=True,
        final_norm=False,
        predicts=False,
    ),
}


class Words:
    """Every word is a token."""

    eos_id = bos_id = None
    special_ids: frozenset[int] = frozenset()
    chat_template = None

    def __init__(self) -> None:
        self.known = ["", *sorted(set(TEXT.split()))]

    def ids(self, text: str, *, add_bos: bool = True) -> list[int]:
        return [self.known.index(word) for word in text.split()]

    def offsets(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        places, end = [], 0
        for word in text.split():
            start = text.index(word, end)
            end = start + len(word)
            places.append((start, end))
        return self.ids(text), places

    def spelled(self, token_id: int) -> bytes:
        return self.known[token_id].encode()

    def pieces(self, token_ids: Any) -> tuple[str, ...]:
        return tuple(self.known[i] for i in token_ids)


def model_of(name: str) -> Model:
    config = CONFIGS[name]
    flat = np.random.default_rng(7).standard_normal(n_numbers(config), np.float32) / 3
    model = Model(name, Path(), config, flat, {})
    model.__dict__["tokenizer"] = Words()
    return model


@pytest.fixture(scope="module", params=CONFIGS)
def reading(request: pytest.FixtureRequest) -> Reading:
    return model_of(request.param).read(TEXT)


def test_streams_are_what_comes_into_each_block_and_out_of_the_last(reading: Reading) -> None:
    model, c = reading.model, reading.model.config
    run = model.run([reading.token_ids], keep=True)
    assert len(reading.streams) == c.n_layers + 1
    for stream, x in zip(reading.streams, (*run.x, run.final), strict=True):
        np.testing.assert_array_equal(stream, x[0])
    for layer, block in enumerate(reading.blocks):
        np.testing.assert_array_equal(block.x, reading.streams[layer])
        np.testing.assert_array_equal(block.out, reading.streams[layer + 1])


def test_parts_add_up_to_the_stream_after_the_block(reading: Reading) -> None:
    c = reading.model.config
    for layer, block in enumerate(reading.blocks):
        W = reading.model.weights.blocks[layer]

        def normed(x: np.ndarray, gain: np.ndarray, shift: np.ndarray | None) -> np.ndarray:
            x = x.astype(np.float64)
            if shift is None:
                return x
            x = x - x.mean(-1, keepdims=True)
            return x / np.sqrt((x**2).mean(-1, keepdims=True) + c.norm_epsilon) * gain + shift

        assert block.norm_after is c.norm_after
        if c.norm_after:
            middle = normed(block.x + block.attention, W.attention_gain, W.attention_shift)
            out = normed(middle + block.feed_forward, W.feed_forward_gain, W.feed_forward_shift)
        else:
            out = block.x.astype(np.float64) + block.attention + block.feed_forward
        # three float32 roundings, and a norm of 15 terms, of numbers up to 30
        np.testing.assert_allclose(block.out, out, rtol=0, atol=30 * 20 * 2.0**-24)
        assert ("gate" in block.shapes) is c.gated
        assert block.shapes["up"] == (6, 17)


def test_heads_see_what_their_layer_lets_them_see(reading: Reading) -> None:
    c = reading.model.config
    for layer in range(c.n_layers):
        head = reading.head((layer, 1))
        i, j = np.indices((6, 6))
        far = i - j if c.causal else np.abs(i - j)
        seen = (far >= 0) & (far < (c.window(layer) or 6))
        np.testing.assert_array_equal(head.weights > 0, seen)
        for query in range(6):
            np.testing.assert_array_equal(np.flatnonzero(seen[query]), np.arange(6)[head.seen(query)])


@pytest.mark.parametrize("focus", ["bank", "bank#1", "by"])
def test_a_reading_derives_a_head_as_the_whiteboard_does(reading: Reading, focus: str) -> None:
    found, expected = reading.derivation("L2.H1", focus=focus), head_derivation(reading, "L2.H1", focus)
    assert found.to_json() == expected.to_json()
    head, row = reading.head("L2.H1"), {"bank": 5, "bank#1": 1, "by": 2}[focus]
    q, k, v = (x.astype(np.float64) for x in (head.q, head.k, head.v))
    whole = attention(q, k, v, causal=head.causal, window=head.window)
    assert found.given.keys == reading.tokens[head.seen(row)]
    np.testing.assert_allclose(found["weights"].array[0, 0], whole.weights[row, head.seen(row)], rtol=1e-12)


def test_what_is_loaded_derives_too(
    llama_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIVERHEAD_CACHE", str(tmp_path))
    reading = riverhead.load(llama_file).read("the ab, the 1")
    assert reading.derivation("L1.H4", focus="ab").title == "L1.H4"
    with pytest.raises(InputError, match="no word 'bank'"):
        reading.derivation("L1.H4", focus="bank")


def words_of(part: Any) -> list[Any]:
    return [cell for row in part.rows for cell in row] if isinstance(part, Table) else list(part.runs)


def test_the_sheet_of_a_block_says_what_the_family_does(reading: Reading) -> None:
    c = reading.model.config
    scene = block_scene(reading, reading.block(0))
    sheet = " | ".join(str(cell) for part in scene.parts for cell in words_of(part))
    formula = {
        "bert": "LayerNorm(x + attention(x)), then LayerNorm(that + feed-forward(that))",
        "gpt2": "x + attention(LayerNorm(x)), then + feed-forward(LayerNorm(that))",
    }.get(c.architecture, "x + attention(RMSNorm(x)), then + SwiGLU(RMSNorm(that))")
    assert formula in sheet
    assert ("turned by RoPE" in sheet) is (c.rope_base is not None)
    assert ("normed" in sheet) is c.qk_norm
    assert ("x W_gate through SiLU" in sheet) is c.gated
    assert ("every token sees all others" in sheet) is not c.causal
    assert ("at most 2 tokens are seen, none of them later" in sheet) is (c.architecture == "mistral")


def test_a_model_that_predicts_nothing_says_so_by_name() -> None:
    model = model_of("bert")
    reading = model.read(TEXT)
    words = "bert predicts no next token: it has no odds to give; take a model that does, such as smollm2"
    for ask in (
        lambda: reading.next_token(),
        lambda: reading.logits,
        lambda: reading.logits_at(-1),
        lambda: model.run([[1, 2]]).logits(-1),
        lambda: model.generate(TEXT),  # not at the first token
    ):
        with pytest.raises(InputError) as caught:
            ask()
        assert str(caught.value) == words


def test_a_model_that_sees_both_ways_keeps_no_cache() -> None:
    model = model_of("bert")
    with pytest.raises(InputError, match=r"bert is bidirectional: .* run the whole text at once"):
        model.run([[1, 2]], cache=model.new_cache())


def test_blocks_and_streams_that_do_not_fit() -> None:
    model = model_of("gpt2")
    x = model.embed([[1, 2, 3]])
    assert x.shape == (1, 3, 15)
    with pytest.raises(InputError, match="layer is 3; the model has 3: 0 to 2"):
        model.run_from(3, x)
    with pytest.raises(InputError, match=r"x is \(1, 3, 14\), the residual stream is \(B, T, d_model 15\)"):
        model.run_from(0, x[..., 1:])
    with pytest.raises(InputError, match="14 tokens, gpt2 reads at most 13"):
        model.embed([[1]], offset=13)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("llama", {"architecture": "mamba"}, "architecture 'mamba'; read are llama, mistral, qwen2, qwen3"),
        ("llama", {"norm": "layer"}, "norm is 'layer', in a model of the architecture llama 'rms'"),
        ("gpt2", {"rope_base": 10.0}, "rope_base is 10.0, in a model of the architecture gpt2 None"),
        ("bert", {"causal": True}, "causal is True, in a model of the architecture bert False"),
    ],
)
def test_a_config_that_no_family_can_have_is_refused(name: str, change: dict, words: str) -> None:
    config = replace(CONFIGS[name], **change)
    with pytest.raises(ModelError, match=words):
        Model("odd", Path(), config, np.zeros(n_numbers(config), np.float32), {})
