"""A text cut into the signs that arithmetic is written with; all else is a word that ends an expression."""

from __future__ import annotations

import re
from typing import NamedTuple

from riverhead.checking.claims.notation import OPERATORS, RELATIONS, SAID, UNITS, WRAPPERS

__all__ = ["Token", "decimal_comma", "tokens"]


class Token(NamedTuple):
    """One sign: its ``kind``, its ``text`` in one spelling, and where it stands.

    Kinds: number, unit, name, operator, relation, said (a relation in words), open, close, separator, transposed,
    power (a superscript number), ellipsis, line (a line's end), word (anything else).
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
        r"_\{[^{}\n]{0,40}\}", r"_\\(?:text|mathrm|mathbf)\{[^{}\n]{0,40}\}", rf"_{_BODY}+", r"[\u0300-\u036f]",
        r"\[\d{1,4}\]", r"['′’](?!\w)", r"(?<!e)\^\{?\(\w{1,6}\)\}?", r"\^\{?[QKVO]\}?(?!\w)",
        r"\^(?!sqrt|exp)[a-z]{3,}", r"\.(?!T\b|mT\b|transpose\b)[A-Za-z]\w*",
    )
)  # fmt: skip
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+−]?\d+(?![\w.]))?"
_GROUPED = (
    r"\d{1,3}(?:,\d{3})+(?![\d,])(?:\.\d+)?|\d{1,3}(?:\{,\}\d{3})+(?!\d)(?:\.\d+)?"
    r"|\d{1,3}(?:[ ],[ ]\d{3})+(?!\d)|\d{1,3}(?:[\u00a0\u202f\u2009']\d{3})+(?!\d)(?:\.\d+)?"
    r"|\d{1,3}(?:_\d{3})+(?!\d)|(?<=[=≈×*·÷+/][ ])\d{1,3}(?:[ ]\d{3})+(?![\d.,])|0,\d+(?![\d,.])"
)
_COMMA = r"\d{1,3}(?:[.\u00a0\u202f\u2009 ]\d{3})+(?:,\d+)?(?![\d.])|\d+,\d+(?:[eE][-+−]?\d+(?![\w.]))?"
_LONG_UNITS = "|".join(sorted((re.escape(u) for u in UNITS if len(u) > 1), key=len, reverse=True))
_UNIT = re.compile(
    rf"[ \u00a0\u202f\u2009]?(?:{_LONG_UNITS})(?![A-Za-z])|[KMGTPBk](?![\w'])|[ \u00a0\u202f]?\\?[%％]|°|\^\{{?\\circ\}}?"
)

_PATTERN = r"""
  (?P<line> [ \t│┃║]*(?:\r\n?|[\n\u2028\u2029\x0b\x0c\x85]) )
