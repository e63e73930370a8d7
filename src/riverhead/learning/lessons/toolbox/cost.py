"""What attention costs: counts of known models, a row worked in parts, a cache that fills and is shared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from riverhead.core import KVCache, attend, attention, kv_head_of, merge_maps
from riverhead.cost import Config
from riverhead.cost.figures import Figure, bytes_said
from riverhead.cost.growth import crossover
from riverhead.cost.known import known
from riverhead.cost.memory import As, kv_cache, score_matrix
from riverhead.cost.parameters import parameters, per_head
from riverhead.cost.plan import plan
from riverhead.derivation import Derivation
from riverhead.derivation.tokens import position
from riverhead.learning.lessons.toolbox.figures import table
from riverhead.numbers import Number, grouped
from riverhead.scene import Cell, Formula, Lines, Operator, Part, Row, Table, Text, Word

if TYPE_CHECKING:
    from riverhead.transformer import Model

__all__ = ["IN_A_MODEL", "NAMES", "Stretch", "stretches"]


def config(name: str) -> Config:
    """Return the sizes of a known model."""
    return known(name).config


def parameter_count(name: str) -> int:
    """Return how many numbers a known model learns."""
    return sum(part.value or 0 for part in parameters(config(name)))


def block_numbers(name: str) -> int:
    """Return how many numbers the matrices of one block hold."""
    return per_head(config(name))[-1].value or 0


def counted(figure: Figure) -> Formula:
    """A count on its own line: its name, its formula, the formula with its numbers, and what comes out."""
    value = Number(figure.value or 0, figure.exactly)
    equals = Operator("=")
    return Formula(
        Row((Word(f"{figure.name}:"), figure.formula, equals, figure.numbers, equals, value)),
    )


def flops_chart(name: str) -> Lines:
    """FLOPs of a known model against the length of the text, past where attention overtakes the rest."""
    chart = plan(config(name), name=known(name).title).lines()[0]
    return replace(chart, lines=tuple(line for line in chart.lines if len(line.points) > 1))


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some of the keys a query sees: their log-sum-exp, their share of its weight, their own mixture."""

    keys: tuple[str, ...]
    lse: float
    share: float
    out: list[float]


def stretches(worked: Derivation, focus: str, cut: int) -> list[Stretch]:
    """Work one row in two parts, the keys before ``cut`` and the others: both parts, and the two merged.

    Dao et al. 2022 (FlashAttention), §3.1.

    >>> from riverhead.learning.lessons.toolbox.sums import worked
    >>> [round(part.share, 3) for part in stretches(worked("The river bank flooded"), "bank", 2)]
    [0.603, 0.397, 1.0]
    """
    q, k, v = (np.array(worked[name].values[0]) for name in "qkv")
    row, T = q[[position(worked.given.tokens, focus, "focus")]], len(k)
    ends = ((0, cut), (cut, T))
    parts = [attend(row, k[a:b], v[a:b], offset=T - 1 - a) for a, b in ends]
    merged = merge_maps(parts)
    return [
        Stretch(worked.given.keys[a:b], lse, float(np.exp(lse - merged.lse[0])), part.out[0].tolist())
        for (a, b), part in zip((*ends, (0, T)), (*parts, merged), strict=True)
        for lse in (float(part.lse[0]),)
    ]


def in_parts(worked: Derivation, focus: str, cut: int) -> Table:
    """A row worked in two parts, and the two merged."""
    names = ("first part", "second part", "merged")
    rows: list[tuple[Cell | float, ...]] = [
        (name, " ".join(part.keys), part.lse, part.share, *part.out)
        for name, part in zip(names, stretches(worked, focus, cut), strict=True)
    ]
    axes = [f"out, {axis}" for axis in range(1, len(rows[0]) - 3)]
    return table(["", "keys", "lse", "share", *axes], rows)


def one_by_one(worked: Derivation) -> Table:
    """Each token's row made from a cache as the text grows, beside its row of the whole causal grid."""
    q, k, v = (np.array(worked[name].values[0]) for name in "qkv")
    whole_text, cache = attention(q, k, v, causal=True).out, KVCache()
    rows = []
    for at, token in enumerate(worked.given.tokens):
        keys, values = cache.append(k[[at]], v[[at]])
        step = attention(q[[at]], keys, values).out[0]
        rows.append((token, len(cache), *step.tolist(), *whole_text[at].tolist()))
    columns = [f"{way}, {axis}" for way in ("one row", "whole grid") for axis in range(1, v.shape[1] + 1)]
    return table(["new token", "keys kept", *columns], rows)


def kv_heads(n_heads: int, n_kv_heads: int) -> Table:
    """Which query heads read each kv head."""
    readers: dict[int, list[int]] = {}
    for head in range(n_heads):
        readers.setdefault(kv_head_of(head, n_heads, n_kv_heads), []).append(head)
    rows = [(f"kv head {shared}", ", ".join(map(str, heads))) for shared, heads in readers.items()]
    return table(["", "is read by the query heads"], rows)


def asked_alike(worked: Derivation, queries: Sequence[Sequence[float]]) -> Table:
    """The weights of query heads that share the keys of a worked example and ask each in its own way."""
    k, v = (np.array([worked[name].values[0]]) for name in "kv")  # (1, T, d): one kv head
    weights = attention(np.array(queries, float)[:, None], k, v).weights[:, 0]  # (H, T)
    rows = [(f"query head {head}", *row.tolist()) for head, row in enumerate(weights)]
    return table(["weights", *worked.given.keys], rows)


def sharing(name: str, tokens: int, dtype: str) -> Table:
    """The cache of a known model without sharing, as it is, and with one kv head for all."""
    found = config(name)
    ways: tuple[tuple[str, As, int], ...] = (
        ("MHA", "mha", found.n_heads),
        ("GQA, its own", "own", found.n_kv_heads),
        ("MQA", "mqa", 1),
    )
    rows = []
    for words, way, heads in ways:
        one, all_of_them = (kv_cache(found, n, dtype=dtype, as_=way) for n in (1, tokens))
        rows.append((words, heads, grouped(one.value or 0), all_of_them.said))
    return table(["", "kv heads", "bytes a token", f"{tokens:,} tokens"], rows, known(name).title)


def real_cache(model: Model, text: str, n: int) -> list[Part]:
    """A text continued by ``n`` tokens, and the bytes of the cache at each."""
    from riverhead.inspection import watch_generation
    from riverhead.inspection.generation import continuation

    found = continuation(model, text, watch_generation(model, text, max_tokens=n)).summary()
    notes = (Text((found.title,), "note"),)
    return [*notes, *(part for part in found.parts if not (isinstance(part, Text) and part.role == "note"))]


NAMES = {
    "asked_alike": asked_alike,
    "block_numbers": block_numbers,
    "bytes_said": bytes_said,
    "config": config,
    "counted": counted,
    "crossover": crossover,
    "flops_chart": flops_chart,
    "in_parts": in_parts,
    "kv_cache": kv_cache,
    "kv_head_of": kv_head_of,
    "kv_heads": kv_heads,
    "one_by_one": one_by_one,
    "parameter_count": parameter_count,
    "score_matrix": score_matrix,
    "sharing": sharing,
    "stretches": stretches,
    "title": lambda name: known(name).title,
    "whole": grouped,
}
IN_A_MODEL = {"real_cache": real_cache}
