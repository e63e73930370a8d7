"""What a name in a text on attention stands for: the queries, the scores, the weights of bank."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from riverhead.checking.claims.reading.notation import canonical

__all__ = ["INPUTS", "RESULTS", "Meaning", "Role", "meaning"]


class Role(StrEnum):
    """The part of numbers in softmax(Q Kᵀ / √d_k) V; ``scores``: scaled or not; ``grid``: any of them."""

    X = "x"
    W_Q = "W_q"
    W_K = "W_k"
    W_V = "W_v"
    Q = "q"
    K = "k"
    V = "v"
    DOTS = "dots"
    SCALED = "scaled"
    SCORES = "scores"
    EXP = "exp"
    SUM = "sum"
    WEIGHTS = "weights"
    OUT = "out"
    GRID = "grid"


INPUTS = (Role.X, Role.W_Q, Role.W_K, Role.W_V, Role.Q, Role.K, Role.V)
RESULTS = (Role.DOTS, Role.SCALED, Role.SCORES, Role.EXP, Role.SUM, Role.WEIGHTS, Role.OUT, Role.GRID)


@dataclass(frozen=True, slots=True)
class Meaning:
    """A role; ``token``: whose, where the name says it; ``sure``: the name can hardly mean anything else."""

    role: Role
    token: str = ""
    sure: bool = True


_WORDS = {  # the first role that a word of the name fits
    Role.SUM: "sum total denominator summe somme Σ",
    Role.OUT: "output outputs out result results context sortie ausgabe salida 输出 出力 출력",
    Role.WEIGHTS: "weight weights softmax prob probs probability probabilities alpha alphas "
    "poids gewichte pesos 权重 重み 가중치",
    Role.SCALED: "scaled scale scaling 缩放",
    Role.EXP: "exp exps exponential exponentials exponentiated",
    Role.DOTS: "dots raw unscaled",
    Role.SCORES: "score scores logit logits similarity similarities 得分 分数 スコア 점수",
    Role.Q: "query queries 查询",
    Role.K: "key keys",
    Role.V: "value values",
    Role.X: "embedding embeddings input inputs",
}
_BY_WORD = {word: role for role, words in _WORDS.items() for word in words.split()}
_FOREIGN = tuple(word for word in _BY_WORD if not word.isascii())

_NAMES = {  # whole names, as `canonical` spells them
    "Q": Meaning(Role.Q), "K": Meaning(Role.K), "V": Meaning(Role.V), "q": Meaning(Role.Q),
    "k": Meaning(Role.K), "v": Meaning(Role.V),
    "X": Meaning(Role.X, sure=False), "E": Meaning(Role.X, sure=False), "x": Meaning(Role.X, sure=False),
    "QKT": Meaning(Role.DOTS), "QKᵀ": Meaning(Role.DOTS), "QK⊤": Meaning(Role.DOTS),
    "es": Meaning(Role.EXP), "grid": Meaning(Role.GRID, sure=False),
    "S": Meaning(Role.SCORES, sure=False), "s": Meaning(Role.SCORES, sure=False),
    "A": Meaning(Role.WEIGHTS, sure=False), "P": Meaning(Role.WEIGHTS, sure=False),
    "W": Meaning(Role.WEIGHTS, sure=False), "w": Meaning(Role.WEIGHTS, sure=False),
    "p": Meaning(Role.WEIGHTS, sure=False), "a": Meaning(Role.WEIGHTS, sure=False),
    "α": Meaning(Role.WEIGHTS), "\\alpha": Meaning(Role.WEIGHTS), "attn": Meaning(Role.WEIGHTS, sure=False),
    "attention": Meaning(Role.WEIGHTS, sure=False), "A′": Meaning(Role.WEIGHTS, sure=False),
    "Y": Meaning(Role.OUT, sure=False), "Z": Meaning(Role.OUT, sure=False),
    "O": Meaning(Role.OUT, sure=False), "C": Meaning(Role.OUT, sure=False),
    "y": Meaning(Role.OUT, sure=False), "z": Meaning(Role.OUT, sure=False),
    "o": Meaning(Role.OUT, sure=False), "c": Meaning(Role.OUT, sure=False),
}  # fmt: skip
_LETTERS = {name: found for name, found in _NAMES.items() if len(name) == 1 and name != "W"} | {
    "e": Meaning(Role.X, sure=False),
}
_PROJECTION = re.compile(r"W(?:eight)?\^?\(?([QKVqkv])(?:uery|ey|alue)?\)?")
_OF_TOKEN = re.compile(r"([A-Za-zα])\(?(\w+?)\)?")
_MARKED = re.compile(r"[_\^\[({₀-₉]|\d")  # a subscript, so that "knight" is no key
_FORMULAS = (
    (re.compile(r"(?:s|score|q\w*[·⋅]k\w*|QK[Tᵀ⊤])[/÷](?:√|\\?sqrt).{1,8}"), Role.SCALED),
    (re.compile(r"q\w{0,9}[·⋅]k\w{0,9}"), Role.DOTS),
)
_SPOILED = re.compile(
    r"un-?normali[sz]|sigmoid|relu|before softmax|pre-?softmax|matri(?:x|ces) W|learned|logged", re.IGNORECASE
)


@lru_cache(maxsize=4096)
def meaning(name: str, label: str) -> Meaning | None:
    """Say what ``name`` (as `canonical` spells it; ``label`` as the text has it) stands for, or None.

    >>> meaning("qbank", "q_bank"), meaning("Attentionweights", "Attention weights").role.value
    (Meaning(role=<Role.Q: 'q'>, token='bank', sure=True), 'weights')
    >>> meaning("knight", "knight") is None
    True
    """
    if name in _NAMES:
        return _NAMES[name]
    if projection := _PROJECTION.fullmatch(name):
        return Meaning(Role("W_" + projection[1].lower()))
    if _SPOILED.search(label):
        return None
    return _subscripted(name, label) or _worded(label) or _formula(name) or _primed(name)


def _subscripted(name: str, label: str) -> Meaning | None:
    """``q_bank``, ``α₁``, ``Q^{(2)}``: a letter and whose it is."""
    found = _OF_TOKEN.fullmatch(name)
    if found is None or found[1] not in _LETTERS or not _MARKED.search(label):
        return None
    of = _LETTERS[found[1]]
    return Meaning(of.role, found[2], of.sure)


def _formula(name: str) -> Meaning | None:
    """``q·k``, ``s/√2``: the scores as they are worked out."""
    found = next((role for pattern, role in _FORMULAS if pattern.fullmatch(name)), None)
    return Meaning(found) if found else None


def _primed(name: str) -> Meaning | None:
    """``bank′``: what the token is after attention."""
    stem = name.rstrip("′")
    return Meaning(Role.OUT, stem, sure=False) if stem != name and len(stem) > 1 else None


def _worded(label: str) -> Meaning | None:
    """Words that say it, unless they say two things (``query weights`` are a matrix W_q)."""
    words = re.findall(r"[^\W\d_]+", label.lower())[:12]
    roles = {_BY_WORD[word] for word in words if word in _BY_WORD}
    roles |= {_BY_WORD[word] for word in _FOREIGN if word in label}
    if not roles:
        return None
    if Role.SUM in roles:
        return Meaning(Role.SUM)
    if roles & {Role.Q, Role.K, Role.V, Role.X} and len(roles) > 1:
        return None
    if Role.WEIGHTS in roles and Role.OUT in roles:
        return Meaning(Role.WEIGHTS) if "softmax" in words else None
    order = (Role.OUT, Role.WEIGHTS, Role.EXP, Role.SCALED, Role.DOTS, Role.SCORES)
    role = next((one for one in order if one in roles), None) or roles.pop()
    return Meaning(role, _of(words), sure=role is not Role.X)


def _of(words: list[str]) -> str:
    """``weights of bank``, ``output for the cat``: the last word behind of or for."""
    places = [place for place, word in enumerate(words[:-1]) if word in ("of", "for", "von", "de")]
    return canonical(words[-1]) if places else ""
