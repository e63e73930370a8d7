"""How people write arithmetic: the signs, functions, commands and units that a claim can be made of."""

from __future__ import annotations

import math
import re
import unicodedata
from functools import lru_cache

__all__ = [
    "FILLER",
    "FUNCTIONS",
    "JOINS",
    "OPERATORS",
    "RELATIONS",
    "SAID",
    "SUPERSCRIPTS",
    "SUPPOSED",
    "UNITS",
    "WRAPPERS",
    "canonical",
]

OPERATORS = {  # as written: (what is done, how tightly it binds); ² and ᵀ stand after, √ before
    "+": ("+", 1), "＋": ("+", 1), "⊕": ("+", 1), "±": ("", 0),
    "-": ("-", 1), "－": ("-", 1), "−": ("-", 1), "–": ("-", 1),
    "*": ("*", 2), "×": ("*", 2), "·": ("*", 2), "⋅": ("*", 2), "∙": ("*", 2), "•": ("*", 2), "∗": ("*", 2),
    "x": ("*", 2), "✕": ("*", 2), "⨯": ("*", 2), "＊": ("*", 2), "⊙": ("⊙", 2), ".": ("*", 2), "@": ("@", 2),
    "/": ("/", 2), "÷": ("/", 2), "∕": ("/", 2), "⁄": ("/", 2), "／": ("/", 2),
    "^": ("^", 4), "**": ("^", 4),
    "\\cdot": ("*", 2), "\\times": ("*", 2), "\\odot": ("⊙", 2), "\\bullet": ("*", 2), "\\div": ("/", 2),
    "\\ast": ("*", 2),
}  # fmt: skip

RELATIONS = {  # as written: what it claims; "→" claims only behind something that was worked out
    "=": "=", "==": "=", "＝": "=", ":=": "=", "≡": "=", "\\equiv": "=", "\\coloneqq": "=",
    "≈": "≈", "~=": "≈", "=~": "≈", "≃": "≈", "≅": "≈", "≒": "≈", "≐": "≈", "∼": "≈", "∽": "≈",
    "\\approx": "≈", "\\simeq": "≈", "\\cong": "≈", "\\sim": "≈", "\\doteq": "≈", "\\approxeq": "≈",
    "→": "→", "->": "→", "-->": "→", "==>": "→", "=>": "→", "⇒": "→", "⟶": "→", "⟹": "→", "➜": "→", "➔": "→",
    "\\to": "→", "\\rightarrow": "→", "\\Rightarrow": "→", "\\longrightarrow": "→", "\\implies": "→",
    "≠": "≠", "!=": "≠", "\\ne": "≠", "\\neq": "≠",
}  # fmt: skip

SAID = {  # words between a sum and its result
    "is": "say", "are": "are", "equals": "=", "equal to": "=", "is equal to": "=", "are equal to": "=",
    "seems to be equal to": "=", "gives": "say", "makes": "say", "comes to": "say", "yields": "say",
    "is about": "say", "is approximately": "say", "is roughly": "say", "which is": "say",
}  # fmt: skip

FUNCTIONS = {  # as written: the function's name
    "exp": "exp", "log": "log", "ln": "log", "sqrt": "sqrt", "√": "sqrt", "sin": "sin", "cos": "cos",
    "tan": "tan", "tanh": "tanh", "abs": "abs", "softmax": "softmax", "sum": "sum", "mean": "mean",
    "average": "mean", "avg": "mean", "var": "var", "variance": "var", "std": "std", "norm": "norm",
    "layernorm": "layernorm", "cosine": "cosine", "dot": "dot", "inner": "dot", "max": "max", "min": "min",
    "relu": "relu", "sigmoid": "sigmoid", "array": "array", "tensor": "array", "float": "array",
    "matrix": "array", "cosinesimilarity": "cosine", "cossim": "cosine", "transpose": "transpose",
    "log2": "log2", "log10": "log10", "frac": "/", "dfrac": "/", "tfrac": "/", "cfrac": "/",
}  # fmt: skip

WRAPPERS = (  # LaTeX that changes only the looks of its argument
    "mathbf", "mathrm", "mathit", "mathsf", "mathtt", "mathcal", "mathbb", "boldsymbol", "bm", "text",
    "textbf", "textit", "texttt", "textrm", "operatorname", "vec", "hat", "bar", "tilde", "overline",
    "underline", "widehat", "boxed", "underbrace", "overbrace", "mbox", "emph",
)  # fmt: skip

