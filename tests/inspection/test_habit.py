"""Habit and labels against loops over every window, and how they are kept."""

from __future__ import annotations

import dataclasses
import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fake_model import HEADS, LAYERS, WEIGHT_BOUND, FakeModel

from riverhead.inspection import habit, reference
from riverhead.inspection.habit import Habit, distance_bin, habit_of, manner_of, measure_habit


def silent(message: str) -> None:
    pass


def windows(fake: FakeModel, plain: str, T: int) -> list[list[int]]:
    ids = fake.tokenizer.ids(plain, add_bos=False)
    opening = [0] if fake.opens else []
    step = T - len(opening)
    return [opening + ids[i : i + step] for i in range(0, len(ids), step) if i + step <= len(ids)]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def test_by_place_it_is_the_mean_over_windows_of_the_weight_at_that_place(
    fake: FakeModel, plain: str
) -> None:
    T = 7
    seen = defaultdict(list)
    for window in windows(fake, plain, T):
        for layer, head in np.ndindex(LAYERS, HEADS):
            for i in range(T):
                row = fake.row(window, layer, head, i)
                for j in range(1, i):  # without the first token and oneself
                    seen[layer, head, i, j].append(row[j])
    rows = habit_of(fake, T, silent).rows(np.arange(T))
    assert rows.shape == (LAYERS, HEADS, T, T)
    for place in np.ndindex(rows.shape):
        expected = mean(seen[place]) if place in seen else 0.0
        assert rows[place] == pytest.approx(expected, abs=WEIGHT_BOUND), place


@pytest.mark.parametrize("causal", [True, False], ids=["causal", "both ways"])
@pytest.mark.parametrize(
    ("T", "window"), [(71, 128), (499, 256)], ids=["the next power of two", "longer than the reference text"]
)
def test_in_long_texts_it_is_the_mean_over_rows_and_windows_by_signed_distance(
    fake: FakeModel, plain: str, causal: bool, T: int, window: int
) -> None:
    fake = dataclasses.replace(fake, causal=causal)
    layer, head = 1, 4
    seen = defaultdict(list)
    for ids in windows(fake, plain, window):
        for i in range(window):
            for j, weight in enumerate(fake.row(ids, layer, head, i)):
                if 0 < j != i:
                    seen[bin_of(i - j)].append(weight)
    farthest = max(seen)
    queries = np.array([3, T - 1])
    rows = habit_of(fake, T, silent).rows(queries)
    assert rows.shape == (LAYERS, HEADS, 2, T)
    for at, j in np.ndindex(2, T):
        distance = int(queries[at]) - j
        apart = j == 0 or distance == 0 or (causal and distance < 0)
        place = max(-farthest, min(farthest, bin_of(distance)))
        expected = 0.0 if apart else mean(seen[place])
        assert rows[layer, head, at, j] == pytest.approx(expected, abs=WEIGHT_BOUND), (distance, place)


