"""Positions: the values of a sinusoid, and queries and keys turned by RoPE."""

from __future__ import annotations

from collections.abc import Sequence

from riverhead.checking.answers import Draft
from riverhead.learning.exercises import clean
from riverhead.learning.exercises.catalogue import Made
from riverhead.learning.exercises.draw import Draw
from riverhead.learning.exercises.showing import say, vectors
from riverhead.numbers import grouped, plain
from riverhead.scene import Fraction, Math, Operator, Part, Power, Row, Symbol

__all__ = ["MAKERS"]

BASES = (16, 25, 400, 2500)  # not 10,000: of a hundredfold number a percentage is suspected
PAIRS = 2
WIDTH = 2 * PAIRS
COMPONENTS = (-4.0, -3.0, -2.0, -1.0, 1.0, 2.0, 3.0, 4.0)  # what is 0 hardly tells how it was turned


def sinusoid(draw: Draw) -> Made:
    """The four numbers of a position, and the angles that they come from."""
    base, position = _drawn(draw, 20)
    draft = Draft("Sinusoids")
    _angles(draft, base, position)
    for j in range(PAIRS):
        for c, wave in enumerate(("sin", "cos")):
            words = f"component {2 * j + c + 1}, the {'cosine' if c else 'sine'} of pair {j}"
            draft.cell(wave, wave, [f"angle.0.{j}"], (0, j), label=words)
    task = (
        say(
            f"A sinusoid tells position {position} in {WIDTH} numbers: for pair i = 0 and 1 "
            "the sine, then the cosine, of the angle ",
            _angle(base),
            f"; d is {WIDTH}. Work them out, angles in radians.",
        ),
    )
    return Made(task, draft.sheet())


def rope(draw: Draw) -> Made | None:
    """A vector of two pairs at one position, or a query and a key of one pair that are then moved."""
    return _two_pairs(draw) if draw.integer(0, 1) else _query_and_key(draw)


def _two_pairs(draw: Draw) -> Made | None:
    base, position = _drawn(draw, 9)
    x = draw.sample(COMPONENTS, WIDTH)
    draft = Draft("RoPE")
    _angles(draft, base, position)
    _turned(draft, [[x[0::2], x[1::2]]], ["component"])
    task = (
        say(f"RoPE turns this query of {WIDTH} components at position {position}:"),
        vectors(["query"], q=[x]),
        say(
            "Components 1 and 2 are pair 0, 3 and 4 are pair 1. Pair i turns to the left by ",
            _angle(base),
            f"; d is {WIDTH}. Where does the query point then? Angles are in radians.",
        ),
    )
    return _if_apart(task, draft)


def _query_and_key(draw: Draw) -> Made | None:
    drawn, (asks, answers) = draw.sample(COMPONENTS, 4), draw.sample(range(2, 10), 2)
    q, k = drawn[:2], drawn[2:]
    moved = max(asks, answers) + draw.integer(2, 20)
    draft = Draft("RoPE and distance")
    draft.given("unslowed", [1.0])
    draft.given("position", [float(asks), float(answers)])
    for i in range(2):
        draft.cell("angle", "same", [f"position.{i}"], (i, 0), asked=False)
    _turned(draft, [[q[:1], q[1:]], [k[:1], k[1:]]], ["query, component", "key, component"])
    parents = [f"turned_{half}.{i}.0" for i in range(2) for half in ("even", "odd")]
    draft.cell("dots", "dot", parents, (0, 0), label="their dot product, both turned")
    draft.given("key_position", float(answers))
    draft.given("query_moved", float(moved))
    draft.cell("distance", "difference", ["position.0", "key_position"], asked=False)
    draft.cell("moved", "difference", ["query_moved", "distance"], label="the key's new position")
    task = (
        say("RoPE turns a query and a key of one pair to the left, each by its position in radians:"),
        vectors([f"query at position {asks}", f"key at position {answers}"], vector=[q, k]),
        say(
            "Turn both, then take their dot product. "
            f"The query is moved to position {moved}: where must the key stand for the same dot product?"
        ),
    )
    return _if_apart(task, draft)


def _drawn(draw: Draw, last: int) -> tuple[int, int]:
    """A base, and a position whose next one has no plain 1 for an angle."""
    base = draw.choice(BASES)
    return base, draw.choice([n for n in range(2, last + 1) if (n + 1) ** 2 != base])


def _angles(draft: Draft, base: int, position: int) -> None:
    """Put down what each pair's position is divided by, and its angle; for pair 0 both are plain."""
    draft.given("base", float(base))
    draft.given("d", float(WIDTH))
    draft.given("pair", [float(n) for n in range(PAIRS)])
    draft.given("position", [float(position)])
    for j in range(PAIRS):
        power, slowed, asked = ["base", f"pair.{j}", "d"], ["position.0", f"divisors.{j}"], j > 0
        draft.cell("divisors", "base to the 2i/d", power, (j,), asked=asked, label=f"divisor of pair {j}")
        draft.cell("angle", "divide", slowed, (0, j), asked=asked, label=f"angle of pair {j}")


def _turned(draft: Draft, halves: Sequence[Sequence[Sequence[float]]], names: Sequence[str]) -> None:
    """Put down vectors by their even and odd components, and both turned by their angles."""
    draft.given("even", [even for even, _ in halves])
    draft.given("odd", [odd for _, odd in halves])
    for i, name in enumerate(names):
        for j in range(len(halves[i][0])):
            for wave in ("cos", "sin"):
                draft.cell(wave, wave, [f"angle.{i}.{j}"], (i, j), asked=False)
            even, odd, cos, sin = (f"{grid}.{i}.{j}" for grid in ("even", "odd", "cos", "sin"))
            words = f"{name} {2 * j + 1}, turned", f"{name} {2 * j + 2}, turned"
            draft.cell("turned_even", "turned", [even, odd, cos, sin], (i, j), label=words[0])
            draft.cell("turned_odd", "dot", [even, odd, sin, cos], (i, j), label=words[1])


def _angle(base: int) -> Math:
    """Position / base^(2i/d)."""
    power = Fraction(Row((plain(2), Operator("·"), Symbol("i"))), Symbol("d"))
    return Row((Symbol("position"), Operator("÷"), Power(grouped(base), power)))


def _if_apart(task: tuple[Part, ...], draft: Draft) -> Made | None:
    sheet = draft.sheet()
    return Made(task, sheet) if clean.sees_apart(sheet) else None


MAKERS = {"sinusoid": sinusoid, "rope": rope}
