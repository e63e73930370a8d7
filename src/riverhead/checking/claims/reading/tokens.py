"""A text cut into the signs that arithmetic is written with; all else is a word that ends an expression."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from riverhead.checking.claims.reading.notation import OPERATORS, RELATIONS, SAID, UNITS, WRAPPERS

__all__ = ["Token", "decimal_comma", "tokens"]


class Token(NamedTuple):
    """One sign: its ``kind``, its ``text`` in one spelling, and where it stands.

    Kinds: number, unit, name, operator, relation, said (a relation in words), open, close, separator,
    transposed, power (a superscript number), ellipsis, line (a line's end), word (anything else).
    """

    kind: str
    text: str
    start: int
    end: int


_GREEK = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "varepsilon",
    "zeta",
    "eta",
    "theta",
    "iota",
    "kappa",
    "lambda",
    "mu",
    "nu",
    "xi",
    "pi",
    "rho",
    "sigma",
    "tau",
    "phi",
    "varphi",
    "chi",
    "psi",
    "omega",
    "Gamma",
    "Delta",
    "Theta",
    "Lambda",
    "Sigma",
    "Phi",
    "Psi",
    "Omega",
    "ell",
    "infty",
]
_CALLS = [
    "frac",
    "dfrac",
    "tfrac",
    "cfrac",
    "sqrt",
    "exp",
    "log",
    "ln",
    "sin",
    "cos",
    "tan",
    "tanh",
    "max",
    "min",
    "softmax",
]
_COMMANDS = sorted((s[1:] for s in (*OPERATORS, *RELATIONS) if s[0] == "\\"), key=len, reverse=True)
_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_LETTER = rf"[^\W\d_⁰¹²³⁴-⁹ᵀ{_CJK}]"
_BODY = rf"[^\W_⁰¹²³⁴-⁹ᵀ{_CJK}]"
_WRAP = rf"\\(?:{'|'.join(WRAPPERS)})(?![A-Za-z])\s*"
_SUB = "|".join(
    (
        r"_\{[^{}\n]{0,40}\}", r"_\\(?:text|mathrm|mathbf)\{[^{}\n]{0,40}\}",
        r"_\{\\(?:text|mathrm|mathbf)\{[^{}\n]{0,40}\}\}",
        rf"_{_BODY}+", r"[\u0300-\u036f]",
        r"\[\d{1,4}\]", r"['′’](?!\w)", r"(?<!e)\^\{?\(\w{1,6}\)\}?", r"\^\{?[QKVO]\}?(?!\w)",
        r"\^(?!sqrt|exp)[a-z]{3,}", r"\.(?!T\b|mT\b|transpose\b)[A-Za-z]\w*",
    )
)  # fmt: skip
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+−]?\d+(?![\w.]))?"
_GROUPED = (
    r"\d{1,3}(?:,\d{3})+(?!\d|,\d)(?:\.\d+)?|\d{1,3}(?:\{,\}\d{3})+(?!\d)(?:\.\d+)?"
    r"|\d{1,3}(?:[ ],[ ]\d{3})+(?!\d)|\d{1,3}(?:[\u00a0\u202f\u2009']\d{3})+(?!\d)(?:\.\d+)?"
    r"|\d{1,3}(?:_\d{3})+(?!\d)|\d{1,3}(?:\\,\d{3})+(?!\d)"
    r"|(?<=[=≈×*·÷+/][ ])\d{1,3}(?:[ ]\d{3})+(?![\d.,])|0,\d+(?![\d,.])"
    r"|\d{1,3}(?:[ ]\d{3})+(?=[ ][=≈×·*÷/+])|\d{1,3}(?:\.\d{3}){2,}(?![\d.])"
)
_COMMA = r"\d{1,3}(?:[.\u00a0\u202f\u2009 ]\d{3})+(?:,\d+)?(?![\d.])|\d+,\d+(?:[eE][-+−]?\d+(?![\w.]))?"
_LONG_UNITS = "|".join(sorted((re.escape(u) for u in UNITS if len(u) > 1), key=len, reverse=True))
_UNIT = re.compile(
    rf"[ \u00a0\u202f\u2009]?(?:{_LONG_UNITS})(?![A-Za-z])|[KMGTPBk](?![\w'])"
    r"|[ ]B(?![\w'])|[x×](?=[.,;:)]|\s*(?:$|\n)|[ ][a-z]{3})"
    r"|(?:[ \u00a0\u202f]|\\,)?\\?[%％]|°|\^\{?\\circ\}?"
)
_UNIT_BEHIND = re.compile(rf"[ ]?(?:{_LONG_UNITS})(?![A-Za-z])")

_PATTERN = r"""
  (?P<line> [ \t│┃║]*(?:\r\n?|[\n\u2028\u2029\x0b\x0c\x85]) )
| (?P<space> [ \t\u00a0\u2009\u202f\u3000\u200b\ufeff]+ | (?:\#|//|--|;;)[ \t]*(?=→|->|=|≈|⇒) )
| (?P<word> 0[xX][0-9a-fA-F]+(?!\w) | (?!\d{1,3}(?:\.\d{3}){2,}(?![\d.]))\d+(?:\.\d+){2,} )
| (?P<number> (?=[\d.])(?:(?<![\w.])(?:%(grouped)s) | %(number)s) | [½⅓⅔¼¾⅕⅛⅜⅝⅞] )
| (?P<separator> [,;，；、] | &(?!\s*(?:=|≈|\\approx|\\simeq|\\to|\\rightarrow)) )
| (?P<open> [(\[{（［⟨]|\\langle\b ) | (?P<close> [)\]}）］⟩]|\\rangle\b )
| (?P<operator> [+−–±×·⋅∙•∗✕⨯⊙⊕@÷∕⁄＋－＊／] | -(?!-?>) | /(?!/[ ]*[=≈→]) | (?<=[ ])\.(?=[ ]) )
| (?P<times> (?<=[\d)\]}])[xX](?=[\d(\[]) | (?<=[\d)\]}BKMGTbs%%][ ])[xX](?=[ ][\d(\[.√]) )
| (?P<matrix> \\{1,2}begin\{(?:[bpvBV]?(?:small)?matrix|array)\*?\}(?:\{[^{}\n]*\})? )
| (?P<endmatrix> \\{1,2}end\{(?:[bpvBV]?(?:small)?matrix|array)\*?\} )
| (?P<transposed> ᵀ|⊤|\^\s*\{?\s*(?:\\{1,2}(?:top|intercal|mathsf\{T\}|mathrm\{T\})|T|⊤)\s*\}?(?!\w)
                |(?<=[\w\])])\.(?:T\b|transpose\(\)|mT\b) )
