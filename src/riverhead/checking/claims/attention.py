"""Attention recomputed from the inputs that a text gives, and everything it prints of it compared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from riverhead.checking.claims.blocks import Block, Bools, Floats, blocks
from riverhead.checking.claims.claim import Finding, Found, Truth
from riverhead.checking.claims.examples import MOST, Example, examples
from riverhead.checking.claims.expression import Binding
from riverhead.checking.claims.mistakes import Case, causes
from riverhead.checking.claims.placing import Place, places
from riverhead.checking.claims.recompute import CHAIN, Inputs, Spans, Stages, Way, carry, recompute
from riverhead.checking.claims.tables import Labelled, Table, labelled
from riverhead.checking.claims.ways import ways

__all__ = ["findings"]

NEAR = 4000  # characters between inputs and a result that is taken for theirs though nothing of it fits
FROM = ("weights", "exp", "scaled", "dots")  # what a stage is carried from, the nearest first
_PLAIN = {"masked dots": "dots", "unmasked": "scaled", "shifted exp": "exp"}  # which lead on as another does
_OTHERWISE = re.compile(  # what may stand between inputs and a result that does not follow from them alone
    r"multi-?head|concat|residual|dropout|layer ?norm|positional|rotary|\brope\b|alibi|\bbias|sigmoid|relu"
    r"|W_?\{?[oO]\b|^#{1,6} |\b(?:example|case|test|exercise|problem|head|layer|part)\s*#?\d+\b"
    r"|(?:another|second|other) (?:example|head)",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(slots=True, eq=False)
class _Worked:
    """An example worked out one way, and where each of its results fits best."""

    way: Way
    stages: Stages
    placed: list[tuple[Block, Place]]

    @property
    def rank(self) -> tuple[int, int]:
        """Results that fit whole, then numbers that fit."""
        return (
            sum(place.whole for _, place in self.placed),
            sum(place.agreeing for _, place in self.placed),
        )

    @property
    def mostly(self) -> bool:
        """Whether more of its numbers fit than do not: a way that the text does not name has to show."""
        return 2 * self.rank[1] > sum(place.fits.size for _, place in self.placed)


@dataclass(slots=True, eq=False)
class _Carried:
    """Printed rows that are not false: what later stages may have been worked out from."""

    inputs: Inputs
    way: Way
    rows: dict[tuple[str, int], list[Spans]] = field(default_factory=dict)

    def keep(self, stage: str, query: int, low: Floats, high: Floats) -> None:
        for step, (least, most) in enumerate(zip(low, high, strict=True)):
            self.rows.setdefault((stage, query + step), []).append(Spans(least, most))

    def reaches(self, stage: str, query: int, low: Floats, high: Floats) -> Bools:
        """Say which numbers of one row, from ``low`` to ``high``, follow from what is printed before them."""
        met = np.zeros(low.shape, dtype=bool)
        if stage == "sum":
            for row in self.rows.get(("exp", query), []) + self._from("scaled", "exp", query):
                met |= Spans(row.low.sum(keepdims=True), row.high.sum(keepdims=True)).meets(low, high)
            return met
        for source in FROM[FROM.index(stage) + 1 :] if stage in FROM else FROM:
            for row in self._from(source, stage, query):
                met |= row.meets(low, high)
        if stage == "weights":
            for row in self._divided(query):
                met |= row.meets(low, high)
        return met | self._from_inputs(stage, query).meets(low, high)

    def _from(self, source: str, stage: str, query: int) -> list[Spans]:
        carried = [
            carry(row, source, stage, self.way, self.inputs, query)
            for row in self.rows.get((source, query), [])
        ]
        return [row for row in carried if row is not None]

    def _divided(self, query: int) -> list[Spans]:
        """Printed exponentials over their printed sum."""
        sums = self.rows.get(("sum", query), [])
        exps = self.rows.get(("exp", query), [])
        return [
            Spans(one.low / total.high, one.high / total.low)
            for one in exps
            for total in sums
            if total.low[0] > 0
        ]

    def _from_inputs(self, stage: str, query: int) -> Spans:
        """What the inputs give where they are rounded themselves."""
        given = self.inputs
        corners = np.stack(
            [
                (given.q[query] + a * given.q_half[query]) * (given.k + b * given.k_half)
                for a in (-1, 1)
                for b in (-1, 1)
            ]
        )  # (4, T_k, d_k)
        dots = Spans(corners.min(axis=0).sum(axis=-1), corners.max(axis=0).sum(axis=-1))
        found = carry(dots, "dots", stage, self.way, given, query)
        assert found is not None, "a stage is only reached where it was worked out"
        return found


def findings(text: str, bindings: Sequence[Binding], tables: Sequence[Table] = ()) -> list[Finding]:
    """Compare every printed score, exponential, weight and output with the attention of the printed inputs.

    Which attention the text means (scale, causal, tokens as rows or columns) is what most of its numbers fit;
    what it announces, it is held to. A result that may be of other inputs is passed over.

    Vaswani et al. 2017, §3.2.1.
    """
    named = [Labelled(binding) for binding in bindings]
    tabled = [one for table in tables for one in labelled(table)]
    read, beyond = examples(blocks([*named, *tabled]))
    found: list[Finding] = []
    for number, example in enumerate(read):
        earlier = read[max(0, number - 3) : number]
        found += _projections(example)
        found += _results(text, example, earlier)
    if beyond is not None:
        words = f"only the first {MOST} worked examples of a text are recomputed"
        found.append(Finding(beyond.start, beyond.end, Truth.UNCHECKED, cause=words))
    return found


def _projections(example: Example) -> list[Finding]:
    """Queries, keys and values beside the X and W they follow from."""
    found = []
    for one in example.projected:
        fits = abs(one.printed.values - one.exact) <= one.printed.halves + 1e-9
        found += _told(Case(one.printed, one.exact, fits, fits), fits)
    return found


def _results(text: str, example: Example, earlier: list[Example]) -> list[Finding]:
    if not example.results:
        return []
    worked = _best(text, example.inputs, example.results)
    if worked is None:
        return []
    given = example.inputs.transposed() if worked.way.columns else example.inputs
    carried, misled = _Carried(given, worked.way), _Carried(given, worked.way)
    found: list[Finding] = []
    order = {stage: step for step, stage in enumerate((*CHAIN[:3], "sum", *CHAIN[3:]))}
    for block, place in sorted(worked.placed, key=lambda pair: order[_stage(pair[1])]):
        held = _held(block, place, carried)
        if not held.all() and not _accusable(text, example, worked, block, place, held):
            continue
        if not held.all() and _elsewhere(text, block, earlier):
            continue
        follows = held if held.all() else _held(block, place, misled)
        kept = carried if held.all() else misled
        kept.keep(_stage(place), place.query, *_reach(block, place))
        case = Case(block, place.exact, held, follows, place.stage, place.query, given, worked.way)
        found += _told(case, place.fits)
    return found


def _best(text: str, inputs: Inputs, results: list[Block]) -> _Worked | None:
    """The way that fits best; the first, which is what the text says, where it fits as well as any."""
    best: _Worked | None = None
    for way in ways(text, inputs, [block.meaning.role for block in results]):
        stages = recompute(inputs, way)
        placed = []
        for block in results:
            found = places(block, stages, inputs, way.columns)
            if found:
                placed.append((block, max(found, key=partial(_rank, block))))
        worked = _Worked(way, stages, placed)
        if placed and (best is None or (worked.mostly and worked.rank > best.rank)):
            best = worked
        if len(placed) == len(results) and all(place.whole for _, place in placed):
            break
    return best


def _rank(block: Block, place: Place) -> tuple[int, float]:
    return place.rank(block)


def _stage(place: Place) -> str:
    return _PLAIN.get(place.stage, place.stage.removeprefix("shifted "))


def _reach(block: Block, place: Place) -> tuple[Floats, Floats]:
    """How far the printed numbers reach as operands: one that is exact was not rounded, and not at all."""
    with np.errstate(invalid="ignore"):
        off = abs(block.values - place.exact)
    halves = np.where(off <= 1e-9, 0.0, block.halves)
    values = np.where(np.isneginf(place.exact), -np.inf, block.values)
    return values - halves, values + halves


def _held(block: Block, place: Place, carried: _Carried) -> Bools:
    """Which numbers are right, of exact numbers or of rounded ones."""
    held = place.fits.copy()
    stage = _stage(place)
    if held.all() or place.stage != stage:
        return held
    low, high = block.values - block.halves, block.values + block.halves
    if block.values.shape[1] != carried.inputs.q.shape[0] or stage != "sum":
        for row in range(len(held)):
            if not held[row].all():
                held[row] |= carried.reaches(stage, place.query + row, low[row], high[row])
    return held


def _accusable(text: str, example: Example, worked: _Worked, block: Block, place: Place, held: Bools) -> bool:
    """Whether a block that does not fit whole surely is what it was taken for.

    It is where enough of it fits; else where its name is clear, the row too, and it stands right behind the
    inputs or among other results that fit.
    """
    right, of = int(held.sum()), held.size
    sure = block.meaning.sure and example.inputs.sure
    if not place.known:
        return 2 * right > of and (sure or of > 2)
    if not sure:
        return 2 * right > of or (2 * right == of and _confirmed(worked, block))
    return 2 * right >= of or _confirmed(worked, block) or _follows(text, example.inputs, block)


def _confirmed(worked: _Worked, block: Block) -> bool:
    """Whether another result of the example fits whole, and tells one attention from another."""
    return any(
        other is not block and place.whole and place.stage != "dots" and len(set(other.values.flat)) > 1
        for other, place in worked.placed
    )


def _follows(text: str, inputs: Inputs, block: Block) -> bool:
    """Whether nothing between the inputs and a result says that more was done, or that they are others."""
    between = text[inputs.end : block.start]
    return 0 <= block.start - inputs.end <= NEAR and not _OTHERWISE.search(between)


def _elsewhere(text: str, block: Block, earlier: list[Example]) -> bool:
    """Whether it is a result of one of the examples before."""
    for example in earlier:
        worked = _best(text, example.inputs, [block])
        if worked is not None and worked.placed[0][1].whole:
            return True
    return False


def _told(case: Case, fits: Bools) -> list[Finding]:
    """One finding of a block whose numbers are right and stand together, else one of each number."""
    block, exact, held = case.block, case.exact, case.held
    equal = abs(block.values - exact) <= 1e-12 * np.maximum(1, abs(exact))
    if fits.all() and not block.scattered:
        how = "exact" if equal.all() else "rounded"
        return [Finding(block.start, block.end, Truth.TRUE, how, _found(block, exact))]
    found = []
    cause = causes(case)
    for row, column in np.ndindex(*held.shape):
        number = block.rows[row][column]
        value = float(exact[row, column]) / (0.01 if number.unit else 1.0)
        if held[row, column]:
            how = "exact" if equal[row, column] else "rounded" if fits[row, column] else "carried"
            found.append(Finding(number.start, number.end, Truth.TRUE, how, value))
        else:
            words = cause(row, column)
            found.append(Finding(number.start, number.end, Truth.FALSE, "", value, words))
    return found


def _found(block: Block, exact: Floats) -> Found:
    """The right value in the block's own shape and unit."""
    units = np.array([[0.01 if number.unit else 1.0 for number in row] for row in block.rows])
    rows = tuple(tuple(float(value) for value in row) for row in exact / units)
    return rows if block.depth == 2 else rows[0] if block.depth == 1 else rows[0][0]
