"""What is wrong without recomputing: weights that cannot be weights, alone or beside their scores."""

from __future__ import annotations

import bisect
import itertools
import math
import re
from collections.abc import Iterator, Sequence

import numpy as np

from riverhead.checking.claims.claim import Finding, Truth
from riverhead.checking.claims.reading.expression import Binding, Number
from riverhead.checking.claims.recomputed.blocks import Block, Bools, Floats, blocks, half, printed_value
from riverhead.checking.claims.recomputed.roles import Role, meaning
from riverhead.checking.claims.recomputed.tables import Labelled, Table, labelled

__all__ = ["findings"]

NEAR = 600  # characters between scores and the weights that are taken for theirs
FAR = 4000  # between values and an output
LOWEST_TEMPERATURE = 0.1
_SURELY = re.compile(r"soft-?max|attention|attn", re.IGNORECASE)
LIKELY_SUM = (0.5, 1.5)  # of numbers that are meant as weights: others are times, scores or sizes
_AROUND = re.compile(r"soft-?max|attention", re.IGNORECASE)
_NOT_ONE = re.compile(  # before weights that need not sum to 1
    r"sigmoid|un-?normali[sz]|before normali|before (?:the )?softmax|pre-?softmax|\braw\b"
    r"|dropout|sinks?\b|\btop\b|partial"
    r"|\bfirst\b|learned|slope|smooth"
    r"|matri(?:x|ces)\b.{0,20}\bW|linear attention|gate|wrong|mistake|incorrect"
    r"|don.t sum|not sum|no longer",
    re.IGNORECASE,
)
_MORE = re.compile(r"\s*(?:,\s*)?(?:…|\.\.\.|etc|and so on)")
_CAUSAL = re.compile(r"causal|\bmasked\b|with (?:the |a )?mask|after masking|因果", re.IGNORECASE)
_NOT_CAUSAL = re.compile(r"before|without|unmasked|no mask|not mask|wrong|mistake|instead of", re.IGNORECASE)
_PROJECTED = re.compile(r"W_?\{?[oO]\b|concat|multi-?head|residual|layer ?norm|\bbias|relu", re.IGNORECASE)


def findings(
    text: str, bindings: Sequence[Binding], tables: Sequence[Table] = (), known: Sequence[Finding] = ()
) -> list[Finding]:
    """Find weights below 0, above 1 or not summing to 1, or against their scores; outputs no mixture gives.

    What a finding of ``known`` is about already is passed over.
    """
    named = [Labelled(binding) for binding in bindings]
    read = blocks([*named, *(one for table in tables for one in labelled(table))])
    done = sorted((finding.start, finding.end) for finding in known)
    fresh = [block for block in read if not _touched(block, done)]
    found = [one for block in fresh for one in _weights(text, block)]
    found += _beside_scores(text, read, fresh)
    found += _outside(text, read, fresh)
    found += [one for table in tables for turned in (table, table.transposed) for one in _totals(turned)]
    return found


def _touched(block: Block, done: list[tuple[int, int]]) -> bool:
    place = bisect.bisect_left(done, (block.start, -1))
    before, behind = done[max(0, place - 1) : place], done[place : place + 1]
    return any(end > block.start for _, end in before) or any(start < block.end for start, _ in behind)


def _weights(text: str, block: Block) -> Iterator[Finding]:
    """Weights alone: below 0, above 1, not summing to 1, above a causal diagonal."""
    before = text[max(0, block.start - 300) : block.start]
    if block.meaning.role is not Role.WEIGHTS or not block.meaning.sure or block.values.shape[1] < 2:
        return
    surely = _SURELY.search(block.label) is not None
    if _NOT_ONE.search(before) or not (surely or _AROUND.search(before)):
        return
    low, high = LIKELY_SUM
    totals = block.values.sum(axis=-1)
    if not ((totals > low) & (totals < high)).any() or (block.values > high).any():
        return
    if _MORE.match(text, block.end) or not np.isfinite(block.values).all():
        return
    impossible = list(_impossible(block)) if surely else []
    yield from impossible
    if not impossible and (surely or ((block.values >= 0) & (block.values <= 1)).all()):
        yield from _sums(block)
    yield from _above_diagonal(text, block)


