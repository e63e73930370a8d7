"""``riverhead why``: predictions come first, disagreement exits 1, every format holds both."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from riverhead import experiments
from riverhead.cli.why import why
from riverhead.errors import InputError
from riverhead.experiments import EXPERIMENTS, order


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Run ``why`` in an empty folder, 80 columns wide."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*words: str, code: int = 0) -> str:
        ran = CliRunner().invoke(why, words, catch_exceptions=False)
        assert ran.exit_code == code, ran.output
        return ran.output

    return run


@pytest.fixture
def only_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "EXPERIMENTS", {"order": EXPERIMENTS["order"]})


@pytest.fixture
def disagreeing(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = order.prepare()
    first, *others = prepared.predictions
    wrong = replace(prepared, predictions=(replace(first, low=1, high=2), *others))
    monkeypatch.setattr(order, "prepare", lambda thorough=False: wrong)


def test_without_a_name_it_lists_every_experiment_with_its_question(run) -> None:
    page = run()
    for name in EXPERIMENTS:
        assert f"\n  {name} " in page
    assert page.count("?") == len(EXPERIMENTS)
    listed = json.loads(run("--json"))
    assert listed["schema"] == "riverhead.why/1"
    assert list(listed["experiments"]) == list(EXPERIMENTS)


def test_question_argument_and_predictions_come_before_what_was_measured(run) -> None:
    page = run("order", "--seed", "5")
    told = [
        "why order: ",
        "does not depend on the order",
        "Predicted, before",
        "measured, seed 5",
        "agree: 7 of 7",
    ]
    places = [page.index(words) for words in told]
    assert places == sorted(places)
    assert max(map(len, page.splitlines())) <= 80


def test_predictions_are_printed_before_anything_is_measured(run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(order, "measure", interrupted)
    page = run("order", code=1)  # click's own runner says 1; main says 130
    assert "Predicted, before anything is measured" in page


def test_a_seed_gives_the_same_page_again(run) -> None:
    assert run("order", "--seed", "9") == run("order", "--seed", "9") != run("order", "--seed", "10")


def test_disagreement_exits_1_and_is_said_in_every_format(run, disagreeing: None, tmp_path: Path) -> None:
    page = run("order", code=1)
    assert "does not" in page
    assert "1 of 7 predictions did not hold: permuted." in page
    found = json.loads(run("order", "--json", code=1))["order"]
    assert not found["agrees"]
    assert [claim["holds"] for claim in found["claims"]] == [False] + [True] * 6
    run("order", "-o", "order.svg", code=1)
    assert "did not hold" in (tmp_path / "order.svg").read_text("utf-8")


@pytest.mark.parametrize("ending", ["html", "svg", "md", "tex", "txt", "json"])
def test_a_file_holds_predictions_measurement_and_chart(run, tmp_path: Path, ending: str) -> None:
    assert run("order", "-o", f"order.{ending}") == ""
    text = (tmp_path / f"order.{ending}").read_text("utf-8")
    assert "ALiBi" in text
    if ending == "json":
        found = json.loads(text)["order"]
        assert "schema" not in found
        assert len(found["data"]["rows"]) == 5 * 5 * 20
    else:
        assert "before anything is measured" in text


def test_all_runs_every_one_and_sums_up(run, only_order: None, disagreeing: None) -> None:
    page = run("all", code=1)
    assert page.index("why order") < page.index("All experiments")
    assert list(json.loads(run("all", "--json", code=1))) == ["schema", "order", "verdicts"]


def test_an_unknown_name_says_which_there_are_and_measures_nothing(run) -> None:
    with pytest.raises(InputError, match="there are scale, order, heads, context, cache, growth"):
        run("scales")


def test_an_ending_that_says_no_format_is_refused_before_anything_is_measured(
    run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order, "measure", lambda *_: pytest.fail("measured"))
    with pytest.raises(InputError, match="says no format"):
        run("order", "-o", "order.xyz")


@pytest.mark.parametrize("seed", ["x", "-1", "1.5"])
def test_a_seed_that_is_none_is_refused_with_what_there_are(run, seed: str) -> None:
    page = run("order", "--seed", seed, code=2)
    assert f"'{seed}' is no seed; give a whole number, 0 or more" in " ".join(page.split())


@pytest.mark.parametrize("words", [("--seed", "3"), ("--seed", "0"), ("--thorough",)])
def test_how_to_measure_is_refused_where_nothing_is_measured(run, words: tuple[str, ...]) -> None:
    assert f"{words[0]} is for an experiment: give its NAME" in run(*words, code=2)
