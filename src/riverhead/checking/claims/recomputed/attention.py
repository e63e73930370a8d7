"""Attention recomputed from the inputs that a text gives, and everything it prints of it compared."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from riverhead.checking.claims.claim import Finding, Found, Truth
from riverhead.checking.claims.reading.expression import Binding
from riverhead.checking.claims.recomputed.blocks import Block, Bools, Floats, blocks
from riverhead.checking.claims.recomputed.carried import Carried
from riverhead.checking.claims.recomputed.examples import MOST, MOST_RESULTS, Example, examples
from riverhead.checking.claims.recomputed.mistakes import Case, causes
from riverhead.checking.claims.recomputed.placing import Place, places
from riverhead.checking.claims.recomputed.recompute import CHAIN, Inputs, Stages, Way, recompute
from riverhead.checking.claims.recomputed.tables import Labelled, Table, labelled
from riverhead.checking.claims.recomputed.ways import Said, ways

__all__ = ["findings"]

EARLIER = 3  # examples that a result may be of instead
NEAR = 4000  # characters between inputs and a result that is taken for theirs though nothing of it fits
_PLAIN = {"masked dots": "dots", "unmasked": "scaled", "shifted exp": "exp"}  # which lead on as another does
_ORDER = {stage: step for step, stage in enumerate((*CHAIN[:3], "sum", *CHAIN[3:]))}
CLOSELY = 4  # ways that are judged to the last digit
_OTHERWISE = re.compile(  # what may stand between inputs and a result that does not follow from them alone
    r"multi-?head|concat|residual|dropout|layer ?norm|positional|rotary|\brope\b|alibi|\bbias|sigmoid|relu"
    r"|W_?\{?[oO]\b|^#{1,6} |\b(?:example|case|test|exercise|problem|head|layer|part)\s*#?\d+\b"
    r"|(?:another|second|other) (?:example|head)",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(slots=True, eq=False)
class _Worked:
    """An example worked out one way, and where each of its results fits best."""

    inputs: Inputs
    way: Way
    stages: Stages
    placed: list[tuple[Block, Place]]
    cases: list[tuple[Case, Place]] = field(default_factory=list)

    @property
    def n_false(self) -> int:
        """Numbers that no rounding explains."""
        return sum(int((~case.held).sum()) for case, _ in self.cases)

    def judge(self) -> None:
        """Say of every number whether it is right, by the stages: later ones may follow from earlier ones."""
        given = self.inputs.transposed() if self.way.columns else self.inputs
        carried, misled = Carried(given, self.way), Carried(given, self.way)
        for block, place in sorted(self.placed, key=lambda pair: _ORDER[_stage(pair[1])]):
            held = _held(block, place, carried)
            follows = held if held.all() else _held(block, place, misled)
            kept = carried if held.all() else misled
            kept.keep(_stage(place), place.query, *_reach(block, place))
            case = Case(block, place.exact, held, follows, place.stage, place.query, given, self.way)
            self.cases.append((case, place))

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
    said = Said.by(text)
    earlier: deque[_Worked] = deque(maxlen=EARLIER)
    for example in read:
        found += _projections(example)
        worked = _best(said, example.inputs, example.results)
        if worked is not None:
            found += _results(text, example, worked, earlier)
            earlier.append(worked)
    if beyond is not None:
        words = f"only {MOST} worked examples of a text are recomputed, and {MOST_RESULTS} results of each"
        found.append(Finding(beyond.start, beyond.end, Truth.UNCHECKED, cause=words))
    return found


def _projections(example: Example) -> list[Finding]:
    """Queries, keys and values beside the X and W they follow from."""
    found = []
    for one in example.projected:
        fits = abs(one.printed.values - one.exact) <= one.printed.halves + 1e-9
        found += _told(Case(one.printed, one.exact, fits, fits), fits)
    return found


def _results(text: str, example: Example, worked: _Worked, earlier: Sequence[_Worked]) -> list[Finding]:
    """Everything printed of one example that is right, or surely is what it is taken for."""
    found: list[Finding] = []
    for case, place in worked.cases:
        right = case.held.all()
        if right or (_accusable(text, example, worked, case, place) and not _elsewhere(case.block, earlier)):
            found += _told(case, place.fits)
    return found


def _best(said: Said, inputs: Inputs, results: list[Block]) -> _Worked | None:
    """The way that leaves the fewest numbers false; the first, which is what the text says, of several."""
    tried: list[_Worked] = []
    for way in ways(said, inputs, [block.meaning.role for block in results]):
        worked = _worked(inputs, way, results)
        if worked.placed and (not tried or worked.mostly):
            tried.append(worked)
        if len(worked.placed) == len(results) and all(place.whole for _, place in worked.placed):
            worked.judge()
            return worked
    best = sorted(tried, key=lambda worked: worked.rank, reverse=True)[:CLOSELY]
    for worked in best:
        worked.judge()
    return min(best, key=lambda worked: worked.n_false, default=None)


def _worked(inputs: Inputs, way: Way, results: list[Block]) -> _Worked:
    stages = recompute(inputs, way)
    placed = []
    for block in results:
        if found := places(block, stages, inputs, way.columns):
            placed.append((block, max(found, key=partial(_rank, block))))
    return _Worked(inputs, way, stages, placed)


def _rank(block: Block, place: Place) -> tuple[int, int, float]:
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


def _held(block: Block, place: Place, carried: Carried) -> Bools:
    """Which numbers are right, of exact numbers or of rounded ones."""
    held = place.fits.copy()
    stage = _stage(place)
    if held.all() or place.stage.startswith("shifted"):
        return held
    low, high = block.values - place.halves, block.values + place.halves
    if block.values.shape[1] != carried.inputs.q.shape[0] or stage != "sum":
        for row in range(len(held)):
            if not held[row].all():
                held[row] |= carried.reaches(stage, place.query + row, low[row], high[row])
    return held


def _accusable(text: str, example: Example, worked: _Worked, case: Case, place: Place) -> bool:
    """Whether a block that does not fit whole surely is what it was taken for.

    It is where enough of it fits; else where its name is clear, the row too, and it stands right behind the
    inputs or among other results that fit.
    """
    block = case.block
    right, of = int(case.held.sum()), case.held.size
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


def _elsewhere(block: Block, earlier: Sequence[_Worked]) -> bool:
    """Whether it is a result of one of the examples before."""
    return any(
        place.whole
        for worked in earlier
        for place in places(block, worked.stages, worked.inputs, worked.way.columns)
    )


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
