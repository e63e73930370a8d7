"""What every experiment is held to: predictions before measuring, one number each, disagreement said."""

from __future__ import annotations

import json
import math

import pytest

from riverhead.errors import InputError
from riverhead.experiments import EXPERIMENTS, Claim, Experiment, Prediction, Result, measure, prepare
from riverhead.render import FORMATS, render
from riverhead.scene import Line, Lines, Table

HOSTILE = "</script> \\input{x} | \x1b[31m \u202e"
EXACT = Prediction("n", "There are three.", 3, 3, "1 + 2")
LOWER = Prediction("ratio", f"It falls. {HOSTILE}", 2.0, math.inf, "from below")
EXPERIMENT = Experiment("sums", f"What is 1 + 2? {HOSTILE}", f"One.\n\nTwo. {HOSTILE}", (EXACT, LOWER))


def result(n: float, ratio: float) -> Result:
    parts = (Table(("T",), ((HOSTILE,),)), Lines((Line(HOSTILE, ((1.0, 2.0),)),), "T", "bytes"))
    claims = EXPERIMENT.claims({"n": n, "ratio": ratio})
    return Result(EXPERIMENT, 5, claims, parts, {"rows": [1]}, (HOSTILE,))


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (7_191_855_104, 7_191_855_104, "exactly 7,191,855,104"),
        (2, math.inf, "at least 2"),
        (-math.inf, 0.25, "at most 0.2500"),
        (-1.5, 4, "−1.500 to 4"),
        (1 - 1e-9, 1 + 1e-9, "1 ± 1.000e-9"),  # both ends would print as 1.000
        (-math.inf, math.inf, "any number"),
    ],
)
def test_a_bound_is_said_in_words(low: float, high: float, said: str) -> None:
    assert Prediction("x", "", low, high, "").bound == said


@pytest.mark.parametrize(
    ("measured", "holds"), [(2.0, True), (math.nextafter(2, 0), False), (1e300, True), (math.nan, False)]
)
def test_a_claim_holds_within_its_bound_and_never_for_nan(measured: float, holds: bool) -> None:
    assert Claim(LOWER, measured).holds is holds


@pytest.mark.parametrize("measured", [{"n": 3}, {"n": 3, "ratio": 2, "other": 1}, {}])
def test_a_prediction_without_its_number_is_refused_and_a_number_without_its_prediction(measured) -> None:
    with pytest.raises(InputError, match="one number each"):
        EXPERIMENT.claims(measured)


def test_two_predictions_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="one number each"):
        Experiment("twice", "", "", (EXACT, EXACT)).claims({"n": 3})


def test_disagreement_is_said() -> None:
    assert result(3, 2).agrees
    assert result(3, 2).verdict == "Measured and predicted agree: 2 of 2."
    assert not result(3, 1).agrees
    failed = result(4, math.nan)
    assert not failed.agrees
    assert failed.verdict == "2 of 2 predictions did not hold: n, ratio."
    page = render(failed.measured(), "text")
    assert page.count("does not agree") == 2


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_shows_predictions_and_then_what_was_measured(format: str) -> None:
    page = render(result(3, 2.5).scene(), format)
    if isinstance(page, str) and format not in ("svg",):
        assert page.index("before anything is measured") < page.index("Measured, seed 5")
    if format == "html":
        assert "</script> \\input" not in page


def test_json_is_strict_and_has_its_schema() -> None:
    data = result(3, math.inf).to_dict()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["schema"] == "riverhead.why/1"
    assert [claim["holds"] for claim in data["claims"]] == [True, True]
    assert data["claims"][1] | {"low": 2.0, "high": None, "measured": None} == data["claims"][1]


def test_unknown_names_and_seeds_below_zero_are_refused() -> None:
    with pytest.raises(InputError, match="there is no experiment 'scales'; there are scale, order"):
        prepare("scales")
    with pytest.raises(InputError, match="the seed is -1"):
        measure("order", seed=-1)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_asks_and_predicts_before_it_measures(name: str) -> None:
    experiment = prepare(name)
    assert experiment.name == name
    assert experiment.question.endswith("?")
    assert experiment == prepare(name)  # nothing is drawn
    names = [prediction.name for prediction in experiment.predictions]
    assert names
    assert len(set(names)) == len(names)
    for prediction in experiment.predictions:
        assert prediction.low <= prediction.high
        assert prediction.says
        assert prediction.why
