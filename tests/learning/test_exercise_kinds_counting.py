"""Exercises of heads, counts, bytes, positions and mistakes to find: right, told apart, the same for ever."""

from __future__ import annotations

import hashlib
import json
import re
from functools import cache

import numpy as np
import pytest

from riverhead.checking.answers import Kind, blurs, grade, mistaken, mistakes, solved
from riverhead.core import merge, rope, sinusoidal, split
from riverhead.core.heads import kv_head_of
from riverhead.cost import Config
from riverhead.cost.flops import EVERY, prefill
from riverhead.cost.memory import kv_cache, score_matrix
from riverhead.cost.parameters import parameters
from riverhead.errors import InputError
from riverhead.learning.exercises import fresh, kinds

KINDS = (
    *("split-heads", "merge-heads", "gqa-mapping", "shapes", "parameters", "flops", "score-bytes"),
    *("cache-bytes", "rope", "sinusoid", "find-the-mistake"),
)
SEEDS = [f"{n:06d}" for n in range(12)]


@cache
def exercises(kind):
    return [fresh(kind, seed) for seed in SEEDS]


def sizes(sheet):
    """The sizes given on a sheet, by name."""
    return {cell.id: int(cell.truth) for cell in sheet.cells if cell.step == "given" and not cell.at}


def config(sheet, **other):
    """A model of those sizes; what a sheet leaves out is 1 or of no account."""
    of = sizes(sheet)
    d_k, H = of.get("d_k", 1), of["H"]
    found = {
        "n_layers": of.get("n_layers", 1),
        "n_heads": H,
        "n_kv_heads": of.get("G", H),
        "d_model": of.get("d_model", H * d_k),
        "d_k": d_k,
        "d_v": d_k,
        "d_ff": of.get("d_ff", 1),
        "gated": of.get("n_matrices") == 3,
    }
    rest = {"architecture": "llama", "vocab_size": 7, "context_length": 8, "norm_epsilon": 1e-5}
    return Config(**rest, **found | other)


@pytest.mark.parametrize("kind", KINDS)
def test_the_right_numbers_score_1_and_no_mistake_hides(kind):
    for exercise in exercises(kind):
        report = grade(exercise.sheet, solved(exercise.sheet))
        assert report.score == 1.0
        assert {mark.kind for mark in report.marks} == {Kind.RIGHT}
        assert blurs(exercise.sheet) == ()


@pytest.mark.parametrize("kind", KINDS)
def test_every_mistake_that_a_sheet_has_room_for_is_diagnosed_as_itself(kind):
    seen = set()
    for exercise in exercises(kind)[:3]:
        for mistake in mistakes():
            try:
                answers = mistaken(exercise.sheet, mistake)
            except InputError:  # no room for it here
                continue
            report = grade(exercise.sheet, answers)
            assert set(report.mistakes) == {mistake}, exercise.id
            seen.add(mistake)
    assert len(seen) >= 2


