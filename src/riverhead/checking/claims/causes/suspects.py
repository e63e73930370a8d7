"""An expression with one slip made in it, for every slip of the table and every place it could be made in."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from riverhead.checking.claims.causes.slips import COMMON, RARE, SLIPS
from riverhead.checking.claims.causes.trees import children, in_full, number, operation, with_parts, written
from riverhead.checking.claims.reading.expression import Expression, Name, Number, Operation

__all__ = ["Changed", "changes"]


Bound = dict[str, Expression]


@dataclass(frozen=True, slots=True)
class Changed:
    """``expression`` with one slip made in it; ``at_most``: how likely a coincidence may be with it."""

    expression: Expression
    at_most: float
    words_of: str
    bound: Bound

    @property
    def words(self) -> str:
        """Say which slip, and of what."""
        named = {name: written(part) for name, part in self.bound.items()}
        rooted = {f"√{name}": written(operation("sqrt", part)) for name, part in self.bound.items()}
        return self.words_of.format_map(named | rooted)


@dataclass(frozen=True, slots=True)
class _Slip:
    rank: int
    pattern: Operation
    instead: Expression
    at_most: float
    words: str


def changes(expression: Expression) -> Iterator[list[Changed]]:
    """Give the expression with one slip made in it: a list for each slip, the commonest first.

    >>> root = Operation("sqrt", (number(9),), 0, 0)
    >>> [changed.words for listed in changes(root) for changed in listed]
    ['the root not taken', '9 halved, not its root', '9 squared, not its root']
    """
    found: dict[int, list[Changed]] = {}
    for part, put in _parts(expression):
        for slip in _slips_in(part):
            bound: Bound = {}
            if _fits(slip.pattern, part, bound):
                changed = Changed(put(_filled(slip.instead, bound)), slip.at_most, slip.words, bound)
                found.setdefault(slip.rank, []).append(changed)
        for rank, (of_number, at_most, words) in enumerate(_OF_NUMBERS, len(SLIPS)):
            if isinstance(part, Number) and (instead := of_number(part)) is not None:
                changed = Changed(put(instead), at_most, words, {"was": part, "instead": instead})
                found.setdefault(rank, []).append(changed)
    yield from sorted((found[rank] for rank in sorted(found)), key=lambda sites: -sites[0].at_most)


def _slips_in(part: Expression) -> Iterator[_Slip]:
    if isinstance(part, Operation):
        yield from _slips().get(part.what, ())
        if part.what == "*" and _is_of_matrices(part):
            yield from _slips()["@"]


def _is_of_matrices(part: Operation) -> bool:
    """Say whether a written product may be one of matrices: × of numbers has no transposed side."""
    whats = ("transpose", "softmax", "*", "@")
    return not any(
        isinstance(arg, Number) or (isinstance(arg, Operation) and arg.what not in whats) for arg in part.args
    )


# Slips with one printed number of the left side: its minus lost, its point moved, two of its digits swapped.
def _positive(given: Number) -> Number | None:
    return number(-given.value) if given.value < 0 else None


def _shifted(power: int) -> Callable[[Number], Number | None]:
    def shift(given: Number) -> Number | None:
        return number(given.value * 10.0**power) if given.half and given.value else None

    return shift


_OF_NUMBERS = (
    (_positive, COMMON, "the minus of {was} lost"),
    (_shifted(1), RARE, "{instead} for {was}"),
    (_shifted(-1), RARE, "{instead} for {was}"),
)


Put = Callable[[Expression], Expression]


def _parts(expression: Expression) -> Iterator[tuple[Expression, Put]]:
    """Give every part, the whole first, and what puts another in its place."""

    def whole(instead: Expression) -> Expression:
        return instead

    queue: list[tuple[Expression, Put]] = [(expression, whole)]
    while queue:
        part, put = queue.pop(0)
        yield part, put
        queue += [(child, _within(part, place, put)) for place, child in enumerate(children(part))]


def _within(parent: Expression, place: int, put: Put) -> Put:
    parts = children(parent)

    def put_child(instead: Expression) -> Expression:
        return put(with_parts(parent, (*parts[:place], instead, *parts[place + 1 :])))

    return put_child


_SIGN_OF = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.MatMult: "@",
    ast.Pow: "^",
    ast.USub: "neg",
}


@cache
def _slips() -> dict[str, list[_Slip]]:
    """Read the table, by what the slip is made in."""
    slips: dict[str, list[_Slip]] = {}
    for rank, (meant, instead, at_most, words) in enumerate(SLIPS):
        pattern = _pattern(meant)
        if not isinstance(pattern, Operation):
            raise AssertionError(f"{meant}: a slip is made in something that is worked out")
        slips.setdefault(pattern.what, []).append(_Slip(rank, pattern, _pattern(instead), at_most, words))
    return slips


def _pattern(text: str) -> Expression:
    """Read one pattern of the table; Python's own grammar, with ^ for its **."""
    return _of_python(ast.parse(text.replace("^", "**"), mode="eval").body)


def _of_python(node: ast.expr) -> Expression:
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            return operation(_SIGN_OF[type(op)], _of_python(left), _of_python(right))
        case ast.UnaryOp(op=op, operand=operand):
            return operation(_SIGN_OF[type(op)], _of_python(operand))
        case ast.Call(func=ast.Name(id=name), args=args):
            return operation(name, *map(_of_python, args))
        case ast.Constant(value=int() | float() as value):
            return number(value)
        case ast.Name(id=name):
            return Name(name, 0, 0)
    raise AssertionError(f"{ast.dump(node)} in the table of slips")


_GUARDS: dict[str, Callable[[Expression], bool]] = {
    "f": lambda part: not (isinstance(part, Operation) and part.what in ("+", "-", "*")),
    "n": lambda part: isinstance(part, Number) and isinstance(part.value, int) and part.value > 1,
    "t": lambda part: isinstance(part, Number) and part.value >= 100,
}


def _fits(pattern: Expression, part: Expression, bound: Bound) -> bool:
    """Say whether ``part`` has the pattern's form, and keep what its letters stand for."""
    match pattern:
        case Name(text=letter):
            if letter in bound:
                return _same(bound[letter], part)
            bound[letter] = part
            return letter not in _GUARDS or _GUARDS[letter](part)
        case Operation(what=what, args=args):
            return (
                isinstance(part, Operation)
                and part.what in (what, "*" if what == "@" else what)
                and len(part.args) == len(args)
                and all(_fits(each, given, bound) for each, given in zip(args, part.args, strict=True))
            )
        case Number(value=value):
            return isinstance(part, Number) and part.value == value
    raise AssertionError(f"{pattern} in the table of slips")


def _same(one: Expression, other: Expression) -> bool:
    return in_full(one) == in_full(other)


def _filled(pattern: Expression, bound: Bound) -> Expression:
    match pattern:
        case Name(text=letter):
            return bound[letter]
        case Operation(what=what, args=args):
            return operation(what, *(_filled(arg, bound) for arg in args))
    return pattern
