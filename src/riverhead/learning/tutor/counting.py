"""Sizes that need no sentence: the scores of so many tokens, the width of a head."""

from __future__ import annotations

import re
from collections.abc import Iterator

from riverhead.cost.counts import count
from riverhead.cost.figures import bytes_of, figure
from riverhead.numbers import fixed, plain
from riverhead.scene import Part, Text

__all__ = ["counted"]

TOKENS = re.compile(
    r"(?<![\w.])(\d{1,3}(?:,\d{3})+|\d{1,9})\s?(k|thousand|m|million)?[\s-]+(?:tokens?|words?)\b"
)
MANY = {"k": 10**3, "thousand": 10**3, "m": 10**6, "million": 10**6}
ASKED = re.compile(r"\bhow (?:much|many|big|large)\b|\bsize\b|\bbytes\b")
SCORES = re.compile(r"\b(?:scores?|pairs?|comparisons?|dot products?|t\s?[×x]\s?t|matrix|table)\b")
MEMORY = re.compile(r"\b(?:memory|bytes?|ram|[gmkt]b|space)\b")
LARGE = re.compile(r"\b(?:big|large)\b")
ELSE = re.compile(
    r"\b(?:why|cach\w*|kv|flops?|param\w*|models?|layers?|multipl\w*|llama\w*|gpt\w*|\d+b|remember|train\w*|flash\w*|window\w*|causal|mask\w*)\b"
)
DTYPE = re.compile(r"\b(float64|float32|float16|bfloat16|int8|fp64|fp32|fp16|bf16)\b")
SHORT = {"fp": "float", "bf": "bfloat"}
HEADS = re.compile(r"\b(\d{1,4})\s+(?:\w+\s)?heads?\b")
D_MODEL = re.compile(r"\bd_?model\D{0,12}?(\d{1,6})\b|\b(\d{1,6})[\s-]?dim\w*")
HEAD_WIDTH = re.compile(
    r"\bd_?k\b|\bhead(?:'s)? (?:size|width|dim\w*)|\b(?:wide|size|width|dim\w*)\b.{0,20}\bheads?\b"
)
WIDTH = re.compile(r"(?:d_?k|head (?:size|width|dimension)|width|dimensions?)\D{0,12}?(\d{1,6})\b")
DIVIDED = re.compile(r"divid|scal|√|root")


def counted(question: str) -> Iterator[Part]:
    """Yield what ``question``, in small letters, asks to count; nothing where it asks for none of these.

    >>> [str(part.runs[0]) for part in counted("what is d_k if d_model is 512 and there are 8 heads")]
    ['d_k = d_model / heads = 512 / 8 = 64']
    """
    tokens = TOKENS.search(question)
    if tokens and ASKED.search(question) and not ELSE.search(question):
        yield from _scores(question, int(tokens[1].replace(",", "")) * MANY.get(tokens[2] or "", 1))
        return
    heads, width = HEADS.search(question), D_MODEL.search(question)
    if heads and width and HEAD_WIDTH.search(question) and int(heads[1]):
        yield from _head_width(int(width[1] or width[2]), int(heads[1]))
    elif (found := WIDTH.search(question)) and DIVIDED.search(question) and int(found[1]):
        root = int(found[1]) ** 0.5
        shown = plain(root) if root == int(root) else fixed(root, 6)
        yield Text((f"√{found[1]} = {shown}: by it the dot products of a head this wide are divided.",))


def _scores(question: str, tokens: int) -> Iterator[Part]:
    """How many scores there are, and the bytes they would take."""
    heads, dtype = HEADS.search(question), DTYPE.search(question)
    pairs = count("T", tokens) ** 2
    if heads:
        pairs *= count("H", int(heads[1]))
    whose = f"{int(heads[1])} heads" if heads else "one head"
    if not MEMORY.search(question) and not (LARGE.search(question) and SCORES.search(question)):
        if "many" in question and SCORES.search(question):
            yield Text(
                (
                    f"Every token with every token, the scores of {whose}: ",
                    pairs.symbols,
                    " = ",
                    pairs.numbers,
                    f" = {pairs.value:,}.",
                )
            )
        return
    name = re.sub(r"^[bf][fp](?=\d)", lambda found: SHORT[found[0]], dtype[1]) if dtype else "float32"
    found = figure("scores", pairs * count("b", bytes_of(name)), "bytes")
    yield Text((f"The scores of {whose} at {tokens:,} tokens, if all were stored as {name}:",))
    yield Text((found.formula, " = ", found.numbers, f" = {found.exactly} bytes = {found.said}"))


def _head_width(d_model: int, heads: int) -> Iterator[Part]:
    """The width that is left for each head."""
    if d_model % heads:
        yield Text(
            (f"{d_model} / {heads} is not whole: so many numbers cannot be split into {heads} even heads.",)
        )
    else:
        yield Text((f"d_k = d_model / heads = {d_model} / {heads} = {d_model // heads}",))