| (?P<ellipsis> \.\.\.|…|\\[lcd]?dots\b )
| (?P<said> (?:is|are|seems[ ]to[ ]be|comes[ ]to|gives|makes|yields|equals|equal)\b
            (?:[ ](?:equal[ ]to|about|approximately|roughly|to)\b)?(?=\s) )
| (?P<name> (?: \\{1,2}(?:%(greek)s)(?![A-Za-z]) | %(wrap)s\{\s*%(letter)s[\w\s.-]{0,40}\}
              | [%(cjk)s]+ | ∞ | %(letter)s(?:%(body)s|[\u0300-\u036f])* ) (?:%(sub)s)* )
| (?P<call> \\{1,2}(?:%(calls)s)(?![A-Za-z]) | √ )
| (?P<command> \\{1,4}(?:%(commands)s)(?![A-Za-z]) )
| (?P<bar> ‖|\\\||\|+|\\[lr]?[vV]ert(?![A-Za-z]) )
| (?P<skip> \$+|/\*+|\*+/|`+|[│┃║]+|\\{1,2}(?:left|right|[bB]igg?[lr]?|displaystyle|textstyle|q?quad|limits)\b
          |\\{1,2}(?:label|color|textcolor|tag)\{[^{}\n]*\}|\\[,;!:>]|\\[()\[\]]
          |%(wrap)s|~(?=[\d.])|&(?=\s*(?:=|≈|\\approx|\\simeq|\\to|\\rightarrow))|\\nonumber )
| (?P<row> \\\\(?:\[[\d.]+(?:pt|em|ex)\])?(?![A-Za-z]) ) | (?P<spacing> \\[ ] )
| (?P<power> [⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺][⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]*(?:[·⋅][⁰¹²³⁴⁵⁶⁷⁸⁹]+)? )
| (?P<star> \*+ )
| (?P<relation> :=|[-=]{1,2}>|!=|~=|=~|={1,2}(?!=)|[≈≃≅≒≐∼∽→⇒⟶⟹➜➔≠≡＝]|~(?=\s) )
| (?P<power_sign> \^ )
| (?P<other> \S )
"""


def _compiled(grouped: str) -> re.Pattern[str]:
    parts = {
        "grouped": grouped, "number": _NUMBER, "greek": "|".join(_GREEK), "calls": "|".join(_CALLS),
        "cjk": _CJK, "commands": "|".join(_COMMANDS), "letter": _LETTER, "body": _BODY, "sub": _SUB,
        "wrap": _WRAP,
    }  # fmt: skip
    return re.compile(_PATTERN % parts, re.VERBOSE)


_POINTS, _COMMAS, _LISTED = _compiled(_GROUPED), _compiled(_COMMA), _compiled(r"(?!)")
_TUPLE = re.compile(r"\(\s*[-−]?\d+(?:,[-−]?\d+)+\s*\)")
_LIVE = re.compile(  # what a line must hold to claim or to bind, or to be the first half of what does
    r"[=≈→≃≅≒≐∼∽⇒⟶⟹➜➔≠≡＝\[\]［］]|->|~ |\\[a-z]{2}|\\\\"
    r"|[\d)\]}%]\s+(?:is|are|equals?|gives|makes|yields|comes|seems)\b"
    r"|[-+×·*/(,÷]\s*$|^\s*[+×·*/÷)]"
)
_WORDS = re.compile(  # a run of words, but the last five, which may belong to what follows
    r"(?<![^\s])(?:[a-z]{2,14}[,;]?[ ]){3,}(?=(?:[a-z]{2,14}[,;]?[ ]){5})"
)
_MARGIN = re.compile(r"[ \t]*(?:#+|>+|//|%)[ \t]*(?=[\[(\d])")  # before the next row of a matrix in a comment
_GOES_ON = re.compile(r"[\s$&*`>|\\\[(]{0,40}(?:[=≈+×·/]|\\approx)")
_DECIMAL_COMMA = re.compile(r"(?<![\w,.(\[])(?:0,\d+|\d+,\d{1,2}|\d{1,3}(?:\.\d{3})+,\d+)(?![\d,]|[ ]*[)\]])")
_DECIMAL_POINT = re.compile(r"(?<![\w.])\d+\.\d+(?![\d.]|,\d)")
_OPERATORS = {sign: name for sign, (name, _) in OPERATORS.items()} | {"X": "*"}
_RELATIONS = RELATIONS | {"~": "≈"}
_GOES_BEHIND = re.compile(r"[^\s\"'”)*_`]|[ ][-+*/×·−÷=≈]")  # behind "2." where no sentence ends
_OPERANDS = frozenset(("number", "unit", "name", "close", "transposed", "power"))
_KINDS = {
    "space": "",
    "skip": "",
    "endmatrix": "close",
    "call": "name",
    "times": "operator",
    "power_sign": "operator",
    "other": "word",
}


def decimal_comma(text: str) -> bool:
    """Say whether a text writes 0,54 for 0.54."""
    return len(_DECIMAL_COMMA.findall(text)) > 2 * len(_DECIMAL_POINT.findall(text))


def tokens(text: str, comma: bool = False) -> list[Token]:
    """Cut ``text`` into tokens, each character looked at a bounded number of times; ``comma``: 0,54 is 0.54.

    >>> [(token.kind, token.text) for token in tokens("2·√3 ≈ 3.46")][:3]
    [('number', '2'), ('operator', '*'), ('name', '√')]
    """
    return _Cutter(text, comma).cut()


class _Cutter:
    """The work on one text: what has been cut, and which brackets are open."""

    def __init__(self, text: str, comma: bool) -> None:
        self.text = text
        self.found: list[Token] = []
        self.lists: list[str] = []  # of each open bracket: "list", where 1,000 is two items, "matrix" or ""
        self.free = _COMMAS if comma else _POINTS
        self.handlers: dict[str, Callable[[str, int, int], int]] = {
            "line": self._line, "star": self._star, "open": self._open, "matrix": self._matrix,
            "close": self._close, "operator": self._operator, "relation": self._relation, "said": self._said,
            "command": self._command, "spacing": self._spacing,
            "row": self._row, "number": self._number,
        }  # fmt: skip

    def cut(self) -> list[Token]:
        text, found, lists, handlers = self.text, self.found, self.lists, self.handlers
        at, end = 0, len(text)
        while at < end:
            if text[at] == " ":  # every second sign: quicker than a pattern
                at += 1
                continue
            if not lists and (behind := self._words(at)):
                found.append(Token("word", "", at, behind))
                at = behind
                continue
            listed = lists and lists[-1] and self.free is _POINTS
            match = (_LISTED if listed else self.free).match(text, at)
            if match is None:  # a stray control character or a lone surrogate: no sign of arithmetic
                at += 1
                continue
            kind, start, at = match.lastgroup or "", at, match.end()
            kind = _KINDS.get(kind, kind)
            if kind in handlers:
                at = handlers[kind](match.group(), start, at)
            elif kind:
                found.append(Token(kind, match.group(), start, at))
        return found

    def _words(self, at: int) -> int:
        """Where prose ends that begins here: a line that claims nothing, a long run of words; 0 for none."""
        if "a" <= self.text[at] <= "z" and (run := _WORDS.match(self.text, at)):
            return run.end()
        found = self.found
        if found and found[-1].kind != "line":
            return 0
        goes_on = len(found) > 1 and found[-2].kind in ("relation", "operator")
        return 0 if goes_on else _prose(self.text, at)

    def _keep(self, kind: str, sign: str, start: int, end: int) -> int:
        self.found.append(Token(kind, sign, start, end))
        return end

    def _line(self, sign: str, start: int, end: int) -> int:
        if self.lists and self.found and self.found[-1].kind == "line":
            self.lists.clear()  # an empty line: what was open stays open
        if self.lists and (margin := _MARGIN.match(self.text, end)):
            end = margin.end()
        return self._keep("line", sign, start, end)

    def _number(self, sign: str, start: int, end: int) -> int:
        first = not self.found or self.found[-1].kind == "line"
        numbers = first and self.text[end : end + 2] in (" -", " −")  # 4. -2 × 3: an item of a list
        if sign[-1] == "." and not self.lists and (numbers or not _GOES_BEHIND.match(self.text, end)):
            sign, end = sign[:-1], end - 1
        self._keep("number", sign, start, end)
        unit = _UNIT.match(self.text, end)
        if unit is None:
            return end
        written = unit.group().strip(" \u00a0\u202f\u2009\\,")
        return self._keep("unit", "°" if "circ" in written else written, end, unit.end())

    def _open(self, sign: str, start: int, end: int) -> int:
        self.lists.append("list" if sign in "[［" or _TUPLE.match(self.text, start) else "")
        return self._keep("open", sign, start, end)

    def _matrix(self, sign: str, start: int, end: int) -> int:
        self.lists.append("matrix")
        return self._keep("open", sign, start, end)

    def _close(self, sign: str, start: int, end: int) -> int:
        if self.lists:
            self.lists.pop()
        self._keep("close", sign, start, end)
        unit = _UNIT_BEHIND.match(self.text, end)  # (80 − 16) GB
        return self._keep("unit", unit.group().strip(), end, unit.end()) if unit else end

    def _row(self, sign: str, start: int, end: int) -> int:
        return self._keep("separator", "\\\\", start, end)

    def _spacing(self, sign: str, start: int, end: int) -> int:
        """A backslash and a space: LaTeX's space, or a matrix's row that has lost its second backslash."""
        row = self.lists and self.lists[-1] == "matrix"
        return self._keep("separator", "\\\\", start, end) if row else end

    def _operator(self, sign: str, start: int, end: int) -> int:
        before, after = self.text[start - 1 : start], self.text[end : end + 1]
        if sign == "–" and before.isdigit() and after.isdigit():
            return self._keep("word", sign, start, end)  # 3–5 is a range
        if sign == "/" and after in "/*" and after and (not self.found or self.found[-1].kind == "line"):
            return end + 1  # a comment
        if sign == "-" and not self.lists and before.isdigit() and after.isalpha():
            return self._keep("word", sign, start, end)  # 16-bit
        return self._keep("operator", _OPERATORS.get(sign, sign), start, end)

    def _relation(self, sign: str, start: int, end: int) -> int:
        return self._keep("relation", _RELATIONS.get(sign, sign), start, end)

    def _said(self, sign: str, start: int, end: int) -> int:
        return self._keep("said", SAID.get(sign, sign), start, end)

    def _command(self, sign: str, start: int, end: int) -> int:
        plain = "\\" + sign.lstrip("\\")
        if plain in OPERATORS:
            return self._keep("operator", OPERATORS[plain][0], start, end)
        return self._keep("relation", RELATIONS[plain], start, end)

    def _star(self, sign: str, start: int, end: int) -> int:
        """Asterisks that multiply or raise; the others are Markdown's, and no sign of arithmetic."""
        if len(sign) > 2 or not self.found or self.found[-1].kind not in _OPERANDS:
            return end
        following = self.text[end : end + 8].lstrip(" ")[:1]
        if not following or not (following.isalnum() or following in "([\\-−.√{"):
            return end
        even = (self.found[-1].end == start) == (self.text[end : end + 1] != " ")
        number = self.found[-1].kind in ("number", "close") and not following.isalpha()
        if even or (len(sign) == 1 and number):
            return self._keep("operator", "^" if len(sign) == 2 else "*", start, end)
        return end


def _prose(text: str, at: int) -> int:
    """Where a line of prose ends, which claims nothing; 0 where the line may claim."""
    stop = text.find("\n", at)
    if stop <= at or _LIVE.search(text, at, stop):
        return 0
    return 0 if _GOES_ON.match(text, stop + 1) else stop
