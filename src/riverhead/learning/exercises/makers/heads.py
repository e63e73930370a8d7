"""Heads: cut out of the rows of a projection, put together again, and sharing kv heads."""

from __future__ import annotations

from riverhead.checking.answers import Draft
from riverhead.learning.exercises import clean
from riverhead.learning.exercises.catalogue import Made
from riverhead.learning.exercises.draw import Draw
from riverhead.learning.exercises.showing import quoted, say, vectors
from riverhead.learning.exercises.words import sentence
from riverhead.scene import Sub, Symbol

__all__ = ["MAKERS"]

W_o = Sub(Symbol("W"), Symbol("o"))


def split_heads(draw: Draw) -> Made:
    """The rows of Q for two or three tokens, two to four heads of two or three numbers; one head is asked."""
    tokens, H, d_k = sentence(draw, draw.integer(2, 3)), draw.integer(2, 4), draw.integer(2, 3)
    drawn = [float(n) for n in draw.sample(range(2, 60), len(tokens) * H * d_k)]
    rows = [drawn[i * H * d_k : (i + 1) * H * d_k] for i in range(len(tokens))]
    asked = draw.integer(0, H - 1)
    draft = Draft("Splitting heads")
    draft.given("whole", rows)
    for h in range(H):
        for i, token in enumerate(tokens):
            for j in range(d_k):
                words, parent = f"head {h} of {token}, component {j + 1}", f"whole.{i}.{h * d_k + j}"
                draft.cell("split", "same", [parent], (i, j), head=h, asked=h == asked, label=words)
    task = (
        say(f"In {quoted(tokens)}, the query projection gives each token a row of {H * d_k} numbers:"),
        vectors(tokens, **{"x W_q": rows}),
        say(
            f"It is cut into {H} heads of {d_k} numbers each; heads count from 0. "
            f"Which query does each token have in head {asked}?"
        ),
    )
    return Made(task, draft.sheet())


def merge_heads(draw: Draw) -> Made | None:
    """Two or three heads of two tokens, side by side, then times W_o, for one of the tokens."""
    tokens, H, d_v = sentence(draw, 2), draw.integer(2, 3), 2
    width = H * d_v
    outs = [clean.vectors(draw, len(tokens), d_v, -4, 5) for _ in range(H)]
    W = clean.vectors(draw, width, width, -1, 2)
    asked = draw.integer(0, len(tokens) - 1)
    draft = Draft("Merging heads")
    for h, rows in enumerate(outs):
        draft.given("out", rows, head=h)
    draft.given("W_o", W)
    for i, token in enumerate(tokens):
        for c in range(width):
            words, parent = f"the heads of {token} side by side, {c + 1}", f"out.h{c // d_v}.{i}.{c % d_v}"
            draft.cell("merged", "same", [parent], (i, c), asked=i == asked, label=words)
    for j in range(width):
        parents = [*(f"merged.{asked}.{c}" for c in range(width)), *(f"W_o.{c}.{j}" for c in range(width))]
        draft.cell("y", "dot", parents, (asked, j), label=f"y of {tokens[asked]}, component {j + 1}")
    task = (
        say(f"{H} heads read {quoted(tokens)}. What each token takes away in each head:"),
        vectors(tokens, **{f"head {h}": rows for h, rows in enumerate(outs)}),
        say("The rows of ", W_o, ":"),
        vectors([f"row {c + 1}" for c in range(width)], W_o=W),
        say(
            f"Put the heads of {tokens[asked]} side by side, then multiply by ",
            W_o,
            f": what does {tokens[asked]} pass on?",
        ),
    )
    sheet = draft.sheet()
    return Made(task, sheet) if clean.sees_apart(sheet) else None


def gqa_mapping(draw: Draw) -> Made:
    """Up to 32 query heads over two to eight kv heads; the kv heads of five of them are asked."""
    G, group = draw.integer(2, 8), draw.integer(2, 4)
    H = G * group
    draft = Draft("Shared kv heads", decimals=0)
    draft.given("query_head", [float(h) for h in range(H)])
    draft.given("H", float(H))
    draft.given("G", float(G))
    draft.cell("group", "divide", ["H", "G"], label="query heads for each kv head")
    for h in sorted(draw.sample(range(H), min(H, 5))):
        words = f"kv head of query head {h}"
        draft.cell("kv_head", "divide, rounded down", [f"query_head.{h}", "group"], (h,), label=words)
    task = (
        say(
            f"A layer has {H} query heads and {G} kv heads, which neighbours share evenly. "
            "All heads count from 0. Which kv head does each query head read?"
        ),
    )
    return Made(task, draft.sheet())


MAKERS = {"split-heads": split_heads, "merge-heads": merge_heads, "gqa-mapping": gqa_mapping}
