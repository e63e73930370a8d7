"""Each mistake of the table works out what NumPy works out, and earns its own words."""

from __future__ import annotations

import numpy as np
import pytest
from by_hand import attend, texts
from counted import PROVED

from riverhead.checking.answers import (
    STEPS,
    Kind,
    attention_sheet,
    blurs,
    dot_sheet,
    grade,
    layer_norm_sheet,
    mistaken,
    mistakes,
    scale_sheet,
    softmax_sheet,
    solved,
    values_sheet,
)
from riverhead.derivation import derive
from riverhead.errors import InputError

Q = [[1.0, -1.0, 0.5], [0.5, 1.0, 1.0], [-1.0, 0.5, 1.5]]
K = [[1.0, 0.5, -1.0], [-0.5, 2.0, 0.5], [1.5, 0.5, 1.5]]
V = [[2.0, -1.0, 5.0], [-3.0, 4.0, 1.0], [1.0, 7.0, -2.0]]
CAUSAL = np.tril(np.ones((3, 3), bool))
ROOT = 3**0.5


def share(x, axis=1):
    return x / x.sum(axis=axis, keepdims=True)


def hidden(rows):
    return lambda g: np.where(np.array(rows, bool), g["scores"], -np.inf)


# The same mistakes in NumPy: the step that is worked out otherwise, and how.
OPEN = {
    "scored-with-values": {"dots": lambda g: g["q"] @ g["v"].T},
    "queries-as-keys": {"dots": lambda g: g["q"] @ g["q"].T},
    "keys-as-queries": {"dots": lambda g: g["k"] @ g["k"].T},
    "scores-transposed": {"dots": lambda g: g["k"] @ g["q"].T},
    "keys-not-transposed": {"dots": lambda g: g["q"] @ g["k"]},
    "cosine": {
        "dots": lambda g: g["q"] @ g["k"].T / np.outer(*(np.linalg.norm(x, axis=1) for x in (g["q"], g["k"])))
    },
    "minus-lost": {"dots": lambda g: abs(g["q"]) @ abs(g["k"]).T},
    "added-not-multiplied": {"dots": lambda g: g["q"].sum(1)[:, None] + g["k"].sum(1)},
    "no-scale": {"scores": lambda g: g["dots"]},
    "divided-by-d_k": {"scores": lambda g: g["dots"] / 3},
    "multiplied-by-scale": {"scores": lambda g: g["dots"] * ROOT},
    "scaled-after-softmax": {"scores": lambda g: g["dots"], "weights": lambda g: share(g["exp"]) / ROOT},
    "softmax-down-columns": {"sum": lambda g: g["exp"].sum(0), "weights": lambda g: share(g["exp"], 0)},
    "softmax-over-all": {
        "sum": lambda g: np.full(3, g["exp"].sum()),
        "weights": lambda g: share(g["exp"], (0, 1)),
    },
    "no-exponential": {"exp": lambda g: g["scores"]},
    "not-normalised": {"weights": lambda g: g["exp"]},
    "exp-over-raw-sum": {"sum": lambda g: g["scores"].sum(1)},
    "base-2": {"exp": lambda g: 2.0 ** g["scores"]},
    "base-10": {"exp": lambda g: 10.0 ** g["scores"]},
    "exp-of-minus": {"exp": lambda g: np.exp(-g["scores"])},
    "peak-taken-off": {"exp": lambda g: np.exp(g["scores"] - g["scores"].max(1, keepdims=True))},
    "softmax-twice": {"weights": lambda g: share(np.exp(share(g["exp"])))},
    "over-the-largest": {"weights": lambda g: g["exp"] / g["exp"].max(1, keepdims=True)},
    "over-the-number-of-keys": {"weights": lambda g: g["exp"] / 3},
    "hardmax": {"weights": lambda g: np.eye(3)[g["scores"].argmax(1)]},
    "averaged": {"weights": lambda g: np.full((3, 3), 1 / 3)},
    "own-key-only": {"weights": lambda g: np.eye(3)},
    "scores-rounded-early": {"scores": lambda g: (g["dots"] / ROOT).round()},
    "exp-rounded-early": {"exp": lambda g: np.exp(g["scores"]).round()},
    "weights-rounded-early": {"weights": lambda g: share(g["exp"]).round(1)},
    "keys-mixed": {"out": lambda g: g["weights"] @ g["k"]},
    "weights-transposed": {"out": lambda g: g["weights"].T @ g["v"]},
    "values-by-scores": {"out": lambda g: g["scores"] @ g["v"]},
    "values-by-exponentials": {"out": lambda g: g["exp"] @ g["v"]},
    "top-value-only": {"out": lambda g: g["v"][g["weights"].argmax(1)]},
    "values-summed": {"out": lambda g: np.tile(g["v"].sum(0), (3, 1))},
}
MASKED = {
    "masked-with-0": {"masked": lambda g: np.where(CAUSAL, g["scores"], 0)},
    "mask-forgotten": {"masked": lambda g: g["scores"]},
    "masked-after-softmax": {
        "sum": lambda g: np.exp(g["scores"]).sum(1),
        "weights": lambda g: np.where(CAUSAL, share(np.exp(g["scores"])), 0),
    },
    "one-too-far": {"masked": hidden([[1, 1, 0], [1, 1, 1], [1, 1, 1]])},
    "wrong-triangle": {"masked": hidden([[1, 1, 1], [0, 1, 1], [0, 0, 1]])},
}


