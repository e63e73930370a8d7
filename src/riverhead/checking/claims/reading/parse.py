"""Tokens read as expressions, by binding powers: what is read stands like islands in prose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from riverhead.checking.claims.reading.expression import Expression, Items, Name, Number, Operation
from riverhead.checking.claims.reading.layout import BARE, OPERAND_STARTS, Layout, function_of, is_word
from riverhead.checking.claims.reading.notation import FUNCTIONS, OPERATORS, SUPERSCRIPTS, canonical
from riverhead.checking.claims.reading.numerals import numeral
from riverhead.checking.claims.reading.tokens import Token, decimal_comma, tokens
from riverhead.errors import InputError

__all__ = ["Parser", "expression"]

DEEPEST = 60  # brackets, roots and signs within each other; beyond, what is written is no article's sum
MOST_TENS = 300  # the powers of ten that float64 has
_STATISTICS = frozenset(
    ("sum", "mean", "var", "std", "norm", "max", "min")
)  # words before what they are, too
IMPLICIT = 3  # 2√2, (a)(b), 0.5 [1, 2]: tighter than / , looser than ^
_BINDS = {name: power for name, power in OPERATORS.values() if name}
_ENDS = frozenset(("", "relation", "separator", "close", "word", "said"))  # behind these no sum goes on


class Parser(Layout):
    """Reads the expression that starts at a token; each bracket once, so that a page takes linear time."""

    def __init__(self, page: Sequence[Token], decimal_comma: bool = False) -> None:
        super().__init__(page)
        self.decimal_comma = decimal_comma
        self._brackets: dict[int, tuple[Expression | None, int]] = {}
        self._depth = 0

    def read(self, at: int, inside: bool = False) -> tuple[Expression | None, int]:
        """Return the longest expression that starts at token ``at``, and the token behind it."""
        return self._binary(at, 0, inside)

    def _binary(self, at: int, least: int, inside: bool) -> tuple[Expression | None, int]:
        left, at = self._signed(at, inside)
        while left is not None and self.kinds[at] not in _ENDS:
            sign, power, behind = self._operator(at, left, inside)
            if power <= 0 or power < least or (inside and self.parted and self.parts_items(at)):
                break
            right, after = self._operand(behind, sign, power, inside)
            if right is None:
                break
            left, at = _scientific(left, right, sign), after
        return left, at

    def _operand(self, at: int, sign: str, power: int, inside: bool) -> tuple[Expression | None, int]:
        """The right operand; a power of a power goes to the right, no deeper than brackets do."""
        if sign != "^":
            return self._binary(at, power + 1, inside)
        if self._depth >= DEEPEST:
            return None, at
        self._depth += 1
        found = self._binary(at, power, inside)
        self._depth -= 1
        return found

    def _operator(self, at: int, left: Expression, inside: bool) -> tuple[str, int, int]:
        """The operator at a token, written or understood: what it does, how it binds, its operand's place."""
        kind, behind = self.kinds[at], at
        if kind == "line" and (inside or isinstance(left, Operation)):
            behind = self.over_line(at, inside)
        if kind == "name" and self.page[at].text == "of" and self.page[at - 1].text == "%":
            return "*", _BINDS["*"], at + 1
        if kind != "operator" and not isinstance(left, Name):
            behind = self.over_gloss(behind)
            kind = self.kinds[behind]
        if kind == "operator":
            sign = self.page[behind].text
            after = behind + 1
            if sign == "-" and isinstance(left, Name) and self.begins(behind):
                return "", 0, at
            if self.kinds[after] == "line":
                after = self.over_line(after, inside, wrapped=True)
            return sign, _BINDS.get(sign, 0), after
        if behind != at or kind not in OPERAND_STARTS:
            return "", 0, at
        return ("*", IMPLICIT, at) if self.juxtaposed(at, left, inside) else ("", 0, at)

    def _signed(self, at: int, inside: bool) -> tuple[Expression | None, int]:
        first, minus = at, False
        while self.kinds[at] == "operator" and self.page[at].text in ("-", "+"):
            minus ^= self.page[at].text == "-"
            at += 1
            if at - first > DEEPEST:
                return None, first
        if at == first:
            operand, at = self._primary(at, inside)
            if self.kinds[at] in ("transposed", "power", "unit"):
                return self._postfix(operand, at)
            return operand, at
        if self._depth >= DEEPEST:
            return None, first
        self._depth += 1
        operand, at = self._binary(at, IMPLICIT, inside)
        self._depth -= 1
        if operand is None:
            return None, first
        start = self.page[first].start
        return (Operation("neg", (operand,), start, operand.end) if minus else operand), at

    def _postfix(self, operand: Expression | None, at: int) -> tuple[Expression | None, int]:
        while operand is not None:
            kind = self.kinds[at]
            if kind == "transposed":
                operand = Operation("transpose", (operand,), operand.start, self.page[at].end)
            elif kind == "unit":
                unit = self.page[at]
                one = Number(1, 0.0, "1", unit.start, unit.end, unit.text)
                operand = Operation("*", (operand, one), operand.start, unit.end)
            elif kind == "power":
                text = self.page[at].text.translate(SUPERSCRIPTS)
                try:
                    value, half = numeral(text.lstrip("-+"))
                except (InputError, ValueError):
                    return operand, at
                value = -value if text[0] == "-" else value
                exponent = Number(value, half, text, self.page[at].start, self.page[at].end)
                operand = Operation("^", (operand, exponent), operand.start, exponent.end)
            else:
                break
            at += 1
        return operand, at

    def _primary(self, at: int, inside: bool) -> tuple[Expression | None, int]:
        kind = self.kinds[at]
        if kind == "number":
            return self._number(at)
        if kind == "open":
            return self._bracket(at)
        if kind == "name":
            return self._named(at, inside)
        if kind == "bar":
            return self._between_bars(at)
        return None, at

    def _between_bars(self, at: int) -> tuple[Expression | None, int]:
        """|−4.5| or ‖(3, 4)‖, where a sum or a relation goes on behind it (a table has bars, too)."""
        apart = self.kinds[at + 1] in ("", "bar") or self.page[at + 1].start > self.page[at].end
        if self._depth >= DEEPEST or apart:
            return None, at
        self._depth += 1
        inner, end = self._binary(at + 1, 0, False)
        self._depth -= 1
        if inner is None or self.kinds[end] != "bar" or self.page[end].start > self.page[end - 1].end:
            return None, at
        if self.kinds[end + 1] not in ("relation", "operator", "close", "power", "", "line"):
            return None, at
        return Operation("norm", (inner,), self.page[at].start, self.page[end].end), end + 1

    def _number(self, at: int) -> tuple[Expression | None, int]:
        token = self.page[at]
        try:
            value, half = numeral(token.text, self.decimal_comma)
        except (InputError, ValueError):
            return None, at
        unit = self.page[at + 1] if self.kinds[at + 1] == "unit" else None
        end = unit.end if unit else token.end
        number = Number(value, half, token.text, token.start, end, unit.text if unit else "")
        behind = at + (2 if unit else 1)
        if (
            unit
            and self.kinds[behind] == "operator"
            and self.page[behind].text == "/"
            and self.is_word_at(behind + 1)
        ):
            behind += 2  # 800 KiB/token
        return number, behind

    def _named(self, at: int, inside: bool) -> tuple[Expression | None, int]:
        token = self.page[at]
        function = FUNCTIONS.get(function_of(token.text))
        if function is not None:
            called, after = self._call(function, at, inside)
            if called is not None:
                return called, after
        behind = at + 1
        if (
            self.kinds[behind] == "open"
            and self.page[behind].start == token.end
            and self.page[behind].text in "(["
        ):
            end = self.closing(behind)  # PE(1, 0), scores[0][1]: a name with its place
            if 0 < end - behind < 24:
                text = "".join(t.text for t in self.page[at : end + 1])
                return Name(canonical(text), token.start, self.page[end].end), end + 1
            return None, at
        return Name(canonical(token.text), token.start, token.end), behind

    def _call(self, function: str, at: int, inside: bool) -> tuple[Expression | None, int]:
        token, behind = self.page[at], at + 1
        if self._depth >= DEEPEST:
            return None, at
        if (
            self.page[behind : behind + 1]
            and self.page[behind].text == "of"
            and self.kinds[behind + 1] == "open"
        ):
            behind += 1  # the softmax of [3, 1]
        self._depth += 1
        try:
            if function == "/":
                return self._fraction(at)
            if function == "sqrt" and self.kinds[behind] == "open" and self.page[behind].text == "[":
                return self._root(at)
            if self.kinds[behind] == "open":
                bracket = self.page[behind].text
                arguments, behind = self._bracket(behind)
                named = function in _STATISTICS and self.page[at + 1].start == token.end + 1
                if arguments is None or (named and bracket in "(（" and not isinstance(arguments, Items)):
                    return None, at  # its variance (9 + 1 + 1 + 9)/4 is no function of 20
                several = isinstance(arguments, Items) and bracket in "(（{"
                args = arguments.items if several and isinstance(arguments, Items) else (arguments,)
                return Operation(function, args, token.start, self.page[behind - 1].end), behind
            if function in BARE and self.kinds[behind] in ("number", "name"):
                argument, behind = self._postfix(*self._primary(behind, inside))
                symbol = isinstance(argument, Name) and not is_word(argument.text)
                if argument is not None and (function == "sqrt" or symbol or not isinstance(argument, Name)):
                    return Operation(function, (argument,), token.start, argument.end), behind
            return None, at
        finally:
            self._depth -= 1

    def _root(self, at: int) -> tuple[Expression | None, int]:
        r"""\sqrt[3]{27}"""
        degree, behind = self._bracket(at + 1)
        if not isinstance(degree, Items) or len(degree.items) != 1 or self.kinds[behind] != "open":
            return None, at
        under, behind = self._bracket(behind)
        if under is None:
            return None, at
        one = Number(1, 0.0, "1", degree.start, degree.start)
        part = Operation("/", (one, degree.items[0]), degree.start, degree.end)
        return Operation("^", (under, part), self.page[at].start, under.end), behind

    def _fraction(self, at: int) -> tuple[Expression | None, int]:
        token, behind = self.page[at], at + 1
        digits = self.page[behind].text if self.kinds[behind] == "number" else ""
        if len(digits) == 2 and digits.isdecimal():  # \\frac12
            start = self.page[behind].start
            top, below = (Number(int(d), 0.0, d, start + i, start + i + 1) for i, d in enumerate(digits))
            return Operation("/", (top, below), token.start, below.end), behind + 1
        over, behind = self._bracket(behind) if self.kinds[behind] == "open" else (None, behind)
        under, behind = self._bracket(behind) if self.kinds[behind] == "open" else (None, behind)
        if over is None or under is None:
            return None, at
        return Operation("/", (over, under), token.start, under.end), behind

    def _bracket(self, at: int) -> tuple[Expression | None, int]:
        if at not in self._brackets:
            self._brackets[at] = self._read_bracket(at)
        return self._brackets[at]

    def _read_bracket(self, at: int) -> tuple[Expression | None, int]:
        end = self.closing(at)
        if end <= at + 1 or self._depth >= DEEPEST:
            return None, at
        spaces, self.parted = self.parted, self._is_list(at, end)
        self._depth += 1
        try:
            rows, after = self._items(at + 1, end)
        finally:
            self._depth -= 1
            self.parted = spaces
        if rows is None or after != end:
            return None, at
        return self._grouped(at, end, rows), end + 1

    def _is_list(self, at: int, end: int) -> bool:
        """Whether the spaces of a bracket part its items: square ones without a comma of their own."""
        if self.page[at].text not in "[［" and not self.page[at].text.startswith("\\"):
            return False
        step = at + 1
        while step < end:
            if self.kinds[step] == "separator":
                return False
            step = (
                self.closing(step) + 1 if self.kinds[step] == "open" and self.closing(step) > 0 else step + 1
            )
        return True

    def _items(self, at: int, end: int) -> tuple[list[list[Expression]] | None, int]:
        rows: list[list[Expression]] = [[]]
        while at < end:
            kind = self.kinds[at]
            if kind == "line":
                at += 1
            elif kind == "separator":
                if self.page[at].text in ("\\\\", ";", "；") and rows[-1]:
                    rows.append([])
                at += 1
            elif kind == "ellipsis":
                rows[-1].append(Name("…", self.page[at].start, self.page[at].end))
                at += 1
            elif self._keyword(at):
                at += 4 if self.kinds[at + 2] == "operator" else 3
            else:
                plain = kind == "number" and self.kinds[at + 1] in ("separator", "close")
                item, after = self._number(at) if plain else self._binary(at, 0, True)
                if item is None or after > end:
                    return None, at
                rows[-1].append(item)
                at = after
                if self._trails(at, end):
                    at = end
                elif at < end and not self.parted and self.kinds[at] not in ("separator", "line", "ellipsis"):
                    return None, at
        return [row for row in rows if row], at

    def _keyword(self, at: int) -> bool:
        """Whether an argument by name (dim=-1) stands here, which says nothing of a number."""
        return (
            self.kinds[at] == "name"
            and self.kinds[at + 1] == "relation"
            and self.page[at].text in ("dim", "axis", "dtype", "keepdim", "keepdims")
            and self.kinds[at + 2 + (self.kinds[at + 2] == "operator")] in ("number", "name")
        )

    def _trails(self, at: int, end: int) -> bool:
        """Whether only words are left in the bracket: (2 × 3 in all)."""
        return at < end <= at + 6 and all(is_word(token.text) for token in self.page[at:end])

    def _grouped(self, at: int, end: int, rows: list[list[Expression]]) -> Expression | None:
        start, stop = self.page[at].start, self.page[end].end
        if not rows:
            return None
        if self.page[at].text in ("⟨", "\\langle"):
            inner = tuple(rows[0])
            return Operation("dot", inner, start, stop) if len(rows) == 1 and len(inner) == 2 else None
        matrix = self.page[at].text.startswith("\\")
        if len(rows) > 1 and (matrix or self.page[at].text in "[［"):
            if all(len(row) == 1 for row in rows):
                return Items(tuple(row[0] for row in rows), start, stop)
            return Items(tuple(Items(tuple(row), row[0].start, row[-1].end) for row in rows), start, stop)
        items = tuple(item for row in rows for item in row)
        if len(items) == 1 and isinstance(items[0], Items) and self.page[at + 1].text.startswith("\\"):
            return replace(items[0], start=start, end=stop)  # \left[\begin{array}
        if len(items) == 1 and not matrix and self.page[at].text in "({（":
            return replace(items[0], start=start, end=stop)
        return Items(items, start, stop)


