"""Generation watched: the weights, the cache and the bytes, against whole runs and loops."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_model import SIZES, small_model

from riverhead.errors import InputError
from riverhead.inspection.generation import continuation, watch_generation
from riverhead.inspection.habit import habit_of, silent
from riverhead.render import render
from riverhead.transformer import Model, head_name

PROMPT = "The river bank flooded the"
N = 23
# Scores of up to 20 in float32, sums of d_k = 14 terms: 20 · 2⁻²⁴ · 14 is 2e-5, and a weight is off by as
# much of itself; so is what three blocks make of it.
CLOSE = 5e-5

WINDOWS = {"none": (), "some": (4, 0, 6)}


@pytest.fixture(params=WINDOWS)
def model(request: pytest.FixtureRequest, tmp_path: Path, plain: str) -> Model:
    return small_model(tmp_path, seed=1, windows=WINDOWS[request.param])


def plain_weights(model: Model, ids: list[int]) -> np.ndarray:
    """What the last token gives each, (n_layers, H, T), from a run without a cache and float64 loops."""
    T = len(ids)
    weights = np.zeros((3, 10, T))

    def watch(layer: int, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> None:
        first = max(0, T - (model.config.window(layer) or T))
        for head in range(10):
            query, keys = q[0, head, -1].astype(np.float64), k[0, head // 2, first:].astype(np.float64)
            exps = [math.exp(query @ key / math.sqrt(14)) for key in keys]
            weights[layer, head, first:] = [e / math.fsum(exps) for e in exps]

    model.run([ids], watch=watch)
    return weights


def watched(model: Model, prompt: Any = PROMPT, n: int = N, **options: Any) -> list[Any]:
    return list(watch_generation(model, prompt, max_tokens=n, **options))


def test_the_tokens_are_those_that_generate_gives(model: Model) -> None:
    options = {"temperature": 1.5, "seed": 3, "top_k": 40}
    steps = watched(model, **options)
    plain = list(model.generate(PROMPT, max_tokens=N, **options))
    found = [(step.token_id, step.text, step.stop) for step in steps]
    assert found == [(token.token_id, token.text, token.stop) for token in plain]
    assert [s.probability for s in steps] == pytest.approx([t.probability for t in plain], rel=CLOSE)
    n = len(model.tokenize(PROMPT))
    assert [step.position for step in steps] == list(range(n, n + N))


def test_each_query_looked_where_a_run_without_a_cache_looks(model: Model) -> None:
    ids, most = model.tokenize(PROMPT), 0
    near = habit_of(model, 32, silent)
    far = habit_of(model, len(ids) + 30, silent)
    for step in watched(model, n=30, temperature=2.0):
        weights, T = plain_weights(model, ids), len(ids)
        mean = weights.mean(axis=(0, 1))
        assert step.first.weight == pytest.approx(mean[0], abs=CLOSE)
        assert step.itself.weight == pytest.approx(mean[-1], abs=CLOSE)
        assert (step.first.position, step.itself.position) == (0, T - 1)
        assert [look.weight for look in step.looks] == pytest.approx(sorted(mean[1:-1])[:-4:-1], abs=CLOSE)
        habit = (near if T <= 32 else far).on(np.array(T - 1), np.arange(T))
        for look in step.looks:
            assert look.weight == pytest.approx(mean[look.position], abs=CLOSE)
            assert look.habit == pytest.approx(habit[..., look.position].mean(), abs=1e-6)
        pieces = model.tokenizer.pieces(ids)
        assert [look.token for look in step.looks] == [pieces[look.position] for look in step.looks]
        assert step.query == pieces[-1]
        beyond = max(
            (weights[layer, head, j] - habit[layer, head, j], head_name(layer, head), j)
            for layer, head, j in np.ndindex(3, 10, T)
            if 0 < j < T - 1
        )
        assert step.head.weight - step.head.habit == pytest.approx(beyond[0], abs=2 * CLOSE)
        assert (step.head.head, step.head.position) == beyond[1:]
        ids.append(step.token_id)
        most = max(most, T)
    assert most > 32, "past the places that have a habit of their own"


def test_the_bytes_held_are_those_of_the_cache_s_arrays(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    caches: list[Any] = []
    new_cache = Model.new_cache
    monkeypatch.setattr(Model, "new_cache", lambda self: caches.append(new_cache(self)) or caches[-1])
    n = len(model.tokenize(PROMPT))
    before = 0
    for at, step in enumerate(watch_generation(model, PROMPT, max_tokens=N)):
        T, new = n + at, n if at == 0 else 1
        held = 0
        for layer in range(3):
            window = model.config.window(layer)
            kept = T if window is None else min(T, window - 1 + new)
            held += kept * 5 * (14 + 7) * 4
        assert step.cache.held_bytes == held == sum(layer.nbytes for layer in caches[0])
        assert (step.cache.n_tokens, step.cache.n_new) == (T, new)
        assert step.cache.appended_bytes == new * 3 * 5 * (14 + 7) * 4
        assert step.cache.gqa_bytes == T * 3 * 5 * (14 + 7) * 4
        assert step.cache.mha_bytes == 2 * step.cache.gqa_bytes
        assert step.cache.mqa_bytes * 5 == step.cache.gqa_bytes
        if not model.config.windows:
            assert held == step.cache.gqa_bytes == before + step.cache.appended_bytes
        before = held
    assert len(caches) == 1
    assert before < step.cache.gqa_bytes or not model.config.windows


def test_a_first_token_has_itself_alone_to_look_at(model: Model) -> None:
    first, second, third = watched(model, "The", 3)
    assert first.first.weight == pytest.approx(1)
    assert (first.itself, first.looks, first.head) == (None, (), None)
    assert second.first.weight + second.itself.weight == pytest.approx(1)
    assert (second.looks, second.head) == ((), None)
    assert [look.position for look in third.looks] == [1]


def test_no_weight_of_the_first_token_or_oneself_is_claimed(model: Model) -> None:
    step = watched(model, n=1)[0]
    rows = list(step.cells())
    assert [row[3] for row in rows[:2]] == ["no claim", "no claim"]
    assert (step.first.habit, step.itself.habit) == (None, None)
    assert all(str(row[3]) != "no claim" for row in rows[2:])
    assert "no finding" in render(continuation(model, PROMPT, [step]).scene(), "text")


def test_tokens_come_one_by_one(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[Any] = []
    run = Model.run
    monkeypatch.setattr(Model, "run", lambda self, ids, **kw: runs.append(ids) or run(self, ids, **kw))
    steps = watch_generation(model, PROMPT, max_tokens=N)
    runs.clear()  # what the habits were measured on
    tokens = [next(steps).token_id, next(steps).token_id]
    assert runs == [[model.tokenize(PROMPT)], [tokens[:1]]]


def test_the_model_s_end_ends_it(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    fourth = watched(model, temperature=2.0, seed=5)[3].token_id
    monkeypatch.setattr(type(model.tokenizer), "eos_id", fourth)
    steps = watched(model, temperature=2.0, seed=5)
    assert len(steps) <= 4
    assert (steps[-1].token_id, steps[-1].stop, steps[-1].text) == (fourth, True, "")
    assert "which ends it" in render(steps[-1].scene(), "text")


def test_a_chat_message_is_read_as_the_template_writes_it(model: Model) -> None:
    made = watched(model, [{"role": "user", "content": "The river"}], 4)
    assert [step.token_id for step in made] == [step.token_id for step in watched(model, "The river<s>", 4)]
    assert made[0].query == "<s>"
    assert continuation(model, [{"role": "user", "content": "The river"}], made).prompt == (
        *model.tokenizer.pieces(model.tokenize("The river")),
        "<s>",
    )


@pytest.mark.parametrize(
    ("prompt", "options", "says"),
    [
        ("", {}, "the prompt is empty"),
        (PROMPT, {"max_tokens": 0}, "max_tokens is 0"),
        (PROMPT, {"max_tokens": 60}, "small reads 61"),
        (PROMPT, {"temperature": -1.0}, "temperature is -1.0"),
    ],
)
def test_what_cannot_be_generated_is_refused_before_anything_is_measured(
    model: Model, prompt: str, options: dict[str, Any], says: str
) -> None:
    said: list[str] = []
    with pytest.raises(InputError, match=says):
        watch_generation(model, prompt, say=said.append, **options)
    assert said == []


def test_a_model_that_predicts_nothing_is_refused_by_name(tmp_path: Path, plain: str) -> None:
    with pytest.raises(InputError, match="small predicts no next token"):
        watch_generation(small_model(tmp_path, architecture="bert"), PROMPT)


def test_the_whole_is_plain_data_with_a_row_a_step(model: Model) -> None:
    steps = watched(model, n=5)
    made = continuation(model, PROMPT, iter(steps))
    data = json.loads(json.dumps(made.to_dict()))
    assert data["config"]["n_kv_heads"] == SIZES["n_kv_heads"]
    assert [step["cache"]["held_bytes"] for step in data["steps"]] == [s.cache.held_bytes for s in steps]
    rows = made.rows()
    assert [row["head_weight"] for row in rows] == [step.head.weight for step in steps]
    assert [row["head"] for row in rows] == [step.head.head for step in steps]
    assert all(row.keys() == rows[0].keys() for row in rows)
    first_alone = continuation(model, "The", watched(model, "The", 1)).rows()[0]
    assert first_alone.keys() == rows[0].keys()
    assert first_alone["head_weight"] is None


@pytest.mark.parametrize("format", ["text", "markdown", "latex", "html", "svg"])
def test_every_format_holds_every_step_and_no_hostile_token(model: Model, format: str) -> None:
    prompt = "</script> \\input{x} | \x1b[31m \u202e"
    made = continuation(model, prompt, watched(model, prompt, 3))
    page = render(made.scene(), format)
    assert "\x1b[31m" not in page
    assert "\u202e" not in page
    assert "</script>" not in page or format in ("text", "markdown", "latex")
    for step in made.steps:
        assert f"{step.cache.mha_bytes:,}" in page.replace("{,}", ",")
