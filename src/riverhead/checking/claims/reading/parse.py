"""Tokens read as expressions, by binding powers: what is read stands like islands in prose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from riverhead.checking.claims.reading.expression import Expression, Items, Name, Number, Operation
from riverhead.checking.claims.reading.notation import FUNCTIONS, JOINS, OPERATORS, SUPERSCRIPTS, canonical
from riverhead.checking.claims.reading.numerals import numeral
from riverhead.checking.claims.reading.tokens import Token, tokens
from riverhead.errors import InputError

__all__ = ["Parser", "expression", "is_word"]

DEEPEST = 60  # brackets, roots and signs within each other; beyond, what is written is no article's sum
MOST_TENS = 300  # the powers of ten that float64 has
IMPLICIT = 3  # 2√2, (a)(b), 0.5 [1, 2]: tighter than / , looser than ^
_BINDS = {name: power for name, power in OPERATORS.values() if name}
_PAIRS = {"⟨": "⟩", "\\langle": "\\rangle", "(": ")", "[": "]", "{": "}", "（": "）", "［": "］"}
_OPERAND_STARTS = frozenset(("number", "name", "open"))
_BARE = frozenset(("sqrt", "exp", "sin", "cos", "tan", "tanh", "log", "log2"))  # also without brackets: ln 2
_ENDS = frozenset(("", "relation", "separator", "close", "word", "said"))  # behind these no sum goes on


class Parser:
    """Reads the expression that starts at a token; each bracket once, so that a page takes linear time."""

    def __init__(self, page: Sequence[Token], decimal_comma: bool = False) -> None:
        self.page = page
        self.kinds = [token.kind for token in page] + [""] * 8  # behind the last there is nothing
        self.decimal_comma = decimal_comma
        self._closing = _closing(page)
        self._opening = {end: at for at, end in self._closing.items()}
        self._brackets: dict[int, tuple[Expression | None, int]] = {}
        self._depth = 0
        self._spaces = False  # whether spaces part the items of the bracket that is read

    def read(self, at: int, inside: bool = False) -> tuple[Expression | None, int]:
        """Return the longest expression that starts at token ``at``, and the token behind it."""
        return self._binary(at, 0, inside)

    def kind(self, at: int) -> str:
        """Return the kind of token ``at``, empty behind the last."""
        return self.kinds[at] if at < len(self.kinds) else ""

    def closing(self, at: int) -> int:
        """Return the bracket that closes the one at ``at``, −1 where none does."""
        return self._closing.get(at, -1)

    def opening(self, at: int) -> int:
        """Return the bracket that the one at ``at`` closes, −1 where it closes none."""
        return self._opening.get(at, -1)

    def _binary(self, at: int, least: int, inside: bool) -> tuple[Expression | None, int]:
        left, at = self._signed(at, inside)
        while left is not None and self.kinds[at] not in _ENDS:
            sign, power, behind = self._operator(at, left, inside)
            if power <= 0 or power < least or (inside and self._spaces and self._parts_items(at)):
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
            behind = self._over_line(at, inside)
        if kind == "name" and self.page[at].text == "of" and self.page[at - 1].text == "%":
            return "*", _BINDS["*"], at + 1
        if kind != "operator" and not isinstance(left, Name):
            behind = self._over_gloss(behind)
            kind = self.kinds[behind]
        if kind == "operator":
            sign = self.page[behind].text
            after = behind + 1
            if sign == "-" and isinstance(left, Name) and self._begins(behind):
                return "", 0, at
            if self.kinds[after] == "line":
                after = self._over_line(after, inside, wrapped=True)
            return sign, _BINDS.get(sign, 0), after
        if behind != at or kind not in _OPERAND_STARTS:
            return "", 0, at
        return ("*", IMPLICIT, at) if self._juxtaposed(at, left, inside) else ("", 0, at)

    def _over_line(self, at: int, inside: bool, wrapped: bool = False) -> int:
        """Behind a line's end, where the sum goes on: in brackets, after an operator, before + × · /."""
        if self.kinds[at] != "line":
            return at
        behind = at + 1
        if inside:
            while self.kinds[behind] == "line":
                behind += 1
            return behind
        if wrapped:
            return behind
        goes_on = self.kinds[behind] == "operator" and self.page[behind].text in ("+", "*", "/")
        return behind if goes_on and self.page[behind].end - self.page[behind].start == 1 else at

    def _over_gloss(self, at: int) -> int:
        """Behind words that tell what a number is, if an operator follows: 2 (K and V) × 80 layers × 64."""
        behind = at
        apart = (
            behind > 0 and self.page[behind - 1].end < self.page[behind].start
            if self.kinds[behind]
            else False
        )
        if apart and self.page[behind].text == "(" and self.words(behind):
            behind = self.closing(behind) + 1
        words = 0
        while self._word(behind) and words < 4:
            word = self.page[behind].text.lower()
            if word in FUNCTIONS or word in JOINS or word in ("e", "π"):
                return at
            behind, words = behind + 1, words + 1
        per = words and self.kinds[behind] == "operator" and self.page[behind].text == "/"
        if per and self.kinds[behind + 1] == "name" and self.page[behind].start == self.page[behind - 1].end:
            behind += 2  # 48 tokens/s × 60
        return behind if self.kinds[behind] == "operator" and self._spaced(behind) else at

    def _begins(self, at: int) -> bool:
        """Whether a minus behind a word is the sign of a number: scores −2 + 2 = 0."""
        sign, before = self.page[at], self.page[at - 1]
        tight = self.kinds[at + 1] == "number" and self.page[at + 1].start == sign.end
        return tight and sign.start > before.end and is_word(before.text)

    def _spaced(self, at: int) -> bool:
        """Whether an operator stands between spaces (a hyphen in a word does not)."""
        return self.page[at].text != "-" or self.page[at].start > self.page[at - 1].end

    def words(self, at: int) -> bool:
        """Say whether a bracket holds only a few words, which tell what stands before it."""
        end = self.closing(at)
        return 0 < end - at < 9 and all(
            token.kind in ("name", "word", "said") or token.text == "+" for token in self.page[at + 1 : end]
        )

    def _juxtaposed(self, at: int, left: Expression, inside: bool) -> bool:
        """Whether a product is understood between ``left`` and the operand at a token."""
        if inside and self._spaces and self._parts_items(at):
            return False
        if self.kinds[at] == "open":
            return self._before_bracket(at, left)
        return self.kinds[at] == "name" and self._before_name(at, left)

    def _before_bracket(self, at: int, left: Expression) -> bool:
        token, before = self.page[at], self.page[at - 1]
        if token.text[:6] == "\\begin" and before.kind in ("number", "close"):
            return True
        if token.text in "{⟨" or before.kind not in ("close", "number", "transposed"):
            return False
        if token.start == before.end or before.kind == "transposed":
            return not (self.words(at) and is_word(self.page[at + 1].text))  # 11 (wrong) is 11
        if isinstance(left, Items):
            return False  # two lists beside each other are two lists
        numbers = self.kinds[at + 1] == "number" and self.closing(at) > 0
        goes_on = before.kind == "close" or self.kinds[self.closing(at) + 1] == "operator"
        return token.text in "[［" or (numbers and goes_on)

    def _before_name(self, at: int, left: Expression) -> bool:
        token, before = self.page[at], self.page[at - 1]
        called = FUNCTIONS.get(_function(token.text), "")
        if before.kind == "number" or isinstance(left, Number):
            alone = len(token.text) == 1 and self.kinds[at + 1] in ("operator", "power")
            plain = (token.start == before.end or alone) and not is_word(token.text)
            return plain or self._applied(called, at)
        if before.kind == "close" or isinstance(left, Operation):
            return self._applied(called, at) or (before.kind == "transposed" and self._matrices(at))
        return self._matrices(at)

    def _applied(self, function: str, at: int) -> bool:
        """Whether a function stands here with what it is applied to: 2 sin(1), 0.5 ln 2."""
        opened = self.kinds[at + 1] == "open" and self.page[at + 1].start == self.page[at].end
        return bool(function) and (opened or function in _BARE)

    def _matrices(self, at: int) -> bool:
        """Whether two symbols side by side are a product: Q K, x W, K^T q."""
        token, before = self.page[at], self.page[at - 1]
        if before.kind == "transposed":
            return not is_word(token.text)
        symbols = before.kind == "name" and not is_word(token.text) and not is_word(before.text)
        short = len(token.text) <= 8 and len(before.text) <= 8
        return symbols and short and (token.text[0].isupper() or before.text[0].isupper())

    def _parts_items(self, at: int) -> bool:
        """Whether the space before a token parts two items of a list, as in [0.5 -0.3] and [0.1 0.2]."""
        token = self.page[at]
        if token.kind == "line":
            token = self.page[min(self._over_line(at, True), len(self.page) - 1)]
        gap = token.start > self.page[at - 1].end
        if token.kind == "operator":
            behind = self.page[at + 1] if at + 1 < len(self.page) else token
            return gap and token.text == "-" and behind.start == token.end
        return gap and token.kind in _OPERAND_STARTS

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
            and self._word(behind + 1)
        ):
            behind += 2  # 800 KiB/token
        return number, behind

    def _word(self, at: int) -> bool:
        return self.kinds[at] == "name" and is_word(self.page[at].text)

    def _named(self, at: int, inside: bool) -> tuple[Expression | None, int]:
        token = self.page[at]
        function = FUNCTIONS.get(_function(token.text))
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
                if arguments is None:
                    return None, at
                several = isinstance(arguments, Items) and bracket in "(（{"
                args = arguments.items if several and isinstance(arguments, Items) else (arguments,)
                return Operation(function, args, token.start, self.page[behind - 1].end), behind
            if function in _BARE and self.kinds[behind] in ("number", "name"):
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
        spaces, self._spaces = self._spaces, self._is_list(at, end)
        self._depth += 1
        try:
            rows, after = self._items(at + 1, end)
        finally:
            self._depth -= 1
            self._spaces = spaces
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
                at += 3
            else:
                plain = kind == "number" and self.kinds[at + 1] in ("separator", "close")
                item, after = self._number(at) if plain else self._binary(at, 0, True)
                if item is None or after > end:
                    return None, at
                rows[-1].append(item)
                at = after
                if self._trails(at, end):
                    at = end
                elif (
                    at < end and not self._spaces and self.kinds[at] not in ("separator", "line", "ellipsis")
                ):
                    return None, at
        return [row for row in rows if row], at

    def _keyword(self, at: int) -> bool:
        """Whether an argument by name (dim=-1) stands here, which says nothing of a number."""
        return (
            self.kinds[at] == "name"
            and self.kinds[at + 1] == "relation"
            and self.page[at].text in ("dim", "axis", "dtype", "keepdim", "keepdims")
            and self.kinds[at + 2] in ("number", "name")
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


def _closing(page: Sequence[Token]) -> dict[int, int]:
    """The partner of each bracket; a mathematician's half-open pair, ( with ], closes nothing."""
    partner: dict[int, int] = {}
    waiting: list[tuple[int, str]] = []
    for at, token in enumerate(page):
        if token.kind == "open":
            waiting.append(
                (at, _PAIRS.get(token.text, "\\end" if token.text.startswith("\\") else token.text))
            )
        elif token.kind == "close" and waiting:
            wanted = waiting[-1][1]
            if token.text == wanted or (wanted == "\\end" and token.text.lstrip("\\").startswith("end")):
                partner[waiting.pop()[0]] = at
            elif token.text in ")]}" and any(token.text == want for _, want in waiting[-4:]):
                while waiting[-1][1] != token.text:
                    waiting.pop()
                partner[waiting.pop()[0]] = at
        elif (token.kind == "word" and not token.text) or (
            token.kind == "line" and page[at - 1].kind == "line"
        ):
            waiting.clear()  # a line of prose, or an empty one: brackets open before it stay open
    return partner


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


@lru_cache(maxsize=4096)
def is_word(text: str) -> bool:
    """Say whether a name is a word, not a symbol: "heads", not "h"."""
    text = text.replace("_", "")
    return text.isalpha() and (len(text) > 1 or text > "\u3000" or text == "s")


@lru_cache(maxsize=4096)
def _function(name: str) -> str:
    plain = canonical(name).lower().lstrip("\\")
    return plain.rpartition(".")[2] if "." in plain else plain


def expression(text: str, start: int = 0, end: int | None = None) -> Expression | None:
    """Return ``text[start:end]`` read whole as one expression, or None where it is none.

    >>> expression("(0.5, 0)").items[0].text
    '0.5'
    """
    page = tokens(text[start:end])
    while page and page[0].kind == "line":
        page.pop(0)
    while page and page[-1].kind == "line":
        page.pop()
    shifted = [Token(kind, sign, a + start, b + start) for kind, sign, a, b in page]
    found, after = Parser(shifted).read(0)
    return found if after == len(shifted) else None