def bin_of(distance: int) -> int:
    """Distances behind and ahead, from 64 on by powers of two."""
    size = abs(distance)
    return (1 if distance > 0 else -1) * (size if size < 64 else 63 + (size // 64).bit_length())


def test_a_window_hides_keys_from_the_habit_too(fake: FakeModel) -> None:
    near = dataclasses.replace(fake, window=5)
    for T in (9, 40):
        rows = habit_of(near, T, silent).rows(np.array([T - 1]))[:, :, 0]
        assert (rows[..., T - 5 : T - 1] > 0).all()
        assert not rows[..., : T - 5].any()


def test_where_a_query_sees_both_ways_there_is_a_habit_of_places_ahead(fake: FakeModel) -> None:
    both = dataclasses.replace(fake, causal=False)
    rows = habit_of(both, 6, silent).rows(np.arange(6))
    apart = (np.arange(6) == 0) | np.eye(6, dtype=bool)
    assert not rows[..., apart].any()
    assert (rows[..., ~apart] > 0).all()


def test_a_window_is_closed_as_a_text_is(fake: FakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = fake.tokenizer.ids
    opened = [0] if fake.opens else []
    monkeypatch.setattr(
        fake.tokenizer, "ids", lambda text, add_bos=True: ids(text, add_bos=add_bos) + [9] * add_bos
    )
    batch = reference.windows(fake, 7)
    assert (batch[:, -1] == 9).all()
    assert batch[:, :-1].ravel().tolist() == [
        token
        for first in range(0, len(batch) * (6 - len(opened)), 6 - len(opened))
        for token in opened + ids(reference.reference_text(), add_bos=False)[first : first + 6 - len(opened)]
    ]


@pytest.mark.parametrize("T", [habit.BY_PLACE + 1, 65, 66, 130])
def test_every_place_of_a_long_text_has_a_habit(fake: FakeModel, T: int) -> None:
    rows = habit_of(fake, T, silent).rows(np.array([T - 1]))
    assert (rows[:, :, 0, 1 : T - 1] > 0).all()
    assert not rows[..., [0, T - 1]].any()


def test_distances_are_binned_singly_then_by_powers_of_two() -> None:
    bins = distance_bin(np.arange(1024))
    assert bins[:64].tolist() == list(range(64))
    assert [bins.tolist().count(b) for b in range(64, 68)] == [64, 128, 256, 512]


def test_the_manner_of_a_head_is_what_it_gives_the_previous_the_first_and_the_near(
    fake: FakeModel, plain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    T = 11
    monkeypatch.setattr(habit, "LABEL_WINDOW", T)
    measured = manner_of(fake, silent)
    assert measured.shape == (LAYERS, HEADS, 3)
    for layer, head in np.ndindex(LAYERS, HEADS):
        rows = [
            fake.row(window, layer, head, i)
            for window in windows(fake, plain, T)[: habit.LABEL_WINDOWS]
            for i in range(5, T)
        ]
        expected = [
            mean([row[-2] for row in rows]),
            mean([row[0] for row in rows]),
            mean([sum(row[-5:]) for row in rows]),
        ]
        np.testing.assert_allclose(measured[layer, head], expected, atol=5 * WEIGHT_BOUND)


def test_a_measurement_is_made_once_and_kept_beside_the_model(fake: FakeModel) -> None:
    said: list[str] = []
    first = habit_of(fake, 5, said.append)
    again = habit_of(dataclasses.replace(fake, runs=[]), 5, said.append)
    assert said == ["habit: plain text in windows of 5 tokens, once for fake"]
    np.testing.assert_array_equal(first.means, again.means)
    assert [file.suffix for file in fake.folder.iterdir()] == [".f32"]


def test_another_length_or_another_text_is_another_measurement(
    fake: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    habit_of(fake, 5, silent)
    habit_of(fake, 6, silent)
    monkeypatch.setattr(reference, "reference_text", lambda: "one two three four five six seven eight")
    habit_of(fake, 5, silent)
    assert len(list(fake.folder.iterdir())) == 3


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data[:-4],
        lambda data: b"",
        lambda data: data + b"more",
        lambda data: data[:-4] + np.float32(np.nan).tobytes(),
    ],
    ids=["cut short", "empty", "longer", "not finite"],
)
def test_a_spoilt_measurement_is_made_again(fake: FakeModel, spoil: Callable[[bytes], bytes]) -> None:
    means = habit_of(fake, 5, silent).means
    (file,) = fake.folder.iterdir()
    good = file.read_bytes()
    file.write_bytes(spoil(good))
    np.testing.assert_array_equal(habit_of(fake, 5, silent).means, means)
    assert file.read_bytes() == good


def test_where_nothing_can_be_written_it_is_used_all_the_same(fake: FakeModel) -> None:
    nowhere = dataclasses.replace(fake, folder=fake.folder / "absent")
    np.testing.assert_array_equal(habit_of(nowhere, 5, silent).means, measure_habit(fake, 5))
    assert not list(fake.folder.iterdir())


def test_a_writer_that_is_stopped_leaves_nothing(fake: FakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(old: str, new: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", stopped)
    with pytest.raises(KeyboardInterrupt):
        habit_of(fake, 5, silent)
    assert not list(fake.folder.iterdir())


def test_a_habit_by_place_is_read_by_row() -> None:
    means = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
    assert Habit(means, 3).rows(np.array([2, 0])).tolist() == [[[[6, 7, 8], [0, 1, 2]]]]
