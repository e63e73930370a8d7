"""How an attention map is shown: its weights while it is small, a picture beyond, a table of heads."""

from __future__ import annotations

from typing import Any

import numpy as np

from riverhead.core import AttentionMap
from riverhead.derivation.tokens import bare, texts
from riverhead.errors import InputError
from riverhead.numbers import fixed
from riverhead.scene import Axis, Cell, Heatmap, Matrix, Part, Scene, Symbol, Table, Text
from riverhead.shapes import check_axis

__all__ = ["heatmap"]

NUMBERS = 12  # queries and keys up to which every weight is written out
DRAWN, LISTED = 4, 64  # heads
CELLS = 1 << 27  # weights that are read for the pictures: a fraction of a second
MEANS = {
    "entropy": "entropy_nats",
    "distance": "mean_distance",
    "largest": "max_weight",
    "first": "first_weight",
    "itself": "self_weight",
    "previous": "previous_weight",
}  # heading: what is averaged over the queries

Head = tuple[int, ...]


def heatmap(A: AttentionMap, tokens: Any = None, tokens_k: Any = None, *, size: int = 64) -> Scene:
    """Return a scene of the first heads of ``A``: all weights, or a picture of at most ``size`` × ``size``.

    ``tokens`` are T_q texts, ``tokens_k`` T_k texts where the keys are others. A cell of a picture shows the
    largest weight that falls into it. Of very large maps only one query in some number is read; the caption
    says so. Raises `InputError` where the tokens are not as many as their axis.

    >>> from riverhead.core import attend
    >>> A = attend([[2.0, 1.0]], k=[[2.0, 0.0], [1.0, 1.0]], v=[[1.0, 0.0], [0.0, 1.0]])
    >>> scene = heatmap(A, ["bank"], ["river", "bank"])
    >>> scene.title, scene.parts[0].columns, scene.parts[0].cells[0][0].text
    ('Attention map: 1 query, 2 keys', ('river', 'bank'), '0.670')
    """
    if size < 1:
        raise InputError(f"size is {size}; a picture has at least one cell")
    *lead, T_q, T_k = A.shape
    rows = _axis("query", "tokens", tokens, T_q, size)
    same = tokens_k is None and T_q == T_k
    columns = _axis("key", *(("tokens", tokens) if same else ("tokens_k", tokens_k)), T_k, size)
    heads = list(np.ndindex(*lead)) if A.dense_nbytes else []
    parts: list[Part] = []
    for head in heads[:DRAWN]:
        if lead:
            parts.append(Text((_named(head),), "heading"))
        parts.append(_drawn(A[head], rows, columns, size, CELLS // min(len(heads), DRAWN)))
    if len(heads) > DRAWN:
        shown = (
            f"{DRAWN} of {len(heads)} heads are drawn; the next is A[{', '.join(map(str, heads[DRAWN]))}]."
        )
        parts.append(Text((shown,), "note"))
    parts += _means(A, heads)
    stored = f"{A.nbytes:,} bytes of statistics; the weights would take {A.dense_nbytes:,}."
    title = f"Attention map: {_many(T_q, 'query', 'queries')}, {_many(T_k, 'key', 'keys')}"
    return Scene(title, (*parts, Text((stored,), "note")))


def _axis(name: str, argument: str, tokens: Any, n: int, size: int) -> Axis:
    if tokens is None:
        return Axis(name, tuple(map(str, range(n)))) if n <= size else Axis(name, ends=("0", f"{n - 1:,}"))
    labels = tuple(map(bare, texts(argument, tokens)))
    axis = "T_q" if name == "query" else "T_k"
    check_axis(axis, f"each {name} has one token", **{argument: len(labels), "A": n})
    return Axis(name, labels) if n <= size else Axis(name, ends=(f"0 {labels[0]}", f"{n - 1:,} {labels[-1]}"))


def _drawn(A: AttentionMap, rows: Axis, columns: Axis, size: int, cells: int) -> Part:
    """One head: its weights as numbers, or as shades."""
    T_q, T_k = A.shape
    if max(T_q, T_k) <= NUMBERS:
        weights = tuple(tuple(map(fixed, row)) for row in A[:, :].tolist())
        return Matrix(Symbol("A"), rows.labels, columns.labels, weights, shade=True)
    every = max(1, min(T_q * T_k // cells, T_q // size))
    picture = A.pooled(size, size, every=every)
    tall, wide = (-(-T // cells) for T, cells in zip(A.shape, picture.shape, strict=True))
    caption = f"one query in {every} is read" if every > 1 else ""
    return Heatmap(tuple(map(tuple, picture.tolist())), rows, columns, caption, pooled=(tall, wide))


def _means(A: AttentionMap, heads: list[Head]) -> list[Part]:
    """What the queries of each head do on average."""
    found = {heading: getattr(A, name) for heading, name in MEANS.items() if name in A.names}
    if not found or not heads:
        return []
    with np.errstate(all="ignore"):
        means = {heading: x.mean(axis=-1, dtype=np.float64) for heading, x in found.items()}
    rows: list[tuple[Cell, ...]] = [
        (_named(head), *(fixed(float(mean[head])) for mean in means.values())) for head in heads[:LISTED]
    ]
    table = Table((None, *means), tuple(rows), "mean over the queries; entropy in nats, distance in tokens")
    if len(heads) <= LISTED:
        return [table]
    return [table, Text((f"{LISTED} of {len(heads)} heads are listed.",), "note")]


def _named(head: Head) -> str:
    if not head:
        return "mean"
    item = f"item {'.'.join(map(str, head[:-1]))}, " if head[1:] else ""
    return f"{item}head {head[-1]}"


def _many(n: int, one: str, several: str) -> str:
    return f"{n:,} {one if n == 1 else several}"
