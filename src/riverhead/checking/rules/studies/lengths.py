"""Lengths: one key, none, and those at which blocks of a kernel end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.call import Call
from riverhead.checking.rules.pipeline import spent, turned
from riverhead.checking.rules.rule import Change, Choice
from riverhead.checking.rules.trial import Observed, Study, Trial, by_value
from riverhead.core.equation import softmax

__all__ = ["LENGTHS"]

Array = NDArray[Any]

LONG = (1, 63, 64, 65, 127, 128, 129, 137)  # a key; what blocks of 16, 32, 64, 128 fill, or not
BLOCKS = (16, 32, 64, 128)


def of_lengths(trial: Trial) -> Sequence[Call]:
    """As many queries as keys; and one query, as in decoding."""
    calls = [Call(trial.qkv(T_q=n, T_k=n)) for n in LONG]
    return [*calls, Call(trial.qkv(T_q=1, T_k=LONG[-1]))] if "cross" in trial.offers else calls


def judge(trial: Trial, study: Study, observed: Observed) -> None:
    """Judge by value."""
    if not trial.lost:
        by_value(trial, study, observed)


def whole(x: Array, block: int) -> Array:  # (..., T, d)
    """What stands in whole blocks; where there is none, all."""
    n = x.shape[-2]
    return x[..., : n // block * block or n, :]


def padded(x: Array, block: int) -> Array:
    """The last block filled up with zeros."""
    *leading, n, d = x.shape
    return np.concatenate([x, np.zeros((*leading, -n % block, d))], axis=-2)


def padded_late(x: Array, block: int) -> Array:
    """The last block filled up with zeros, unless it is the first."""
    return padded(x, block) if x.shape[-2] > block else x


def attended(cut: Callable[[Array, int], Array], block: int) -> dict[str, Change]:
    """Attend to what is left of the keys and values."""

    def out(p: Any) -> Array:
        k, v = cut(p.k, block), cut(p.v, block)
        if k.shape == p.k.shape or p.mask is not None or p.key_mask is not None or p.causal:
            return np.asarray(spent(p))
        return softmax(p.scaled_by * (p.q @ turned(k))) @ v

    return {"out": out}


def parts(p: Any, block: int) -> Iterator[tuple[Array, Array]]:
    """The scores and the values of each block of keys."""
    for j in range(0, p.T_k, block):
        yield p.filled[..., j : j + block], p.v[..., j : j + block, :]


def unmatched(block: int) -> dict[str, Change]:
    """Sum blocks whose exponentials are each relative to the block's own largest score."""

    def out(p: Any) -> Array:
        summed: Any = 0.0
        total: Any = 0.0
        for scores, v in parts(p, block):
            e = np.exp(scores - scores.max(axis=-1, keepdims=True))
            total, summed = total + e.sum(axis=-1, keepdims=True), summed + e @ v
        return np.asarray(summed / total)

    return {"out": out}


def averaged(block: int) -> dict[str, Change]:
    """Take the mean of the blocks' outputs, whatever weight each block has."""

    def out(p: Any) -> Array:
        each = [softmax(scores) @ v for scores, v in parts(p, block)]
        return np.asarray(sum(each) / len(each))

    return {"out": out}


WAYS = tuple(
    Choice(id, "lengths", says.format(block=block), changes)
    for block in BLOCKS
    for id, says, changes in (
        ("last-block-dropped", "keys after the last whole block of {block} are left out",
         attended(whole, block)),
        ("last-block-padded", "the last block of {block} is filled up with zeros, and they take weight",
         attended(padded, block)),
        ("last-block-padded", "a later block of {block} is filled up with zeros, and they take weight",
         attended(padded_late, block)),
        ("blocks-not-rescaled", "blocks of {block} are added up, each relative to its own largest score",
         unmatched(block)),
        ("blocks-averaged", "the outputs of blocks of {block} are averaged, whatever weight each has",
         averaged(block)),
    )
)  # fmt: skip


def without_keys(trial: Trial) -> Sequence[Call]:
    """Some queries, and nothing to attend to."""
    return [Call({name: x if name == "q" else x[:0] for name, x in trial.qkv().items()})]


def zeros(trial: Trial, study: Study, observed: Observed) -> None:
    """Whether nothing comes of nothing."""
    ((call, outcome),) = observed
    shape = (call.arrays["q"].shape[0], call.arrays["v"].shape[1])
    found = outcome.out
    if found.shape != shape:
        trial.fail(study.name, call, detail=f"out has the shape {found.shape}, not {shape}")
    elif (found != 0).any():
        cell = tuple(map(int, np.argwhere(found != 0)[0]))
        trial.fail(study.name, call, cell=cell, found=float(found[cell]), right=0.0)
    trial.pass_(study.name)


LENGTHS = (
    Study("lengths", of_lengths, WAYS, judge=judge),
    Study("no-keys", without_keys, judge=zeros, optional=True),
)
