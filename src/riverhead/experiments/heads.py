"""One wide head against several narrow ones, on a task that needs two patterns at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from riverhead.core import MultiHead, sinusoidal
from riverhead.core.border import Floats
from riverhead.experiments.experiment import Experiment, Prediction, Progress, Result
from riverhead.experiments.heads_scene import parts
from riverhead.experiments.one_query import last_token_asks
from riverhead.experiments.training import Adam, Parameters, squared_error, train

__all__ = ["SETUPS", "Run", "Setup", "measure", "predict", "prepare", "run"]

LENGTH = 8  # tokens in a sequence
CARRIED, PLACE, MARK = 16, 4, 1  # numbers a token carries, sinusoids that say where it stands, its mark
BASE = 16.0  # of the sinusoids: both pairs tell neighbours of so few places apart
HELD = CARRIED + PLACE + MARK  # dimensions a mixture of tokens can have
WANTED = 2 * CARRIED  # numbers to hold: those of the token before, and those of the marked one
LOST = WANTED - HELD
WIDTH = WANTED  # d_model: wide enough for both
BATCH, LEARNING_RATE = 64, 0.01
STANDARD_ERRORS = 5
TENTH = 0.1  # of what one head cannot go below
POINTS = 40  # of a curve, each the mean of as many steps

QUESTION = "one wide head, or several narrow ones?"
ARGUMENT = f"""\
Cut the columns of W_q, W_k and W_v into h parts, and each part is a head. The parameters stay the same, \
4·d_model²; what grows is the number of rows of weights that a token has: h in place of one.

The task needs two patterns at once. {LENGTH} tokens carry {CARRIED} random numbers each; sinusoids say \
where a token stands, and one token is marked. The last token has to hold the {CARRIED} numbers of the token \
before it and the {CARRIED} of the marked one, wherever that is.

One head cannot. Its output is y = (Σ_j w_j x_j) W_v W_o: one mixture of the tokens, times one fixed matrix. \
A token has {CARRIED} + {PLACE + MARK} dimensions, its numbers and its place, so y lies in a space of \
{HELD}, whatever the weights and whatever they depend on; what is wanted fills {WANTED}. The {LOST} \
directions that stick out have variance 1 and are lost: the mean squared error is at least \
{LOST}/{WANTED} for every W_q, W_k, W_v, W_o. Copying one of the two tokens and ignoring the other costs 1/2.

Several heads make several mixtures, and the bound is gone. A head copies {WIDTH}/h numbers, so h heads hold \
both tokens where half of them look at each; where a look back and b at the mark, |a − b|/2h is not copied."""


@dataclass(frozen=True, slots=True)
class Setup:
    """How much is measured: the first of ``n_heads`` is 1, and every seed starts all of them alike."""

    n_heads: tuple[int, ...] = (1, 2, 4)
    n_seeds: int = 4
    n_steps: int = 300
    n_tested: int = 1024  # sequences that no training has seen


SETUPS = {False: Setup(), True: Setup((1, 2, 4, 8), n_seeds=12, n_steps=1000, n_tested=8192)}  # by thorough


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One model after training: its ``loss`` on unseen sequences, and what its heads look at there."""

    n_heads: int
    start: int
    n_parameters: int
    curve: tuple[tuple[float, float], ...]  # (step, loss)
    loss: float
    looking_back: int  # heads that give the token before more weight than the marked one, on average
    marked: int  # where the mark of the first unseen sequence is
    weights: tuple[tuple[float, ...], ...]  # (H, T), there


def prepare(thorough: bool = False) -> Experiment:
    """Return the question, the argument and what is predicted; nothing is measured.

    >>> [prediction.bound for prediction in prepare().predictions[:2]]
    ['exactly 0', 'at least 0.3208']
    """
    return predict(SETUPS[thorough])


def measure(experiment: Experiment, seed: int, thorough: bool, progress: Progress) -> Result:
    """Train every number of heads from the same starts, and put what came out beside ``experiment``."""
    return run(experiment, SETUPS[thorough], seed, progress)


def predict(setup: Setup) -> Experiment:
    """Return the predictions for ``setup``; the bounds follow from its sizes."""
    parameters = Prediction(
        "difference in parameters",
        "One head or several: as many parameters.",
        0,
        0,
        f"each of the four is {WIDTH} × {WIDTH} however it is cut: 4·{WIDTH}² = {4 * WIDTH**2:,}",
    )
    error = math.sqrt(2 / (setup.n_tested * LOST))  # of a mean of squares of as many normal numbers, relative
    one = Prediction(
        "loss, 1 head",
        f"One head loses part of what is wanted, in the best of {setup.n_seeds} seeds too.",
        LOST / WANTED * (1 - STANDARD_ERRORS * error),
        math.inf,
        f"{LOST}/{WANTED}, less {STANDARD_ERRORS} standard errors of √(2/({setup.n_tested:,}·{LOST})) each",
    )
    several = (
        Prediction(
            f"loss, {n} heads",
            f"{n} heads hold both, in the best of {setup.n_seeds} seeds.",
            0,
            TENTH * LOST / WANTED,
            f"0 is within reach as the weights sharpen; training is left a tenth of {LOST}/{WANTED}",
        )
        for n in setup.n_heads[1:]
    )
    return Experiment("heads", QUESTION, ARGUMENT, (parameters, one, *several))


