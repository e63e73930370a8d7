"""Heads, counts, bytes, positions and a found mistake in plain arithmetic: rightly, or with one mistake.

Each function takes what is given on a sheet, by id, and one mistake; it returns the numbers asked for, by id.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

Given = Mapping[str, float]
Numbers = dict[str, float]


def grid(g: Given, name: str) -> Any:
    """The numbers of one grid as an array."""
    at = {tuple(map(int, id.split(".")[1:])): x for id, x in g.items() if id.split(".")[0] == name}
    found = np.zeros([max(axis) + 1 for axis in zip(*at, strict=True)])
    for place, number in at.items():
        found[place] = number
    return found


def split_heads(g: Given, mistake: str) -> Iterator[tuple[str, float]]:
    rows, H = grid(g, "whole"), int(g["H"])
    T, width = rows.shape
    d = width // H
    for h in range(H):
        right = rows[:, h * d : (h + 1) * d]
        head = {
            "cut-without-swapping": lambda h=h: rows.reshape(H, T, d)[h],
            "columns-dealt": lambda h=h: rows[:, h::H],
            "heads-from-1": lambda h=h, right=right: rows[:, (h - 1) * d : h * d] if h else right,
        }.get(mistake, lambda right=right: right)()
        yield from ((f"split.h{h}.{i}.{j}", head[i, j]) for i in range(T) for j in range(d))


def merge_heads(g: Given, mistake: str) -> Iterator[tuple[str, float]]:
    W = grid(g, "W_o")
    outs = np.array(
        [
            grid({k[4:]: x for k, x in g.items() if k.startswith(f"out.h{h}")}, f"h{h}")
            for h in range(int(g["H"]))
        ]
    )
    H, T, d = outs.shape
    merged = {
        "cut-without-swapping": lambda: outs.reshape(T, H * d),
        "columns-dealt": lambda: outs.transpose(1, 2, 0).reshape(T, H * d),
    }.get(mistake, lambda: np.concatenate(list(outs), axis=1))()
    for i in range(T):
        yield from ((f"merged.{i}.{c}", merged[i, c]) for c in range(H * d))
        yield from ((f"y.{i}.{c}", y) for c, y in enumerate(merged[i] @ W))


def gqa_mapping(g: Given, mistake: str) -> Iterator[tuple[str, float]]:
    H, G = int(g["H"]), int(g["G"])
    yield "group", H // G
    for h in range(H):
        yield (
            f"kv_head.{h}",
            {
                "kv-head-mapping": h % G,
                "kv-head-by-G": h // G,
                "kv-head-not-shared": h,
                "heads-from-1": h // (H // G) + 1,
            }.get(mistake, h // (H // G)),
        )


def shapes(g: Given, mistake: str) -> Iterator[tuple[str, float]]:
    T, H, G, d_k, d_model, d_ff = (g[name] for name in ("T", "H", "G", "d_k", "d_model", "d_ff"))
    kv = H if mistake == "query-heads-for-kv-heads" else G
    head = d_model if mistake == "head-as-wide-as-model" else d_k
    columns = [
        *(H * d_k, kv * d_k, head, d_k if mistake == "scores-as-wide-as-keys" else T, head),
        *(d_k if mistake == "merged-as-wide-as-a-head" else H * d_k, d_model),
        d_model if mistake == "feed-forward-not-widened" else d_ff,
        d_ff if mistake == "feed-forward-not-narrowed" else d_model,
    ]
    for n, wide in enumerate(columns):
        yield f"shape.{n}.0", T
        yield f"shape.{n}.1", wide


def parameters(g: Given, mistake: str) -> Iterator[tuple[str, float]]:
    H, G, d_k, d_model, d_ff = (g[name] for name in ("H", "G", "d_k", "d_model", "d_ff"))
    queries = G if mistake == "kv-heads-for-query-heads" else 1 if mistake == "one-head-only" else H
    keys = H if mistake == "query-heads-for-kv-heads" else 1 if mistake == "one-head-only" else G
    wide = d_model if mistake == "d_model-for-d_k" else d_k
    bias = mistake == "biases-counted"
    W = [(d_model + bias) * heads * wide for heads in (queries, keys, keys)] + [queries * wide * d_model]
    yield from zip(("n_W_q", "n_W_k", "n_W_v", "n_W_o"), W, strict=True)
    attention = sum(W[:3] if mistake == "W_o-not-counted" else W)
    matrices = {"feed-forward-once": 1, "gate-not-counted": 2}.get(mistake, g["n_matrices"])
    yield "n_attention", attention
    yield "n_feed_forward", matrices * d_model * d_ff
    yield "n_block", attention + (0 if mistake == "attention-only" else matrices * d_model * d_ff)


def flops(g: Given, mistake: str) -> Iterator[tuple[str, float]]:
    T, H, G, d_k, d_model = (g[name] for name in ("T", "H", "G", "d_k", "d_model"))
    each = 1 if mistake == "multiply-adds-counted-once" else 2
    H, G = (1, 1) if mistake == "one-head-only" else (H, G)
    tokens = 1 if mistake == "one-token-only" else T
    wide = d_model if mistake == "d_model-for-d_k" else d_k
    keys = H if mistake == "query-heads-for-kv-heads" else G
    scores = G if mistake == "kv-heads-for-query-heads" else H
    yield "flops_q", each * tokens * d_model * H * wide
    yield "flops_k", each * tokens * d_model * keys * wide
    for name in ("flops_scores", "flops_values"):
        yield name, each * scores * (T if mistake == "T-for-T²" else T * T) * wide


def score_bytes(g: Given, mistake: str) -> Iterator[tuple[str, float]]:
    T = g["T"]
    scores = {"T-for-T²": T, "half-stored": sum(range(int(T) + 1))}.get(mistake, T * T)
    each = {"bits-for-bytes": 8 * g["bytes"], "numbers-for-bytes": 1}.get(mistake, g["bytes"])
    yield "n_scores", scores
    yield "head_bytes", scores * each
    yield "heads_bytes", scores * each * (1 if mistake == "one-head-only" else g["H"])


def cache_bytes(g: Given, mistake: str) -> Iterator[tuple[str, float]]:
    layers = 1 if mistake == "one-layer-only" else g["n_layers"]
    each = {"bits-for-bytes": 8 * g["bytes"], "numbers-for-bytes": 1}.get(mistake, g["bytes"])
    kinds = {"only-keys-kept": 1, "queries-kept": 3}.get(mistake, 2)
    wide = g["d_model"] if mistake == "d_model-for-d_k" else g["d_k"]
    tokens = g["T"] ** (2 if mistake == "T²-for-T" else 1)
    for n, heads in enumerate((g["G"], g["H"], 1)):
        counted = {"query-heads-for-kv-heads": g["H"], "one-head-only": 1}.get(mistake, heads)
        yield f"kept.{n}", kinds * counted * wide
        yield f"cache.{n}", kinds * counted * wide * layers * tokens * each


def angles(g: Given, mistake: str) -> Any:
    """Positions over divisors, and those (one for all where there is one pair)."""
    position = grid(g, "position")[:, None] + (mistake == "positions-from-1")
    if "base" not in g:
        return position, np.ones(1)
    i = grid(g, "pair")
    power = {"exponent-without-2": i, "exponent-by-component": 4 * i}.get(mistake, 2 * i) / g["d"]
    divisors = g["base"] ** power
    if mistake == "angle-multiplied":
        return position * divisors, divisors
    return (position / 1 if mistake == "angle-not-slowed" else position / divisors) + 0 * divisors, divisors


def sinusoid(g: Given, mistake: str) -> Iterator[tuple[str, float]]:
    angle, divisors = angles(g, mistake)
    yield from ((f"divisors.{j}", x) for j, x in enumerate(divisors))
    yield from at("angle", angle)
    sin, cos = waves(angle, mistake)
    yield from at("sin", sin)
    yield from at("cos", cos)


def waves(angle: Any, mistake: str) -> tuple[Any, Any]:
    angle = np.radians(angle) if mistake == "degrees" else angle
    pair = np.sin(angle), np.cos(angle)
    return pair[::-1] if mistake == "sine-and-cosine-swapped" else pair  # type: ignore[return-value]


def rope(g: Given, mistake: str) -> Iterator[tuple[str, float]]:
    angle, divisors = angles(g, mistake)
    yield from ((f"divisors.{j}", x) for j, x in enumerate(divisors))
    yield from at("angle", angle)
    sin, cos = waves(angle, mistake)
    z = grid(g, "even") + 1j * grid(g, "odd")  # a turn multiplies by cos + i sin
    turn = {"turned-backwards": cos - 1j * sin, "not-turned": 1}.get(mistake, cos + 1j * sin)
    turned = z * turn
    yield from at("turned_even", turned.real)
    yield from at("turned_odd", turned.imag)
    if "query_moved" in g:
        yield "dots.0.0", (turned[0, 0] * turned[1, 0].conjugate()).real
        moved = g["query_moved"] + g["key_position"] - g["position.0"]
        other = g["query_moved"] - g["key_position"] + g["position.0"]
        yield (
            "moved",
            {"key-not-moved": g["key_position"], "distance-turned-round": other}.get(mistake, moved),
        )


def at(name: str, values: Any) -> Iterator[tuple[str, float]]:
    for place, value in np.ndenumerate(values):
        yield ".".join((name, *map(str, place))), value


def find_the_mistake(g: Given, mistake: str) -> Iterator[tuple[str, float]]:
    there, true = grid(g, "there"), grid(g, "true")
    wrong = [n for n in range(len(there)) if abs(there[n] - true[n]) > 0.03]
    n = wrong[-1] if mistake == "not-the-first-line" else wrong[0]
    yield "line", n + 1
    yield "number", there[n] if mistake == "the-wrong-number-copied" else true[n]


BY_HAND: dict[str, Callable[[Given, str], Iterator[tuple[str, float]]]] = {
    "split-heads": split_heads,
    "merge-heads": merge_heads,
    "gqa-mapping": gqa_mapping,
    "shapes": shapes,
    "parameters": parameters,
    "flops": flops,
    "score-bytes": score_bytes,
    "cache-bytes": cache_bytes,
    "rope": rope,
    "sinusoid": sinusoid,
    "find-the-mistake": find_the_mistake,
}

MADE = {  # which of the mistakes each kind of sheet has room for
    "split-heads": ("cut-without-swapping", "columns-dealt", "heads-from-1"),
    "merge-heads": ("cut-without-swapping", "columns-dealt"),
    "gqa-mapping": ("kv-head-mapping", "kv-head-by-G", "kv-head-not-shared", "heads-from-1"),
    "shapes": (
        *("query-heads-for-kv-heads", "head-as-wide-as-model", "scores-as-wide-as-keys"),
        *("merged-as-wide-as-a-head", "feed-forward-not-widened", "feed-forward-not-narrowed"),
    ),
    "parameters": (
        *("query-heads-for-kv-heads", "kv-heads-for-query-heads", "d_model-for-d_k", "one-head-only"),
        *("biases-counted", "W_o-not-counted", "feed-forward-once", "gate-not-counted", "attention-only"),
    ),
    "flops": (
        *("multiply-adds-counted-once", "one-token-only", "T-for-T²", "one-head-only", "d_model-for-d_k"),
        *("query-heads-for-kv-heads", "kv-heads-for-query-heads"),
    ),
    "score-bytes": ("T-for-T²", "half-stored", "bits-for-bytes", "numbers-for-bytes", "one-head-only"),
    "cache-bytes": (
        *("only-keys-kept", "queries-kept", "one-layer-only", "T²-for-T", "bits-for-bytes"),
        *("numbers-for-bytes", "query-heads-for-kv-heads", "one-head-only", "d_model-for-d_k"),
    ),
    "rope": (
        *("degrees", "sine-and-cosine-swapped", "positions-from-1", "angle-not-slowed", "angle-multiplied"),
        *("exponent-without-2", "exponent-by-component", "turned-backwards", "not-turned"),
        *("key-not-moved", "distance-turned-round"),
    ),
    "sinusoid": (
        *("degrees", "sine-and-cosine-swapped", "positions-from-1", "angle-not-slowed", "angle-multiplied"),
        *("exponent-without-2", "exponent-by-component"),
    ),
    "find-the-mistake": ("not-the-first-line", "the-wrong-number-copied"),
}

PROVED = {mistake for found in MADE.values() for mistake in found}


def given(sheet: Any) -> Given:
    """What stands on a sheet, by id, with the number of heads where there are several."""
    found = {cell.id: cell.truth for cell in sheet.cells if cell.step == "given" or cell.grid == "true"}
    heads = {cell.head for cell in sheet.cells if cell.head is not None}
    return found if not heads else found | {"H": float(len(heads))}


def worked(kind: str, sheet: Any, mistake: str = "") -> Numbers:
    """The numbers asked for by ``sheet``, worked by hand with a mistake or none."""
    made = dict(BY_HAND[kind](given(sheet), mistake))
    return {cell.id: made[cell.id] for cell in sheet.asked}


def written(sheet: Any, numbers: Numbers) -> dict[str, str]:
    """Numbers as they are typed."""
    return {
        id: repr(float(x)) if sheet[id].exact else f"{x:.{sheet[id].decimals}f}" for id, x in numbers.items()
    }


def apart(numbers: Numbers, others: Numbers) -> bool:
    """Whether a mistake shows in some number."""
    return any(not math.isclose(numbers[id], others[id]) for id in numbers)
