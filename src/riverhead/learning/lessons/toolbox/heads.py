"""Several heads: cut, worked, put side by side, mixed; what they cost; what a weight of theirs proves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from riverhead.core import merge, split
from riverhead.cost import Config
from riverhead.cost.flops import APART, EVERY, PRODUCTS, in_group, prefill
from riverhead.cost.parameters import block_matrices
from riverhead.cost.sizes import sizes
from riverhead.derivation import Derivation
from riverhead.derivation import sections as blocks
from riverhead.derivation.notation import Digits, vector
from riverhead.derivation.tokens import position
from riverhead.learning.lessons.toolbox.figures import sheet_of
from riverhead.numbers import Number, fixed, grouped, plain
from riverhead.scene import Cell, Part, Table, Vector

__all__ = ["NAMES"]

ATTENTION = ("W_q", "W_k", "W_v", "W_o")


def rows_of_heads(worked: Derivation, focus: str) -> Table:
    """One token's row in every head, what comes of each, and the mean of them all."""
    sheet = sheet_of(worked, focus)
    rows: list[tuple[Cell, ...]] = []
    for head in sheet.heads:
        weights, out = sheet.row("weights", head), sheet.row("out", head)
        rows.append((f"head {head}", *sheet.numbers("weights", weights), _vector(out)))
    mean = [worked[step].array[:, sheet.focus].mean(axis=0).tolist() for step in ("weights", "out")]
    rows.append(("their mean", *sheet.numbers("weights", mean[0]), _vector(mean[1])))
    return Table(("", *worked.given.answering, "out"), tuple(rows))


def _vector(row: Sequence[float]) -> Vector:
    return vector([Digits().show("scores", value) for value in row])


def merged(worked: Derivation, focus: str) -> list[Part]:
    """The heads side by side, and mixed by W_o."""
    return blocks.merge(sheet_of(worked, focus))


def without(worked: Derivation, token: str, head: int) -> list[float]:
    """What leaves W_o for a token when one head hands over nothing."""
    given = worked.given
    side = worked["merged"].array[0, position(given.tokens, token, "token")].copy()
    side[head * given.d_v : (head + 1) * given.d_v] = 0
    found: list[float] = (side @ np.array(given.W_o)).tolist()
    return found


def cut(x: Sequence[Sequence[float]], tokens: Sequence[str], n_heads: int) -> Table:
    """Each token's wide vector, and the part of it that each head gets."""
    parts = split(np.array(x, float), n_heads)  # (H, T, d)
    rows: list[tuple[Cell, ...]] = [
        (token, _vector(row), *(_vector(part[n].tolist()) for part in parts))
        for n, (token, row) in enumerate(zip(tokens, x, strict=True))
    ]
    return Table(("", "wide", *(f"head {head}" for head in range(n_heads))), tuple(rows))


def put_together(x: Sequence[Sequence[float]], tokens: Sequence[str], n_heads: int) -> Table:
    """The heads side by side again, and what comes of them where the axes are not turned back first."""
    wide = np.array(x, float)
    parts = split(wide, n_heads)
    right, wrong = merge(parts), np.ascontiguousarray(parts).reshape(wide.shape)
    rows = [(token, _vector(right[n].tolist()), _vector(wrong[n].tolist())) for n, token in enumerate(tokens)]
    return Table(("", "turned, then put side by side", "put side by side as they lie"), tuple(rows))


def cost_of_heads(d_model: int, tokens: int, n_heads: Sequence[int]) -> Table:
    """What one layer of attention takes with so many heads of d_model / h each."""
    rows: list[tuple[Cell, ...]] = []
    for h in n_heads:
        config = _layer(d_model, tokens, h)
        matrices = block_matrices(config, sizes(config))
        spent = prefill(config, tokens)
        products = sum(
            int(one.value or 0) for one in spent if one.group == PRODUCTS and one.name in ATTENTION
        )
        products += int(in_group(spent, EVERY).value or 0)
        softmax = next(int(one.value or 0) for one in spent if one.group == APART and "softmax" in one.name)
        counts = (sum(int(matrices[name].value) for name in ATTENTION), products, h * tokens**2, softmax)
        rows.append((plain(h), plain(config.d_k), _root(config.d_k), *map(grouped, counts)))
    columns = ("h", "d_k", "√d_k", "parameters", "FLOPs of products", "weights", "FLOPs of softmax")
    return Table(columns, tuple(rows))


def _layer(d_model: int, tokens: int, h: int) -> Config:
    """One layer with no parts but those that every transformer has, every token seeing every other."""
    wide = d_model // h
    return Config(
        architecture="llama",
        n_layers=1,
        n_heads=h,
        n_kv_heads=h,
        d_model=d_model,
        d_k=wide,
        d_v=wide,
        d_ff=1,
        vocab_size=1,
        context_length=tokens,
        norm_epsilon=1e-5,
        causal=False,
    )


def _root(number: int) -> Number:
    root = number**0.5
    return plain(root) if root == int(root) else fixed(root)


def three_questions(
    heads: Mapping[str, Derivation], focus: str, word: str, nouns: Mapping[str, Sequence[float]]
) -> Table:
    """Each head's weight, its habit at other words, and its weights with other nouns' keys in that place.

    A head whose keys are not as wide as those of ``nouns`` does not look at words: its keys stay.
    """
    columns = ("", f"{focus} → {word}", "habit", *nouns, "swap, mean")
    rows: list[tuple[Cell, ...]] = []
    for name, worked in heads.items():
        sheet = sheet_of(worked, focus)
        at = position(worked.given.keys, word, "word")
        back = sheet.focus - at
        others = [i for i in range(back, worked.given.T_q) if i != sheet.focus]
        weights = worked["weights"].array[0]
        habit = float(np.mean([weights[i, i - back] for i in others]))
        swaps = [_swapped(worked, sheet.focus, at, key) for key in nouns.values()]
        numbers = (float(weights[sheet.focus, at]), habit, *swaps, float(np.mean(swaps)))
        rows.append((name, *map(fixed, numbers)))
    return Table(columns, tuple(rows))


def _swapped(worked: Derivation, query: int, at: int, key: Sequence[float]) -> float:
    keys = worked["k"].array.copy()
    if len(key) == keys.shape[-1]:
        keys[0, at] = key
    return float(worked.but(k=keys)["weights"].array[0, query, at])


NAMES = {
    "cost_of_heads": cost_of_heads,
    "cut": cut,
    "merged": merged,
    "put_together": put_together,
    "rows_of_heads": rows_of_heads,
    "three_questions": three_questions,
    "without": without,
}
