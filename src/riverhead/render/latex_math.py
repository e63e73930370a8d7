"""Text and formulas in LaTeX's words, where no token can become a command."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from riverhead.numbers import Number
from riverhead.render.letters import isolate, visible
from riverhead.render.plain import flat, loose, spaced
from riverhead.render.walk import Walker
from riverhead.scene import Call, Fraction, Math, Operator, Power, Root, Row, Sub, Symbol, Vector, Word

__all__ = ["BLUE", "escaped", "inline", "latex_math"]

BLUE = "2F7DE1"  # the colour of bars, shades and the move in focus

_ESCAPES = {char: f"\\{char}" for char in "{}$&#%_"} | {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "'": r"\textquotesingle{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    **{char: f"{{{char}}}" for char in "[]*"},  # \\[ and \\* would be read as arguments of the row's end
    "\xa0": r"\ ",
}
_LIGATURE = re.compile(r"([-,<>])(?=\1)")
# What Unicode's bidirectional algorithm makes of a text, in its classes: a right-to-left run reaches to
# its last letter or number; words of the other direction and each number stand inside it the other way.
_CLASSES = {"R": "R", "AL": "R", "AN": "A", "L": "L", "EN": "N", "CS": ",", "ES": ","}
_RIGHT_TO_LEFT = re.compile("[RA](?:[^L]*[RAN])?")
_LEFT_TO_RIGHT = re.compile("L(?:[^R]*[LN])?|[AN](?:,?[AN])*")
_SHAPED = re.compile("[\u0590-\u06ff\u0750-\u077f\ufb1d-\ufdff\ufe70-\ufefe]")  # Hebrew, Arabic
_LONG = re.compile(r"\S{30}")  # breaks in a word without end

_SIGNS = {
    "≈": r"\approx", "·": r"\cdot", "−": "-", "÷": r"\div", "×": r"\times", "→": r"\to", "←": r"\leftarrow",
    "…": r"\dots", "≤": r"\le", "≥": r"\ge", "≠": r"\ne", "∈": r"\in", "∝": r"\propto", "|": r"\mid",
} | {sign: sign for sign in "=+,<>/:"}  # fmt: skip
_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "varepsilon", "η": "eta", "θ": "theta",
    "κ": "kappa", "λ": "lambda", "μ": "mu", "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau", "φ": "varphi",
    "χ": "chi", "ψ": "psi", "ω": "omega", "Δ": "Delta", "Σ": "Sigma", "Φ": "Phi", "Ω": "Omega", "∞": "infty",
}  # fmt: skip


def escaped(raw: str) -> str:
    r"""Return ``raw`` as LaTeX text that shows it and does nothing else.

    >>> escaped(r"\input{x} 50% -- [a]"), escaped("日")
    ('\\textbackslash{}input\\{x\\} 50\\% -{\\kern0pt}- {[}a{]}', '\\rhglyph{日}{65E5}')
    """
    shown = visible(raw)
    if isolate(shown) == shown:
        return _letters(shown)
    first = next(
        (kind for kind in _classes(shown) if kind in "RL"), "L"
    )  # it decides the direction of the whole
    return _rtl(shown) if first == "R" else _turned(shown, _RIGHT_TO_LEFT, _rtl)


def _classes(text: str) -> str:
    return "".join(_CLASSES.get(unicodedata.bidirectional(char), " ") for char in text)


def _turned(text: str, runs: re.Pattern[str], turn: Callable[[str], str]) -> str:
    """``text`` as LaTeX, with ``turn`` where its classes match ``runs``."""
    pieces, at = "", 0
    for found in runs.finditer(_classes(text)):
        pieces += _letters(text[at : found.start()]) + turn(text[found.start() : found.end()])
        at = found.end()
    return pieces + _letters(text[at:])


def _rtl(text: str) -> str:
    return rf"\rhrtl{{{_turned(text, _LEFT_TO_RIGHT, _ltr)}}}"


def _ltr(text: str) -> str:
    return rf"{{\textdir TLT {_letters(text)}}}"


def _letters(text: str) -> str:
    """``text``, letter by letter: commands' characters by name, letters that fonts may lack by number."""
    text = _LIGATURE.sub("\\1\0", _LONG.sub("\\g<0>\1", text))
    marks = {"\0": r"{\kern0pt}", "\1": r"\allowbreak{}"}
    return "".join(marks.get(char) or _ESCAPES.get(char) or _letter(char) for char in text)


