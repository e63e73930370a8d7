"""What follows from a model's sizes: shapes, parameters, FLOPs."""

from __future__ import annotations

from riverhead.checking.answers import Draft
from riverhead.learning.exercises.catalogue import Made
from riverhead.learning.exercises.draw import Draw
from riverhead.learning.exercises.showing import say
from riverhead.learning.exercises.sizes import drawn, given, table

__all__ = ["MAKERS"]

WIDTHS = {  # what a grid of width follows from
    "q_width": ("H", "d_k"),
    "kv_width": ("G", "d_k"),
    "head_width": ("d_k",),
    "scores_width": ("T",),
    "out_width": ("d_k",),
    "merged_width": ("H", "d_k"),
    "y_width": ("d_model",),
    "inner_width": ("d_ff",),
    "block_width": ("d_model",),
}
STATIONS = (  # of a text through a block
    ("x W_q, all heads", "q_width"),
    ("x W_k, or x W_v, all heads", "kv_width"),
    ("the queries of one head", "head_width"),
    ("the scores, or the weights, of one head", "scores_width"),
    ("the output of one head", "out_width"),
    ("the heads side by side", "merged_width"),
    ("those times W_o", "y_width"),
    ("inside the feed-forward", "inner_width"),
    ("what the block hands on", "block_width"),
)
ASKED = 6  # stations

PROJECTIONS = {
    "n_W_q": ("d_model", "H", "d_k"),
    "n_W_k": ("d_model", "G", "d_k"),
    "n_W_v": ("d_model", "G", "d_k"),
    "n_W_o": ("H", "d_k", "d_model"),
}

PRODUCTS = {
    "flops_q": ("x times W_q", ("two", "T", "d_model", "H", "d_k")),
    "flops_k": ("x times W_k", ("two", "T", "d_model", "G", "d_k")),
    "flops_scores": ("Q Kᵀ, all heads", ("two", "H", "T", "T", "d_k")),
    "flops_values": ("weights times V, all heads", ("two", "H", "T", "T", "d_k")),
}


def shapes(draw: Draw) -> Made:
    """Rows and columns at six stations of a block."""
    sizes = drawn(draw, real=False)
    sizes |= {"d_ff": draw.integer(2, 4) * sizes["d_model"], "T": draw.integer(3, 12)}
    draft = Draft("Shapes through a block", decimals=0)
    given(draft, sizes)
    for width, of in WIDTHS.items():
        draft.cell(width, "product", of, asked=False)
    for n in sorted(draw.sample(range(len(STATIONS)), ASKED)):
        words, width = STATIONS[n]
        draft.cell("shape", "same", ["T"], (n, 0), label=f"{words}: rows")
        draft.cell("shape", "same", [width], (n, 1), label=f"{words}: columns")
    task = (
        say("A text goes through a transformer block, a row for each token:"),
        table(sizes),
        say("Values are as wide as keys. Which shape has each of these?"),
    )
    return Made(task, draft.sheet())


def parameters(draw: Draw) -> Made:
    """The matrices of one block, small or of a real model's size; every other feed-forward has a gate."""
    sizes, gated = drawn(draw, real=draw.integer(0, 1) == 1), draw.integer(0, 1) == 1
    sizes |= {"d_ff": draw.integer(3, 4) * sizes["d_model"]}
    draft = Draft("Parameters", decimals=0)
    given(draft, sizes | {"n_matrices": 2 + gated} | ({"without_gate": 2} if gated else {}))
    for name, of in PROJECTIONS.items():
        draft.cell(name, "product", of, label=name.removeprefix("n_"))
    draft.cell("n_attention", "total", list(PROJECTIONS), label="the four together")
    feed_forward = ["n_matrices", "d_model", "d_ff"]
    draft.cell("n_feed_forward", "product", feed_forward, label="the feed-forward")
    draft.cell("n_block", "total", ["n_attention", "n_feed_forward"], label="the block")
    gate = "with a gate" if gated else "without a gate"
    task = (
        say(f"A transformer block, its feed-forward {gate}:"),
        table(sizes),
        say("Values are as wide as keys. How many numbers do its matrices hold? There are no biases."),
    )
    return Made(task, draft.sheet())


def flops(draw: Draw) -> Made:
    """Two projections and attention's two products, every query with every key."""
    real = draw.integer(0, 1) == 1
    sizes = drawn(draw, real, unlike=2) | {
        "T": draw.choice((100, 200, 500, 1000) if real else (3, 5, 10, 12, 20))
    }
    draft = Draft("FLOPs", decimals=0)
    given(draft, sizes | {"two": 2})
    for name, (words, of) in PRODUCTS.items():
        draft.cell(name, "product", of, label=words, unit="FLOPs")
    task = (
        say("Attention reads a text at once, every query with every key:"),
        table(sizes),
        say(
            "Values are as wide as keys. How many FLOPs does each product take? "
            "A multiplication and its addition count as two."
        ),
    )
    return Made(task, draft.sheet())


MAKERS = {"shapes": shapes, "parameters": parameters, "flops": flops}
