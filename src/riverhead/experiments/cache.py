"""Decoding with and without a KV cache: operations and bytes, counted as they are done, against formulas."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from riverhead.core import KVCache, attention, merge, split
from riverhead.core.border import Floats
from riverhead.experiments.experiment import Experiment, Prediction, Progress, Result, shown
from riverhead.experiments.rounding import by_chance
from riverhead.numbers import fixed
from riverhead.scene import Cell, Line, Lines, Table

__all__ = ["measure", "prepare"]

D_MODEL, H, D_K = 128, 8, 16
SHARING = {"MHA": H, "GQA": 2, "MQA": 1}  # how many kv heads the query heads share
ENTRIES = math.sqrt(3)  # x's and √d_model·W's entries lie within ±√3: their variance is 1
WAYS = ((False, "without"), (True, "with"))  # whether there is a cache
ITEM_BYTES = 8  # float64

ARGUMENT = """\
Under a causal mask a token's key and value depend on no later token: once made, they stay. Without a cache \
each new token makes all of them again, and every query besides: t tokens' work for one new output, so T new \
tokens cost a sum over t of t (projections) and of t² (attention). With a cache a new token costs its own \
projections and one row of attention: a sum of 1 and of t.

What is kept is 2 · G · d_k numbers a token and layer, keys and values of G kv heads. Query heads that share \
a kv head (GQA; all of them, MQA) make it H / G times smaller; q·k and weights · v cost what they did, only \
the projections to keys and values shrink."""


@dataclass(slots=True)
class Counter:
    """Multiplies, and adds up what it multiplied: 2·n·m·p FLOPs for (n, m) times (m, p)."""

    n_flops: int = 0

    def product(self, x: Floats, W: Floats) -> Floats:
        self.n_flops += 2 * math.prod(x.shape) * W.shape[-1]
        y: Floats = x @ W
        return y

    def attention(self, q: Floats, k: Floats, v: Floats) -> Floats:
        """Causal attention; its two products are counted in full, the hidden half too."""
        scores = math.prod(q.shape[:-1]) * k.shape[-2]
        self.n_flops += 2 * scores * (q.shape[-1] + v.shape[-1])
        out: Floats = attention(q, k, v, causal=True).out
        return out


@dataclass(slots=True)
class Decoder:
    """A layer of attention, given a text token by token; with a ``cache`` it keeps keys and values."""

    W: Mapping[str, Floats]
    n_kv_heads: int
    cache: KVCache | None
    counter: Counter = field(default_factory=Counter)

    def next(self, x: Floats) -> Floats:
        """Return the output (d_model,) of the last of the tokens ``x`` (t, d_model)."""
        new = x if self.cache is None else x[-1:]
        q, k, v = (self.counter.product(new, self.W[name]) for name in ("W_q", "W_k", "W_v"))
        q, k, v = split(q, H), split(k, self.n_kv_heads), split(v, self.n_kv_heads)
        if self.cache is not None:
            k, v = self.cache.append(k, v)
        y: Floats = self.counter.product(merge(self.counter.attention(q, k, v)), self.W["W_o"])[-1]
        return y


def _lengths(thorough: bool) -> tuple[int, ...]:
    return tuple(2**n for n in range(4, 10 if thorough else 9))


def _flops(T: int, G: int, *, cached: bool) -> int:
    """FLOPs of T tokens decoded one by one, by formula."""
    a_token = 2 * D_MODEL * (2 * H + 2 * G) * D_K  # W_q, W_o; W_k, W_v
    a_pair = 4 * H * D_K  # q·k, and the weight times v
    sum_1, sum_2 = T * (T + 1) // 2, T * (T + 1) * (2 * T + 1) // 6  # of t, of t²
    return a_token * T + a_pair * sum_1 if cached else a_token * sum_1 + a_pair * sum_2


def _cache_bytes(T: int, G: int) -> int:
    return 2 * G * T * D_K * ITEM_BYTES


def _apart(T: int) -> float:
    """What rounding does by chance: of sums of d_model, d_k, T and H·d_k terms, one after another."""
    largest = ENTRIES**3 * H * D_K  # |v| ≤ Σ|x||W_v| ≤ 3·√d_model, times Σ|W_o| ≤ H·d_k·√3/√d_model
    return by_chance(D_MODEL + D_K + T + H * D_K, largest=largest, dtype=np.float64)


def prepare(thorough: bool = False) -> Experiment:
    """Predict every count to the last operation and byte, and outputs that differ by rounding alone."""
    T = _lengths(thorough)[-1]
    predictions = []
    for name, G in SHARING.items():
        for cached, way in WAYS:
            n = _flops(T, G, cached=cached)
            sums = "Σ 1 and Σ t" if cached else "Σ t and Σ t²"
            why = f"2·d_model·(2·H + 2·G)·d_k and 4·H·d_k times {sums}, t = 1 … T"
            says = f"{name} {way} a cache: FLOPs of {T} tokens, one by one."
            predictions.append(Prediction(f"{name.lower()}-flops-{way}", says, n, n, why))
        n = _cache_bytes(T, G)
        says = f"{name}: bytes the cache holds then."
        predictions.append(
            Prediction(f"{name.lower()}-bytes", says, n, n, f"2·G·T·d_k·{ITEM_BYTES} bytes, G = {G}, float64")
        )
    bound = _apart(T)
    predictions.append(
        Prediction(
            "outputs",
            "With and without a cache the outputs are the same.",
            0,
            bound,
            "10·√n·2⁻⁵³·y, as independent roundings of float64 add: n = d_model + d_k + T + H·d_k, no output "
            f"is above y = 3·√3·H·d_k; T {T}, d_model {D_MODEL}, H {H}, d_k {D_K}",
        )
    )
    return Experiment(
        "cache", "what does a KV cache save, and what does it hold?", ARGUMENT, tuple(predictions)
    )


def measure(experiment: Experiment, seed: int, thorough: bool, progress: Progress) -> Result:
    """Decode a random text with and without a cache, with 8, 2 and 1 kv heads, and count."""
    lengths = _lengths(thorough)
    rng = np.random.default_rng(seed)
    x = _uniform(rng, lengths[-1], D_MODEL)
    measured: dict[str, float] = {"outputs": 0.0}
    rows: list[dict[str, Any]] = []
    for n, (name, G) in enumerate(SHARING.items()):
        widths = {"W_q": H * D_K, "W_k": G * D_K, "W_v": G * D_K, "W_o": D_MODEL}
        W = {key: _uniform(rng, D_MODEL, width) / math.sqrt(D_MODEL) for key, width in widths.items()}
        outputs = []
        for cached, way in WAYS:
            progress((2 * n + cached) / 6, f"{name} {way} a cache")
            decoder = Decoder(W, G, KVCache() if cached else None)
            y, found = _decode(decoder, x, lengths)
            outputs.append(y)
            rows += [{"heads": name, "n_kv_heads": G, "cache": cached, **row} for row in found]
            measured[f"{name.lower()}-flops-{way}"] = rows[-1]["flops"]
        measured[f"{name.lower()}-bytes"] = rows[-1]["cache_bytes"]
        measured["outputs"] = max(measured["outputs"], float(np.abs(outputs[0] - outputs[1]).max()))
    return Result(
        experiment,
        seed,
        experiment.claims(measured),
        (_counts(rows, lengths), _seconds(rows, lengths), *_charts(rows, lengths)),
        {"d_model": D_MODEL, "n_heads": H, "d_k": D_K, "rows": rows},
        (
            f"One layer of attention alone, random, float64: d_model {D_MODEL}, {H} heads, d_k {D_K}",
            "FLOPs: counted from the shapes of each product as it is done, the causal half in full; "
            "the softmax is apart",
            "Seconds: this machine's, on one thread; nothing is predicted of them",
        ),
    )


def _uniform(rng: np.random.Generator, *shape: int) -> Floats:
    return rng.uniform(-ENTRIES, ENTRIES, shape)


def _decode(decoder: Decoder, x: Floats, lengths: tuple[int, ...]) -> tuple[Floats, list[dict[str, Any]]]:
    """Decode all of ``x`` (T, d_model): the outputs, and at each of ``lengths`` what it has taken so far."""
    y, rows, start = np.empty_like(x), [], perf_counter()
    for t in range(1, len(x) + 1):
        y[t - 1] = decoder.next(x[:t])
        if t in lengths:
            held = 0 if decoder.cache is None else decoder.cache.nbytes
            taken = {"flops": decoder.counter.n_flops, "cache_bytes": held, "seconds": perf_counter() - start}
            rows.append({"T": t, **taken})
    return y, rows


def _of(rows: list[dict[str, Any]], name: str, cached: bool, what: str) -> dict[int, float]:
    """One number of one way, by T."""
    return {row["T"]: row[what] for row in rows if (row["heads"], row["cache"]) == (name, cached)}


def _counts(rows: list[dict[str, Any]], lengths: tuple[int, ...]) -> Table:
    cells: list[tuple[Cell, ...]] = []
    for name in SHARING:
        without, cached = (_of(rows, name, kept, "flops") for kept in (False, True))
        held = _of(rows, name, True, "cache_bytes")
        for T in (lengths[0], lengths[-1]):
            fewer = fixed(without[T] / cached[T], 1)
            cells.append((name, shown(T), shown(without[T]), shown(cached[T]), fewer, shown(held[T])))
    columns = ("", "T", "FLOPs, no cache", "FLOPs, cache", "times fewer", "bytes held")
    return Table(columns, tuple(cells), "T tokens decoded one by one")


def _seconds(rows: list[dict[str, Any]], lengths: tuple[int, ...]) -> Table:
    cells: list[tuple[Cell, ...]] = []
    for name in SHARING:
        for cached, way in WAYS:
            seconds = _of(rows, name, cached, "seconds")
            cells.append((f"{name} {way} a cache", *(fixed(seconds[T]) for T in lengths)))
    return Table(("seconds", *(f"T {T}" for T in lengths)), tuple(cells))


def _charts(rows: list[dict[str, Any]], lengths: tuple[int, ...]) -> tuple[Lines, ...]:
    """FLOPs, seconds and bytes against T; where there is a formula it goes on, dashed."""
    beyond = tuple(lengths[-1] * n for n in (1, 2, 4, 8))
    flops = [_line(f"{way} a cache", _of(rows, "MHA", cached, "flops")) for cached, way in WAYS]
    flops += [
        Line(f"predicted, {way}", tuple((float(T), float(_flops(T, H, cached=cached))) for T in beyond), True)
        for cached, way in WAYS
    ]
    seconds = [_line(f"{way} a cache", _of(rows, "MHA", cached, "seconds")) for cached, way in WAYS]
    held = [_line(f"{name}, G = {G}", _of(rows, name, True, "cache_bytes")) for name, G in SHARING.items()]
    held += [
        Line(f"predicted, {name}", tuple((float(T), float(_cache_bytes(T, G))) for T in beyond), True)
        for name, G in SHARING.items()
    ]
    of = {"FLOPs, MHA": flops, "seconds, MHA": seconds, "bytes of the cache": held}
    return tuple(Lines(tuple(lines), "tokens decoded", y, log_x=True, log_y=True) for y, lines in of.items())


def _line(label: str, by_T: Mapping[int, float]) -> Line:
    return Line(label, tuple((float(T), float(value)) for T, value in by_T.items()))
