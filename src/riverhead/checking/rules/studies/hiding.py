"""How what is to be hidden is hidden otherwise, whatever hides it: a mask, padding, the order of tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.call import Call
from riverhead.checking.rules.pipeline import ATTENTION, everyone
from riverhead.checking.rules.report import NotOffered
from riverhead.checking.rules.rule import Change, Choice
from riverhead.checking.rules.trial import Observed, Study, Trial, by_value

__all__ = [
    "EMPTY",
    "EMPTY_ROWS",
    "FEWER",
    "apart",
    "empty",
    "form_of",
    "given_up",
    "hiding",
    "instead_of_hidden",
    "leading",
    "lost",
    "manners",
    "speckled",
]

Bools = NDArray[np.bool_]

FEWER = "where queries are fewer than keys, "
TRIES = 200  # draws of a small mask before less is asked of it

EMPTY = {"zeros": 0.0, "the mean": None, "NaN": np.nan}  # what a row that sees no key may give


def empty(p: Any) -> Any:  # (..., T_q, 1)
    """The queries that see no key."""
    return ~p.seen.any(axis=-1, keepdims=True)


def given_up(rows: Change, weight: float | None) -> Change:
    """Give every key of some rows the same weight: 0, NaN, or an equal share."""
    return lambda p: np.where(rows(p), 1 / p.T_k if weight is None else weight, p.weights)


EMPTY_ROWS: Mapping[str, Mapping[str, Change]] = {
    name: {"weights+": given_up(empty, weight)} for name, weight in EMPTY.items()
}


def instead_of_hidden(step: str, fill: Change) -> Mapping[str, Change]:
    """Let a step hide nothing, and put a number where it would have hidden the score."""
    right = ATTENTION[step]

    def filled(p: Any) -> Any:  # (..., T_q, T_k)
        return np.where(right(p) | ~p.seen, p.filled, fill(p))

    return {step: everyone, "filled+": filled}


def manners(prefix: str, rule: str, step: str, hides: str, hidden: str) -> tuple[Choice, ...]:
    """Return the wrong ways to hide by a step; ``hides`` says what does it, ``hidden`` what is hidden."""
    right = ATTENTION[step]
    added = {step: everyone, "filled+": lambda p: p.filled + right(p)}
    late = {step: everyone, "weights+": lambda p: np.where(right(p), p.weights, 0)}
    return (
        Choice(f"{prefix}-ignored", rule, f"{hides} hides nothing", {step: everyone}),
        Choice(f"{prefix}-zeroes-scores", rule, f"scores of {hidden} become 0, not −∞: e⁰ = 1 takes weight",
               instead_of_hidden(step, lambda p: 0.0)),
        Choice(f"{prefix}-tiny-fill", rule, f"scores of {hidden} become 0.000000001, typed for −1000000000",
               instead_of_hidden(step, lambda p: 1e-9)),
        Choice(f"{prefix}-tiny-fill", rule, f"scores of {hidden} become −0.000000001, typed for −1000000000",
               instead_of_hidden(step, lambda p: -1e-9)),
        Choice(f"{prefix}-large-fill", rule, f"scores of {hidden} become a large number, its minus lost",
               instead_of_hidden(step, lambda p: 1e9)),
        Choice(f"{prefix}-added", rule, f"{hides} is added to the scores as 1 and 0", added),
        Choice(f"{prefix}-after-softmax", rule, f"weights of {hidden} become 0 after the softmax, "
               "and the others no longer sum to 1", late),
    )  # fmt: skip


def leading(trial: Trial, H: int | None = None) -> tuple[int, ...]:
    """Return the axes in front of a call: heads where there are any, else samples alone."""
    s = trial.draw.sizes
    return (s.B, H or s.H) if "heads" in trial.offers else (s.B,)


def speckled(trial: Trial, name: str, rows: int, columns: int, *, oneself: bool = False) -> Bools:
    """Draw a mask of which each row shows something and hides something: in general, so that ways are apart.

    ``oneself``: each query may attend to itself, without which a causal one could be left with nothing.
    """
    always = np.eye(rows, columns, dtype=bool) & (oneself or trial.always_causal)

    def drawn() -> Iterator[Bools]:
        return ((trial.draw.numbers(f"{name} {n}", rows, columns) > 0) | always for n in range(TRIES))

    found = (mask for test in (_in_general, _some_but_not_all) for mask in drawn() if test(mask))
    return next(found, np.ones((rows, columns), bool))


def _some_but_not_all(mask: Bools) -> bool:
    return bool(mask.any(-1).all() and not mask.all(-1).any())


def _in_general(mask: Bools) -> bool:
    """Each column is seen, the mask is not its turn, and some row shows several keys, some hides several."""
    several = mask.sum(-1).max() > 1 and (~mask).sum(-1).max() > 1
    turned = np.array_equal(mask, mask.T)
    return bool(_some_but_not_all(mask) and mask.any(0).all() and several and not turned)


def lost(trial: Trial, study: Study) -> bool:
    """Whether no value can be judged any more; then that is said of a study's rules."""
    if trial.lost:
        why = f"follows from {trial.lost}"
        trial.not_judged += [
            NotOffered(rule.id, why) for rule in trial.rules_of(study) if not trial.said(rule.id)
        ]
    return bool(trial.lost)


def apart(trial: Trial, study: Study, observed: Observed) -> None:
    """Judge by value; what is found says nothing of later calls, whose masks and scores are others."""
    if lost(trial, study):
        return
    before = len(trial.known)
    by_value(trial, study, observed)
    del trial.known[before:]


def form_of(trial: Trial, name: str) -> dict[str, str]:
    """Return the option that says how this function takes its mask, as far as that is known."""
    form = trial.facts.get(f"{name}_form")
    return {} if form is None else {"mask_form": form}


def hiding(trial: Trial, arrays: Mapping[str, NDArray[Any]], keys: NDArray[Any], **options: Any) -> Call:
    """Hide keys (T_k,) from every query: by the mask where there is one, else as padding of one sample."""
    if "mask" in trial.offers:
        mask = np.broadcast_to(keys, (arrays["q"].shape[-2], len(keys))).copy()
        return Call({**arrays, "mask": mask}, {**form_of(trial, "mask"), **options})
    lone = next((axes for word, axes in LONE.items() if word in trial.offers), ())
    given = {name: x.reshape(*lone, *x.shape) for name, x in arrays.items()}
    return Call({**given, "key_mask": keys[None]}, {**form_of(trial, "key_mask"), **options})


LONE = {"batch": (1,), "heads": (1, 1)}  # the axes in front of one sample
