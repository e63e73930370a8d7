"""What each head of a model is called, from what it does with plain text, measured once and kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from riverhead.inspection.habit import MANNER, Say, manner_of
from riverhead.inspection.head_means import head_means
from riverhead.inspection.reference import kept, twice
from riverhead.inspection.tables import Rule, first_that_holds, rules
from riverhead.transformer import Model

__all__ = ["Label", "label_rules", "labels_of"]

PASSAGE = 128  # tokens of plain text, which then stand there once more: copies in which to see induction
DOUBLED = {  # what is measured there, by the name that labels.toml uses
    "duplicate": "duplicate_weight",
    "induction": "induction_weight",
    "entropy_share": "entropy_share",
    "next": "next_weight",
    "last": "last_weight",
}
BOTH_WAYS = {"next", "last"}  # known only where a query sees later tokens

Array = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Label:
    """What a head is called, and the number and the threshold it follows from, in words."""

    words: str
    reason: str


def label_rules(model: Model) -> tuple[Rule, ...]:
    """Return the table that names heads, without the rules about what ``model`` cannot do."""
    unknown = BOTH_WAYS if model.config.causal else set()
    return tuple(rule for rule in rules("label") if not unknown & rule.when.keys())


def labels_of(model: Model, say: Say) -> dict[tuple[int, int], Label]:
    """Return the label of every head (layer, head), from means kept beside the model or measured now.

    The means are `manner_of` over the reference text, and those of `head_means` over a passage of it that
    stands there twice. Olsson et al. 2022, "In-context Learning and Induction Heads", on the latter.
    """
    names = [name for name in DOUBLED if not (model.config.causal and name in BOTH_WAYS)]

    def measure() -> Array:
        say(f"labels: plain text that stands there twice, once for {model.name}")
        found = head_means(model, twice(model, PASSAGE)).by_name
        return np.stack([found[DOUBLED[name]] for name in names], axis=-1).astype(np.float32)

    manner = manner_of(model, say)
    doubled = kept(model.folder, "doubled", (*manner.shape[:2], len(names)), measure)
    labels = {}
    for layer, head in np.ndindex(manner.shape[:2]):
        facts = dict(zip(MANNER, manner[layer, head].tolist(), strict=True))
        facts |= dict(zip(names, doubled[layer, head].tolist(), strict=True))
        rule = first_that_holds(rules("label"), facts)
        labels[layer, head] = Label(rule.words, rule.reason(facts) or "no threshold reached")
    return labels