| (?P<space> [ \t\u00a0\u2009\u202f\u3000\u200b\ufeff]+ | (?:\#|//|--|;;)[ \t]*(?=→|->|=|≈|⇒) )
| (?P<number> (?=[\d.])(?:(?<![\w.])(?:%(grouped)s) | %(number)s) )
| (?P<separator> [,;，；、] | &(?!\s*(?:=|≈|\\approx|\\simeq|\\to|\\rightarrow)) )
| (?P<open> [(\[{（［⟨] ) | (?P<close> [)\]}）］⟩] )
| (?P<operator> [+−–±×·⋅∙•∗✕⨯⊙⊕@÷∕⁄] | -(?!-?>) | /(?!/[ ]*[=≈→]) | (?<=[ ])\.(?=[ ]) )
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
| (?P<skip> \$+|`+|[│┃║]+|\\{1,2}(?:left|right|[bB]igg?[lr]?|displaystyle|textstyle|quad|qquad|limits)(?![A-Za-z])
          |\\{1,2}(?:label|color|textcolor|tag)\{[^{}\n]*\}|\\[,;!:>]|\\\\\[[\d.]+(?:pt|em|ex)\]|\\[()\[\]]
          |%(wrap)s|\\[ ]|~(?=[\d.])|&(?=\s*(?:=|≈|\\approx|\\simeq|\\to|\\rightarrow))|\\nonumber )
| (?P<row> \\\\(?![A-Za-z]) )
| (?P<power> [⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺][⁰¹²³⁴⁵⁶⁷⁸⁹·⋅]* )
| (?P<star> \*+ )
| (?P<relation> :=|[-=]{1,2}>|!=|~=|=~|={1,2}(?!=)|[≈≃≅≒≐∼∽→⇒⟶⟹➜➔≠≡＝]|~(?=\s) )
| (?P<power_sign> \^ )
| (?P<word> \S )
"""


def _compiled(grouped: str) -> re.Pattern[str]:
    parts = {
        "grouped": grouped, "number": _NUMBER, "greek": "|".join(_GREEK), "calls": "|".join(_CALLS), "cjk": _CJK,
        "commands": "|".join(_COMMANDS), "letter": _LETTER, "body": _BODY, "sub": _SUB, "wrap": _WRAP,
    }  # fmt: skip
    return re.compile(_PATTERN % parts, re.VERBOSE)


_POINTS, _COMMAS, _LISTED = _compiled(_GROUPED), _compiled(_COMMA), _compiled(r"(?!)")
_TUPLE = re.compile(r"\(\s*[-−]?\d+(?:,[-−]?\d+)+\s*\)")
_LIVE = re.compile(  # what a line must hold to claim or to bind, or to be the first half of what does
    r"[=≈→≃≅≒≐∼∽⇒⟶⟹➜➔≠≡＝\[\]［］]|->|~ |\\[a-z]{2}|\\\\|[\d)\]}%]\s+(?:is|are|equals?|gives|makes|yields|comes|seems)\b"
    r"|[-+×·*/(,÷]\s*$|^\s*[+×·*/÷)]"
)
_GOES_ON = re.compile(r"[\s$&*`>|\\\[(]*(?:[=≈+×·/]|\\approx)")
_DECIMAL_COMMA = re.compile(r"(?<![\w,.(\[])(?:0,\d+|\d+,\d{1,2})(?![\d,]|[ ]*[)\]])")
_DECIMAL_POINT = re.compile(r"(?<![\w.])\d+\.\d+(?![\d.])")
_OPERANDS = frozenset(("number", "unit", "name", "close", "transposed", "power"))
_KINDS = {
    "space": "",
    "skip": "",
    "endmatrix": "close",
    "call": "name",
    "times": "operator",
    "row": "separator",
    "power_sign": "operator",
}


def decimal_comma(text: str) -> bool:
    """Say whether a text writes 0,54 for 0.54."""
    return len(_DECIMAL_COMMA.findall(text)) > 2 * len(_DECIMAL_POINT.findall(text))


def tokens(text: str) -> list[Token]:
    """Cut ``text`` into tokens, each character looked at a bounded number of times."""
    free = _COMMAS if decimal_comma(text) else _POINTS
    found: list[Token] = []
    lists: list[bool] = []  # of the brackets open: does a comma without a space part two items in it?
    at, end = 0, len(text)
    while at < end:
        if not lists and (not found or found[-1].kind == "line") and (behind := _prose(text, at)):
            found.append(Token("word", "", at, behind))
            at = behind
            continue
        match = (_LISTED if lists and lists[-1] and free is _POINTS else free).match(text, at)
        if match is None:  # a stray control character or a lone surrogate: no sign of arithmetic
            at += 1
            continue
        kind, start, at = match.lastgroup or "", at, match.end()
        kind = _KINDS.get(kind, kind)
        if not kind:
            continue
        sign = match.group()
        if kind == "line" and lists and len(found) > 1 and found[-1].kind == "line":
            lists.clear()  # an empty line: what was open stays open
        if (
            kind == "operator"
            and sign == "-"
            and not lists
            and text[start - 1 : start].isdigit()
            and text[at : at + 1].isalpha()
        ):
            kind = "word"  # 16-bit
        if kind == "star":
            kind = _star(text, start, at, found)
            if not kind:
                continue
            sign = "^" if at - start == 2 else "*"
        elif kind == "open":
            lists.append(sign in "[［" or _TUPLE.match(text, start) is not None)
        elif kind == "matrix":
            kind = "open"
            lists.append(True)
        elif kind == "close" and lists:
            lists.pop()
        elif kind in _SIGNS:
            sign = _SIGNS[kind].get(sign.replace("\\\\", "\\"), sign)
        elif kind == "command":
            sign = "\\" + sign.lstrip("\\")
            kind, sign = (
                ("operator", OPERATORS[sign][0]) if sign in OPERATORS else ("relation", RELATIONS[sign])
            )
        found.append(Token(kind, sign, start, at))
        if (
            kind == "number"
            and sign[-1] == "."
            and not lists
            and not text[at : at + 1].strip(" \r\n\"'”)*_`")
        ):
            at -= 1  # the end of a sentence
            found[-1] = Token(kind, sign[:-1], start, at)
        if kind == "number" and (unit := _UNIT.match(text, at)):
            found.append(Token("unit", unit.group().strip(" \u00a0\u202f\u2009\\"), at, at := unit.end()))
            if "circ" in found[-1].text:
                found[-1] = found[-1]._replace(text="°")
    return found


def _prose(text: str, at: int) -> int:
    """Where a line of prose ends, which claims nothing; 0 where the line may claim."""
    stop = text.find("\n", at)
    if stop <= at or _LIVE.search(text, at, stop):
        return 0
    return 0 if _GOES_ON.match(text, stop + 1) else stop


_SIGNS = {
    "operator": {sign: name for sign, (name, _) in OPERATORS.items()} | {"X": "*"},
    "relation": RELATIONS | {"~": "≈"},
    "said": SAID,
    "power": {},
}


def _star(text: str, start: int, end: int, found: list[Token]) -> str:
    """``operator`` where asterisks multiply or raise, nothing where they are Markdown's."""
    if end - start > 2 or not found or found[-1].kind not in _OPERANDS:
        return ""
    after = text[end : end + 1]
    tight = found[-1].end == start
    following = text[end : end + 8].lstrip(" ")[:1]
    if not following or not (following.isalnum() or following in "([\\-−.√{"):
        return ""
    if tight == (after != " "):
        return "operator"
    return (
        "operator"
        if end - start == 1 and found[-1].kind in ("number", "close") and not following.isalpha()
        else ""
    )