FILLER = frozenset(  # words between a relation and its result
    ("only", "about", "approximately", "approx", "roughly", "around", "nearly", "almost", "just", "exactly")
)  # fmt: skip
SUPPOSED = frozenset(
    ("if", "when", "either", "unless", "whether", "suppose", "unlike", "or")
)  # before a name's value
JOINS = frozenset(  # words that begin another thought: what stands behind them belongs to no sum before
    ("and", "or", "so", "then", "but", "where", "if", "thus", "while", "when", "for", "because", "hence",
     "with", "to", "und", "et", "y", "e", "o")
)  # fmt: skip

_CYRILLIC = {"К": 1, "М": 2, "Г": 3, "Т": 4}
_K = {"K": 1, "M": 2, "G": 3, "T": 4, "P": 5}
UNITS: dict[str, tuple[float, float]] = {  # as written: its factor, read as decimal and as binary
    "%": (0.01, 0.01), "％": (0.01, 0.01), "°": (math.pi / 180, math.pi / 180),
    "bits": (0.125, 0.125), "bit": (0.125, 0.125),
    "bytes": (1, 1), "byte": (1, 1), "octets": (1, 1), "Bytes": (1, 1),
    "B": (1, 1e9), "thousand": (1e3, 1e3), "million": (1e6, 1e6), "billion": (1e9, 1e9),
    "trillion": (1e12, 1e12),
    **{letter: (1000**n, 1024**n) for letter, n in _K.items()},
    **{f"{letter}{byte}": (1000**n, 1024**n) for letter, n in _K.items() for byte in ("B", "o")},
    **{f"{letter}i{byte}": (1024**n, 1024**n) for letter, n in _K.items() for byte in ("B", "o")},
    **{
        f"{prefix}{what}": (1000**n, 1000**n)
        for prefix, n in {"": 0, **_K}.items()
        for what in ("FLOPs", "FLOP", "FLOPS", "FLOP/s", "FLOPS/s")
    },
    **{
        f"{prefix}F": (1000.0**n, 1000.0**n)
        for prefix, n in (("M", 2), ("G", 3), ("T", 4), ("P", 5))
    },
    **{f"{letter}{byte}": (1000**n, 1024**n) for letter, n in _CYRILLIC.items() for byte in ("Б", "байт")},
    **{f"{letter}иБ": (1024**n, 1024**n) for letter, n in _CYRILLIC.items()},
    "байт": (1, 1), "байта": (1, 1), "x": (1, 1), "×": (1, 1),
    "percent": (0.01, 0.01), "per cent": (0.01, 0.01),
    "k": (1e3, 1024), "kB": (1e3, 1024), "ko": (1e3, 1024), "kb": (1e3, 1024),
    "mb": (1e6, 2**20), "gb": (1e9, 2**30),
    **{f"{letter}bytes": (1000**n, 1024**n) for letter, n in {"k": 1, **_K}.items()},
}  # fmt: skip

SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺·⋅", "0123456789-+..")

_SUBSCRIPT = re.compile(r"[_{}\s\\^]+")
_ACCENTS = {"hat": "\u0302", "widehat": "\u0302", "bar": "\u0304", "overline": "\u0304", "tilde": "\u0303"}
_ACCENT = re.compile(r"\\(hat|widehat|bar|overline|tilde)(?![A-Za-z])\s*\{?\s*(\w)")
_WRAPPER = re.compile(rf"\\(?:{'|'.join(WRAPPERS)})(?![A-Za-z])")
_PRIMES = str.maketrans({"'": "′", "’": "′", "‵": "′", "ʹ": "′", "*": "′"})


def _accented(match: re.Match[str]) -> str:
    return match[2] + _ACCENTS[match[1]]


@lru_cache(maxsize=4096)  # a page has few names, each often
def canonical(name: str) -> str:
    r"""Return the one spelling of a name: ``q₁``, ``q_1``, ``q_{1}`` and ``\mathbf{q}_1`` are ``q1``.

    >>> canonical("q_{bank}"), canonical(r"\mathbf{q}_1"), canonical("bank'")
    ('qbank', 'q1', 'bank′')
    """
    bare = _WRAPPER.sub("", _ACCENT.sub(_accented, name)) if "\\" in name else name
    plain = bare if bare.isascii() else unicodedata.normalize("NFKC", bare)
    return _SUBSCRIPT.sub("", plain.translate(_PRIMES))