def sheet(causal=False, ask=("dots", "scores", "exp", "sum", "weights", "out")):
    return attention_sheet(derive(Q, K, V, causal=causal), ask)


def named(report, mistake):
    """The first wrong cells: what they are called, and whether all else follows."""
    marks = [mark for mark in report.marks if mark.kind is not Kind.RIGHT and mark.kind is not Kind.FOLLOWS]
    return bool(marks) and all(mistake in mark.mistakes for mark in marks)


@pytest.mark.parametrize("mistake", [*OPEN, *MASKED])
def test_a_mistake_makes_what_numpy_makes_of_it(mistake):
    causal = mistake in MASKED
    worked = attend(Q, K, V, CAUSAL if causal else None, **(MASKED if causal else OPEN)[mistake])
    asked = sheet(causal)
    assert mistaken(asked, mistake) == {
        id: text.replace("-", "−") for id, text in solved_like(asked, worked).items()
    }


def solved_like(asked, worked):
    """Numbers as `mistaken` writes them: exact cells without a tail of zeros."""
    found = texts(asked, worked)
    for cell in asked.asked:
        value = float(worked[cell.grid][cell.at])
        if cell.exact and round(value, 2) == value and value.is_integer():
            found[cell.id] = f"{value:.0f}"
        elif cell.exact and round(value, 2) != value:
            found[cell.id] = f"{value:.4f}"
        if float(found[cell.id]) == 0:
            found[cell.id] = found[cell.id].replace("-", "")
    return found


@pytest.mark.parametrize("mistake", sorted({*OPEN, *MASKED} - {"scaled-after-softmax"}))
def test_a_mistake_earns_its_own_words_once_and_all_else_follows(mistake):
    causal = mistake in MASKED
    worked = attend(Q, K, V, CAUSAL if causal else None, **(MASKED if causal else OPEN)[mistake])
    asked = sheet(causal)
    report = grade(asked, texts(asked, worked))
    assert named(report, mistake)
    told = next(mark for mark in report.marks if mistake in mark.mistakes)
    if len(told.mistakes) == 1:
        assert told.words.endswith(f"{mistakes()[mistake].did} {mistakes()[mistake].right}")


def test_scaling_after_the_softmax_is_told_from_not_scaling():
    worked = attend(Q, K, V, **OPEN["scaled-after-softmax"])
    asked = sheet(ask=("weights", "out"))
    assert grade(asked, texts(asked, worked)).mistakes == {"scaled-after-softmax": 9}
    assert grade(asked, texts(asked, attend(Q, K, V, **OPEN["no-scale"]))).mistakes == {"no-scale": 9}


@pytest.mark.parametrize(
    "mistake", ["no-scale", "softmax-down-columns", "no-exponential", "keys-mixed", "hardmax"]
)
def test_a_mistake_on_scratch_paper_shows_in_the_outputs(mistake):
    worked = attend(Q, K, V, **OPEN[mistake])
    asked = sheet(ask=("out",))
    report = grade(asked, texts(asked, worked))
    assert all(mistake in mark.mistakes for mark in report.marks if not mark.credit)


X = [[1.0, 2.0, -1.0, 0.0], [0.0, 1.0, 2.0, -1.0], [2.0, -1.0, 1.0, 1.0]]
rng = np.random.default_rng(6)
W = {name: rng.integers(-2, 3, (4, 4)).astype(float) / 2 for name in ("W_q", "W_k", "W_v", "W_o")}


def heads(**instead):
    """Two heads of two over four, with what is worked out otherwise, in NumPy."""
    x = np.array(X)
    made = {name: x @ W["W_" + name] for name in "qkv"} | {k: f(x) for k, f in instead.items() if k in "qkv"}
    split = {name: grid.reshape(3, 2, 2).swapaxes(0, 1) for name, grid in made.items()}
    scale = instead.get("scale", 2**-0.5)
    outs = [share(np.exp(scale * split["q"][h] @ split["k"][h].T)) @ split["v"][h] for h in range(2)]
    merged = np.concatenate(outs, axis=1)
    y = instead.get("y", lambda merged, outs: merged @ W["W_o"])(merged, outs)
    return made, outs, y


