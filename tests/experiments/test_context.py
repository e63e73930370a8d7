"""Two meanings have one output without parameters; by hand or by training W_q, W_k and W_v part them."""

from __future__ import annotations

import json
import math
from collections import defaultdict

import numpy as np
import pytest

from riverhead.core.definition import attention as by_loops
from riverhead.experiments import context
from riverhead.experiments.context import Setup, predict, run
from riverhead.experiments.one_query import last_token_asks
from riverhead.experiments.sentences import LENGTH, Sentences, sentences
from riverhead.render import render

SMALL = Setup(n_seeds=2, n_steps=30)
KNOWN = sentences()


class Loud(Sentences):
    """The same sentences, the subject's vector three times as long: whoever sums the words can tell it."""

    def vectors(self, subject: str, other: str) -> np.ndarray:
        x = super().vectors(subject, other)
        x[self.subject_place] *= 3
        return x


def silent(fraction: float, doing: str) -> None:
    pass


def without_parameters(x: np.ndarray) -> np.ndarray:
    return last_token_asks(x, dict.fromkeys(("W_q", "W_k", "W_v", "W_o"), np.eye(x.shape[-1])))[0].y


@pytest.mark.parametrize("seed", [0, 101, 202, 303])
def test_what_is_predicted_is_measured(seed):
    result = run(predict(SMALL), SMALL, seed, silent)
    assert result.agrees, result.verdict
    assert all(each["subject_weight"] > 0.5 for each in result.data["runs"] if each["learned"])


def test_the_twins_are_equal_by_plain_loops_too():
    for subject, other in KNOWN.pairs[:3]:
        x, twin = (KNOWN.vectors(*nouns).tolist() for nouns in ((subject, other), (other, subject)))
        assert by_loops(x, x, x).out[-1] == by_loops(twin, twin, twin).out[-1]
        assert x != twin


def test_any_rotation_of_all_vectors_leaves_the_twins_alike():
    rotation = np.linalg.qr(np.random.default_rng(4).normal(size=(KNOWN.d_model, KNOWN.d_model)))[0]
    one, two = (
        without_parameters(np.array([KNOWN.vectors(*nouns) @ rotation for nouns in pairs]))
        for pairs in (KNOWN.pairs, [pair[::-1] for pair in KNOWN.pairs])
    )
    # outputs of at most √2·LENGTH from sums of d_model products: some hundred roundings of 2⁻⁵³
    np.testing.assert_allclose(one, two, atol=1e-13)


def test_the_bound_on_the_loss_is_that_of_whoever_knows_every_output():
    split = context._split(KNOWN, SMALL.n_held_out, np.random.default_rng(5))
    by_output = defaultdict(list)
    for y, sense in zip(without_parameters(split.train_x), split.train_sense.tolist(), strict=True):
        by_output[y.tobytes()].append(sense)
    best = 0.0  # nats in all, if each output is answered with the shares of its senses
    for senses in by_output.values():
        shares = [senses.count(sense) / len(senses) for sense in set(senses)]
        best -= len(senses) * sum(share * math.log(share) for share in shares)
    low = next(each.low for each in predict(SMALL).predictions if each.name == "loss without parameters")
    assert low == pytest.approx(best / len(split.train_x), rel=1e-8)


def test_a_query_turned_to_the_subjects_place_is_right_on_every_sentence():
    place = len(KNOWN.vocabulary) + KNOWN.subject_place
    W = {name: np.eye(KNOWN.d_model) for name in ("W_q", "W_k", "W_v")}
    W["W_q"] = np.zeros_like(W["W_q"])
    W["W_q"][KNOWN.vocabulary.index(KNOWN.frame[-1]), place] = 10
    W["W_o"] = np.zeros((KNOWN.d_model, len(KNOWN.senses)))
    for sense, nouns in enumerate(KNOWN.nouns.values()):
        W["W_o"][[KNOWN.vocabulary.index(noun) for noun in nouns], sense] = 1
    x, senses = context._arrays(KNOWN, KNOWN.all)
    asked, _ = last_token_asks(x, W)
    np.testing.assert_array_equal(asked.y.argmax(axis=-1), senses)
    score = 10 * LENGTH**2 / math.sqrt(KNOWN.d_model)
    expected = math.exp(score) / (math.exp(score) + len(KNOWN.frame) - 1)
    np.testing.assert_allclose(asked.weights[:, 0, KNOWN.subject_place], expected, rtol=1e-12)


