"""What SmolLM2 does with the example, held to the numbers of golden.json (transformers, eager, float32)."""

from __future__ import annotations

import numpy as np
import pytest

from riverhead.inspection import Findings, control, head_derivation, telling
from riverhead.inspection.habit import habit_of, manner_of
from riverhead.inspection.labels import labels_of
from riverhead.inspection.swap import swaps
from riverhead.inspection.tables import nouns, reference_text
from riverhead.inspection.trial import Trial
from riverhead.transformer import Model, open_model, parse_head

pytestmark = pytest.mark.model

TEXT = "The river bank flooded"
CONTROL = "The river by the old bank flooded"


@pytest.fixture(scope="module")
def model(smollm2: Model, tmp_path_factory: pytest.TempPathFactory) -> Model:
    """The model in a folder of its own, so that habits are measured here and not found."""
    folder = tmp_path_factory.mktemp("habits")
    for file in smollm2.folder.iterdir():
        if file.suffix != ".f32" and file.is_file():
            (folder / file.name).symlink_to(file)
    return open_model(folder, name=smollm2.name)


@pytest.fixture(scope="module")
def findings(model: Model) -> Findings:
    return telling(model, TEXT)


def row(findings: Findings, head: str):
    return next(row for row in findings.rows if row.head == head)


def test_the_words_are_bank_and_river_and_the_best_head_is_derived(findings: Findings) -> None:
    assert (findings.query.text, findings.key.text) == ("bank", "river")
    assert findings.head == findings.rows[0].head
    assert findings.rows[0].finding
    assert len(findings.rows) == 5


@pytest.mark.parametrize(("head", "weight"), [("L16.H0", 0.9685), ("L4.H2", 0.944), ("L9.H7", 0.634)])
def test_weights(findings: Findings, head: str, weight: float) -> None:
    assert row(findings, head).weight == pytest.approx(weight, abs=1e-3)


def test_the_head_that_looks_for_river_is_told_from_those_that_do_not(findings: Findings) -> None:
    looks, any_noun, previous = (row(findings, head) for head in ("L9.H7", "L4.H2", "L16.H0"))
    assert looks.says == "looks for river"
    assert max(looks.habit, looks.swap_max) < looks.weight
    assert (previous.label, previous.says) == ("previous-token", "previous-token head, no finding")
    assert any_noun.says == "any noun in that place"
    assert not any_noun.finding
    assert not previous.finding
    assert any_noun.swap_mean > 0.7 > 0.2 > any_noun.habit  # it beats its habit and fails the swap


def test_switching_the_finding_off_moves_the_odds_and_the_other_does_not(findings: Findings) -> None:
    assert row(findings, "L9.H7").if_off_nats == pytest.approx(0.105, abs=0.002)
    assert row(findings, "L16.H0").if_off_nats == pytest.approx(0.003, abs=0.001)


def test_next_tokens(findings: Findings) -> None:
    tokens, odds = zip(*findings.next_token, strict=True)
    assert tokens == (",", " with", " in", ".", " the")
    assert odds == pytest.approx((0.2007, 0.1373, 0.0591, 0.0543, 0.0524), abs=1e-4)


def test_no_head_gives_more_to_the_previous_token(model: Model) -> None:
    previous = manner_of(model, lambda message: None)[..., 0]
    assert tuple(int(n) for n in np.unravel_index(previous.argmax(), previous.shape)) == (16, 0)
    assert previous[16, 0] == pytest.approx(0.78, abs=0.05)  # 0.78 over another text of 968 tokens
    assert labels_of(model, lambda message: None)[9, 7].words != "previous-token"


def test_the_24_nouns_are_one_token_each_and_words_of_two_and_three_have_24_as_well(model: Model) -> None:
    sizes = [len(model.tokenize(f" {noun}")) for noun in nouns()]
    assert sizes[:24] == [1] * 24
    for n_tokens in (2, 3):
        assert sizes.count(n_tokens) >= 24
    words = Trial(model, TEXT).words
    assert swaps(model, TEXT, words[1], [word.text for word in words]).nouns == nouns()[:24]


def test_the_reference_text_is_about_a_thousand_tokens(model: Model) -> None:
    assert 950 <= len(model.tokenize(reference_text())) <= 1050


def test_habits_on_this_text_are_close_to_those_on_another(model: Model) -> None:
    habit = habit_of(model, 4, lambda message: None).means[..., 2, 1]
    for head, elsewhere in [("L9.H7", 0.139), ("L4.H0", 0.086), ("L4.H2", 0.149), ("L16.H0", 0.867)]:
        # ± 0.03 is three standard errors of 250 windows whose weights spread by 0.16
        assert habit[parse_head(head, model.config)] == pytest.approx(elsewhere, abs=0.03)


def test_the_control_has_the_same_heads_with_other_weights(model: Model, findings: Findings) -> None:
    other = control(model, CONTROL, findings)
    assert (other.query.text, other.key.text) == ("bank", "river")
    for head, weight in [("L16.H0", 0.0), ("L4.H2", 0.555), ("L9.H7", 0.394)]:
        assert row(other, head).weight == pytest.approx(weight, abs=1e-3)
    assert not row(other, "L16.H0").finding
    assert row(other, "L9.H7").finding


def test_a_head_that_the_list_leaves_out_can_be_asked_for(model: Model) -> None:
    found = telling(model, CONTROL, focus="bank", head="L9.H2")
    asked = row(found, "L9.H2")
    assert found.head == "L9.H2"
    assert asked.weight == pytest.approx(0.793, abs=1e-3)
    assert asked.swap_mean == pytest.approx(0.04, abs=0.02)
    assert asked.says == "looks for river"


def test_the_best_head_derived_gives_its_weight(model: Model, findings: Findings) -> None:
    worked = head_derivation(model.read(TEXT), findings.head, findings.query)
    weights = worked["weights"].array[0, 0]
    assert weights.tolist() == pytest.approx([0.299, 0.634, 0.067], abs=1e-3)
    assert weights[1] == pytest.approx(findings.rows[0].weight, abs=1e-5)
