"""Heads off, against whole runs one by one, weights zeroed in W_o, and loops over single logits."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest
from small_model import small_model

from riverhead.errors import InputError
from riverhead.inspection import ablation
from riverhead.inspection.ablation import losses_nats, mean_outputs, rank, rank_tokens, without
from riverhead.inspection.reference import windows
from riverhead.render import render
from riverhead.scene import Heatmap
from riverhead.transformer import Model, head_name

TEXT = "The river bank flooded the bank, and the river"
# Logits here reach some 20 and pass through 3 blocks, each a sum of up to H·d_v + 2·d_ff + T terms that round
# once: 20 · 2⁻²⁴ · 3 · 130 is 5e-4 at worst, a hundredth of it as roundings mostly cancel.
CLOSE = 2e-5


@pytest.fixture
def llama(tmp_path: Path, plain: str) -> Model:
    return small_model(tmp_path)


@pytest.fixture
def bert(tmp_path: Path, plain: str) -> Model:
    return small_model(tmp_path, architecture="bert")


def plain_log_odds(logits: np.ndarray) -> list[float]:
    wide = [float(x) for x in logits]
    top = max(wide)
    lse = top + math.log(math.fsum(math.exp(x - top) for x in wide))
    return [x - lse for x in wide]


def plain_effect(model: Model, ids: list[int], without: object) -> tuple[float, float, list[float]]:
    """KL, loss and the loss of each token, from whole runs of one text and float64 loops over its logits."""
    before, after = (
        [plain_log_odds(row) for row in model.run([ids], without=off).logits(slice(None))[0]]
        for off in (None, [without])
    )
    kl = math.fsum(math.exp(p) * (p - q) for p, q in zip(before[-1], after[-1], strict=True))
    losses = [-after[at - 1][ids[at]] for at in range(1, len(ids))]
    return kl, math.fsum(losses) / len(losses), losses


def no_output(model: Model, heads: list[tuple[int, int]]) -> Model:
    """The same model, with zeros in W_o where ``heads`` come in."""
    blocks = list(model.weights.blocks)
    for layer, head in heads:
        W_o = blocks[layer].W_o.copy()
        W_o[head * model.config.d_v : (head + 1) * model.config.d_v] = 0
        blocks[layer] = dataclasses.replace(blocks[layer], W_o=W_o)
    other = small_model(model.folder)
    other.weights = dataclasses.replace(model.weights, blocks=tuple(blocks))
    return other


def test_heads_that_are_off_add_nothing_through_w_o(llama: Model) -> None:
    heads = [(0, 9), (2, 3), (1, 0)]
    effect = without(llama, TEXT, [head_name(*head) for head in heads])
    ids = llama.tokenize(TEXT)
    kl, loss, losses = plain_effect(llama, ids, heads)
    rows = [plain_log_odds(row) for row in no_output(llama, heads).run([ids]).logits(slice(None))[0]]
    assert effect.loss_without_nats == pytest.approx(loss, abs=CLOSE)
    assert [token.loss_without_nats for token in effect.tokens[1:]] == pytest.approx(losses, abs=CLOSE)
    assert losses == pytest.approx([-rows[at - 1][ids[at]] for at in range(1, len(ids))], abs=CLOSE)
    assert effect.kl_nats == pytest.approx(kl, abs=CLOSE)
    assert effect.kl_nats > 0.01
    assert effect.heads == ("L0.H9", "L1.H0", "L2.H3")
    assert effect.vector_change is None


def test_the_loss_with_every_head_is_the_text_s(llama: Model) -> None:
    effect = without(llama, TEXT, ["L0.H0"])
    ids = llama.tokenize(TEXT)
    _, loss, losses = plain_effect(llama, ids, [])
    assert effect.loss_nats == pytest.approx(loss, abs=CLOSE)
    assert effect.tokens[0].loss_nats is None
    assert [token.loss_nats for token in effect.tokens[1:]] == pytest.approx(losses, abs=CLOSE)
    assert [token.token for token in effect.tokens] == list(llama.tokenizer.pieces(ids))
    moved = [abs(token.change) for token in effect.moved_most(3)]
    assert moved == sorted((abs(token.change) for token in effect.tokens[1:]), reverse=True)[:3]


def test_next_tokens_are_the_likeliest_of_both(llama: Model) -> None:
    effect = without(llama, TEXT, ["L0.H1", "L1.H1", "L2.H1"])
    ids = llama.tokenize(TEXT)
    wanted: dict[str, list[float]] = {}
    odds = [
        np.exp(plain_log_odds(llama.run([ids], without=[off]).logits(-1)[0]))
        for off in ([], [(0, 1), (1, 1), (2, 1)])
    ]
    for one in odds:
        for i in sorted(range(101), key=lambda i: -one[i])[:5]:
            wanted[llama.tokenizer.pieces([i])[0]] = [odds[0][i], odds[1][i]]
    found = {token.token: [token.probability, token.probability_without] for token in effect.next_token}
    assert list(found) == list(wanted)
    for token, pair in wanted.items():
        assert found[token] == pytest.approx(pair, abs=CLOSE)


@pytest.mark.parametrize("run_tokens", [1, 50, 2048])
@pytest.mark.parametrize("mode", ["zero", "mean"])
def test_ranking_is_what_each_head_does_alone(
    llama: Model, monkeypatch: pytest.MonkeyPatch, mode: str, run_tokens: int
) -> None:
    monkeypatch.setattr(ablation, "RUN_TOKENS", run_tokens)
    monkeypatch.setattr(ablation, "LOGITS_BYTES", 3 * 4 * 101)  # three rows at once
    ids, shapes, done = llama.tokenize(TEXT), [], []
    run_from = Model.run_from
    monkeypatch.setattr(
        Model, "run_from", lambda self, at, x, **kw: shapes.append(x.shape) or run_from(self, at, x, **kw)
    )
    ranking = rank(llama, TEXT, mode=mode, progress=lambda n, of: done.append((n, of)))
    assert all(B == 1 or run_tokens >= B * T for B, T, _ in shapes if len(ids) == T)
    assert done[-1] == (10 * (3 + 2 + 1), 10 * (3 + 2 + 1))
    assert [head.head for head in ranking.heads] == [head_name(*at) for at in np.ndindex(3, 10)]
    base = plain_effect(llama, ids, [])[1]
    assert ranking.loss_nats == pytest.approx(base, abs=CLOSE)
    means = mean_outputs(llama)
    for head, effect in zip(np.ndindex(3, 10), ranking.heads, strict=True):
        kl, loss, _ = plain_effect(llama, ids, [head] if mode == "zero" else {head: means[head]})
        assert effect.kl_nats == pytest.approx(kl, abs=CLOSE)
        assert effect.loss_change_nats == pytest.approx(loss - base, abs=CLOSE)
    assert max(effect.kl_nats for effect in ranking.heads) > 0.01


def test_a_mean_output_is_that_of_every_token_of_the_reference_text(llama: Model) -> None:
    means = mean_outputs(llama)
    config, outs = llama.config, np.zeros((3, 10, 7))
    ids = windows(llama, config.context_length)[:4]

    def watch(layer: int, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> None:
        q, k, v = (x.astype(np.float64) for x in (q, k, v))
        for item, head, i in np.ndindex(len(ids), 10, ids.shape[1]):
            exps = np.exp(k[item, head // 2, : i + 1] @ q[item, head, i] / math.sqrt(14))
            outs[layer, head] += exps / exps.sum() @ v[item, head // 2, : i + 1] / ids.size

    llama.run(ids, watch=watch)
    assert ids.size > 200
    np.testing.assert_allclose(means, outs, atol=CLOSE)


def test_mean_outputs_are_kept_beside_the_model_and_said_once(llama: Model) -> None:
    said: list[str] = []
    first = without(llama, TEXT, ["L1.H1"], mode="mean", say=said.append)
    again = without(llama, TEXT, ["L1.H1"], mode="mean", say=said.append)
    assert again == first
    assert said == ["mean outputs: plain text in windows of 61 tokens, once for small"]
    assert first.kl_nats != without(llama, TEXT, ["L1.H1"]).kl_nats


def test_losses_are_those_of_the_batch_s_own_items(llama: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = np.array(llama.tokenize(TEXT))
    heads = [[], [(1, 2)], [(0, 0), (2, 9)]]
    monkeypatch.setattr(ablation, "LOGITS_BYTES", 7 * 4 * 101)  # cuts across items
    losses = losses_nats(llama.run(np.tile(ids, (3, 1)), without=heads), ids)
    for item, off in enumerate(heads):
        np.testing.assert_allclose(losses[item], plain_effect(llama, ids.tolist(), off)[2], atol=CLOSE)


def test_a_text_of_one_token_has_odds_and_no_loss(llama: Model) -> None:
    effect, ranking = without(llama, "The", ["L0.H0"]), rank(llama, "The")
    assert (effect.loss_nats, effect.loss_without_nats) == (None, None)
    assert effect.kl_nats > 0
    assert ranking.measured == ("odds",)
    assert "loss, nats" not in render(effect.scene(), "text")
    with pytest.raises(InputError, match=r"by is 'loss'; with this model and text heads are ranked by odds$"):
        ranking.by("loss")


def test_a_model_that_predicts_nothing_has_vectors_that_move_and_no_odds(bert: Model) -> None:
    effect, ids = without(bert, TEXT, ["L2.H4"]), bert.tokenize(TEXT)
    before, after = (bert.run([ids], without=[off]).final[0].astype(np.float64) for off in ([], [(2, 4)]))
    moved = [
        math.sqrt(math.fsum((b - a) ** 2 for a, b in zip(*pair, strict=True)))
        / math.sqrt(math.fsum(a**2 for a in pair[0]))
        for pair in zip(before, after, strict=True)
    ]
    assert [token.vector_change for token in effect.tokens] == pytest.approx(moved, abs=CLOSE)
    assert effect.vector_change == pytest.approx(sum(moved) / len(moved), abs=CLOSE)
    assert (effect.kl_nats, effect.loss_nats, effect.next_token) == (None, None, ())
    ranking = rank(bert, TEXT)
    assert ranking.measured == ("vectors",)
    assert ranking.heads[24].vector_change == pytest.approx(effect.vector_change, abs=CLOSE)
    assert ranking.heads[24].kl_nats is None
    for page in (render(effect.scene(), "text"), render(ranking.scene(), "text")):
        assert "The model predicts no next token" in page
        assert "nats" not in page


def test_ranks_go_by_size_either_way(llama: Model) -> None:
    ranking = rank(llama, TEXT)
    for by, field in (("odds", "kl_nats"), ("loss", "loss_change_nats")):
        sizes = [abs(getattr(head, field)) for head in ranking.by(by)]
        assert sizes == sorted(sizes, reverse=True)
        assert [row["head"] for row in ranking.rows(by)] == [head.head for head in ranking.by(by)]
        page = render(ranking.scene(7, by), "text")
        assert [line.split()[0] for line in page.splitlines() if ".H" in line] == [
            head.head for head in ranking.by(by)[:7]
        ]
        assert "the 7 heads of 30" in page
        (picture,) = (part for part in ranking.scene(7, by).parts if isinstance(part, Heatmap))
        assert [x for layer in picture.values for x in layer] == [
            abs(getattr(head, field)) for head in ranking.heads
        ]
    assert min(head.loss_change_nats for head in ranking.heads) < 0 < ranking.by("odds")[0].kl_nats


def test_the_work_is_the_blocks_that_run_again() -> None:
    blocks = sum(10 * (3 - layer) for layer in range(3))
    config = small_model(Path()).config
    assert rank_tokens(config, 23) == 23 * blocks / 3


@pytest.mark.parametrize(
    ("heads", "mode", "says"),
    [
        ([], "zero", "no head is named"),
        (["L3.H0"], "zero", "the model has 3"),
        (["nine"], "zero", "names no head"),
        (["L0.H0"], "median", "mode is 'median'"),
    ],
)
def test_what_cannot_be_done_is_refused(llama: Model, heads: list[str], mode: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        without(llama, TEXT, heads, mode=mode)


@pytest.mark.parametrize("format", ["text", "markdown", "latex", "html", "svg"])
def test_hostile_tokens_are_harmless_in_every_format(llama: Model, format: str) -> None:
    effect = without(llama, "</script> \\input{x} | \x1b[31m \u202e", ["L0.H0"])
    page = render(effect.scene(), format)
    assert "\x1b[31m" not in page
    assert "\u202e" not in page
    assert "</script>" not in page or format in ("text", "markdown", "latex")
    json.dumps(effect.to_dict())