def test_one_matrix_for_looking_and_being_found_does_as_well():
    """Its scores are symmetric; what it takes is a match that is learned."""
    place = len(KNOWN.vocabulary) + KNOWN.subject_place
    shared = np.zeros((KNOWN.d_model, 1))  # the word and the subject's place to one direction
    shared[[KNOWN.vocabulary.index(KNOWN.frame[-1]), place], 0] = 0.7, 3 * 0.7
    W = {"W_q": shared, "W_k": shared, "W_v": np.eye(KNOWN.d_model)}
    W["W_o"] = np.zeros((KNOWN.d_model, len(KNOWN.senses)))
    for sense, nouns in enumerate(KNOWN.nouns.values()):
        W["W_o"][[KNOWN.vocabulary.index(noun) for noun in nouns], sense] = 1
    x, senses = context._arrays(KNOWN, KNOWN.all)
    scores = x @ shared @ shared.T @ x.swapaxes(-1, -2)
    np.testing.assert_array_equal(scores, scores.swapaxes(-1, -2))
    asked, _ = last_token_asks(x, W)
    np.testing.assert_array_equal(asked.weights[:, 0].argmax(axis=-1), KNOWN.subject_place)
    np.testing.assert_array_equal(asked.y.argmax(axis=-1), senses)


def test_words_and_places_are_at_right_angles_and_the_subject_says_the_sense():
    for subject, other in KNOWN.all[::17]:
        x = KNOWN.vectors(subject, other)
        assert (x @ x.T)[-1].tolist() == [0] * (len(x) - 1) + [2 * LENGTH**2]
        assert KNOWN.senses[KNOWN.sense(subject)] in KNOWN.nouns
        assert subject in KNOWN.nouns[KNOWN.senses[KNOWN.sense(subject)]]
    assert math.log2(LENGTH).is_integer()  # else sums of it round


def test_what_is_held_out_is_in_no_training_in_either_order():
    split = context._split(KNOWN, SMALL.n_held_out, np.random.default_rng(6))
    trained = {x.tobytes() for x in split.train_x}
    assert len(trained) == len(split.train_x) == len(KNOWN.all) - 2 * SMALL.n_held_out
    assert not trained & {x.tobytes() for x in split.held_out_x}
    for one, two in zip(split.held_out[::2], split.held_out[1::2], strict=True):
        assert one == two[::-1]
    assert split.held_out_sense.reshape(-1, 2).sum(axis=-1).tolist() == [1] * SMALL.n_held_out


def test_before_training_the_weights_are_those_without_parameters():
    setup = Setup(n_seeds=1, n_steps=2, during=1)
    free, learned = run(predict(setup), setup, 0, silent).data["runs"]
    assert free["weights"][0] == free["weights"][1] == free["weights"][2] == learned["weights"][0]
    assert learned["weights"][2] != learned["weights"][1] != learned["weights"][0]
    assert free["losses"][0] == learned["losses"][0]


def test_too_little_training_does_not_agree_and_that_is_said():
    setup = Setup(n_seeds=2, n_steps=1)
    result = run(predict(setup), setup, 0, silent)
    assert [claim.holds for claim in result.claims] == [True, True, True, False]
    assert "accuracy learned" in result.verdict


def test_a_claim_is_of_the_seed_that_fits_it_least():
    setup = Setup(n_seeds=3, n_steps=5)  # when they are not yet alike
    result = run(predict(setup), setup, 0, silent)
    measured = {claim.prediction.name: claim.measured for claim in result.claims}
    free, learned = (
        [each for each in result.data["runs"] if each["learned"] is way] for way in (False, True)
    )
    assert measured["loss without parameters"] == min(loss for each in free for loss in each["losses"])
    assert len({each["accuracy"] for each in learned}) > 1
    assert measured["accuracy learned"] == min(each["accuracy"] for each in learned)


def test_it_prints_and_is_plain_data_the_same_for_the_same_seed():
    told: list[float] = []
    setup = Setup(n_seeds=2, n_steps=2)
    result = run(predict(setup), setup, 3, lambda fraction, doing: told.append(fraction))
    assert told == sorted(told)
    assert told[-1] == 1
    plain = json.loads(json.dumps(result.to_dict()))
    assert plain == json.loads(json.dumps(run(predict(setup), setup, 3, silent).to_dict()))
    assert plain != json.loads(json.dumps(run(predict(setup), setup, 4, silent).to_dict()))
    for format in ("text", "html", "markdown", "latex"):
        assert KNOWN.frame[-1] in render(result.scene(), format)


def test_where_twins_are_not_alike_that_is_measured_and_said(monkeypatch):
    monkeypatch.setattr(context, "sentences", lambda: Loud(KNOWN.frame, KNOWN.nouns))
    setup = Setup(n_seeds=1, n_steps=60)
    result = run(predict(setup), setup, 0, silent)
    found = {claim.prediction.name: claim for claim in result.claims}
    assert found["difference of twins"].measured > 0.01
    assert found["accuracy without parameters"].measured > 0.5
    assert not result.agrees


def test_the_weights_shown_are_those_of_the_sentences_named():
    split = context._split(KNOWN, SMALL.n_held_out, np.random.default_rng(7))
    rng = np.random.default_rng(8)
    W = {name: rng.normal(size=(KNOWN.d_model,) * 2) for name in ("W_q", "W_k", "W_v", "W_o")}
    named = np.array([KNOWN.vectors(*nouns) for nouns in split.held_out[:2]])
    assert context._weights(split, W) == tuple(
        map(tuple, last_token_asks(named, W)[0].weights[:, 0].tolist())
    )