def _impossible(block: Block) -> Iterator[Finding]:
    for row, numbers in enumerate(block.rows):
        for column, number in enumerate(numbers):
            value, room = block.values[row, column], block.halves[row, column]
            if value + room < 0:
                yield Finding(number.start, number.end, Truth.FALSE, cause="a weight below 0")
            elif value - room > 1 + 1e-12:
                yield Finding(number.start, number.end, Truth.FALSE, cause="a weight above 1")


def _sums(block: Block) -> Iterator[Finding]:
    """Rows that no rounding lets sum to 1; none where the columns do."""
    if block.depth == 2 and not _off(block.values.T, block.halves.T).any():
        return
    for row, off in enumerate(_off(block.values, block.halves)):
        if off:
            numbers = block.rows[row]
            total = f"{block.values[row].sum():.6g}"
            yield Finding(
                numbers[0].start, numbers[-1].end, Truth.FALSE, cause=f"weights that sum to {total}, not to 1"
            )


def _off(values: Floats, halves: Floats) -> Bools:
    away: Bools = abs(values.sum(axis=-1) - 1) > halves.sum(axis=-1) + 1e-9
    return away


def _above_diagonal(text: str, block: Block) -> Iterator[Finding]:
    """Weight on later tokens where the weights are said to be causal."""
    values = block.values
    if block.depth != 2 or values.shape[0] != values.shape[1]:
        return
    said = _CAUSAL.search(block.label) is not None
    sentence = re.split(r"[.!?]\s|\n\s*\n", text[max(0, block.start - 160) : block.start])[-1]
    if (not said and not _CAUSAL.search(sentence)) or _NOT_CAUSAL.search(sentence):
        return
    above = np.triu(values - block.halves > 0, 1)
    n_above = len(values) * (len(values) - 1) // 2
    if not said and 2 * above.sum() >= n_above:
        return  # more likely the weights before the mask
    for row, column in np.argwhere(above):
        number = block.rows[row][column]
        words = "a weight above the diagonal: a causal mask hides later tokens"
        yield Finding(number.start, number.end, Truth.FALSE, exact=0.0, cause=words)


def _beside_scores(text: str, read: list[Block], fresh: list[Block]) -> Iterator[Finding]:
    """Weights right behind the scores they are the softmax of."""
    new = {id(block) for block in fresh}
    scores: Block | None = None
    for block in read:
        if block.meaning.role in (Role.DOTS, Role.SCORES, Role.SCALED) and block.meaning.sure:
            scores = block
        elif block.meaning.role is Role.WEIGHTS and block.meaning.sure and scores is not None:
            between = text[scores.end : block.start]
            near = 0 <= block.start - scores.end <= NEAR and not re.search(r"mask|bias|=.*=", between)
            if id(block) in new and near and scores.values.shape == block.values.shape:
                for row in range(len(block.rows)):
                    yield from _against(scores, block, row)


def _against(scores: Block, block: Block, row: int) -> Iterator[Finding]:
    """One row of weights against its scores, whatever the temperature: order, and equal to equal."""
    numbers, n = block.rows[row], len(block.rows[row])
    s, w = scores.values[row], block.values[row]
    s_half = np.where([number.half == 0 for number in scores.rows[row]], 0.0, scores.halves[row])
    room = block.halves[row]
    if n > 64 or not (np.isfinite(s).all() and np.isfinite(w).all() and (w >= 0).all()):
        return
    for i, j in itertools.permutations(range(n), 2):
        more = s[i] - s[j] - (s_half[i] + s_half[j])
        words = ""
        if more > 0 and w[i] + room[i] < w[j] - room[j]:
            words = (
                f"order against order: the larger score has {numbers[i].text}, the smaller {numbers[j].text}"
            )
        elif i < j and s[i] == s[j] and _apart(w, room, i, j, s_half[i] + s_half[j]):
            words = f"equal scores with unequal weights, {numbers[i].text} and {numbers[j].text}"
        if words:
            yield Finding(numbers[0].start, numbers[-1].end, Truth.FALSE, cause=words)
            return