@pytest.mark.parametrize("kind", ["rope", "sinusoid"])
@pytest.mark.parametrize("decimals", [2, 3, 4])
def test_rounding_on_scratch_paper_costs_nothing(kind, decimals):
    for exercise in exercises(kind):
        numbers = {}
        for cell in exercise.sheet.cells:  # every number, asked or not, is rounded and gone on from
            p = [numbers[parent] for parent in cell.parents]
            made = {
                "given": lambda p, c=cell: c.truth,
                "same": lambda p: p[0],
                "base to the 2i/d": lambda p: p[0] ** (2 * p[1] / p[2]),
                "divide": lambda p: p[0] / p[1],
                "difference": lambda p: p[0] - p[1],
                "sin": lambda p: np.sin(p[0]),
                "cos": lambda p: np.cos(p[0]),
                "turned": lambda p: p[0] * p[2] - p[1] * p[3],
                "dot": lambda p: np.dot(p[: len(p) // 2], p[len(p) // 2 :]),
            }[cell.step](p)
            numbers[cell.id] = round(float(made), decimals)
        answers = {cell.id: f"{numbers[cell.id]:.{decimals}f}" for cell in exercise.sheet.asked}
        report = grade(exercise.sheet, answers)
        assert {mark.kind for mark in report.marks} <= {Kind.RIGHT, Kind.FOLLOWS}, exercise.id


def test_parameters_are_those_of_the_plan():
    for exercise in exercises("parameters"):
        planned = {part.name: part.value for part in parameters(config(exercise.sheet))}
        asked = {cell.id: cell.truth for cell in exercise.sheet.asked}
        attention = ("W_q", "W_k", "W_v", "W_o")
        feed_forward = sum(planned[name] for name in ("W_gate", "W_up", "W_down") if name in planned)
        assert [asked[f"n_{name}"] for name in attention] == [planned[name] for name in attention]
        assert asked["n_feed_forward"] == feed_forward
        assert asked["n_block"] == sum(planned[name] for name in attention) + feed_forward


def test_flops_are_those_of_the_plan():
    for exercise in exercises("flops"):
        figures = prefill(config(exercise.sheet), sizes(exercise.sheet)["T"])
        planned = {part.name: part.value for part in figures if part.group in ("matrix products", EVERY)}
        names = {"flops_q": "W_q", "flops_k": "W_k", "flops_scores": "q·k", "flops_values": "weights @ v"}
        assert {c.id: c.truth for c in exercise.sheet.asked} == {id: planned[n] for id, n in names.items()}


def dtype(exercise):
    """What the task says that a number is kept in."""
    return re.search(r"float\d+", exercise.to_dict()["task"])[0]


def test_bytes_are_those_of_the_plan():
    for exercise in exercises("score-bytes"):
        of = sizes(exercise.sheet)
        head, layer, _ = score_matrix(config(exercise.sheet), of["T"], dtype=dtype(exercise))
        assert exercise.sheet["head_bytes"].truth == head.value
        assert exercise.sheet["heads_bytes"].truth == layer.value
    for exercise in exercises("cache-bytes"):
        of, made = sizes(exercise.sheet), config(exercise.sheet)
        planned = [kv_cache(made, of["T"], dtype=dtype(exercise), as_=as_) for as_ in ("own", "mha", "mqa")]
        assert [exercise.sheet[f"cache.{n}"].truth for n in range(3)] == [one.value for one in planned]


def test_a_hundred_thousand_tokens_take_40_gb_a_head_in_float32():
    (found,) = {
        exercise.sheet["head_bytes"].truth
        for exercise in (fresh("score-bytes", f"{n:06d}") for n in range(100))
        if sizes(exercise.sheet)["T"] == 100_000 and sizes(exercise.sheet)["bits"] == 32
    }
    assert found == 40e9
    sheet = next(
        s
        for s in (fresh("score-bytes", f"{n:06d}").sheet for n in range(100))
        if s["head_bytes"].truth == 40e9
    )
    for text in ("40 GB", "40,000,000,000", "4e10 bytes", "40000 MB"):
        assert grade(sheet, {"head_bytes": text})["head_bytes"].kind is Kind.RIGHT
    assert grade(sheet, {"head_bytes": "40 GiB"})["head_bytes"].credit == 0


def test_heads_positions_and_kv_heads_are_the_engines():
    for exercise in exercises("split-heads"):
        whole = np.array(rows(exercise.sheet, "whole"))
        heads = split(whole, max(c.head for c in exercise.sheet.cells if c.head is not None) + 1)
        for cell in exercise.sheet.asked:
            assert cell.truth == heads[cell.head][cell.at]
    for exercise in exercises("merge-heads"):
        n_heads = max(c.head for c in exercise.sheet.cells if c.head is not None) + 1
        merged = merge(np.array([rows(exercise.sheet, "out", h) for h in range(n_heads)]))
        y = merged @ np.array(rows(exercise.sheet, "W_o"))
        for cell in exercise.sheet.asked:
            assert cell.truth == {"merged": merged, "y": y}[cell.grid][cell.at]
    for exercise in exercises("gqa-mapping"):
        of = sizes(exercise.sheet)
        for cell in exercise.sheet.asked:
            if cell.grid == "kv_head":
                assert cell.truth == kv_head_of(*cell.at, of["H"], of["G"])


def test_sinusoids_and_turns_are_the_engines():
    for exercise in exercises("sinusoid"):
        of, place = sizes(exercise.sheet), int(exercise.sheet["position.0"].truth)
        expected = sinusoidal(1, of["d"], offset=place, base=of["base"])[0]
        found = [
            exercise.sheet[f"{wave}.0.{j}"].truth for j in range(of["d"] // 2) for wave in ("sin", "cos")
        ]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)  # float64, angles below 20
    for exercise in exercises("rope"):
        sheet = exercise.sheet
        for i, (even, odd) in enumerate(zip(rows(sheet, "even"), rows(sheet, "odd"), strict=True)):
            x = np.ravel([even, odd], order="F")
            base = sizes(sheet).get("base", 10_000)
            place = int(sheet[f"position.{i}"].truth)
            turned = rope([x], pairs="interleaved", offset=place, base=base)[0]
            found = [
                sheet[f"turned_{half}.{i}.{j}"].truth for j in range(len(even)) for half in ("even", "odd")
            ]
            np.testing.assert_allclose(found, turned, rtol=0, atol=1e-12)


def test_a_key_that_moves_along_meets_its_query_alike():
    for exercise in exercises("rope"):
        sheet = exercise.sheet
        if "moved" in sheet.by_id:
            q, k = ([sheet[f"{half}.{i}.0"].truth for half in ("even", "odd")] for i in range(2))
            m, n = int(sheet["query_moved"].truth), int(sheet["moved"].truth)
            dot = rope([q], offset=m)[0] @ rope([k], offset=n)[0]
            assert dot == pytest.approx(sheet["dots.0.0"].truth, abs=1e-9)  # float64, angles below 30


def rows(sheet, grid, head=None):
    """The numbers of a grid."""
    found = {cell.at: cell.truth for cell in sheet.cells if (cell.grid, cell.head) == (grid, head)}
    height = 1 + max(i for i, _ in found)
    return [[found[at] for at in sorted(found) if at[0] == i] for i in range(height)]


def test_the_line_to_find_is_the_first_that_does_not_follow():
    for exercise in exercises("find-the-mistake"):
        sheet = exercise.sheet
        there = [cell.truth for cell in sheet.cells if cell.grid == "there"]
        true = [cell.truth for cell in sheet.cells if cell.grid == "true"]
        line = int(sheet["line"].truth)
        assert all(abs(w - t) <= 0.005 + 1e-9 for w, t in zip(there[: line - 1], true, strict=False))
        assert abs(there[line - 1] - true[line - 1]) > 0.05
        assert sheet["number"].truth == true[line - 1]
        assert len(exercise.task[-2].rows) == len(there)


def test_none_runs_out_of_draws():
    for kind in KINDS:
        ids = {exercise.id for exercise in exercises(kind)}
        assert len(ids) == len(SEEDS)
        assert len({exercise.sheet.to_json() for exercise in exercises(kind)}) > len(SEEDS) // 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_task_tells_no_answer_and_the_kind_stands_in_its_lesson(kind):
    exercise = fresh(kind, "k3m9q2")
    assert kinds()[kind].lesson in (4, 5, 6)
    assert exercise.to_dict()["kind"] == kind
    assert "truth" not in json.dumps(exercise.to_dict())
    assert all(cell.label for cell in exercise.sheet.asked)
    assert len({cell.name for cell in exercise.sheet.asked}) == len(exercise.sheet.asked)


def digest(kind):
    """What an id gives, numbers to six decimals: the last bit of a sine is the machine's own."""
    exercise = fresh(kind, "k3m9q2")
    cells = [(c.id, c.step, c.parents, f"{c.truth:.6f}", c.asked) for c in exercise.sheet.cells]
    made = json.dumps([exercise.to_dict(), cells], ensure_ascii=False)
    return hashlib.sha256(made.encode()).hexdigest()[:16]


GOLDEN = {
    "split-heads": "5ad9c22a9298ca2c",
    "merge-heads": "5e08f3d4e086dc61",
    "gqa-mapping": "95f495441856bed6",
    "shapes": "56d1a771087fddfa",
    "parameters": "066d741fa9a4398a",
    "flops": "1fae59c32b96d427",
    "score-bytes": "799c709296e4f4c1",
    "cache-bytes": "26f60f611d98feb5",
    "rope": "c0d41aaf0822f8de",
    "sinusoid": "484eeb0fa6729ec5",
    "find-the-mistake": "62819a9867e59255",
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_id_gives_what_it_always_gave(kind):
    """If this fails, ids in people's hands would change: raise VERSION of the exercises, then the digests."""
    assert digest(kind) == GOLDEN[kind]
