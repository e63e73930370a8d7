"""The experiment as a whole: its question, its argument, and its four pieces one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from riverhead.experiments.experiment import Experiment, Progress, Result
from riverhead.experiments.scale import dots, gradient, spread, training
from riverhead.experiments.scale.piece import Piece
from riverhead.scene import Part

__all__ = ["SIZES", "THOROUGH", "Sizes", "measure", "measured", "predicted", "prepare"]

QUESTION = "why are the dots divided by √d_k?"

ARGUMENT = f"""\
q·k adds d_k products. Where the components are independent, of mean 0 and variance σ², each product has \
variance σ⁴, and variances add: Var(q·k) = σ⁴·d_k. Divided by √d_k the scores have variance σ⁴ at any d_k.

Scores √d_k apart are a softmax that has decided: of two scores 8 apart, as at d_k = 64, the larger takes \
{1 / (1 + math.exp(-8)):.4f} of the weight. What comes back to the scores goes through softmax's Jacobian, \
J = diag(w) − w·wᵀ, and its norm is at most twice what the largest weight leaves.

So without the divisor a query in the middle gets next to nothing back. Not every one: where the two best \
keys happen to tie, of the order of √d_k times as much comes back as with it. What reaches W_q does not \
vanish on average; it comes from fewer and fewer queries, in ever larger lumps.

Dividing changes nothing of what attention can compute: W_q smaller by √d_k has the same scores. It changes \
where training starts, and how far a step goes."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is drawn: pairs for each variance, rows of two scores, texts, training steps and their d_k."""

    n_pairs: int = 50_000
    n_rows: int = 20_000
    n_texts: int = 500
    n_steps: int = 150
    widths: tuple[int, ...] = (8, 64, 512)


SIZES = Sizes()
THOROUGH = Sizes(200_000, 40_000, 2_000, 600, (8, 16, 32, 64, 128, 256, 512))

# what is being done, and the part of all the time that is over when it is done
_STAGES = (
    ("variance of q·k", 0.3),
    ("softmax", 0.35),
    ("what reaches W_q and W_k", 0.6),
    ("training both ways", 1.0),
)


def prepare(thorough: bool = False) -> Experiment:
    """Return the question, the argument and the predictions."""
    return predicted(THOROUGH if thorough else SIZES)


def predicted(sizes: Sizes) -> Experiment:
    """Return the experiment with the bounds that ``sizes`` give."""
    return Experiment(
        "scale",
        QUESTION,
        ARGUMENT,
        (
            *dots.predictions(sizes.n_pairs),
            *spread.predictions(sizes.n_rows),
            *gradient.predictions(sizes.n_texts),
            *training.predictions(sizes.n_steps),
        ),
    )


def measure(experiment: Experiment, seed: int, thorough: bool, progress: Progress) -> Result:
    """Measure what ``experiment`` predicts."""
    return measured(experiment, THOROUGH if thorough else SIZES, seed, progress)


def measured(experiment: Experiment, sizes: Sizes, seed: int, progress: Progress) -> Result:
    """Measure at ``sizes``; each piece draws from numbers of its own, so that none moves another."""
    rng = [np.random.default_rng((seed, at)) for at in range(3)]
    run: tuple[Callable[[Callable[[float], object]], Piece], ...] = (
        lambda told: dots.measure(sizes.n_pairs, rng[0], told),
        lambda told: spread.measure(sizes.n_rows, rng[1], told),
        lambda told: gradient.measure(sizes.n_texts, rng[2], told),
        lambda told: training.measure(sizes.n_steps, sizes.widths, (seed, 3), told),
    )
    begun, pieces = 0.0, []
    for piece, (doing, end) in zip(run, _STAGES, strict=True):
        progress(begun, doing)
        pieces.append(piece(_within(progress, begun, end, doing)))
        begun = end
    numbers: dict[str, float] = {}
    parts: list[Part] = []
    data: dict[str, Any] = {}
    for each in pieces:
        numbers |= each.measured
        parts += each.parts
        data |= each.data
    notes = tuple(note for each in pieces for note in each.notes)
    return Result(experiment, seed, experiment.claims(numbers), tuple(parts), data, notes)


def _within(progress: Progress, begun: float, end: float, doing: str) -> Callable[[float], object]:
    return lambda fraction: progress(begun + fraction * (end - begun), doing)
