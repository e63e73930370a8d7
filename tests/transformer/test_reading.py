"""What a reading gives: odds, heads, blocks, heads switched off; against the plain float64 loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from llamas import Sizes, bound, plain_forward

from riverhead.errors import InputError
from riverhead.transformer import Model, Reading

TEXT = "the ab, the 1"


@pytest.fixture(scope="module")
def reading(llama: Model) -> Reading:
    return llama.read(TEXT)


@pytest.fixture(scope="module")
def expected(reading: Reading, tensors: dict[str, np.ndarray], sizes: Sizes) -> dict[str, np.ndarray]:
    return plain_forward(tensors, sizes, list(reading.token_ids))


def close(found: np.ndarray, expected: np.ndarray) -> None:
    atol = bound(Sizes(), expected.shape[0], float(np.abs(expected).max()))
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


def test_tokens_and_logits(reading: Reading, expected: dict[str, np.ndarray]) -> None:
    assert reading.tokens == ("t", "he", " ", "ab", ",", " the", " ", "1")
    close(reading.logits, expected["logits"])
    close(reading.logits_at([0, -1]), expected["logits"][[0, -1]])
    close(reading.logits_at(-1), expected["logits"][-1])


def test_next_token_is_a_probability(reading: Reading, expected: dict[str, np.ndarray]) -> None:
    odds = [math.exp(logit) for logit in expected["logits"][-1]]
    best = sorted(range(263), key=lambda i: -odds[i])
    found = reading.next_token(7)
    assert [piece for piece, _ in found] == list(reading.model.tokenizer.pieces(best[:7]))
    # a logit that is off by e moves a probability by a factor of e at most
    off = 2 * bound(Sizes(), 8, float(np.abs(expected["logits"]).max()))
    assert [p for _, p in found] == pytest.approx([odds[i] / sum(odds) for i in best[:7]], rel=off)
    assert sum(p for _, p in reading.next_token(263)) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("name", ["L0.H0", "L1.H7", (1, 14)])
def test_a_head_computed_on_demand(reading: Reading, expected: dict[str, np.ndarray], name) -> None:
    head = reading.head(name)
    weights, out = expected[f"weights{head.layer}"][head.head], expected[f"out{head.layer}"][head.head]
    close(head.weights, weights)
    close(head.out, out)
    assert np.array_equal(head.weights[0], [1] + [0] * 7)
    scores = head.scale * (head.q @ head.k.T)[-1]
    close(np.exp(scores) / np.exp(scores).sum(), weights[-1])
    close(head.weights @ head.v, out)
    assert head.kv_head == head.head // 5
    assert (head.q.shape, head.k.shape, head.v.shape) == ((8, 14), (8, 14), (8, 11))
    assert head.tokens == reading.tokens


def test_heads_are_kept_while_they_are_looked_at(reading: Reading) -> None:
    assert reading.head("L1.H7") is reading.head((1, 7))
    assert reading.head("l1.h7").name == "L1.H7"


def test_without_switches_heads_off(reading: Reading, tensors: dict[str, np.ndarray], sizes: Sizes) -> None:
    ids, off = list(reading.token_ids), frozenset({(0, 2), (1, 5)})
    less = reading.without("L0.H2").without((1, 5))
    assert less.off == off
    assert reading.off == frozenset()
    expected = plain_forward(tensors, sizes, ids, off)
    close(less.logits, expected["logits"])
    close(less.block(1).attention, expected["attention1"])
    close(less.head("L1.H6").weights, expected["weights1"][6])


def test_blocks_add_up(reading: Reading, expected: dict[str, np.ndarray], sizes: Sizes) -> None:
    first, second = reading.blocks
    assert (first.layer, second.layer) == (0, 1)
    for block in (first, second):
        close(block.x, expected[f"x{block.layer}"])
        close(block.attention, expected[f"attention{block.layer}"])
        close(block.feed_forward, expected[f"feed_forward{block.layer}"])
    close(first.out, expected["x1"])
    close(second.out, expected["final"])
    assert list(second.norms()) == ["x", "attention", "feed_forward", "out"]
    close(second.norms()["x"], np.sqrt((expected["x1"] ** 2).sum(axis=1)))
    expected_shapes = {
        "x": (8, 13),
        "q": (15, 8, 14),
        "k": (3, 8, 14),
        "v": (3, 8, 11),
        "weights": (15, 8, 8),
        "out": (15, 8, 11),
        "attention": (8, 13),
        "gate": (8, 17),
        "up": (8, 17),
        "feed_forward": (8, 13),
    }
    assert list(second.shapes.items()) == list(expected_shapes.items())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("L2.H0", "L2.H0: layer 2, the model has 2: L0 to L1"),
        ((0, 15), "L0.H15: head 15, each layer has 15: H0 to H14"),
        ((-1, 0), "L-1.H0: layer -1"),
        ("H0", "'H0' names no head; a head is written L16.H0"),
        ("L1.H²", "names no head"),
        ((1.0, 0), r"\(1.0, 0\) names no head"),
        ((1,), r"\(1,\) names no head"),
    ],
)
def test_heads_that_are_not_there(reading: Reading, name, words: str) -> None:
    with pytest.raises(InputError, match=words):
        reading.head(name)


def test_rows_and_counts_that_are_not_there(reading: Reading) -> None:
    with pytest.raises(InputError, match="rows 8 are asked for, there are 8 tokens"):
        reading.logits_at(8)
    with pytest.raises(InputError, match="n is 0"):
        reading.next_token(0)


@pytest.mark.parametrize("layer", [-1, 2, "1", 1.0, None])
def test_blocks_that_are_not_there(reading: Reading, layer) -> None:
    with pytest.raises(InputError, match=f"block {layer!r}: the model has 2: 0 to 1"):
        reading.block(layer)


def test_texts_that_cannot_be_read(llama: Model) -> None:
    with pytest.raises(InputError, match="the text is NoneType, it has to be a str"):
        llama.read(None)
    with pytest.raises(InputError, match="the text is empty"):
        llama.read("")
    assert len(llama.read("1" * 29).tokens) == 29
    with pytest.raises(InputError, match="30 tokens, tiny reads at most 29; nothing was cut"):
        llama.read("1" * 30)
