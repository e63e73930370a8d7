"""Several at once: samples of a batch, heads, and query heads that share keys and values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.call import Call
from riverhead.checking.rules.pipeline import ATTENTION, as_it_is, repeated, spent, turned
from riverhead.checking.rules.rule import Change, Choice
from riverhead.checking.rules.trial import Observed, Study, Trial
from riverhead.core.equation import softmax

__all__ = ["IN_TIME", "TOGETHER"]

Array = NDArray[Any]
MANY, FEW, TILE = 48, 2, 16  # heads, kv heads, and the heads that a kernel takes at once: 16 do not divide 24


def of_batch(trial: Trial) -> Sequence[Call]:
    """A batch, the same in another order, and one sample of it alone."""
    s = trial.draw.sizes
    together = trial.qkv(*((s.B,) if "batch" in trial.offers else (s.B, s.H)))
    orders = (slice(None), slice(None, None, -1), slice(0, 1))
    return [Call({name: x[order] for name, x in together.items()}) for order in orders]


def of_heads(trial: Trial) -> Sequence[Call]:
    """Some heads, of several samples and of one."""
    s = trial.draw.sizes
    return [Call(trial.qkv(s.B, s.H)), Call(trial.qkv(1, s.H))]


def of_groups(trial: Trial) -> Sequence[Call]:
    """Some heads to a kv head, all to one, and many heads, as a kernel takes them in tiles."""
    s = trial.draw.sizes
    kv_heads = ((s.B, s.H, s.G), (1, s.H, 1), (1, MANY, FEW))
    return [Call(trial.qkv(B, H, kv=(B, G))) for B, H, G in kv_heads]


def in_time(trial: Trial) -> Sequence[Call]:
    """Without a mask a key seen twice weighs what it weighs once: only a causal row tells."""
    return [Call(trial.qkv(1, trial.draw.sizes.H, kv=(1, 1)), {"causal": True})]


def uneven(trial: Trial) -> Sequence[Call]:
    """Query heads that the kv heads do not divide."""
    return [Call(trial.qkv(1, 5, kv=(1, 2)))]


def one(p: Any, axis: int = -3) -> bool:
    """Whether a call has no such axis: one sample, or one head, as it is."""
    return bool(p.q.ndim < (4 if axis == -3 else 3))


def along(axis: int, change: Change, otherwise: Change) -> Change:
    """A change of calls that have an axis of samples (0) or of heads (−3); others stay as they are."""
    return lambda p: otherwise(p) if one(p, axis) else change(p)


def attend(p: Any, q: Array, k: Array, v: Array) -> Array:
    """Attention of what was reordered."""
    return softmax(p.scaled_by * (q @ turned(k))) @ v


def across(axis: int) -> Change:
    """Read an axis as that of the positions, and the positions as it."""
    return lambda p: attend(p, *(x.swapaxes(axis, -2) for x in (p.q, p.k, p.v))).swapaxes(axis, -2)


def joined(x: Array) -> Array:  # (B, ..., T, d) → (1, ..., B·T, d)
    """Lay the samples end to end."""
    return np.concatenate(list(x), axis=-2)[None]


def scrambled(p: Any) -> Array:
    """Fold (B, T) into (T, B) without moving a number, and let each column attend to itself."""

    def folded(x: Array) -> Array:
        B, *heads, T, d = x.shape
        return x.reshape(T, *heads, B, d).swapaxes(0, -2)

    out = attend(p, *map(folded, (p.q, p.k, p.v))).swapaxes(0, -2)
    return out.reshape(*p.q.shape[:-1], p.d_v)


def taken(p: Any, x: Array, heads: Any) -> Array:
    """Give query head h the kv head ``heads[h]``; a call without heads stays as it is."""
    return x if one(p) else x[..., heads(p.H, x.shape[-3]), :, :]


def kv(heads: Any) -> dict[str, Change]:
    """Changes of k and v alike: which kv head each query head reads."""
    return {"k": lambda p: taken(p, p.k, heads), "v": lambda p: taken(p, p.v, heads)}


def copied_in_time(p: Any, x: Array) -> Array:
    """Repeat each position as often as the head should be; several kv heads are then cut into heads."""
    if one(p) or x.shape[-3] == p.H:
        return x
    longer = np.repeat(x, p.H // x.shape[-3], axis=-2)  # (..., G, group·T_k, d)
    return longer if x.shape[-3] == 1 else longer.reshape(*x.shape[:-3], p.H, *x.shape[-2:])


def seen_in_time(p: Any) -> Any:
    """Who may attend among copied positions, counted from the first."""
    if p.k.shape[-2] == p.T_k:
        return p.masked & p.padded & p.past & p.near
    full = np.ones((p.T_q, p.k.shape[-2]), bool)
    return np.tril(full) if p.causal else full


def softmax_over(axis: int) -> Change:
    """The softmax along another axis."""
    return lambda p: softmax(p.filled.swapaxes(axis, -1)).swapaxes(axis, -1)


def summed(axis: int) -> Change:
    """The dots, added up along an axis."""

    def dots(p: Any) -> Array:
        each = ATTENTION["dots"](p)
        return np.broadcast_to(each.sum(axis, keepdims=True), each.shape)

    return dots


SAMPLES = (
    Choice("samples-see-each-other", "samples", "every sample attends to the keys of all samples",
           {"out": along(0, lambda p: attend(p, p.q, joined(p.k), joined(p.v)), spent)}),
    Choice("batch-read-as-time", "samples", "the axes (batch, time) are read as (time, batch): each position "
           "attends to the same position of the other samples",
           {"out": along(0, across(0), spent)}),
    Choice("samples-scrambled", "samples", "(batch, time) is reshaped to (time, batch), not transposed: "
           "rows of different samples stand in one sequence",
           {"out": along(0, scrambled, spent)}),
    Choice("softmax-over-all", "softmax-axis", "one softmax runs over all samples' scores",
           {"mixed+": along(0, lambda p: softmax(p.filled.reshape(-1)).reshape(p.filled.shape),
                            as_it_is("mixed"))}),
    Choice("softmax-over-batch", "samples", "the softmax runs over the samples",
           {"mixed+": along(0, softmax_over(0), as_it_is("mixed"))}),
    Choice("scores-summed-over-batch", "samples", "the dots of all samples are added up",
           {"dots": along(0, summed(0), ATTENTION["dots"])}),
    Choice("first-sample-only", "samples", "the first sample's weights mix the values of every sample",
           {"mixed": along(0, lambda p: p.weights[:1], as_it_is("weights"))}),
    Choice("first-sample-keys", "samples", "every sample attends to the first sample's keys and values",
           {"k": along(0, lambda p: repeated(p.k[:1], p.H) if p.q.ndim > 3 else p.k[:1], as_it_is("k")),
            "v": along(0, lambda p: repeated(p.v[:1], p.H) if p.q.ndim > 3 else p.v[:1], as_it_is("v"))}),
)  # fmt: skip

OF_BATCH = (
    *SAMPLES,
    Choice("softmax-over-queries", "softmax-axis", "of samples, (B, T_q, T_k), the softmax runs over axis 1: "
           "the queries",
           {"mixed+": lambda p: softmax_over(-2)(p) if p.q.ndim == 3 else p.mixed}),
)  # fmt: skip

OF_HEADS = (
    Choice("scale-by-d_model", "scale", "the dots are divided by √d_model, the width of all heads together",
           {"factor": lambda p: 1 / math.sqrt(p.d_k * (1 if one(p) else p.H))}),
    Choice("scale-by-n_heads", "scale", "the dots are divided by the square root of the number of heads",
           {"factor+": lambda p: p.factor if one(p) else 1 / math.sqrt(p.H)}),
    Choice("heads-see-each-other", "heads", "the axes (heads, time) are read as (time, heads): at each "
           "position the heads attend to each other",
           {"out": along(-3, across(-3), spent)}),
    Choice("softmax-over-heads", "softmax-axis", "the softmax runs over the heads",
           {"mixed+": along(-3, softmax_over(-3), as_it_is("mixed"))}),
    Choice("heads-averaged", "heads", "the mean of all heads' weights mixes the values of each",
           {"mixed": along(-3, lambda p: p.weights.mean(-3, keepdims=True), as_it_is("weights"))}),
    Choice("heads-share-scores", "heads", "the dots of all heads are added up",
           {"dots": along(-3, summed(-3), ATTENTION["dots"])}),
    Choice("heads-read-first", "heads", "every head gives what the first head gives",
           {"out": along(-3, lambda p: np.broadcast_to(spent(p)[..., :1, :, :], spent(p).shape), spent)}),
    Choice("kv-first-only", "heads", "every head reads the first head's keys and values",
           kv(lambda H, G: [0] * H)),
    Choice("batch-heads-mixed", "heads", "one axis of samples and heads is taken apart as heads and samples",
           {"out": along(-3, lambda p: spent(p).reshape(p.H, -1, p.T_q, p.d_v).swapaxes(0, 1), spent)}),
)  # fmt: skip

OF_GROUPS = (
    Choice("kv-heads-tiled", "kv-heads", "the kv heads are tiled, not repeated: query head h reads h mod G",
           kv(lambda H, G: [h % G for h in range(H)])),
    Choice("kv-along-time", "kv-heads", "the kv heads are repeated along time, not along the heads",
           {"k": lambda p: copied_in_time(p, p.k), "v": lambda p: copied_in_time(p, p.v),
            "seen": seen_in_time}),
    Choice("kv-first-only", "kv-heads", "every query head reads the first kv head", kv(lambda H, G: [0] * H)),
    Choice("kv-reversed", "kv-heads", "the kv heads are read in the reverse order",
           kv(lambda H, G: [G - 1 - h * G // H for h in range(H)])),
    Choice("kv-by-tile", "kv-heads", f"the kv head follows from the tile of {TILE} heads, not from the head",
           kv(lambda H, G: [h // TILE // math.ceil(H // G / TILE) for h in range(H)])),
)  # fmt: skip


def refused(trial: Trial, study: Study, observed: Observed) -> None:
    """Whether heads that do not divide are refused."""
    ((call, outcome),) = observed
    if outcome.error:
        trial.pass_("groups-divide")
    else:
        H, G = call.arrays["q"].shape[-3], call.arrays["k"].shape[-3]
        did = f"{H} query heads over {G} kv heads are taken, and give {outcome.out.shape}"
        trial.fail("groups-divide", call, mistake="groups-cut", did=did)


TOGETHER = (
    Study("batch", of_batch, OF_BATCH, optional=True),
    Study("heads", of_heads, (*OF_HEADS, *SAMPLES), optional=True),
    Study("grouped", of_groups, OF_GROUPS, optional=True),
    Study("uneven", uneven, judge=refused),
)
IN_TIME = Study("grouped-causal", in_time, OF_GROUPS)  # after what is known of causal rows
