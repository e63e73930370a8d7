"""The worked examples of a text: which queries, keys and values a printed result belongs to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from riverhead.checking.claims.recomputed.blocks import Block, Floats
from riverhead.checking.claims.recomputed.recompute import Inputs
from riverhead.checking.claims.recomputed.roles import INPUTS, RESULTS, Role

__all__ = ["LONGEST", "MOST", "MOST_RESULTS", "Example", "Projected", "examples"]

MOST = 200  # worked examples of one text
MOST_RESULTS = 60  # of one example
LONGEST = 64  # tokens, and width: no text has more in numbers to be checked by eye
_PROJECTIONS = {Role.Q: Role.W_Q, Role.K: Role.W_K, Role.V: Role.W_V}


@dataclass(frozen=True, slots=True, eq=False)
class Projected:
    """Queries, keys or values that the text prints beside the X and W they follow from."""

    printed: Block
    exact: Floats


@dataclass(slots=True, eq=False)
class Example:
    """One set of inputs, the results that are printed for it, and what of the inputs follows from X and W."""

    inputs: Inputs
    results: list[Block] = field(default_factory=list)
    projected: list[Projected] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class _Source:
    """One input, as rows: a matrix, or the vectors of several tokens."""

    values: Floats
    halves: Floats
    tokens: tuple[str, ...]
    start: int
    end: int
    sure: bool
    printed: tuple[Block, ...]


class _Reader:
    """What is known of the inputs at a place in the text: matrices and vectors, the latest of each."""

    def __init__(self) -> None:
        self.matrices: dict[Role, Block] = {}
        self.vectors: dict[Role, dict[str, Block]] = {}

    def read(self, block: Block) -> bool:
        """Take an input in; say whether anything changed."""
        role, token = block.meaning.role, block.meaning.token
        if block.depth == 2:
            old = self.matrices.get(role)
            self.matrices[role] = block
            self.vectors.pop(role, None)
            return old is None or not _same(old, block)
        if block.depth != 1:
            return False
        matrix = self.matrices.get(role)
        if matrix is not None and matrix.values.shape[1] == block.values.shape[1]:
            if (matrix.values == block.values).all(axis=1).any():
                return False  # a row of the matrix, said again
            del self.matrices[role]
        family = self.vectors.setdefault(role, {})
        old = family.get(token)
        if old is not None and not _same(old, block):
            family.clear()
        family[token] = block
        return old is None or not _same(old, block)

    def source(self, role: Role, tokens: tuple[str, ...] = ()) -> _Source | None:
        """Return an input; of several vectors those of ``tokens``, in their order, where they are named."""
        if role in self.matrices:
            one = self.matrices[role]
            return _Source(
                one.values, _rounded(one), one.tokens, one.start, one.end, one.meaning.sure, (one,)
            )
        family = self.vectors.get(role, {})
        if tokens and set(tokens) <= set(family):
            family = {token: family[token] for token in tokens}
        if not family or len({one.values.shape[1] for one in family.values()}) != 1:
            return None
        listed = tuple(family.values())
        return _Source(
            np.concatenate([one.values for one in listed]),
            np.concatenate([_rounded(one) for one in listed]),
            tuple(family),
            min(one.start for one in listed),
            max(one.end for one in listed),
            all(one.meaning.sure for one in listed),
            listed,
        )


def examples(blocks: list[Block]) -> tuple[list[Example], Block | None]:
    """Return the worked examples of a text with their results, and the first block beyond `MOST` of them.

    A result belongs to the inputs last given before it. What is printed before any inputs belongs to
    the first ones, if the text has no others.
    """
    reading = _Reading()
    for block in blocks:
        if block.meaning.role in INPUTS:
            reading.take(block)
        elif block.meaning.role in RESULTS and not reading.give(block):
            return reading.found, block
    reading.end()
    return reading.found, None


class _Reading:
    """Examples as they come up: that of ``Q_1``, ``K_1``, ``V_1`` is not that of ``Q``, ``K``, ``V``."""

    def __init__(self) -> None:
        self.found: list[Example] = []
        self.early: list[Block] = []
        self.readers: dict[str, _Reader] = {}
        self.current: dict[str, Example | None] = {}
        self.stale: set[str] = set()

    def take(self, block: Block) -> None:
        head = block.meaning.token if block.depth == 2 else ""
        if self.readers.setdefault(head, _Reader()).read(block):
            self.stale.add(head)

    def give(self, block: Block) -> bool:
        """Put a result to its inputs; False where there are too many examples, or too many of its results."""
        head = block.meaning.token if block.meaning.token in self.readers else ""
        if head in self.stale:
            if len(self.found) == MOST:
                return False
            self._work_out(head)
        example = self.current.get(head)
        results = example.results if example else self.early
        results.append(block)
        return example is None or len(results) <= MOST_RESULTS

    def end(self) -> None:
        """Put what stands before the only inputs to them."""
        if not self.found:
            for head in sorted(self.stale):
                self._work_out(head)
        if len(self.found) == 1:
            self.found[0].results[:0] = self.early[:MOST_RESULTS]

    def _work_out(self, head: str) -> None:
        self.stale.discard(head)
        example = _example(self.readers[head])
        self.current[head] = example
        if example is not None:
            self.found.append(example)


def _example(reader: _Reader) -> Example | None:
    """The inputs as they stand: Q and K, or X and its projections, or X alone in all three parts."""
    x = reader.source(Role.X)
    k = reader.source(Role.K)
    q = reader.source(Role.Q)
    v = reader.source(Role.V, k.tokens if k else ())
    projected: list[Projected] = []
    if x is not None:
        parts = {Role.Q: q, Role.K: k, Role.V: v}
        for role, printed in parts.items():
            weight = reader.source(_PROJECTIONS[role])
            if weight is not None:
                parts[role] = _project(x, weight, printed, projected)
        if all(part is None for part in parts.values()) and not _any_projection(reader):
            parts = dict.fromkeys(parts, replace(x, sure=False))
        q, k, v = parts.values()
    if q is None or k is None or not 2 <= len(k.values) <= LONGEST or not _fits(q, k):
        return None
    v = _values(v, k)
    ends = [part for part in (q, k, v) if part is not None]
    inputs = Inputs(
        q.values, k.values, None if v is None else v.values,
        q.halves, k.halves, None if v is None else v.halves,
        q.tokens or (k.tokens if len(k.values) == len(q.values) else ()),
        min(part.start for part in ends), max(part.end for part in ends), all(part.sure for part in ends),
    )  # fmt: skip
    return Example(inputs, projected=projected)


def _any_projection(reader: _Reader) -> bool:
    return any(reader.source(role) is not None for role in _PROJECTIONS.values())


def _fits(q: _Source, k: _Source) -> bool:
    """Rows of one width, or columns of one height where the tokens are columns; none too many."""
    (rows, width), (keys, key_width) = q.values.shape, k.values.shape
    fits = width == key_width or rows == keys
    return fits and all(size <= LONGEST for size in (rows, width, keys, key_width))


def _values(v: _Source | None, k: _Source) -> _Source | None:
    """The values, one row a key; a list of as many numbers as keys is one number each."""
    if v is None or max(v.values.shape) > LONGEST:
        return None
    if len(v.values) == len(k.values) or v.values.shape[1] == k.values.shape[1] != k.values.shape[0]:
        return v
    if v.values.shape == (1, len(k.values)) and v.printed[0].depth == 1:
        return replace(v, values=v.values.T, halves=v.halves.T)
    return None


def _project(x: _Source, weight: _Source, printed: _Source | None, found: list[Projected]) -> _Source | None:
    """X W, or X Wᵀ where that fits what is printed better; what is printed is kept beside it."""
    ways = [w for w in (weight.values, weight.values.T) if w.shape[0] == x.values.shape[1]]
    if not ways:
        return printed
    results = [x.values @ w for w in ways]
    exact = results[0]
    if printed is not None:
        results = [one for one in results if one.shape == printed.values.shape]
        if not results:
            return printed
        halves = np.concatenate([one.halves for one in printed.printed])
        share = [float((abs(one - printed.values) <= halves).mean()) for one in results]
        best = int(np.argmax(share))
        if share[best] < 0.5:
            return printed  # other queries than those of this X
        exact, row = results[best], 0
        for one in printed.printed:
            found.append(Projected(one, exact[row : row + len(one.rows)]))
            row += len(one.rows)
    source = printed or x
    return replace(
        source, values=exact, halves=np.zeros_like(exact), tokens=source.tokens or x.tokens,
        start=min(x.start, weight.start), end=max(x.end, weight.end), sure=True,
    )  # fmt: skip


def _rounded(block: Block) -> Floats:
    """How far the inputs reach: no way if they were typed, half a last digit if a program rounded them."""
    decimal = np.array([[number.half > 0 for number in row] for row in block.rows])
    return np.where(decimal & (not block.typed), block.halves, 0.0)


def _same(a: Block, b: Block) -> bool:
    return bool(np.array_equal(a.values, b.values))
