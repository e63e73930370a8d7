"""Chains: expressions of a page, in a row, with the relations between them."""

from __future__ import annotations

from dataclasses import dataclass, field

from riverhead.checking.claims.reading.expression import (
    Expression,
    Items,
    Name,
    Number,
    Operation,
    is_literal,
    walk,
)
from riverhead.checking.claims.reading.layout import is_word
from riverhead.checking.claims.reading.parse import Parser
from riverhead.checking.claims.reading.tokens import decimal_comma, tokens

__all__ = ["STARTS", "Chain", "Chains"]

COUNTED = frozenset(  # words that number what they name: Step 4 - 8 / 2
    ("mod", "step", "row", "part", "case", "example", "layer", "head", "token", "position", "table", "figure",
     "of")
)  # fmt: skip
JOINED = frozenset(
    ("by", "times", "over", "than", "plus", "minus", "from")
)  # the scores divided by √2 is 3.54
MAX_ROW = 32  # expressions parted by commas that are looked back at
STARTS = frozenset(("number", "name", "open", "bar"))
_SAY = ("say", "=")


@dataclass(slots=True)
class Chain:
    """Expressions in a row, and the relations between them."""

    sides: list[Expression]
    relations: list[str] = field(default_factory=list)
    weak: set[int] = field(default_factory=set)  # relations that may join what does not belong together


