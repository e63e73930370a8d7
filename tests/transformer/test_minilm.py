"""MiniLM, the real BERT: transformers' numbers from the same file, and what it is for."""

from __future__ import annotations

import numpy as np
import pytest

from riverhead.errors import InputError
from riverhead.transformer import Model

pytestmark = pytest.mark.model

TEXTS = ["The river bank flooded.", "She paid the money into her bank account."]


@pytest.mark.oracle
def test_every_number_is_transformers(minilm: Model) -> None:
    torch = pytest.importorskip("torch", reason="MiniLM beside transformers: needs the [oracle] extra")
    transformers = pytest.importorskip("transformers", reason="needs the [oracle] extra")
    original = minilm.folder / "original"
    theirs = transformers.BertModel.from_pretrained(original, attn_implementation="eager").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(original)
    for text in TEXTS:
        reading, ids = minilm.read(text), tokenizer(text, return_tensors="pt")
        assert list(reading.token_ids) == ids["input_ids"][0].tolist()
        with torch.inference_mode():
            seen = theirs(**ids, output_attentions=True, output_hidden_states=True)
        # vectors of 384 numbers up to 10, through six blocks: √(6·2·1536) roundings of 10·2⁻²⁴ are 8e-5
        for ours, stream in zip(reading.streams, seen.hidden_states, strict=True):
            np.testing.assert_allclose(ours, stream[0], rtol=0, atol=1e-4)
        for layer, weights in enumerate(seen.attentions):
            ours = np.stack([reading.head((layer, head)).weights for head in range(12)])
            np.testing.assert_allclose(ours, weights[0], rtol=0, atol=1e-5)


def test_bank_looks_at_the_word_that_comes_after_it(minilm: Model) -> None:
    reading = minilm.read(TEXTS[0])
    bank, flooded = reading.tokens.index("bank"), reading.tokens.index("flooded")
    weights = [reading.head((5, head)).weights[bank, flooded] for head in range(12)]
    assert max(weights) > 0.1
    worked = reading.derivation("L5.H0", focus="bank")
    assert worked.given.keys == reading.tokens
    np.testing.assert_allclose(worked["weights"].array[0, 0], reading.head("L5.H0").weights[bank], atol=1e-6)


def test_it_predicts_no_next_token(minilm: Model) -> None:
    with pytest.raises(InputError, match="predicts no next token: it has no odds to give"):
        minilm.read(TEXTS[0]).next_token()
    with pytest.raises(InputError, match="513 tokens, minilm reads at most 512; nothing was cut"):
        minilm.read("bank " * 511)
    assert len(minilm.read("bank " * 510).tokens) == 512
