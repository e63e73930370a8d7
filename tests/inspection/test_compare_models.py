"""A word in two models, against plain loops over whole weight matrices and vectors."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from plain_loops import CLOSE, A, B, plain_change, plain_cosine, plain_odds, plain_row
from small_model import SmallTokenizer, small_model

from riverhead.errors import InputError
from riverhead.inspection.comparing_models import compare_models
from riverhead.inspection.comparison import Comparison
from riverhead.inspection.habit import habit_of, silent
from riverhead.scene import Text


def folder(parent: Path, name: str) -> Path:
    (parent / name).mkdir()
    return parent / name


def test_two_models_of_one_shape_are_compared_head_by_head(tmp_path: Path, plain: str) -> None:
    one, other = small_model(folder(tmp_path, "a")), small_model(folder(tmp_path, "b"), seed=1)
    found = compare_models(one, other, B, word="bank")
    assert found.same is not None
    for head in found.same.heads:
        (a, _), (b, _) = (plain_row(model, B, "bank", head.at) for model in (one, other))
        assert (head.change, head.alone) == pytest.approx(plain_change(a, b), abs=CLOSE)
    x, y = one.read(B), other.read(B)
    i = x.tokens.index(" bank")
    cosines = [plain_cosine(s[i], t[i]) for s, t in zip(x.streams, y.streams, strict=True)]
    assert [layer.cosine for layer in found.same.layers] == pytest.approx(cosines, abs=CLOSE)
    assert found.odds is not None
    assert found.odds.kl_nats is not None
    assert found.rows() == found.same.rows()
    assert found.sorted("layer").same.heads[0].head == "L0.H0"


def test_a_model_beside_itself_differs_in_nothing(tmp_path: Path, plain: str) -> None:
    one = small_model(tmp_path)
    found = compare_models(one, one, A)
    assert {head.change for head in found.same.heads} == {0}
    assert found.odds.kl_nats == (0, 0)
    assert all(row.sides[0] == row.sides[1] for row in found.words)


def test_models_of_two_kinds_are_compared_word_by_word(tmp_path: Path, plain: str) -> None:
    text = "the tall neighbour sold a bank, it likes it"
    one = small_model(folder(tmp_path, "a"))
    other = small_model(folder(tmp_path, "b"), architecture="bert", n_layers=2)
    found = compare_models(one, other, text, word="bank")
    assert found.same is None
    assert found.odds is None
    assert [looked.text for looked in found.words] == (
        ["(first token)", "tall", "neighbour", "sold", "a", "bank", "it", "likes", "it"]
    )
    for n, model in enumerate((one, other)):
        reading = model.read(text)
        i, at = reading.tokens.index(" bank"), reading.tokens.index(" neighb")
        assert reading.tokens[at + 1] == "our"
        habit = habit_of(model, len(reading.tokens), silent).rows(np.array([i]))[:, :, 0, at : at + 2]
        weight = {
            (layer, head): float(reading.head((layer, head)).weights[i, at : at + 2].sum())
            for layer in range(model.config.n_layers)
            for head in range(model.config.n_heads)
        }
        best = max(weight, key=lambda key: weight[key] - habit[key].sum())
        looked = found.words[2].sides[n]
        assert looked is not None
        assert looked.mean == pytest.approx(math.fsum(weight.values()) / len(weight), abs=CLOSE)
        assert looked.head == f"L{best[0]}.H{best[1]}"
        assert (looked.weight, looked.habit) == pytest.approx((weight[best], habit[best].sum()), abs=CLOSE)
        stream = [x[i] for x in reading.streams]
        cosines = [plain_cosine(stream[0], x) for x in stream]
        assert found.sides[n].from_start == pytest.approx(cosines, abs=CLOSE)
    assert [row.sides[0] is None for row in found.words] == [False] * 6 + [True] * 3
    assert "small is causal: bank cannot see it" in found.notes
    assert json.dumps(found.to_dict(), allow_nan=False)
    assert [row["mean_a"] is None for row in found.rows()] == [False] * 6 + [True] * 3
    assert "Which heads changed" not in str(found)


class Exact(SmallTokenizer):
    """Knows each of its ``size`` tokens by its piece, and no other."""

    def __init__(self, size: int) -> None:
        super().__init__(opens=False)
        self.size = size

    def id_of(self, token: str) -> int:
        pieces = self.pieces(range(self.size))
        if token not in pieces:
            raise InputError(f"{token} is no token")
        return pieces.index(token)


def test_where_vocabularies_differ_there_is_no_kl(tmp_path: Path, plain: str) -> None:
    one, other = (
        small_model(folder(tmp_path, "a"), seed=3),
        small_model(folder(tmp_path, "b"), vocab_size=149),
    )
    for model in (one, other):
        model.__dict__["tokenizer"] = Exact(model.config.vocab_size)
    found = compare_models(one, other, A)
    assert found.odds is not None
    assert found.odds.kl_nats is None
    p, q = plain_odds(one, A), plain_odds(other, A)
    pieces = other.tokenizer.pieces(range(149))
    for token, in_a, in_b in found.odds.rows:
        i = pieces.index(token)
        assert in_b == pytest.approx(q[i], rel=CLOSE)
        assert in_a == (pytest.approx(p[i], rel=CLOSE) if i < 101 else None)
    assert None in {in_a for _, in_a, _ in found.odds.rows}
    assert any("no KL can be taken" in note for note in found.notes)


def test_the_sheet_of_two_models_names_both(tmp_path: Path, plain: str) -> None:
    one = small_model(folder(tmp_path, "a"))
    found = compare_models(one, small_model(folder(tmp_path, "b"), n_layers=2), A)
    texts = [part for part in found.scene().parts if isinstance(part, Text)]
    assert texts[0].runs == (A,)
    assert texts[1].runs == ("A: small, 3 layers of 10 heads, 5 tokens",)
    assert texts[2].runs == ("B: small, 2 layers of 10 heads, 5 tokens",)
    assert isinstance(found, Comparison) is False
    with pytest.raises(InputError, match="the text has no word with another before it"):
        compare_models(one, one, "bank")


def test_models_that_cut_a_text_differently_have_no_heads_in_common(tmp_path: Path, plain: str) -> None:
    one, other = small_model(folder(tmp_path, "a")), small_model(folder(tmp_path, "b"))
    other.__dict__["tokenizer"] = SmallTokenizer(opens=True)
    found = compare_models(one, other, A)
    assert found.same is None
    assert any("different tokens" in note for note in found.notes)
