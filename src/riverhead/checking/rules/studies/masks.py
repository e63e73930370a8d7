"""A mask and a padding mask: what they hide, in which form they are taken, for which samples they count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from riverhead.checking.rules.call import Call
from riverhead.checking.rules.judge import explain
from riverhead.checking.rules.pipeline import everyone, padded, turned
from riverhead.checking.rules.report import Agreed, NotOffered
from riverhead.checking.rules.rule import Change, Choice
from riverhead.checking.rules.studies.hiding import (
    EMPTY,
    EMPTY_ROWS,
    FEWER,
    apart,
    form_of,
    given_up,
    leading,
    lost,
    manners,
    speckled,
)
from riverhead.checking.rules.trial import Observed, Study, Trial, by_value

__all__ = ["MASKS"]

FORMS = ("boolean", "number", "added")  # in which a mask may be taken, the usual one first
TAKEN = {
    "boolean": ("keep", "True in {it} means: may attend"),
    "number": ("keep", "1 in {it} means: may attend; True and False are not taken"),
    "added": ("added", "{it} is added to the scores: 0 where a query may attend, −∞ where not"),
}
LONGER = 3  # keys that a mask of the wrong length has too many


# The form of a mask


def forms(aspect: str, it: str) -> tuple[Agreed, ...]:
    """Every form in which a mask may be taken, and may be asked for."""
    return tuple(Agreed(aspect, name, says.format(it=it)) for name, says in TAKEN.values())


def judge(array: str, aspect: str, it: str) -> Callable[[Trial, Study, Observed], None]:
    """Return a judge that finds the form in which a mask is taken, and then judges by value in that form.

    Where True hides, later masks are handed over the other way round, and no mistake remains.
    """

    def judged(trial: Trial, study: Study, observed: Observed) -> None:
        if lost(trial, study):
            return
        tried = {form: _in_form(trial, observed, form) for form in FORMS}
        usable = {form: each for form, each in tried.items() if not all(o.trouble for _, o in each)}
        if not usable:
            trial.not_offered.append(NotOffered(study.name, observed[0][1].error))
            trial.facts["lacks"] = trial.facts.get("lacks", frozenset()) | {array}
            return
        right = (form for form, each in usable.items() if _is_right(trial, study, each))
        form = next(right, next(iter(usable)))
        if form != "boolean":
            trial.facts[f"{array}_form"] = form
        name, says = TAKEN[form]
        by_value(trial, replace(study, usual=(Agreed(aspect, name, says.format(it=it)),)), usable[form])
        inverted = [choice for choice in trial.known if choice.agreed == (aspect, "drop")]
        if inverted and form == "boolean":
            trial.facts[f"{array}_form"] = "drop"
            trial.known.remove(*inverted)

    return judged


def _in_form(trial: Trial, observed: Observed, form: str) -> Observed:
    """What the function gives if the masks are handed over in a form."""
    if form == "boolean":
        return observed
    calls = [replace(call, options={**call.options, "mask_form": form}) for call, _ in observed]
    return [(call, trial.ask(call)) for call in calls]


def _is_right(trial: Trial, study: Study, observed: Observed) -> bool:
    """Whether nothing but a convention stands between the results and right ones."""
    found = explain(observed, trial.known, study.ways, trial.steps)
    return found is not None and all(way.agreed for way in found)


def as_boolean(array: str, aspect: str) -> Callable[[Trial], Sequence[Call]]:
    """Return calls with a boolean mask, unless the function is agreed to be one that adds its mask."""

    def calls(trial: Trial) -> Sequence[Call]:
        form = trial.facts.get(f"{array}_form")
        if form != "added" or trial.expect.get(aspect) != "added":
            make = mask_calls if array == "mask" else padding_calls
            return [
                replace(call, options=form_of(trial, array) if form == "drop" else {}) for call in make(trial)
            ]
        trial.not_offered.append(NotOffered(f"{aspect}-boolean", "a mask that is added was asked for"))
        return []

    return calls


# A mask of queries and keys


def mask_calls(trial: Trial) -> Sequence[Call]:
    """As many queries as keys, so that a mask turned over fits; a key hidden from all; fewer queries."""
    s = trial.draw.sizes
    square, T = trial.qkv(), s.T_k
    barred = np.pad(speckled(trial, "barred", T, T - 1), ((0, 0), (0, 1)))  # the last key is hidden
    found = [Call({**square, "mask": mask}) for mask in (speckled(trial, "mask", T, T), barred)]
    if "cross" in trial.offers:
        found.append(Call({**trial.qkv(T_q=s.T_q), "mask": speckled(trial, "cross", s.T_q, T)}))
    return found


def where_given(change: Change, array: str = "mask") -> Change:
    """Change what a mask hides only where there is one."""
    return lambda p: everyone(p) if getattr(p, array) is None else change(p)


def _values_seen(p: Any) -> Any:  # (..., T_k, d_v)
    return p.v if p.mask is None else np.where(p.mask.any(axis=-2)[..., None], p.v, 0)


MASK_WAYS = (
    Choice("mask-inverted", "mask", "True in the mask means: may not attend",
           {"masked": where_given(lambda p: ~p.mask)}, agreed=("mask", "drop")),
    *manners("mask", "mask", "masked", "the mask", "what the mask hides"),
    *(Choice("mask-transposed", "mask", "the mask is turned over: queries take the columns of keys",
             {"masked": where_given(lambda p: turned(p.mask)), **rows}) for rows in EMPTY_ROWS.values()),
    Choice("mask-on-values", "mask", "the mask sets values to 0, and their keys keep their weights",
           {"masked": everyone, "v+": _values_seen}),
)  # fmt: skip


# A mask for several samples and heads


def shared_calls(trial: Trial) -> Sequence[Call]:
    """One mask for all."""
    s = trial.draw.sizes
    arrays = trial.qkv(*leading(trial))
    return [Call({**arrays, "mask": speckled(trial, "mask", s.T_k, s.T_k)}, form_of(trial, "mask"))]


def own_calls(trial: Trial) -> Sequence[Call]:
    """A mask for each sample, and as many samples as heads, so that masks laid over the heads fit."""
    s = trial.draw.sizes
    axes = leading(trial, H=s.B)
    masks = np.stack([speckled(trial, f"mask of {b}", s.T_k, s.T_k) for b in range(s.B)])
    laid = masks.reshape(s.B, *[1] * (len(axes) - 1), s.T_k, s.T_k)
    return [Call({**trial.qkv(*axes), "mask": laid}, form_of(trial, "mask"))]


def only_first(axis: int) -> Change:
    """Let the mask count for the first along an axis of samples, 0, or heads, 1, alone."""

    def masked(p: Any) -> Any:
        axes = p.q.shape[:-2]
        if axis >= len(axes):
            return p.mask
        first = np.arange(axes[axis]) == 0
        return p.mask | ~first.reshape(-1, *[1] * (p.q.ndim - axis - 1))

    return where_given(masked)


SHARED_WAYS = (
    Choice("mask-ignored", "mask-shared", "the mask hides nothing where there are several samples or heads",
           {"masked": everyone}),
    Choice("mask-first-sample", "mask-shared", "the mask counts for the first sample alone",
           {"masked": only_first(0)}),
    Choice("mask-first-head", "mask-shared", "the mask counts for the first head alone",
           {"masked": only_first(1)}),
)  # fmt: skip

OWN_WAYS = (
    Choice("mask-of-first-sample", "mask-own", "the first sample's mask is taken for every sample",
           {"masked": where_given(lambda p: p.mask[:1] if p.mask.ndim > 2 else p.mask)}),
    Choice("mask-over-heads", "mask-own", "the masks of samples are laid over the heads",
           {"masked": where_given(lambda p: p.mask.swapaxes(0, 1) if p.mask.ndim > 3 else p.mask)}),
)  # fmt: skip


def longer_calls(trial: Trial) -> Sequence[Call]:
    """A mask for more keys than there are."""
    s = trial.draw.sizes
    mask = speckled(trial, "longer", s.T_k, s.T_k + LONGER)
    return [Call({**trial.qkv(), "mask": mask}, form_of(trial, "mask"))]


def refused(trial: Trial, study: Study, observed: Observed) -> None:
    """A mask that does not fit is an error; a result is none."""
    for call, outcome in observed:
        if not outcome.error:
            T_q, T_k = call.arrays["mask"].shape
            n = call.arrays["k"].shape[-2]
            did = f"a mask ({T_q}, {T_k}) is taken for {n} keys"
            trial.fail(study.name, call, mistake="mask-length-accepted", did=did)
    trial.pass_(study.name)


# A mask of keys


def padding_calls(trial: Trial) -> Sequence[Call]:
    """Samples of different lengths, padded at different places; as many queries as keys."""
    s, several = trial.draw.sizes, trial.offers & {"batch", "heads"}
    axes = leading(trial) if several else ()
    keys = speckled(trial, "key_mask", s.B if several else 1, s.T_k)
    if trial.always_causal:
        keys[:, 0] = True
    return [Call({**trial.qkv(*axes), "key_mask": keys}, form_of(trial, "key_mask"))]


def cross_calls(trial: Trial) -> Sequence[Call]:
    """The same with one query fewer than keys; a key that has a query of its number is hidden."""
    (call,) = padding_calls(trial)
    keys = call.arrays["key_mask"].copy()
    keys[0, :2] = True, False
    return [replace(call, arrays={**call.arrays, "q": call.arrays["q"][..., 1:, :], "key_mask": keys})]


def padded_queries(p: Any) -> Any:  # (..., T_q, 1)
    """The queries that stand where keys are padding; where they are not as many as keys, none."""
    given = p.key_mask is not None and p.T_q == p.T_k
    return turned(~padded(p)) if given else np.zeros((1, 1), bool)


def first_padded(p: Any) -> Any:  # (..., T_q, 1)
    """Of queries that are fewer than keys, those with the number of a padded key."""
    given = p.key_mask is not None and p.T_q < p.T_k
    return turned(~padded(p))[..., : p.T_q, :] if given else np.zeros((1, 1), bool)


ON_QUERIES = "the padding mask hides queries, not keys: their rows give {}"
TOO = "rows of padded queries give {}"

PADDING_WAYS = (
    Choice("padding-inverted", "padding", "True in the padding mask means: hidden",
           {"padded": where_given(lambda p: ~padded(p), "key_mask")},
           agreed=("padding", "drop")),
    *manners("padding", "padding", "padded", "the padding mask", "padded keys"),
    *(Choice("padding-on-queries", "padding", ON_QUERIES.format(name),
             {"padded": everyone, "weights+": given_up(padded_queries, weight)})
      for name, weight in EMPTY.items()),
    *(Choice("padded-queries", "padding", TOO.format(name), {"weights+": given_up(padded_queries, weight)},
             agreed=None if name == "NaN" else ("padded-queries", name.split()[-1]))
      for name, weight in EMPTY.items()),
    Choice("padding-first-sample", "padding", "the first sample's padding mask is taken for every sample",
           {"padded": lambda p: padded(p)[:1]}),
)  # fmt: skip


CROSS_WAYS = (
    Choice("padding-ignored", "padding-cross", f"{FEWER}the padding mask hides nothing",
           {"padded+": lambda p: p.padded if p.T_q == p.T_k else everyone(p)}),
    *(Choice("padding-on-rows", "padding-cross", f"{FEWER}the mask of keys makes rows of queries {name}",
             {"weights+": given_up(first_padded, weight)}) for name, weight in EMPTY.items()),
)  # fmt: skip


def both_calls(trial: Trial) -> Sequence[Call]:
    """A mask and a padding mask that each hide one key more, and never the first."""
    if form_of(trial, "mask") != form_of(trial, "key_mask"):
        trial.not_judged.append(NotOffered("padding-and-mask", "the two masks are taken in different forms"))
        return []
    (call,), T = padding_calls(trial), trial.draw.sizes.T_k
    spared = np.arange(T) % (T - 1) + 1  # the key that row i of a mask hides
    mask = np.arange(T) != spared[:, None]
    keys = np.arange(T) != spared[np.arange(len(call.arrays["key_mask"])) % T, None]
    return [replace(call, arrays={**call.arrays, "mask": mask, "key_mask": keys})]


def _given(p: Any) -> bool:
    return p.mask is not None and p.key_mask is not None


BOTH_WAYS = (
    Choice("padding-drops-mask", "padding-and-mask", "the mask is ignored where there is a padding mask",
           {"masked+": lambda p: everyone(p) if _given(p) else p.masked}),
    Choice("mask-drops-padding", "padding-and-mask", "the padding mask is ignored where there is a mask",
           {"padded+": lambda p: everyone(p) if _given(p) else p.padded}),
    Choice("mask-or-padding", "padding-and-mask", "a key is visible where either of them lets it be seen",
           {"seen+": lambda p: (p.masked | p.padded) & p.past & p.near if _given(p) else p.seen}),
)  # fmt: skip

ADDED = {"mask": "masked", "padding": "padded"}


def added(aspect: str, it: str) -> tuple[Choice, ...]:
    """Return the way of a function that adds a boolean mask as it is."""
    step = ADDED[aspect]
    ways = manners(aspect, f"{aspect}-boolean", step, it, "")
    return tuple(way for way in ways if way.id == f"{aspect}-added")


MASKS = (
    Study("mask", mask_calls, MASK_WAYS, forms("mask", "the mask"), judge("mask", "mask", "the mask")),
    Study("mask-boolean", as_boolean("mask", "mask"), added("mask", "a boolean mask"),
          judge=apart, optional=True),
    Study("mask-shared", shared_calls, SHARED_WAYS, optional=True),
    Study("mask-own", own_calls, OWN_WAYS, optional=True),
    Study("mask-length", longer_calls, judge=refused),
    Study("padding", padding_calls, PADDING_WAYS, forms("padding", "the padding mask"),
          judge("key_mask", "padding", "the padding mask")),
    Study("padding-cross", cross_calls, CROSS_WAYS, optional=True),
    Study("padding-boolean", as_boolean("key_mask", "padding"), added("padding", "a boolean padding mask"),
          judge=apart, optional=True),
    Study("padding-and-mask", both_calls, BOTH_WAYS, optional=True),
)  # fmt: skip
