"""Every head's answer for one pair of words, in the words that the thresholds of labels.toml give it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.inspection.findings import Finding
from riverhead.inspection.labels import Label
from riverhead.inspection.tables import Rule, first_that_holds, rules
from riverhead.transformer import head_name

__all__ = ["Head", "Judged", "facts", "select"]

Floats = NDArray[np.float32]
Head = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """One pair of words in every head; the one looked at is ``distance`` tokens back, below 0 ahead."""

    word: str
    distance: int
    weight: Floats  # (n_layers, H)
    habit: Floats  # (n_layers, H)
    swap: Floats  # (n_nouns, n_layers, H); no nouns where none fits
    nouns: tuple[str, ...]
    labels: Mapping[Head, Label]

    def rule(self, head: Head) -> Rule:
        """Return the row of the table that words what ``head`` does here."""
        weight, habit, swap = float(self.weight[head]), float(self.habit[head]), self.swap[:, *head]
        label = self.labels[head].words
        return first_that_holds(rules("says"), facts(weight, habit, swap, self.distance, label))

    def select(self, n: int) -> list[Head]:
        """Choose ``n`` heads to show: see `select`."""
        chance = np.maximum(self.habit, self.swap.mean(axis=0)) if self.nouns else self.habit
        score = self.weight - chance
        is_finding = [self.rule((int(layer), int(head))).finding for layer, head in np.ndindex(score.shape)]
        return select(self.weight, score, np.reshape(is_finding, score.shape), n)

    def finding(
        self, head: Head, *, if_off_nats: float | None = None, if_off_vector_change: float | None = None
    ) -> Finding:
        """Put together the row of ``head`` and what moves without it."""
        rule, swap = self.rule(head), self.swap[:, *head]
        most = int(swap.argmax()) if self.nouns else None
        return Finding(
            head=head_name(*head),
            weight=float(self.weight[head]),
            habit=float(self.habit[head]),
            swap_mean=None if most is None else float(swap.mean()),
            swap_max=None if most is None else float(swap[most]),
            swap_noun=None if most is None else self.nouns[most],
            if_off_nats=if_off_nats,
            label=self.labels[head].words,
            says=rule.words.format(word=self.word),
            finding=rule.finding,
            if_off_vector_change=if_off_vector_change,
        )


def facts(weight: float, habit: float, swap: Floats, distance: int, label: str) -> dict[str, Any]:
    """Return what the table ``says`` may ask about a weight; ``swap`` is (n_nouns,)."""
    whole = max(weight, float(np.finfo(np.float32).tiny))  # a weight may underflow to 0
    habit_share, swap_share = habit / whole, float(swap.mean() if swap.size else 0) / whole
    return {
        "weight": weight,
        "habit_share": habit_share,
        "swap_share": swap_share,
        "chance_share": max(habit_share, swap_share),
        "nouns": swap.size,
        "beats": float((swap < weight).mean() if swap.size else 0),
        "distance": distance,
        "label": label,
    }


def select(weight: Floats, score: Floats, is_finding: NDArray[np.bool_], n: int) -> list[Head]:
    """Choose ``n`` heads out of (n_layers, H): the best by score, and half as many to tell them apart from.

    The latter, n // 2, are the heaviest of the others whose weight is no finding. All are ordered by score.
    """

    def by(values: Floats) -> list[Head]:
        order = np.argsort(-values, axis=None, kind="stable").tolist()
        return [divmod(place, values.shape[1]) for place in order]

    chosen = by(score)[: n - n // 2]
    chosen += [head for head in by(weight) if head not in chosen and not is_finding[head]][: n // 2]
    return sorted(chosen, key=lambda head: -score[head])