def _scientific(left: Expression, right: Expression, sign: str) -> Expression:
    """The operation, or the one number that 1.07 × 10⁹ writes."""
    done = Operation(sign, (left, right), left.start, right.end)
    if sign != "*" or not (isinstance(right, Operation) and right.what == "^"):
        return done
    number = left.args[0] if isinstance(left, Operation) and left.what == "neg" else left
    ten, power = right.args
    down = isinstance(power, Operation) and power.what == "neg"
    power = power.args[0] if isinstance(power, Operation) else power
    tens = isinstance(ten, Number) and ten.text == "10" and not ten.unit
    if not (tens and isinstance(number, Number) and isinstance(power, Number) and not number.unit):
        return done
    if power.half or not isinstance(power.value, int) or abs(power.value) > MOST_TENS or not number.half:
        return done
    exponent = -power.value if down else power.value
    scale = 10.0**exponent
    text = f"{number.text}e{exponent}"
    folded = replace(number, value=number.value * scale, half=number.half * scale, text=text, end=right.end)
    return folded if number is left else Operation("neg", (folded,), left.start, right.end)


def expression(text: str, start: int = 0, end: int | None = None) -> Expression | None:
    """Return ``text[start:end]`` read whole as one expression, or None where it is none.

    >>> expression("(0.5, 0)").items[0].text
    '0.5'
    """
    page = tokens(text[start:end], decimal_comma(text[start:end]))
    while page and page[0].kind == "line":
        page.pop(0)
    while page and page[-1].kind == "line":
        page.pop()
    shifted = [Token(kind, sign, a + start, b + start) for kind, sign, a, b in page]
    found, after = Parser(shifted).read(0)
    return found if after == len(shifted) else None