def _apart(w: Floats, room: Floats, i: int, j: int, reach: float) -> bool:
    """Whether two weights differ by more than scores that are equal in print can differ."""
    low, high = sorted((i, j), key=lambda place: float(w[place]))
    most = (w[low] + room[low]) * math.exp(min(reach / LOWEST_TEMPERATURE, 50))
    return bool(w[high] - room[high] > most)


def _outside(text: str, read: list[Block], fresh: list[Block]) -> Iterator[Finding]:
    """Outputs that no weights can mix from the values given before."""
    new = {id(block) for block in fresh}
    values: Block | None = None
    for block in read:
        if block.meaning.role is Role.V and block.depth == 2 and block.meaning.sure:
            values = block
        elif (
            block.meaning.role is Role.OUT and block.meaning.sure and values is not None and id(block) in new
        ):
            between = text[values.end : block.start]
            fits = block.values.shape[1] == values.values.shape[1] > 0
            if fits and 0 <= block.start - values.end <= FAR and not _PROJECTED.search(between):
                yield from _beyond(values, block)


def _beyond(values: Block, block: Block) -> Iterator[Finding]:
    v_half = np.array([[number.half for number in row] for row in values.rows])
    low, high = (values.values - v_half).min(axis=0), (values.values + v_half).max(axis=0)
    for row, numbers in enumerate(block.rows):
        for column, number in enumerate(numbers):
            value, room = block.values[row, column], block.halves[row, column]
            if value + room < low[column] or value - room > high[column]:
                ends = f"{values.values[:, column].min():g} to {values.values[:, column].max():g}"
                words = f"outside the values it is a mean of: they go from {ends}"
                yield Finding(number.start, number.end, Truth.FALSE, cause=words)


def _totals(table: Table) -> Iterator[Finding]:
    """A column of sums beside exponentials or weights, or beside rows of which most hold."""
    if table.total_column is None:
        return
    sums = [_sum(table, row) for row in range(len(table.labels)) if row != table.total_row]
    judged = [one for one in sums if one is not None]
    holding = sum(one.verdict is Truth.TRUE for _, one in judged)
    for sure, one in judged:
        if one.verdict is Truth.TRUE or sure or holding > len(judged) // 2:
            yield one


def _sum(table: Table, row: int) -> tuple[bool, Finding] | None:
    assert table.total_column is not None
    total, numbers = table.cells[row][table.total_column].value, table.numbers(row)
    if not isinstance(total, Number) or len(numbers) < 2:
        return None
    values = [printed_value(number) for number in (*numbers, total)]
    if any(value is None or not math.isfinite(value) for value in values):
        return None
    *terms, printed = (float(value) for value in values if value is not None)
    exact, room = math.fsum(terms), half(total)
    off = abs(printed - exact)
    slack = 1e-12 * max(1.0, abs(exact))
    reach = sum(half(number) if number.half or number.unit else 0.0 for number in numbers)
    shown = exact / (0.01 if total.unit else 1.0)
    found = meaning(table.labels[row].replace(" ", ""), table.labels[row])
    sure = found is not None and found.role in (Role.EXP, Role.WEIGHTS) and found.sure
    if found is not None and found.role is Role.WEIGHTS and abs(printed - 1) <= slack:
        exact = shown = (
            1.0 if off <= room + reach + slack else exact
        )  # the weights themselves, not their prints
        off = abs(printed - exact)
    if off <= room + reach + slack:
        how = "exact" if off <= slack else "rounded" if off <= room + slack else "carried"
        return sure, Finding(total.start, total.end, Truth.TRUE, how, shown)
    return sure, Finding(total.start, total.end, Truth.FALSE, "", shown, "not the sum of its row")
