"""Attention with the T×T weights stored and without: what each takes as the text grows."""

from __future__ import annotations

import math
import os
import tracemalloc
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

import numpy as np

from riverhead.core import AttentionMap, attend, attention
from riverhead.core.border import Floats
from riverhead.core.job import job_of
from riverhead.core.rowblocks import BLOCK_BYTES, run
from riverhead.experiments.experiment import Experiment, Prediction, Progress, Result, shown
from riverhead.experiments.rounding import by_chance
from riverhead.experiments.scale.piece import exponent
from riverhead.numbers import fixed
from riverhead.scene import Cell, Line, Lines, Table

__all__ = ["measure", "prepare"]

Found = TypeVar("Found")

D = 64  # d_k and d_v of one head, float32
FIRST, LAST, LAST_THOROUGH = 256, 8192, 32768
BEYOND = 131_072  # as far as the charts go on, predicted
TOP = 8  # largest weights kept of each query
N_BLOCKS = 3  # blocks alive at once: scores, their exponentials; a third is room for their rows of q and out
MEMORY_SHARE = 0.5  # of what the machine has free, the most that is taken

ARGUMENT = """\
The equation as it is written makes every score and every weight: 2 · T² numbers, 8 · T² bytes in float32. \
Twice the text takes four times the memory. But no output needs all of them at once. A row of weights is \
needed for one output alone, and its sum can be found while it is made: so a block of rows is made, used and \
thrown away, and what stays is q, k, v, the outputs and one log-sum-exp a row, from which any weight can be \
made again. Memory then grows with T.

The operations stay what they were, 4 · T² · d: what is not stored is saved in memory, and in the time to \
move it, not in arithmetic."""


def prepare(thorough: bool = False) -> Experiment:
    """Predict bytes and how they grow, for lengths that fit into the memory that is free."""
    lengths = _lengths(thorough)
    T = lengths[-1]
    bound = by_chance(T + D, largest=1, dtype=np.float32)
    most = _never_bytes(T)
    return Experiment(
        "growth",
        "what does it take to store the weights, and what not to?",
        ARGUMENT,
        (
            Prediction(
                "stored",
                f"Stored: peak bytes at {T:,} tokens.",
                _stored_bytes(T),
                _stored_at_most(T),
                "8·T², scores and weights; beside them at most 8·T·d: out and what of v is finite are 5·T·d",
            ),
            Prediction(
                "never-stored",
                f"Never stored: peak bytes at {T:,} tokens.",
                4 * T * (D + 1),
                most,
                f"4·T·(d + 1), out and lse; at most {N_BLOCKS} blocks of 1 MiB, and T·d: what of v is finite",
            ),
            Prediction(
                "times",
                f"Stored takes more than never stored at {T:,} tokens, by this factor.",
                _stored_bytes(T) / most,
                math.inf,
                "the least of the one over the most of the other",
            ),
            Prediction(
                "stored-exponent",
                "Stored: peak bytes grow as T to this power.",
                *_slopes(lengths, _stored_bytes, _stored_at_most),
                "8·T², and at most 8·T·d besides, which weighs most in short texts: the slopes that leaves",
            ),
            Prediction(
                "never-stored-exponent",
                "Never stored: peak bytes grow as T to this power.",
                -math.inf,
                1.1,
                "4·T·(d + 1) has power 1, and 0.1 is left; at these lengths blocks of one size, some MiB "
                "that do not grow, dominate, so that it comes out well below",
            ),
            Prediction(
                "kept",
                f"attend keeps, of {T:,} tokens with all statistics, bytes.",
                _kept_bytes(T),
                _kept_bytes(T),
                f"4·T·(d + 9 + 2·top): out, lse, 6 a query, 2 a key, top {TOP} weights and keys",
            ),
            Prediction(
                "outputs",
                "The outputs are the same.",
                0,
                bound,
                f"10·√(T + d)·2⁻²⁴, as independent roundings of float32 add: T {T:,}, d {D}, 0 ≤ v ≤ 1",
            ),
        ),
    )


def measure(experiment: Experiment, seed: int, thorough: bool, progress: Progress) -> Result:
    """Run both ways on random q, k and v, twice as long each time, and count bytes with tracemalloc."""
    lengths, rng = _lengths(thorough), np.random.default_rng(seed)
    _row(rng, FIRST)  # the first call of anything also takes what it keeps for good
    work, rows = sum(T**2 for T in lengths), []
    for n, T in enumerate(lengths):
        progress(sum(T**2 for T in lengths[:n]) / work, f"{T:,} tokens")
        rows.append(_row(rng, T))
    last = rows[-1]
    measured = {
        "stored": last["stored_peak_bytes"],
        "never-stored": last["never_stored_peak_bytes"],
        "times": last["stored_peak_bytes"] / last["never_stored_peak_bytes"],
        "stored-exponent": exponent(lengths, [row["stored_peak_bytes"] for row in rows]),
        "never-stored-exponent": exponent(lengths, [row["never_stored_peak_bytes"] for row in rows]),
        "kept": last["attend_kept_bytes"],
        "outputs": max(row["outputs_apart"] for row in rows),
    }
    return Result(
        experiment,
        seed,
        experiment.claims(measured),
        (_table(rows), _bytes_chart(rows), _seconds_chart(rows)),
        {"d": D, "rows": rows},
        tuple(_notes(lengths[-1], LAST_THOROUGH if thorough else LAST)),
    )