def _letter(char: str) -> str:
    code = ord(char)
    shaped = _SHAPED.match(char) or unicodedata.category(char) == "Cf"  # by its neighbours: not alone
    known = code < 0x180 or 0x300 <= code < 0x370 or shaped
    return char if known else rf"\rhglyph{{{char}}}{{{code:04X}}}"


def latex_math(node: Math) -> str:
    r"""Return ``node`` for math mode.

    >>> latex_math(Fraction(Symbol("Q"), Root(Sub(Symbol("d"), Symbol("k")))))
    '\\frac{Q}{\\sqrt{d_{k}}}'
    """
    return LatexMath().walk(node)


def inline(run: str | Math) -> str:
    """Return words or a formula within a line."""
    return escaped(run) if isinstance(run, str) else f"${latex_math(run)}$"


def _name(raw: str, command: str = "mathit") -> str:
    """A variable's or a function's name: letters as mathematics, anything else as text."""
    if raw in _GREEK:
        return rf"\{_GREEK[raw]} "
    if raw.isascii() and raw.isalpha():
        return raw if len(raw) == 1 else rf"\{command}{{{raw}}}"
    return rf"\text{{{escaped(raw)}}}"


class LatexMath(Walker[str]):
    """A formula in math mode."""

    def symbol(self, node: Symbol) -> str:
        """A variable."""
        return _name(node.name) + "'" * node.primes

    def word(self, node: Word) -> str:
        """Upright text."""
        return rf"\text{{{escaped(node.text)}}}" + "'" * node.primes

    def number(self, node: Number) -> str:
        """A number; in braces, so that its minus is its own."""
        match = re.fullmatch(r"(−?)([0-9.]+|∞)(?:e([-−]?)([0-9]+))?", node.text)
        if match is None:
            return rf"\text{{{escaped(node.text)}}}"
        sign, digits, down, power = match.groups()
        mantissa = r"\infty" if digits == "∞" else digits
        exponent = rf"\mathrm{{e}}{{{'-' if down else ''}{power}}}" if power else ""
        return f"{{{'-' if sign else ''}{mantissa}{exponent}}}" if sign or power else mantissa

    def operator(self, node: Operator) -> str:
        """A sign."""
        return _SIGNS.get(node.sign) or rf"\mathrel{{\text{{{escaped(node.sign)}}}}}"

    def row(self, node: Row) -> str:
        """Nodes in a row, with a space where words would run together."""
        line: list[str] = []
        items = flat(node)
        for at, item in enumerate(items):
            touch = at > 0 and not any(isinstance(side, Operator) for side in items[at - 1 : at + 1])
            line += [r"\ "] if touch and spaced(items, at) else []
            line.append(self.walk(item))
        return " ".join(line)

    def sub(self, node: Sub) -> str:
        """An index."""
        return f"{self.base(node.base)}_{{{self.walk(node.index)}}}"

    def power(self, node: Power) -> str:
        """An exponent."""
        return f"{self.base(node.base)}^{{{self.walk(node.exponent)}}}"

    def base(self, node: Math) -> str:
        """What carries an index or an exponent."""
        shown = self.walk(node)
        if loose(node):
            return rf"\left({shown}\right)"
        return shown if len(shown) == 1 and shown.isalnum() else f"{{{shown}}}"

    def fraction(self, node: Fraction) -> str:
        """A fraction."""
        return rf"\frac{{{self.walk(node.top)}}}{{{self.walk(node.bottom)}}}"

    def root(self, node: Root) -> str:
        """A square root."""
        return rf"\sqrt{{{self.walk(node.of)}}}"

    def vector(self, node: Vector) -> str:
        """Components in parentheses, kept on one line."""
        inside = ", ".join(map(self.walk, node.items))
        return f"{{({inside})}}"

    def call(self, node: Call) -> str:
        """A function of one argument."""
        return rf"{_name(node.name, 'operatorname')}\left({self.walk(node.argument)}\right)"
