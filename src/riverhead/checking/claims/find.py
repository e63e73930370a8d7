"""The claims of a page: expressions joined by relations, and the names that the page gives a number."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from riverhead.checking.claims.chains import STARTS, Chain, Chains
from riverhead.checking.claims.claim import Finding, Truth
from riverhead.checking.claims.doubts import doubted
from riverhead.checking.claims.judge import Link, Pool, judge
from riverhead.checking.claims.reading.expression import (
    Binding,
    Expression,
    Items,
    Name,
    Number,
    Operation,
    is_literal,
    walk,
)
from riverhead.checking.claims.reading.layout import function_of, is_word
from riverhead.checking.claims.reading.notation import FUNCTIONS, SUPPOSED, canonical
from riverhead.checking.claims.reading.numerals import LONGEST
from riverhead.checking.claims.unspoken import unspoken

__all__ = ["Page", "find"]

SUMS = frozenset(("sum", "sums", "summing", "adds", "add", "up", "total", "which", "they", "to"))
MOST_KNOWN = 20_000  # links that are remembered
MOST_NAMES = 4  # that one chain gives a number
MAX_FAR = 1500  # characters after which x may be another x; a name like q_bank keeps its value
MAX_LABEL = 80  # characters before a relation that may name what is bound
_AFTER_PROSE = frozenset(("name", "word", "separator", "said"))
CONDITION = re.compile(r"\b(?:if|when|solve|suppose|unless|such that|find)\b[^.\n]{0,20}$", re.IGNORECASE)
WORD = re.compile(r"[^\W\d_]{2,}")
_BINDING = frozenset(("=", "≈", "→", ""))


@dataclass(slots=True)
class Page:
    """What is found in a text so far: the findings, the bindings, and the names that hold now."""

    findings: list[Finding] = field(default_factory=list)
    bindings: list[Binding] = field(default_factory=list)
    names: dict[str, Expression] = field(default_factory=dict)


def find(text: str, names: Mapping[str, Expression] = MappingProxyType({})) -> Page:
    """Return what ``text`` claims and binds, in its order; ``names`` hold until it binds them anew.

    >>> [finding.verdict.value for finding in find("q = (2, 1), k = (2, 0), q · k = 4, q · k = 5").findings]
    ['true', 'false']
    """
    return _Finder(text, names).page()


class _Finder(Chains):
    def __init__(self, text: str, names: Mapping[str, Expression]) -> None:
        super().__init__(text)
        self.found = Page(names=dict(names))
        self.pool = Pool()
        self.listed: Binding | None = None  # the list that was bound last
        self.judged: dict[str, Finding | None] = {}
        self.given: dict[str, int] = {}  # where each name got its value
        self.last: Chain | None = None  # what a line that begins with "=" goes on from

    def page(self) -> Page:
        at, end = 0, len(self.tokens)
        while at < end:
            if self._passed(at):
                at += 1
                continue
            kind = self.tokens[at].kind
            chain, behind = None, at
            if kind == "relation" and self.last is not None:
                chain, behind = self.chain(self.last, at)
            elif kind in STARTS or self.begins_minus(at):
                side, behind = self.parser.read(at)
                if side is not None:
                    self.listed_in_row(side, at)
                    chain, behind = self.chain(Chain([side]), behind)
                    if self.is_cut(at):
                        chain.weak.add(0)
            if kind == "number" and len(self.tokens[at].text) > LONGEST:
                self._too_long(at)
            if chain is None or behind <= at:
                self.last, at = None, at + 1
                continue
            self._take(chain, at)
            if is_literal(chain.sides[-1]):
                behind = self._total(chain.sides[-1], behind)
            self.last, at = chain, behind
        return self.found

    def _passed(self, at: int) -> bool:
        """Whether a line's end stands here, or a word that no sum and no relation goes on from."""
        kind, word = self.tokens[at].kind, self.tokens[at].text
        if kind != "name" or self.parser.kinds[at + 1] not in _AFTER_PROSE:
            return kind == "line"
        if not is_word(word) or function_of(word) in FUNCTIONS:
            return False
        self.last, self.row = None, []
        return True

    def _too_long(self, at: int) -> None:
        token = self.tokens[at]
        cause = f"a number of {len(token.text):,} characters; up to {LONGEST} are read"
        self.found.findings.append(Finding(token.start, token.end, Truth.UNCHECKED, cause=cause))

    def _take(self, chain: Chain, at: int) -> None:
        """Judge each link of a chain and keep what it binds."""
        if chain.relations:
            findings = list(self._judged(chain))
            checked = [finding for finding in findings if finding.verdict is not Truth.UNCHECKED]
            self.found.findings += checked or findings[-1:]
        self._bind(chain, at)

    def _total(self, items: Expression, at: int) -> int:
        """Judge a list that is said to sum to a number, "[0.7, 0.3] (sums to 1.0)"; the token behind it."""
        step = at + 1 if self.parser.kinds[at] == "open" else at
        words = 0
        while self.parser.kinds[step] == "name" and words < 4 and self.tokens[step].text.lower() in SUMS:
            step, words = step + 1, words + 1
        if not words or self.tokens[step - 1].text != "to":
            return at
        if not isinstance(items, Items):
            if len(self.row) < 2 or self.row[-1] is not items:
                return at
            items = Items(tuple(self.row), self.row[0].start, items.end)
        total, behind = self.parser.read(step)
        if not isinstance(total, Number):
            return at
        claim = Operation("sum", (items,), items.start, items.end)
        finding = judge(Link(claim, total, "=", items.start, total.end), self.found.names, self.pool)
        self.found.findings += [finding] if finding is not None else []
        return behind

    def _judged(self, chain: Chain) -> list[Finding]:
        findings = (self._at(chain, link) for link in range(len(chain.relations)))
        return [finding for finding in findings if finding is not None]

    def _at(self, chain: Chain, link: int) -> Finding | None:
        """What is found of one link of a chain, None where it claims nothing."""
        sides, relation = chain.sides, chain.relations[link]
        left, right = sides[link], sides[link + 1]
        if not relation or isinstance(left, Name) or isinstance(right, Name):
            return None
        if relation == "→" and (is_literal(left) or not is_literal(right)):
            return None
        if is_literal(left) and is_literal(right) and WORD.search(self.text, left.end, right.start):
            return None  # 4096 tokens = 2 GB tells what something costs
        finding = self._judge(left, right, relation)
        if finding is None or finding.verdict is Truth.FALSE:
            finding = self._by_earlier(sides[max(0, link - 4) : link], right, relation, finding, left)
        if finding is None or finding.verdict is not Truth.FALSE:
            return finding
        if isinstance(left, Number) and len(left.unit) == 1 and left.unit.isalpha() and not is_literal(right):
            return None  # 3T = 3·512 is of a T
        changes = chain.relations[link + 1 : link + 2] == ["→"] and is_literal(sides[link + 2])  # = 22 → 31
        if changes or link in chain.weak or self._far(left) or self._far(right):
            return None
        named = any(
            isinstance(part, Name) or (isinstance(part, Number) and part.unit in self.found.names)
            for part in walk(left)
        )
        if named and CONDITION.search(self.text, max(0, left.start - 40), left.start):
            return None  # Solve sin(x) = 0; if 2^n = 32
        return doubted(finding, relation, left, self.text)

    def _judge(self, left: Expression, right: Expression, relation: str) -> Finding | None:
        """Judge a link; one of numbers alone, that the page says again, is judged once."""
        link = Link(left, right, relation, left.start, right.end)
        key = relation + self.text[link.start : link.end]
        if key in self.judged:
            known = self.judged[key]
            return None if known is None else replace(known, start=link.start, end=link.end)
        finding = judge(link, self.found.names, self.pool)
        if len(self.judged) < MOST_KNOWN and not any(map(_may_be_bound, (*walk(left), *walk(right)))):
            self.judged[key] = finding
        return finding

    def _far(self, side: Expression) -> bool:
        """Whether a side uses a name of one letter that was given its value long before."""
        names = (part for part in walk(side) if isinstance(part, Name) and len(part.text) == 1)
        return any(name.start - self.given.get(name.text, name.start) > MAX_FAR for name in names)

    def _by_earlier(
        self,
        earlier: list[Expression],
        right: Expression,
        relation: str,
        finding: Finding | None,
        left: Expression,
    ) -> Finding | None:
        """A printed number behind another one is held against what both came from: a sum = 2.818 ≈ 2.82."""
        if not (is_literal(left) and is_literal(right)):
            return finding
        for side in reversed(earlier):
            if not is_literal(side) and not isinstance(side, Name):
                other = judge(Link(side, right, relation, left.start, right.end), self.found.names, self.pool)
                if other is not None and other.verdict is not Truth.UNCHECKED:
                    return other
        return finding

    def _bind(self, chain: Chain, at: int) -> None:
        first, last = chain.sides[0], chain.sides[-1]
        if is_literal(first):
            label = self._label(at) if isinstance(first, Items) else ""
            if label and chain.relations == ["→"] and isinstance(first, Items) and isinstance(last, Items):
                self._becomes(first, label, last)
            elif label:
                self._keep(canonical(label), label, first)
            return
        if not chain.relations or not _BINDING.issuperset(chain.relations):
            return
        literal = next((side for side in reversed(chain.sides) if is_literal(side)), None)
        if literal is not None and any(isinstance(part, Name) for part in walk(first)):
            name = first.text if isinstance(first, Name) else canonical(self.text[first.start : first.end])
            self._keep(name, self._words_before(first.start) + self.text[first.start : first.end], literal)
        supposed = at > 0 and self.tokens[at - 1].text.lower() in SUPPOSED
        for number, side in enumerate(chain.sides[:MOST_NAMES]):  # Q = K = [[1, 0], [0, 1]]
            if not isinstance(side, Name):
                break
            self._give(side, literal if literal is not None else last, supposed)
            if number and literal is not None:
                self._keep(side.text, self.text[side.start : side.end], literal)

    def _give(self, name: Name, value: Expression, supposed: bool) -> None:
        """Let a name stand for a value, unless that is only supposed or has a name of its own in it."""
        used = {part.text for part in walk(value) if isinstance(part, Name)}
        if supposed:
            self.found.names.pop(name.text, None)
        elif not used or (used == {"e"} and name.text != "e"):
            self.found.names[name.text] = value
            self.given[name.text] = value.end

    def _becomes(self, first: Items, label: str, last: Items) -> None:
        """Judge softmax: [3, 1] → [0.88, 0.12]."""
        if canonical(label).lower().endswith("softmax"):
            claim = Operation("softmax", (first,), first.start, first.end)
            finding = judge(Link(claim, last, "=", first.start, last.end), self.found.names, self.pool)
            self.found.findings += [finding] if finding is not None else []

    def _keep(self, name: str, label: str, value: Expression) -> None:
        if not isinstance(value, (Number, Items)):
            return
        binding = Binding(name, label, value, value.start, value.end)
        if self.listed is not None:
            finding = unspoken(self.listed, binding, self.pool)
            self.found.findings += [finding] if finding is not None else []
        if isinstance(value, Items):
            self.listed = binding
        self.found.bindings.append(binding)

    def _words_before(self, start: int) -> str:
        line = self.text[max(0, start - MAX_LABEL) : start]
        return line[max(line.rfind("\n"), line.rfind(". "), line.rfind(";"), line.rfind(",")) + 1 :].lstrip()

    def _label(self, at: int) -> str:
        """The words before a list and its colon on the same line."""
        if at == 0 or self.tokens[at - 1].text not in ("：", ":", "say", "are", "|"):
            return ""
        words = self._words_before(self.tokens[at - 1].start)
        return words.strip(" *`#->|\"'")


def _may_be_bound(part: Expression) -> bool:
    """Whether a part is a name, or has a unit of one letter, which may be the text's own name: 2K."""
    return isinstance(part, Name) or (isinstance(part, Number) and len(part.unit) == 1)
