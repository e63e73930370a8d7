"""How the experiment on context is shown: both accuracies, both losses, and where the word looks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from riverhead.experiments.sentences import Sentences
from riverhead.numbers import fixed
from riverhead.scene import Cell, Line, Lines, Matrix, Part, Sub, Symbol, Table, Text, Word

if TYPE_CHECKING:
    from riverhead.experiments.context import Run

__all__ = ["parts"]


def parts(known: Sentences, free: Sequence[Run], learned: Sequence[Run], floor: float) -> tuple[Part, ...]:
    """Return the table, the chart, and the weights in two sentences; ``floor`` is the loss of ``free``."""
    return (
        _table(free, learned),
        _chart(free, learned, floor),
        *_weights(known, learned[0]),
    )


def _table(free: Sequence[Run], learned: Sequence[Run]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for both in zip(free, learned, strict=True):
        right = (fixed(run.accuracy) for run in both)
        on_subject = (fixed(run.subject_weight) for run in both)
        rows.append((str(both[0].start + 1), *right, *on_subject))
    heading = ("seed", "right, without", "right, learned", "on the subject, without", "learned")
    caption = "on sentences that no training has seen: the share that is right, the mean weight"
    return Table(heading, tuple(rows), caption)


def _chart(free: Sequence[Run], learned: Sequence[Run], floor: float) -> Lines:
    n_steps = len(free[0].losses)
    lines = (_line("without parameters", free), _line("W_q, W_k, W_v learned", learned))
    bound = Line("bound, without", ((0, floor), (n_steps - 1, floor)), predicted=True)
    caption = "mean of the seeds"
    return Lines((*lines, bound), "training step", "loss, nats a sentence", caption=caption)


def _line(label: str, runs: Sequence[Run]) -> Line:
    losses = np.array([run.losses for run in runs])  # (n_seeds, n_steps)
    spread = zip(losses.min(axis=0).tolist(), losses.max(axis=0).tolist(), strict=True)
    points = tuple((float(step), loss) for step, loss in enumerate(losses.mean(axis=0).tolist()))
    return Line(label, points, spread=tuple(spread))


def _weights(known: Sentences, run: Run) -> list[Part]:
    """The word's row before, during and after training, in both sentences."""
    word = known.frame[-1]
    shown: list[Part] = [Text((f"Where “{word}” looks, before, during and after",), "heading")]
    before, during, after = run.steps
    times = (f"before ({before})", f"step {during}", f"step {after}")
    for sentence, (subject, other) in enumerate(run.held_out):
        rows = tuple(tuple(fixed(weight, 2) for weight in weights[sentence]) for weights in run.weights)
        says = f"Here it says “{known.senses[known.sense(subject)]}”:"
        shown.append(Text((says,)))
        shown.append(
            Matrix(Sub(Symbol("w"), Word(word)), times, known.words(subject, other), rows, shade=True)
        )
    return shown
