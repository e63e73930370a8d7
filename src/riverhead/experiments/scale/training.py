"""A small attention model trained with the dots divided by √d_k and without, by Adam and by plain descent."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from riverhead.core.border import Floats
from riverhead.experiments.experiment import Prediction
from riverhead.experiments.scale.piece import Piece
from riverhead.experiments.training import (
    SGD,
    Adam,
    Loss,
    Optimizer,
    Parameters,
    cross_entropy,
    multi_head,
    train,
)
from riverhead.numbers import fixed, plain
from riverhead.scene import Line, Lines, Part, Table, Text

__all__ = ["Run", "measure", "predictions"]

BATCH, T, WIDTH, D_V, N_CLASSES = 16, 8, 8, 16, 4
D_MODEL = 3 * WIDTH
EQUAL_AT = 64  # a d_k whose root is a power of two: then float arithmetic divides by it exactly
ADAM_RATE, SGD_RATE = 0.01, 0.5
N_POINTS = 30  # on a curve, each a mean
BLIND = math.log(N_CLASSES)
OPTIMIZERS: dict[str, Callable[[], Optimizer]] = {
    "Adam": lambda: Adam(ADAM_RATE),
    "plain descent": lambda: SGD(SGD_RATE),
}


@dataclass(frozen=True, slots=True)
class Run:
    """The loss, nats a token, before each step of one training."""

    optimizer: str
    d_k: int
    divided: bool
    losses: NDArray[np.float64]

    @property
    def end(self) -> float:
        """The mean over the last tenth of the steps."""
        return float(self.losses[-max(len(self.losses) // 10, 1) :].mean())


def predictions(n_steps: int) -> tuple[Prediction, ...]:
    """Say what theory gives of training; which way ends lower it does not give."""
    root = math.isqrt(EQUAL_AT)
    return (
        Prediction(
            "the same descent",
            f"Undivided, with W_q started {root} (√d_k) times smaller and stepped {EQUAL_AT} times less, "
            f"plain descent has the very same losses for {n_steps} steps: the largest difference.",
            0,
            0,
            f"(W_q/√d_k)·W_k gives the same scores, and dW_q is √d_k times as large; ÷ {root} is exact",
        ),
    )


def measure(
    n_steps: int, widths: tuple[int, ...], seed: tuple[int, ...], progress: Callable[[float], object]
) -> Piece:
    """Train at each of ``widths``, both ways by both optimizers, from one start on the same texts."""
    plan = [(name, d_k, divided) for name in OPTIMIZERS for d_k in widths for divided in (True, False)]
    done = 0

    def trained(
        optimizer: Optimizer, d_k: int, divided: bool, small_W_q: bool = False
    ) -> NDArray[np.float64]:
        nonlocal done
        W, loss = _model(d_k, divided, small_W_q, seed)
        losses = train(W, loss, optimizer, n_steps)
        done += 1
        progress(done / (len(plan) + 2))
        return losses

    runs = [Run(name, d_k, divided, trained(OPTIMIZERS[name](), d_k, divided)) for name, d_k, divided in plan]
    one = trained(SGD(SGD_RATE), EQUAL_AT, divided=True)
    other = trained(SGD(SGD_RATE), EQUAL_AT, divided=False, small_W_q=True)
    measured = {"the same descent": float(np.abs(one - other).max())}
    return Piece(measured, _parts(runs, widths), _data(runs, n_steps), _notes(runs, widths[-1]))


def _model(d_k: int, divided: bool, small_W_q: bool, seed: tuple[int, ...]) -> tuple[Parameters, Loss]:
    """Return the start of a model and its loss on texts in which every token asks for another one's class.

    A token holds its name, the name of the token it asks for, and its own class, each a normal vector: W_q
    and W_k have to learn which part of one meets which part of another.
    """
    rng = np.random.default_rng((*seed, 0))
    classes = rng.standard_normal((N_CLASSES, WIDTH))
    shapes = {"W_v": (D_MODEL, D_V), "W_o": (D_V, N_CLASSES), "W_q": (D_MODEL, d_k), "W_k": (D_MODEL, d_k)}
    W: Parameters = {
        name: (rng.standard_normal(shape) / math.sqrt(shape[0])).astype(np.float32)
        for name, shape in shapes.items()
    }
    if small_W_q:
        W["W_q"] /= np.float32(math.sqrt(d_k))
    texts = np.random.default_rng((*seed, 1))

    def loss(W: Parameters, step: int) -> tuple[float, Parameters]:
        x, wanted = _texts(classes, texts)
        found, back = multi_head(x, W, scale=d_k**-0.5 if divided else 1.0)
        value, d_logits = cross_entropy(found.y, wanted)
        gradients = back(d_logits)[1]
        if small_W_q:
            gradients["W_q"] /= np.float32(d_k)
        return value, gradients

    return W, loss


def _texts(classes: NDArray[np.float64], rng: np.random.Generator) -> tuple[Floats, NDArray[np.integer]]:
    """Draw a batch (BATCH, T, D_MODEL), and the class each token asks for (BATCH, T)."""
    names = rng.standard_normal((BATCH, T, WIDTH))
    own = rng.integers(0, N_CLASSES, (BATCH, T))
    asked = rng.permuted(np.tile(np.arange(T), (BATCH, 1)), axis=1)
    of_asked = np.take_along_axis(names, asked[..., None], axis=1)
    x = np.concatenate([names, of_asked, classes[own]], axis=-1).astype(np.float32)
    return x, np.take_along_axis(own, asked, axis=1)


def _data(runs: list[Run], n_steps: int) -> dict[str, object]:
    rows = [
        {"optimizer": run.optimizer, "d_k": run.d_k, "divided": run.divided, "losses": run.losses.tolist()}
        for run in runs
    ]
    return {"n_steps": n_steps, "loss_blind": BLIND, "training": rows}


def _parts(runs: list[Run], widths: tuple[int, ...]) -> tuple[Part, ...]:
    ends = {(run.optimizer, run.d_k, run.divided): fixed(run.end) for run in runs}
    rows = tuple(
        (plain(d_k), *(ends[name, d_k, divided] for name in OPTIMIZERS for divided in (True, False)))
        for d_k in widths
    )
    columns = ("d_k", *(f"{name}{way}" for name in OPTIMIZERS for way in (" ÷√d_k", "")))
    charts = (
        Lines(
            tuple(
                Line(f"d_k = {run.d_k}{', ÷√d_k' if run.divided else ''}", _curve(run.losses))
                for run in runs
                if run.optimizer == name
            ),
            "step",
            "loss, nats a token",
            caption=name,
        )
        for name in OPTIMIZERS
    )
    said = f"loss at the end, nats a token; guessing blindly loses ln {N_CLASSES} = {fixed(BLIND)}"
    return Text(("A small model trained both ways",), "heading"), Table(columns, rows, said), *charts


def _curve(losses: NDArray[np.float64]) -> tuple[tuple[float, float], ...]:
    """Means over N_POINTS stretches of steps, each at its middle."""
    stretches = np.array_split(np.arange(len(losses)), min(N_POINTS, len(losses)))
    return tuple((float(steps.mean()), float(losses[steps].mean())) for steps in stretches)


def _notes(runs: list[Run], widest: int) -> tuple[str, ...]:
    ends = {(run.optimizer, run.divided): run.end for run in runs if run.d_k == widest}
    said = "; ".join(
        f"{name} ends at {fixed(ends[name, True])} with ÷√d_k and at {fixed(ends[name, False])} without"
        for name in OPTIMIZERS
    )
    return (
        f"At d_k = {widest}, {said}, in nats. That is what came out, at one learning rate each "
        f"({ADAM_RATE:g} and {SGD_RATE:g}); theory does not say which way ends lower, and no claim is made: "
        "other rates, or more steps, may hide the difference.",
    )
