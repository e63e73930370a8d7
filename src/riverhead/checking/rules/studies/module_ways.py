"""The ways to go wrong around attention in a module of several heads, and what may be agreed upon there."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.pipeline import turned
from riverhead.checking.rules.rule import Change, Choice
from riverhead.checking.rules.studies.module_steps import projected
from riverhead.checking.rules.studies.plain import WAYS as PLAIN_WAYS
from riverhead.core.heads import merge
from riverhead.core.positions import Pairs, rope, sinusoidal

__all__ = ["AGREED", "CONTEXT", "FLOAT32", "PACKED", "STORED", "WAYS"]

Array = NDArray[Any]


def cut_directly(x: Array, n: int) -> Array:
    """Read the numbers of all tokens in a row as n heads: a head gets whole tokens."""
    *batch, T, width = x.shape
    return x.reshape(*batch, n, T, width // n)


def cut_every(x: Array, n: int) -> Array:
    """Give head h the columns h, h + n, h + 2n, …"""
    *batch, T, width = x.shape
    return np.moveaxis(x.reshape(*batch, T, width // n, n), -1, -3)


def merge_every(x: Array) -> Array:
    """Undo `cut_every`."""
    *batch, H, T, d = x.shape
    return np.moveaxis(x, -3, -1).reshape(*batch, T, d * H)


def merge_directly(x: Array) -> Array:
    """Read the heads' numbers in a row as tokens."""
    *batch, H, T, d = x.shape
    return x.reshape(*batch, T, H * d)


def merge_heads_first(x: Array) -> Array:
    """Read samples times heads as heads times samples."""
    B, H, T, d = x.shape
    return merge(x.reshape(H, B, T, d).swapaxes(0, 1))