PROJECTED = {
    "projection-transposed": {name: lambda x, name=name: x @ W["W_" + name].T for name in "qkv"},
    "no-projection": {name: lambda x: x for name in "qkv"},
    "projections-swapped": {"q": lambda x: x @ W["W_k"], "k": lambda x: x @ W["W_q"]},
    "values-by-key-matrix": {"v": lambda x: x @ W["W_k"]},
    "divided-by-root-of-d_model": {"scale": 0.5},
    "no-W_o": {"y": lambda merged, outs: merged},
    "W_o-transposed": {"y": lambda merged, outs: merged @ W["W_o"].T},
    "heads-averaged": {"y": lambda merged, outs: np.hstack([sum(outs) / 2, np.full((3, 2), np.nan)])},
    "heads-added": {"y": lambda merged, outs: np.hstack([sum(outs), np.full((3, 2), np.nan)])},
}


@pytest.mark.parametrize("mistake", PROJECTED)
def test_projections_and_heads_are_named(mistake):
    ask = ("q", "k", "v", "out", "y")
    asked = attention_sheet(derive(x=X, **W, n_heads=2), ask)
    made, outs, y = heads(**PROJECTED[mistake])
    answers = {}
    for cell in asked.asked:
        i, j = cell.at
        h = cell.head or 0
        value = (
            y[i, j]
            if cell.grid == "y"
            else outs[h][i, j]
            if cell.grid == "out"
            else made[cell.grid][i, 2 * h + j]
        )
        answers[cell.id] = "" if np.isnan(value) else f"{value:.4f}"
    report = grade(asked, answers)
    wrong = [mark for mark in report.marks if mark.kind not in (Kind.RIGHT, Kind.FOLLOWS, Kind.BLANK)]
    assert wrong
    assert all(mistake in mark.mistakes for mark in wrong)


def test_a_kv_head_that_is_not_its_own_is_named():
    q = rng.integers(-3, 4, (4, 2, 3)).astype(float)
    k, v = rng.integers(-3, 4, (2, 2, 2, 3)).astype(float)
    asked = attention_sheet(derive(q, k, v), ("dots",))
    answers = {c.id: f"{q[c.head, c.at[0]] @ k[c.head % 2, c.at[1]]:.0f}" for c in asked.asked}
    report = grade(asked, answers)
    assert {mark.cell.split(".")[1] for mark in report.marks if not mark.credit} == {"h1", "h2"}
    assert all("kv-head-mapping" in mark.mistakes for mark in report.marks if not mark.credit)


NORMED = {
    "not-centred": {"centred": lambda x: x},
    "divided-by-variance": {"divisor": lambda variance: variance},
    "variance-over-n-minus-1": {"variance": lambda c: (c**2).sum() / 4},
    "variance-not-divided": {"variance": lambda c: (c**2).sum()},
    "no-gain": {"out": lambda n: n},
}


@pytest.mark.parametrize("mistake", NORMED)
def test_layer_norm(mistake):
    how = NORMED[mistake]
    x, gain, shift = (
        np.array([3.0, -1.0, 4.0, 1.0, -5.0]),
        np.array([2.0, 1, 3, 2, 1]),
        np.array([0.0, 1, 2, 1, 3]),
    )
    g = {"mean": x.mean()}
    g["centred"] = how.get("centred", lambda x: x - x.mean())(x)
    g["variance"] = how.get("variance", lambda c: (c**2).mean())(g["centred"])
    g["deviation"] = np.sqrt(g["variance"])
    g["normed"] = g["centred"] / how.get("divisor", np.sqrt)(g["variance"])
    g["out"] = how.get("out", lambda n: n * gain + shift)(g["normed"])
    asked = layer_norm_sheet(list(x), gain=list(gain), shift=list(shift))
    report = grade(asked, texts(asked, {name: np.array(value) for name, value in g.items()}))
    assert named(report, mistake)
    assert set(report.mistakes) == {mistake}


def test_every_mistake_of_the_table_is_proved_here():
    proved = {*OPEN, *MASKED, *PROJECTED, *NORMED, "kv-head-mapping", "itself-hidden", *PROVED}
    assert set(mistakes()) == proved
    assert len(proved) >= 27


def test_a_token_hidden_from_itself_is_named_where_something_is_left_to_see():
    asked = sheet(causal=True)
    answers = mistaken(asked, "itself-hidden")
    assert "weights.0.0" not in answers  # the first token sees nothing: 0/0
    report = grade(asked, answers)
    assert {report[f"exp.{i}.{i}"].mistakes for i in range(3)} == {("itself-hidden",)}


