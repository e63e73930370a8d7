"""Bytes: a score matrix if it were stored, and the KV cache."""

from __future__ import annotations

from riverhead.checking.answers import Draft
from riverhead.learning.exercises.catalogue import Made
from riverhead.learning.exercises.draw import Draw
from riverhead.learning.exercises.showing import say
from riverhead.learning.exercises.sizes import drawn, given, table

__all__ = ["MAKERS"]

LENGTHS = (1_000, 2_000, 3_000, 4_000, 5_000, 8_000, 10_000, 20_000, 50_000, 100_000)
DTYPES = {"float16": 2, "float32": 4}
HOW = "Write bytes out, or in kB, MB or GB; 1 GB is 10⁹ bytes."


def score_bytes(draw: Draw) -> Made:
    """The scores of one layer, stored whole."""
    dtype = draw.choice(list(DTYPES))
    sizes = {"T": draw.choice(LENGTHS), "H": draw.integer(2, 32)}
    draft = Draft("Bytes of the scores", decimals=0)
    given(draft, sizes | {"bytes": DTYPES[dtype], "bits": 8 * DTYPES[dtype]})
    draft.cell("n_scores", "product", ["T", "T"], label="scores of one head")
    draft.cell("head_bytes", "product", ["n_scores", "bytes"], label="bytes of one head", unit="bytes")
    draft.cell("heads_bytes", "product", ["head_bytes", "H"], label="bytes of all heads", unit="bytes")
    task = (
        say(f"A layer stores all of its scores in {dtype}, those that a mask hides too:"),
        table(sizes),
        say(f"How much memory do they take? {HOW}"),
    )
    return Made(task, draft.sheet())


def cache_bytes(draw: Draw) -> Made:
    """A real model's cache: with its own kv heads, with one for each query head, with a single one."""
    dtype = draw.choice(list(DTYPES))
    sizes = drawn(draw, real=True, unlike=2)
    sizes |= {"n_layers": draw.choice((12, 16, 24, 32, 48)), "T": draw.choice(LENGTHS)}
    draft = Draft("Bytes of the KV cache", decimals=0)
    given(draft, sizes | {"two": 2, "three": 3, "bytes": DTYPES[dtype], "bits": 8 * DTYPES[dtype]})
    kv_heads = (sizes["G"], sizes["H"], 1)
    draft.given("kv_heads", [float(n) for n in kv_heads])
    for n in range(len(kv_heads)):
        words = "numbers kept of a token in a layer"
        draft.cell("kept", "product", ["two", f"kv_heads.{n}", "d_k"], (n,), asked=n == 0, label=words)
    for n, heads in enumerate(kv_heads):
        words = f"cache with {heads} kv head{'s' * (heads > 1)}, {DESIGNS[n]}"
        draft.cell(
            "cache", "product", [f"kept.{n}", "n_layers", "T", "bytes"], (n,), label=words, unit="bytes"
        )
    task = (
        say(f"A model keeps the keys and values of a text in {dtype}:"),
        table(sizes),
        say(
            "Values are as wide as keys. How large is its KV cache as it is (GQA), with a kv head for every "
            f"query head (MHA), and with a single one (MQA)? {HOW}"
        ),
    )
    return Made(task, draft.sheet())


DESIGNS = ("GQA", "MHA", "MQA")
MAKERS = {"score-bytes": score_bytes, "cache-bytes": cache_bytes}