def tiled(x: Array, H: int) -> Array:
    """Let query head h read kv head h % G."""
    return np.concatenate([x] * (H // x.shape[-3]), axis=-3)


def overwritten(p: SimpleNamespace, x: Array, of: str, n: int) -> Array:
    """Let each head project what the head before it has projected."""
    b = getattr(p, f"b_{of}")
    found = []
    for h, W in enumerate(np.split(getattr(p, f"W_{of}"), n, axis=1)):
        x = x @ W + (0 if b is None else np.split(b, n)[h])
        found.append(x)
    return np.concatenate(found, axis=-1)


def among_samples(says: str, into: Callable[[Array], Array], back: Change) -> Choice:
    """Samples that attend to each other: what is done to x before, and to y after."""
    return Choice("samples-see-each-other", "samples", says, {
        "x": lambda p: into(p.x),
        "memory": lambda p: into(p.context) if hasattr(p, "context") else p.x,
        "out": back,
    })  # fmt: skip


def from_(q: str, k: str, v: str) -> Mapping[str, Change]:
    """Whose parameters make queries, keys and values."""
    return {
        "q_wide": lambda p: projected(p.x, p, q),
        "k_wide": lambda p: projected(p.memory, p, k),
        "v_wide": lambda p: projected(p.memory, p, v),
    }


def without(*names: str) -> Mapping[str, Change]:
    """Parameters that are not used."""
    return dict.fromkeys(names, lambda p: None)


def turned_over(*names: str) -> Mapping[str, Change]:
    """Matrices that are turned over."""
    return {name: partial(_turned_over, name=name) for name in names}


def _turned_over(p: SimpleNamespace, name: str) -> Array:
    return turned(getattr(p, name))


def as_many(p: SimpleNamespace, x: Array) -> Array:
    """Put one head in each head's place."""
    return np.broadcast_to(x, (*x.shape[:-3], p.H, *x.shape[-2:]))


WIDTHS: Mapping[str, Change] = {
    "its width's root": lambda p: 1 / math.sqrt(p.d_k),
    "the root of a narrow head's width": lambda p: math.sqrt(p.n_heads / p.d_k),
}


PROJECTIONS = (
    *(Choice(f"{of}-projection-for-{job}", "projections", f"W_{of} makes the {job}, too", from_(*others))
      for of, job, others in (("k", "values", "qkk"), ("q", "values", "qkq"), ("q", "keys", "qqv"),
                              ("v", "keys", "qvv"), ("k", "queries", "kkv"), ("v", "queries", "vkv"))),
    *(Choice("one-projection-for-all", "projections", f"W_{of} makes queries, keys and values alike",
             from_(of, of, of)) for of in "qkv"),
    *(Choice("projections-swapped", "projections", f"W_{q} makes queries, W_{k} keys, W_{v} values",
             from_(q, k, v)) for q, k, v in permutations("qkv") if (q, k, v) != ("q", "k", "v")),
    Choice("projections-unused", "projections", "the input itself is cut into queries, keys and values",
           {"q_wide": lambda p: p.x, "k_wide": lambda p: p.memory, "v_wide": lambda p: p.memory}),
    Choice("query-is-overwritten", "projections", "each head projects the query that the head before it made",
           {"q_wide": lambda p: overwritten(p, p.x, "q", p.n_heads)}),
    Choice("query-is-overwritten", "projections",
           "each head projects the query, key and value that the head before it made",
           {"q_wide": lambda p: overwritten(p, p.x, "q", p.n_heads),
            "k_wide": lambda p: overwritten(p, p.memory, "k", p.n_kv_heads),
            "v_wide": lambda p: overwritten(p, p.memory, "v", p.n_kv_heads)}),
    Choice("query-is-overwritten", "projections", "keys and values are made of the projected queries",
           {"k_wide": lambda p: projected(p.q_wide, p, "k"),
            "v_wide": lambda p: projected(p.q_wide, p, "v")}),
    Choice("query-is-overwritten", "projections", "keys are made of the projected queries, values of those",
           {"k_wide": lambda p: projected(p.q_wide, p, "k"),
            "v_wide": lambda p: projected(p.k_wide, p, "v")}),
    Choice("W-transposed", "projections", "x is multiplied by W_qᵀ, W_kᵀ and W_vᵀ",
           turned_over("W_q", "W_k", "W_v")),
    *(Choice("W-transposed", "projections", f"x is multiplied by W_{of}ᵀ", turned_over(f"W_{of}"))
      for of in "qkv"),
    *(Choice("bias-forgotten", "projections", f"without {' and '.join(names)}", without(*names))
      for names in (("b_q",), ("b_v",), ("b_q", "b_v"), ("b_q", "b_v", "b_o"))),
)  # fmt: skip
CUTTING = (
    Choice("split-wrong-axis", "heads-cut", "all numbers are read in a row as heads: view(H, T, d)",
           {"cut": lambda p: cut_directly}),
    Choice("heads-interleaved", "heads-columns", "head h takes every H-th column, from column h on",
           {"cut": lambda p: cut_every}),
    Choice("heads-interleaved", "heads-columns",
           "head h takes every H-th column from column h on, and gives its results back there",
           {"cut": lambda p: cut_every, "merged": lambda p: merge_every(p.heads)}),
    Choice("first-head-only", "heads", "the first head's result stands in each head's place",
           {"heads+": lambda p: as_many(p, p.heads[..., :1, :, :])}),
    *(Choice("one-wide-head", "heads", f"all columns make one head, divided by {width}",
             {"H": lambda p: 1, "k_heads": lambda p: p.cut(p.k_wide, 1),
              "v_heads": lambda p: p.cut(p.v_wide, 1), "factor": factor})
      for width, factor in WIDTHS.items()),
    Choice("kv-heads-tiled", "kv-heads", "query head h reads kv head h % G",
           {"k": lambda p: tiled(p.k_heads, p.H), "v": lambda p: tiled(p.v_heads, p.H)}),
    among_samples("the first axis is taken for time: tokens attend to those of other samples (where it is "
                  "meant to be time, ask for layout=time-first)",
                  lambda x: x.swapaxes(0, 1), lambda p: p.y.swapaxes(0, 1)),
    among_samples("the samples are read in a row as (T, B, d_model): tokens attend to those of other samples",
                  lambda x: x.reshape(x.shape[1], x.shape[0], x.shape[2]),
                  lambda p: p.y.reshape(*p.given.shape[:2], -1)),
    among_samples("all samples are attended to as one long text", lambda x: x.reshape(1, -1, x.shape[-1]),
                  lambda p: p.y.reshape(*p.given.shape[:2], -1)),
)  # fmt: skip
MERGING = (
    Choice("merge-without-transposing", "heads-merged", "the heads' numbers are read in a row as tokens",
           {"merged": lambda p: merge_directly(p.heads)}),
    Choice("heads-interleaved", "heads-columns", "the heads' columns are put together in turn",
           {"merged": lambda p: merge_every(p.heads)}),
    Choice("heads-and-samples-mixed", "heads-merged", "samples times heads are read as heads times samples",
           {"merged": lambda p: merge_heads_first(p.heads)}),
    Choice("heads-averaged", "heads-merged", "the heads are averaged, not put side by side",
           {"merged": lambda p: p.heads.mean(axis=-3)}),
    Choice("heads-averaged", "heads-merged", "the mean of all heads stands in each head's place",
           {"merged": lambda p: merge(as_many(p, p.heads.mean(axis=-3, keepdims=True)))}),
    Choice("heads-summed", "heads-merged", "the heads are added up, not put side by side",
           {"merged": lambda p: p.heads.sum(axis=-3)}),
    Choice("heads-summed", "heads-merged", "the sum of all heads stands in each head's place",
           {"merged": lambda p: merge(as_many(p, p.heads.sum(axis=-3, keepdims=True)))}),
    Choice("W_o-missing", "output-projection", "W_o is left out", without("W_o", "b_o")),
    Choice("W_o-transposed", "output-projection", "the heads are multiplied by W_oᵀ", turned_over("W_o")),
    Choice("bias-forgotten", "output-projection", "b_o is not added", without("b_o")),
    Choice("residual-added", "residual", "the input is added to the output",
           {"out": lambda p: p.y + p.given}),
)  # fmt: skip
SCALE = Choice("scale-by-d_model", "scale", "the dots are divided by √d_model, not by the width of a head",
               {"factor": lambda p: 1 / math.sqrt(p.given.shape[-1])})  # fmt: skip

# In a module these are mistakes in whose parameters make what.
ELSEWHERE = ("keys-mixed", "queries-mixed", "scores-from-values", "scores-from-keys", "scores-from-queries")
WAYS = (
    *(way for way in PLAIN_WAYS if way.id not in ELSEWHERE), SCALE, *PROJECTIONS, *CUTTING, *MERGING,
)  # fmt: skip


def turned_in_place(pairs: Pairs) -> Mapping[str, Change]:
    """Rotary positions, at the queries and keys of each head."""
    return {
        "q": lambda p: rope(p.cut(p.q_wide, p.H), pairs=pairs),
        "k_heads": lambda p: rope(p.cut(p.k_wide, p.n_kv_heads), pairs=pairs),
    }


FLOAT32 = 2e-6  # relative: tables of positions are often kept in float32, whatever x is
AGREED = (
    *(Choice(f"rotary-{pairs}", "definition", f"queries and keys are rotated, pairs {pairs}",
             turned_in_place(pairs), agreed=("positions", f"rotary-{pairs}"), loose=FLOAT32)
      for pairs in ("half", "interleaved")),
    Choice("sinusoidal", "definition", "sines and cosines of the positions are added to the input",
           {"x": lambda p: p.x + sinusoidal(*p.x.shape[-2:])}, agreed=("positions", "sinusoidal"),
           loose=FLOAT32),
)  # fmt: skip

# Matrices that are plain arrays may be stored either way; torch's Linear stores (out, in).
STORED = Choice("out-by-in", "projections", "matrices are stored (out, in): W @ x, or x @ Wᵀ",
                turned_over("W_q", "W_k", "W_v", "W_o"), agreed=("matrices", "out-by-in"))  # fmt: skip


def unpacked(p: SimpleNamespace, axes: str, i: int) -> Array:
    """Read one of q, k and v out of packed columns; ``axes`` says which of h, n and d runs slowest."""
    wide = np.concatenate([projected(p.x, p, of) for of in "qkv"], axis=-1)  # (B, T, 3·H·d_k)
    sizes = {"n": 3, "h": p.n_heads, "d": wide.shape[-1] // (3 * p.n_heads)}
    parts = wide.reshape(*wide.shape[:-1], *(sizes[axis] for axis in axes))
    parts = np.moveaxis(parts, [axes.index(axis) - 3 for axis in "nhd"], [-3, -2, -1])
    return parts[..., i, :, :].reshape(*wide.shape[:-1], -1)


def packed(axes: str) -> Mapping[str, Change]:
    """How columns of q, k and v (n), heads (h) and their widths (d) follow each other in one matrix."""
    return {f"{of}_wide": partial(unpacked, axes=axes, i=i) for i, of in enumerate("qkv")}


PACKED = (  # where one matrix makes all three, which columns are whose is agreed upon
    *(Choice(f"packed-{order}", "projections", f"the packed columns are those of {', '.join(order)}",
             from_(*("qkv"[order.index(of)] for of in "qkv")), agreed=("packing", order))
      for order in map("".join, permutations("qkv")) if order != "qkv"),
    *(Choice(f"packed-{name}", "projections", says, packed(axes), agreed=("packing", name))
      for name, axes, says in (
          ("head-by-head", "hnd", "the packed columns are q, k and v of head 0, then of head 1, …"),
          ("last-axis", "hdn", "q, k and v take turns in the packed columns"),
          ("width-first", "dnh", "the packed columns run over widths, then q, k and v, then heads"))),
)  # fmt: skip

CONTEXT = (
    Choice("context-ignored", "context", "keys and values are made of x, not of the context",
           {"memory": lambda p: p.x}),
    Choice("context-for-keys-alone", "context", "keys are made of the context, values of x",
           {"v_wide": lambda p: projected(p.x, p, "v")}),
    Choice("context-for-values-alone", "context", "values are made of the context, keys of x",
           {"k_wide": lambda p: projected(p.x, p, "k")}),
    Choice("context-asks", "context", "queries are made of the context, keys and values of x",
           {"x": lambda p: getattr(p, "context", p.x), "memory": lambda p: p.given}),
)  # fmt: skip