@cache  # what is free changes; what was predicted is what is measured
def _lengths(thorough: bool) -> tuple[int, ...]:
    """Powers of two, as far as the weights may be stored on this machine now."""
    last = LAST_THOROUGH if thorough else LAST
    lengths = [FIRST * 2**n for n in range(int(math.log2(last // FIRST)) + 1)]
    room = MEMORY_SHARE * _free_bytes()
    return tuple(T for T in lengths if T <= 4 * FIRST or _stored_bytes(T) <= room)


def _notes(last: int, wanted: int) -> Iterator[str]:
    yield f"One head, d {D}, float32, random; not causal"
    if last < wanted:
        yield (
            f"Up to {last:,} tokens, not {wanted:,}: their weights would take over half of the memory that "
            "is free here; the chart goes on as predicted"
        )
    yield "Peak bytes: beyond q, k and v, by tracemalloc; never stored is the pass in NumPy"
    yield (
        "attend is that pass with every statistic, compiled where it was built; its buffers in C++ grow "
        "with T too, and tracemalloc does not see them"
    )
    yield "Seconds: this machine's, NumPy on one thread; nothing is predicted of them"


def _free_bytes() -> int:
    """The memory that may be taken: what Linux says is available, elsewhere half of what there is."""
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def _stored_bytes(T: int) -> int:
    return 8 * T**2


def _stored_at_most(T: int) -> int:
    return _stored_bytes(T) + 8 * T * D


def _slopes(
    lengths: tuple[int, ...], least: Callable[[int], int], most: Callable[[int], int]
) -> tuple[float, float]:
    """The lowest and the highest exponent of bytes that are at each length between ``least`` and ``most``."""
    middle = math.sqrt(lengths[0] * lengths[-1])  # each length is twice the one before
    low, high = (
        exponent(lengths, [(of_long if middle < T else of_short)(T) for T in lengths])
        for of_short, of_long in ((most, least), (least, most))
    )
    return low, high


def _never_bytes(T: int) -> int:
    """The most the pass takes in NumPy: out and lse, a byte for each number of v, and blocks."""
    return 4 * T * (D + 1) + T * D + N_BLOCKS * BLOCK_BYTES


def _kept_bytes(T: int) -> int:
    return 4 * T * (D + 9 + 2 * TOP)


def _row(rng: np.random.Generator, T: int) -> dict[str, Any]:
    """Run each way once on T tokens."""
    q, k = rng.uniform(-1, 1, (2, T, D)).astype(np.float32)
    v = rng.uniform(0, 1, (T, D)).astype(np.float32)
    stored, stored_bytes, stored_seconds = _taken(lambda: attention(q, k, v))
    out = stored.out
    del stored
    never, never_bytes, never_seconds = _taken(lambda: _blocks(q, k, v))
    start = perf_counter()
    A: AttentionMap = attend(q, k, v, top=TOP)
    attend_seconds = perf_counter() - start
    return {
        "T": T,
        "stored_peak_bytes": stored_bytes,
        "never_stored_peak_bytes": never_bytes,
        "attend_kept_bytes": A.nbytes,
        "stored_seconds": stored_seconds,
        "never_stored_seconds": never_seconds,
        "attend_seconds": attend_seconds,
        "outputs_apart": max(float(np.abs(out - other).max()) for other in (never, A.out)),
    }


def _blocks(q: Floats, k: Floats, v: Floats) -> Floats:
    """The outputs (T, d) by the pass in NumPy, where every byte is counted."""
    T = len(q)
    outputs = {"out": np.zeros((1, 1, T, D), np.float32), "lse": np.zeros((1, 1, T), np.float32)}
    run(job_of(q, k, v), outputs, None)
    out: Floats = outputs["out"][0, 0]
    return out


def _taken(do: Callable[[], Found]) -> tuple[Found, int, float]:
    """What ``do`` gives, the most bytes it held at once, and its seconds."""
    traced = tracemalloc.is_tracing()
    if not traced:
        tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        start = perf_counter()
        found = do()
        seconds = perf_counter() - start
        return found, tracemalloc.get_traced_memory()[1] - before, seconds
    finally:
        if not traced:
            tracemalloc.stop()


def _table(rows: list[dict[str, Any]]) -> Table:
    cells: tuple[tuple[Cell, ...], ...] = tuple(
        (
            shown(row["T"]),
            shown(row["stored_peak_bytes"]),
            shown(row["never_stored_peak_bytes"]),
            *(fixed(row[name]) for name in ("stored_seconds", "never_stored_seconds", "attend_seconds")),
        )
        for row in rows
    )
    columns = ("T", "bytes, stored", "never stored", "seconds, stored", "never stored", "attend")
    return Table(columns, cells, "Peak bytes and seconds")


def _bytes_chart(rows: list[dict[str, Any]]) -> Lines:
    last = rows[-1]["T"]
    beyond = [last * 2**n for n in range(int(math.log2(BEYOND // last)) + 1)]
    return Lines(
        (
            _line("stored", rows, "stored_peak_bytes"),
            _line("never stored", rows, "never_stored_peak_bytes"),
            Line("predicted, stored", tuple((T, _stored_bytes(T)) for T in beyond), predicted=True),
            Line(
                "predicted at most, never stored", tuple((T, _never_bytes(T)) for T in beyond), predicted=True
            ),
        ),
        "tokens",
        "peak bytes",
        log_x=True,
        log_y=True,
    )


def _seconds_chart(rows: list[dict[str, Any]]) -> Lines:
    names = {"stored": "stored", "never_stored": "never stored", "attend": "attend, with statistics"}
    lines = tuple(_line(says, rows, f"{name}_seconds") for name, says in names.items())
    return Lines(lines, "tokens", "seconds", log_x=True, log_y=True)


def _line(label: str, rows: list[dict[str, Any]], what: str) -> Line:
    return Line(label, tuple((float(row["T"]), float(row[what])) for row in rows))
