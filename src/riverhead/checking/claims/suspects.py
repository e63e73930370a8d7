"""An expression with one slip made in it, for every slip of the table and every place it could be made in."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from riverhead.checking.claims.expression import Expression, Items, Name, Number, Operation
from riverhead.checking.claims.slips import COMMON, RARE, SLIPS

__all__ = ["Changed", "changes", "number", "operation", "parts_of", "size", "spelled_out", "written"]

MOST_WRITTEN = 32  # characters of an expression that is named
DEEPEST = 120  # what lies deeper is looked at no more

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


def size(expression: Expression, most: int) -> int:
    """Count the parts of an expression; anything above ``most`` where it is larger, or too deep.

    >>> size(Operation("neg", (Name("q", 0, 1),), 0, 1), 10)
    2
    """
    count, stack = 0, [(expression, 0)]
    while stack and count <= most:
        part, depth = stack.pop()
        count += most + 1 if depth > DEEPEST else 1
        stack += [(child, depth + 1) for child in _children(part)]
    return count


def parts_of(expression: Expression) -> Iterator[Expression]:
    """Give an expression and all its parts, down to the deepest that are looked at."""
    stack = [(expression, 0)]
    while stack:
        part, depth = stack.pop()
        yield part
        if depth < DEEPEST:
            stack += [(child, depth + 1) for child in _children(part)]


def spelled_out(expression: Expression, value_of: Callable[[Expression], object]) -> Expression:
    """Write e^x as exp(x), and softmax(a, b) as softmax([a, b]), so that the table needs one form of each."""
    names_e = any(isinstance(part, Name) and part.text == "e" for part in parts_of(expression))
    return _spelled(expression, names_e and value_of(Name("e", 0, 0)) == math.e)


def _spelled(expression: Expression, e: bool) -> Expression:
    if not _children(expression):
        return expression
    parts = tuple(_spelled(part, e) for part in _children(expression))
    match expression:
        case Operation(what="^", args=(Name(text="e"), _)) if e:
            return operation("exp", parts[1])
        case Operation(what=what) if what in _OF_LISTS and len(parts) > 1:
            return operation(what, Items(parts, 0, 0))
    return _with(expression, parts)


_OF_LISTS = frozenset(
    ["softmax", "sum", "mean", "var", "std", "norm", "max", "min", "layernorm", "transpose"]
)


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


def number(value: float) -> Number:
    """Make a number of an expression that stands nowhere in a text."""
    return Number(value, 0.0, f"{value:g}", 0, 0)


def operation(what: str, *args: Expression) -> Operation:
    """Make an operation that stands nowhere in a text."""
    return Operation(what, args, 0, 0)


def written(expression: Expression) -> str:
    """Write an expression out, cut off where it is long.

    >>> written(Operation("*", (number(2), Operation("+", (number(3), Name("k", 0, 1)), 0, 0)), 0, 0))
    '2 · (3 + k)'
    """
    text = "".join(_pieces(expression, 0))
    return text if len(text) <= MOST_WRITTEN else text[: MOST_WRITTEN - 1] + "…"


_SIGNS = {"+": (" + ", 1), "-": (" − ", 1), "*": (" · ", 2), "@": (" · ", 2), "/": ("/", 3), "^": ("^", 4)}


def _pieces(expression: Expression, binding: int) -> Iterator[str]:
    match expression:
        case Number(text=text, unit=unit):
            yield text if text.endswith(unit) else text + unit
        case Name(text=text):
            yield text
        case Items(items=items):
            yield f"[{', '.join(''.join(_pieces(item, 0)) for item in items)}]"
        case Operation(what="neg", args=(inner,)):
            yield "−"
            yield from _pieces(inner, 3)
        case Operation(what=what, args=args) if what in _SIGNS and len(args) > 1:
            sign, own = _SIGNS[what]
            yield "(" if own < binding else ""
            for place, arg in enumerate(args):
                yield sign if place else ""
                yield from _pieces(arg, own + (place > 0 and what in "-/"))
            yield ")" if own < binding else ""
        case Operation(what="sqrt" | "exp" as what, args=(Number() | Name() as inner,)):
            yield "√" if what == "sqrt" else "e^"
            yield from _pieces(inner, 0)
        case Operation(what=what, args=args):
            yield f"{what}({', '.join(''.join(_pieces(arg, 0)) for arg in args)})"


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


def _children(expression: Expression) -> tuple[Expression, ...]:
    match expression:
        case Items(items=parts) | Operation(args=parts):
            return parts
    return ()


Put = Callable[[Expression], Expression]


def _parts(expression: Expression) -> Iterator[tuple[Expression, Put]]:
    """Give every part, the whole first, and what puts another in its place."""

    def whole(instead: Expression) -> Expression:
        return instead

    queue: list[tuple[Expression, Put]] = [(expression, whole)]
    while queue:
        part, put = queue.pop(0)
        yield part, put
        queue += [(child, _within(part, place, put)) for place, child in enumerate(_children(part))]


def _within(parent: Expression, place: int, put: Put) -> Put:
    parts = _children(parent)

    def put_child(instead: Expression) -> Expression:
        return put(_with(parent, (*parts[:place], instead, *parts[place + 1 :])))

    return put_child


def _with(parent: Expression, parts: tuple[Expression, ...]) -> Expression:
    if isinstance(parent, Operation):
        return Operation(parent.what, parts, parent.start, parent.end)
    return Items(parts, parent.start, parent.end)


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
    return "".join(_pieces(one, 0)) == "".join(_pieces(other, 0))


def _filled(pattern: Expression, bound: Bound) -> Expression:
    match pattern:
        case Name(text=letter):
            return bound[letter]
        case Operation(what=what, args=args):
            return operation(what, *(_filled(arg, bound) for arg in args))
    return pattern