class Chains:
    """Reads the chain that begins at a token of a page."""

    def __init__(self, text: str) -> None:
        self.text = text
        comma = decimal_comma(text)
        self.tokens = tokens(text, comma)
        self.parser = Parser(self.tokens, comma)
        self.row: list[Expression] = []

    def chain(self, chain: Chain, at: int) -> tuple[Chain, int]:
        """Follow the relations from token ``at`` on as far as both their sides are expressions."""
        chain = Chain(chain.sides[-2:] if is_literal(chain.sides[-1]) else chain.sides[-1:])
        if len(chain.sides) == 2:
            chain.relations.append("")
        while True:
            relation = self._relation(at, chain.sides[-1])
            if relation < 0:
                if chain.relations and self._cut_behind(at):
                    chain.weak.add(len(chain.relations) - 1)
                return chain, at
            sign = self.tokens[relation].text
            start = self.parser.over_filler(relation + 1)
            if start > relation + 1 and sign == "=":
                sign = "≈"
            side, behind = self.parser.read(start)
            if side is None or (sign == "say" and not is_literal(side)):
                return chain, at
            if sign == "→" and is_literal(chain.sides[-1]) and not is_literal(side):
                return chain, at  # b = (3, 4) ⇒ a·b = 11
            if self.tokens[at].kind == "line" and is_literal(chain.sides[-1]) and not is_literal(side):
                chain.weak.add(len(chain.relations))
            side, behind = self._bare_list(side, start, behind)
            if isinstance(side, Items) and not chain.relations:
                chain.sides[-1] = self._row(chain.sides[-1], side)
            chain.sides.append(side)
            chain.relations.append("=" if sign == "say" else sign)
            at = behind

    def _relation(self, at: int, left: Expression) -> int:
        """The token of the relation behind an expression, −1 where there is none."""
        step = at if isinstance(left, Name) else self.parser.over_words(at)
        if step > at and not self._spaced(step):
            return -1  # prec=10
        lines = 0
        while lines < 4 and (self.parser.kind(step) == "line" or self._row_ends(step)):
            step, lines = step + 1, lines + 1
        kind = self.parser.kind(step)
        if kind == "bar" and self.parser.kinds[step + 1] == "relation":
            step, kind = step + 1, "relation"  # the next cell of a table
        if kind == "relation":
            return -1 if step > at + lines and self.tokens[step].text == "→" else step
        if kind == "said" and not lines and self.tokens[step].text in _SAY:
            equal = self.tokens[step].text == "="
            return step if isinstance(left, Operation) or (equal and isinstance(left, Number)) else -1
        return -1

    def _row_ends(self, at: int) -> bool:
        r"""Whether LaTeX's \\\\ parts two rows of an equation."""
        return self.parser.kind(at) == "separator" and self.tokens[at].text == "\\\\"

    def _spaced(self, at: int) -> bool:
        return self.tokens[at].start > self.tokens[at - 1].end

    def _bare_list(self, first: Expression, start: int, behind: int) -> tuple[Expression, int]:
        """The numbers of a list written without brackets: probs = 0.61, 0.22, 0.14."""
        if not is_literal(first) or isinstance(first, Items):
            return first, behind
        items, at = [first], behind
        while self.parser.kind(at) == "separator" and self.tokens[at].text in ",，、":
            if self.tokens[at + 1 : at + 2] and self.tokens[at + 1].start == self.tokens[at].end:
                break
            item, after = self.parser.read(at + 1)
            if item is None or isinstance(item, Items) or not is_literal(item):
                break
            if self.parser.kind(after) in ("relation", "operator", "name"):
                break
            items.append(item)
            at = after
        if len(items) < 3 and not (len(items) == 2 and all(_has_point(item) for item in items)):
            return first, behind
        return Items(tuple(items), first.start, items[-1].end), at

    def is_cut(self, at: int) -> bool:
        """Whether the expression at a token may have begun before it: behind an operator, a number, "of"."""
        if at == 0:
            return False
        before, here = self.tokens[at - 1], self.tokens[at]
        if before.kind == "operator" or before.text == "\\":
            return not self._bullet(at - 1)
        if here.start - before.end > 1:
            return False
        if before.kind == "separator":  # 3,14 · 2 where commas part items
            return (
                before.text == "," and self.text[before.start - 1 : here.start + 1].replace(",", "").isdigit()
            )
        if before.kind == "name":
            counted = here.kind == "number" and (before.text.lower() in COUNTED or before.text.isupper())
            symbol = not is_word(before.text) and here.kind in ("name", "number")
            return counted or symbol or here.start == before.end or before.text.lower() in JOINED
        if before.kind == "close":
            opened = self.parser.opening(at - 1)
            first = opened <= 0 or self.tokens[opened - 1].kind == "line"
            return not first and not self.parser.words(opened)
        return before.kind in ("number", "unit", "transposed")

    def _cut_behind(self, at: int) -> bool:
        """Whether an expression goes on in what is not read: 4 arctan(1/5), 0.1\\overline{6}."""
        kind = self.parser.kind(at)
        between = self.text[self.tokens[at - 1].end : self.tokens[at].start] if kind else ""
        if kind not in ("name", "open") or (len(between) > 1 and "\\" not in between):
            return False
        behind = self.tokens[at + 1 : at + 2]
        called = (
            kind == "name"
            and bool(behind)
            and behind[0].text == "("
            and behind[0].start == self.tokens[at].end
        )
        return called or (kind == "open" and self.tokens[at].text == "{")

    def begins_minus(self, at: int) -> bool:
        return self.tokens[at].kind == "operator" and self.tokens[at].text == "-" and not self._bullet(at)

    def _bullet(self, at: int) -> bool:
        """Whether a sign begins a line and a space is behind it, as the items of a list do."""
        first = at == 0 or self.tokens[at - 1].kind == "line"
        return (
            first and self.tokens[at + 1 : at + 2] != [] and self.tokens[at + 1].start > self.tokens[at].end
        )

    def listed_in_row(self, side: Expression, at: int) -> None:
        """Keep the expressions that stand in a row, parted by commas, for a row of results behind them."""
        token = self.tokens[at - 1] if at else None
        goes_on = token is not None and token.kind == "separator" and token.text in ",，、"
        self.row = [*self.row[-(MAX_ROW - 1) :], side] if goes_on and self.row else [side]

    def _row(self, last: Expression, results: Items) -> Expression:
        """The row that ends in ``last`` and has as many expressions as results: 1/√2, 4/√2 = 0.71, 2.83."""
        n, row = len(results.items), self.row
        bracketed = self.text[results.start] in "([{（［\\"
        if bracketed or isinstance(last, Items) or not 1 < n <= len(row) or row[-1] is not last:
            return last
        return Items(tuple(row[-n:]), row[-n].start, last.end)


def _has_point(item: Expression) -> bool:
    return any(isinstance(part, Number) and part.half for part in walk(item))
