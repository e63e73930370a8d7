"""What the places of tokens tell: brackets and their partners, products understood, mere words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from riverhead.checking.claims.reading.expression import Expression, Items, Number, Operation
from riverhead.checking.claims.reading.notation import FILLER, FUNCTIONS, JOINS, canonical
from riverhead.checking.claims.reading.tokens import Token

__all__ = ["BARE", "OPERAND_STARTS", "Layout", "function_of", "is_word"]

MAX_GLOSS = 5  # words between a sum and its relation: "× 12 including biases ="
_PAIRS = {"⟨": "⟩", "\\langle": "\\rangle", "(": ")", "[": "]", "{": "}", "（": "）", "［": "］"}
OPERAND_STARTS = frozenset(("number", "name", "open"))
BARE = frozenset(("sqrt", "exp", "sin", "cos", "tan", "tanh", "log", "log2"))  # also without brackets: ln 2


class Layout:
    """The tokens of a page, and what their neighbours make of them."""

    def __init__(self, page: Sequence[Token]) -> None:
        self.page = page
        self.kinds = [token.kind for token in page] + [""] * 8  # behind the last there is nothing
        self._closing = _closing(page)
        self._opening = {end: at for at, end in self._closing.items()}
        self.parted = False  # whether spaces part the items of the bracket that is read

    def kind(self, at: int) -> str:
        """Return the kind of token ``at``, empty behind the last."""
        return self.kinds[at] if at < len(self.kinds) else ""

    def closing(self, at: int) -> int:
        """Return the bracket that closes the one at ``at``, −1 where none does."""
        return self._closing.get(at, -1)

    def opening(self, at: int) -> int:
        """Return the bracket that the one at ``at`` closes, −1 where it closes none."""
        return self._opening.get(at, -1)

    def over_line(self, at: int, inside: bool, wrapped: bool = False) -> int:
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

    def over_gloss(self, at: int) -> int:
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
        while self.is_word_at(behind) and words < 4:
            word = self.page[behind].text.lower()
            if word in FUNCTIONS or word in JOINS or word in ("e", "π"):
                return at
            behind, words = behind + 1, words + 1
        per = words and self.kinds[behind] == "operator" and self.page[behind].text == "/"
        if per and self.kinds[behind + 1] == "name" and self.page[behind].start == self.page[behind - 1].end:
            behind += 2  # 48 tokens/s × 60
        return behind if self.kinds[behind] == "operator" and self._spaced(behind) else at

    def begins(self, at: int) -> bool:
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

    def over_words(self, at: int) -> int:
        """Return what is behind the words between an expression and its relation, if they are few."""
        step, words = at, 0
        while words < MAX_GLOSS:
            kind = self.kind(step)
            if kind == "name" and is_word(self.page[step].text) and self._apart(step):
                step += 1
            elif kind == "operator" and self.page[step].text == "/" and self.kind(step + 1) == "name":
                step += 2
            elif kind == "open" and self.page[step].text == "(" and self.words(step):
                step = self.closing(step) + 1
            else:
                break
            words += 1
        kind = self.kind(step)
        return step if kind in ("relation", "said") else at

    def _apart(self, at: int) -> bool:
        """Whether a word stands one space behind what is before it, and is no function of what follows."""
        token, behind = self.page[at], self.page[at + 1 : at + 2]
        word = token.text
        if word.lower() in JOINS:
            return False
        called = bool(behind) and behind[0].kind == "open" and behind[0].start == token.end
        gap = token.start - self.page[at - 1].end
        return gap <= 1 and not called and (gap == 1 or not word.isascii())  # 6ND is a product

    def over_filler(self, at: int) -> int:
        """Return what is behind the signs before a result: "about", a second ≈, a ÷ again, a line's end."""
        while self._fills(at):
            at += 1
        ended = self.kinds[at] == "line" and self.page[at - 1].kind == "relation"
        return at + 1 if ended and self.kinds[at + 1] in OPERAND_STARTS else at

    def _fills(self, at: int) -> bool:
        kind = self.kinds[at]
        if kind == "name":
            return self.page[at].text.lower() in FILLER
        return kind in ("relation", "operator") and self.page[at].text in ("≈", "/")

    def juxtaposed(self, at: int, left: Expression, inside: bool) -> bool:
        """Whether a product is understood between ``left`` and the operand at a token."""
        if inside and self.parted and self.parts_items(at):
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
        called = FUNCTIONS.get(function_of(token.text), "")
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
        return bool(function) and (opened or function in BARE)

    def _matrices(self, at: int) -> bool:
        """Whether two symbols side by side are a product: Q K, x W, K^T q."""
        token, before = self.page[at], self.page[at - 1]
        if before.kind == "transposed":
            return not is_word(token.text)
        symbols = before.kind == "name" and not is_word(token.text) and not is_word(before.text)
        short = len(token.text) <= 8 and len(before.text) <= 8
        return symbols and short and (token.text[0].isupper() or before.text[0].isupper())

    def parts_items(self, at: int) -> bool:
        """Whether the space before a token parts two items of a list, as in [0.5 -0.3] and [0.1 0.2]."""
        token = self.page[at]
        if token.kind == "line":
            token = self.page[min(self.over_line(at, True), len(self.page) - 1)]
        gap = token.start > self.page[at - 1].end
        if token.kind == "operator":
            behind = self.page[at + 1] if at + 1 < len(self.page) else token
            return gap and token.text == "-" and behind.start == token.end
        return gap and token.kind in OPERAND_STARTS

    def is_word_at(self, at: int) -> bool:
        return self.kinds[at] == "name" and is_word(self.page[at].text)


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


@lru_cache(maxsize=4096)
def is_word(text: str) -> bool:
    """Say whether a name is a word, not a symbol: "heads", not "h"."""
    text = text.replace("_", "")
    return text.isalpha() and (len(text) > 1 or text > "\u3000" or text == "s")


@lru_cache(maxsize=4096)
def function_of(name: str) -> str:
    """Return the name by which a function is looked up: "exp" of np.exp."""
    plain = canonical(name).lower().lstrip("\\")
    return plain.rpartition(".")[2] if "." in plain else plain