def run(experiment: Experiment, setup: Setup, seed: int, progress: Progress) -> Result:
    """Train what ``setup`` says and put what came out beside the predictions."""
    runs = tuple(_runs(setup, seed, progress))
    best = {n: min(each.loss for each in runs if each.n_heads == n) for n in setup.n_heads}
    measured = {f"loss, {_said(n)}": loss for n, loss in best.items()}
    n_parameters = [each.n_parameters for each in runs]
    measured["difference in parameters"] = max(n_parameters) - min(n_parameters)
    data = {"floor": LOST / WANTED, "runs": [asdict(each) for each in runs]}
    notes = (
        "The loss is the mean squared error on sequences that no training has seen; holding nothing costs 1.",
        "Predicted is what a model can hold; what a training finds may be less, and every seed is listed.",
    )
    claims = experiment.claims(measured)
    return Result(experiment, seed, claims, parts(runs, LOST / WANTED), data, notes)


def _runs(setup: Setup, seed: int, progress: Progress) -> Iterator[Run]:
    """Every number of heads from every start."""
    every = list(product(setup.n_heads, range(setup.n_seeds)))
    for done, (n_heads, start) in enumerate(every):
        doing = f"training {_said(n_heads)}, seed {start + 1} of {setup.n_seeds}"

        def tell(part: float, done: int = done, doing: str = doing) -> None:
            progress((done + part) / len(every), doing)

        yield _trained(n_heads, start, seed, setup, tell)


def _trained(n_heads: int, start: int, seed: int, setup: Setup, tell: Callable[[float], None]) -> Run:
    """Train one model; the same ``start`` has the same matrices and sequences for any number of heads."""
    rng = np.random.default_rng([seed, start])
    W: Parameters = {
        name: rng.normal(0, WIDTH**-0.5, (WIDTH, WIDTH)) for name in ("W_q", "W_k", "W_v", "W_o")
    }

    def loss(W: Parameters, step: int) -> tuple[float, Parameters]:
        x, wanted, _ = _sequences(rng, BATCH)
        found, back = last_token_asks(x, W, n_heads)
        off, d_y = squared_error(found.y, wanted)
        return off, back(d_y)

    losses = train(W, loss, Adam(LEARNING_RATE), setup.n_steps, tell)
    x, wanted, marked = _sequences(rng, setup.n_tested)
    found, _ = last_token_asks(x, W, n_heads)
    on_mark = np.take_along_axis(found.weights, marked[:, None, None], -1)[..., 0]  # (n_tested, H)
    return Run(
        n_heads,
        start,
        MultiHead(**W, n_heads=n_heads, n_kv_heads=n_heads).n_parameters,
        _curve(losses),
        squared_error(found.y, wanted)[0],
        int((found.weights[..., -2].mean(axis=0) > on_mark.mean(axis=0)).sum()),
        int(marked[0]),
        tuple(map(tuple, found.weights[0].tolist())),
    )


def _sequences(rng: np.random.Generator, n: int) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Draw x (n, T, d_model), what the last token is to hold (n, WANTED), and where the mark is (n,).

    The mark is never on the last two: there are always two tokens to copy.
    """
    carried = rng.standard_normal((n, LENGTH, CARRIED))
    marked, each = rng.integers(0, LENGTH - 2, n), np.arange(n)
    x = np.zeros((n, LENGTH, WIDTH))
    x[..., :CARRIED] = carried
    x[..., CARRIED : CARRIED + PLACE] = sinusoidal(LENGTH, PLACE, base=BASE)
    x[each, marked, CARRIED + PLACE] = 1
    return x, np.concatenate([carried[:, -2], carried[each, marked]], axis=-1), marked


def _curve(losses: NDArray[np.float64]) -> tuple[tuple[float, float], ...]:
    """Average neighbouring steps, so that at most POINTS are left."""
    chunks = np.array_split(np.arange(len(losses)), min(POINTS, len(losses)))
    return tuple((float(chunk.mean()), float(losses[chunk].mean())) for chunk in chunks)


def _said(n_heads: int) -> str:
    return "1 head" if n_heads == 1 else f"{n_heads} heads"