def test_two_mistakes_that_cannot_be_told_apart_are_both_named():
    # of outputs alone, the values mixed by the exponentials may be weights or a sum left out
    asked = sheet(ask=("out",))
    report = grade(asked, texts(asked, attend(Q, K, V, **OPEN["not-normalised"])))
    assert {mark.mistakes for mark in report.marks} == {("not-normalised", "values-by-exponentials")}
    assert "two mistakes" in report.marks[0].words
    assert all(mistakes()[id].name in report.marks[0].words for id in report.marks[0].mistakes)
    # nor would other numbers tell: that is the sheet's way of asking, no blur of its numbers
    assert ("not-normalised", "values-by-exponentials") not in {
        (b.mistake, b.apart_from) for b in blurs(asked)
    }


def test_what_a_sheet_cannot_tell_is_known_beforehand():
    even = softmax_sheet([[1.0, 1.0, 1.0]])
    unseen = {blur.mistake for blur in blurs(even) if not blur.apart_from}
    assert "averaged" in unseen
    assert grade(even, mistaken_or_solved(even, "averaged")).score == 1.0
    assert blurs(sheet()) == ()


def mistaken_or_solved(asked, mistake):
    try:
        return mistaken(asked, mistake)
    except InputError:
        return solved(asked)


def test_small_sheets_know_their_mistakes():
    dots = dot_sheet(Q, K)
    assert grade(dots, mistaken(dots, "minus-lost")).mistakes.keys() == {"minus-lost"}
    scaled = scale_sheet([[4.0, -2.0, 7.0]], d_k=9)
    assert grade(scaled, mistaken(scaled, "divided-by-d_k")).mistakes == {"divided-by-d_k": 3}
    mixed = values_sheet([[0.7, 0.1, 0.2], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3]], V)
    assert grade(mixed, mistaken(mixed, "weights-transposed")).mistakes.keys() == {"weights-transposed"}


def test_a_mistake_made_in_one_cell_is_named_with_care():
    asked = sheet()
    answers = solved(asked)
    made = mistaken(asked, "no-scale")
    report = grade(asked, answers | {"scores.1.2": made["scores.1.2"]})
    assert report["scores.1.2"].mistakes == ("no-scale",)
    assert report["scores.1.2"].words.startswith("In this cell")


def test_the_words_are_plain_and_the_table_is_whole():
    for mistake in mistakes().values():
        assert mistake.did.startswith("You ")
        assert mistake.did.endswith(".")
        assert mistake.right.endswith((".", "…"))
        assert len(mistake.name) < 45
        assert all(rule.step in STEPS for way in mistake.ways for rule in way)


def test_unknown_mistakes_are_refused():
    with pytest.raises(InputError, match="there is no mistake 'nonsense'"):
        mistaken(sheet(), "nonsense")
    with pytest.raises(InputError, match="changes nothing"):
        mistaken(sheet(), "masked-with-0")


def test_a_mistake_is_tried_on_the_learners_own_cells_first():
    # a slip in a dot product, then √d_k forgotten: the unscaled score is the learner's own number
    answers = solved(sheet()) | {"dots.0.1": "6", "scores.0.1": "6"}
    assert grade(sheet(), answers)["scores.0.1"].mistakes == ("no-scale",)
    # the score is a slip, and the power of 2 is that of the right score: the true cells explain it
    answers = solved(sheet()) | {"scores.1.2": "9.99", "exp.1.2": mistaken(sheet(), "base-2")["exp.1.2"]}
    assert grade(sheet(), answers)["exp.1.2"].mistakes == ("base-2",)


def test_a_number_that_many_mistakes_make_is_named_only_with_its_row():
    answers = solved(sheet())
    assert grade(sheet(), answers | {"weights.2.2": "0"})["weights.2.2"].mistakes == ()
    whole = answers | {"weights.2.0": "0", "weights.2.1": "1", "weights.2.2": "0"}
    assert grade(sheet(), whole)["weights.2.2"].mistakes == ("hardmax",)


def test_a_mistake_that_could_have_made_almost_anything_explains_nothing():
    # e^−4 and e^−3, rounded on scratch paper, leave the output anything from −4.9 to −4.0
    asked = attention_sheet(derive([[1.0]], [[4.0], [3.0]], [[10.0], [-10.0]]), ("out",))
    assert grade(asked, {"out.0.0": "-4.62"})["out.0.0"].mistakes == ("exp-of-minus",)
    assert grade(asked, {"out.0.0": "-4.45"})["out.0.0"].mistakes == ()
