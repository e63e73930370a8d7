"""The parts of a block: norms by hand, the shapes on the way through, where its parameters are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from riverhead.core import MultiHead, merge
from riverhead.cost.known import known
from riverhead.cost.parameters import parameters
from riverhead.inspection.findings import quoted
from riverhead.learning.lessons.toolbox.figures import table
from riverhead.numbers import fixed, grouped
from riverhead.scene import Bar, Cell, Part, Table, Text
from riverhead.transformer.steps import ACTIVATIONS, layer_norm, rms_norm

if TYPE_CHECKING:
    from riverhead.transformer import Model

__all__ = ["IN_A_MODEL", "NAMES"]


def normed_by_hand(x: Sequence[float], gain: Sequence[float], shift: Sequence[float]) -> Table:
    """An RMS norm and a layer norm of one vector; the latter with its gain and shift, too."""
    row = np.array(x, float)
    learned = layer_norm(row, np.array(gain, float), np.array(shift, float), 0.0)
    layer, rms = layer_norm(row, None, None, 0.0), rms_norm(row, None, 0.0)
    rows = [
        ("x", *x),
        ("x − mean", *centred(x)),
        ("(x − mean)/deviation", *layer.tolist()),
        ("γ times that + β: layer norm", *learned.tolist()),
        ("x/root mean square: RMS norm", *rms.tolist()),
    ]
    return table(["", *(str(at) for at in range(1, len(x) + 1))], rows)


def centred(x: Sequence[float]) -> list[float]:
    """Return a vector with its mean taken off."""
    found: list[float] = (np.array(x, float) - np.mean(x)).tolist()
    return found


def mean_square(x: Sequence[float]) -> float:
    """Return the mean of the squares of a vector's components."""
    return float(np.mean(np.square(x)))


def block_shapes(T: int, d_model: int, H: int, G: int, d_k: int, d_ff: int, n_vocab: int) -> Table:
    """The shape of every array on the way through a block: read off arrays of these sizes."""
    x = np.ones((T, d_model))
    W_q, W_kv, W_o = (
        np.ones(shape) for shape in ((d_model, H * d_k), (d_model, G * d_k), (H * d_k, d_model))
    )
    heads = MultiHead(W_q, W_kv, W_kv, W_o, H, G)
    attended = heads.forward(x, causal=True)
    hidden = x @ np.ones((d_model, d_ff))
    rows = (
        ("x", "T × d_model", x, "a row a token"),
        ("x W_q", "T × H·d_k", x @ W_q, "x normed, here and below"),
        ("x W_k, x W_v", "T × G·d_k", x @ W_kv, "d_v = d_k here"),
        ("q", "H × T × d_k", attended.q, "cut into heads"),
        ("k, v", "G × T × d_k", attended.k, "cut into kv heads"),
        ("scores", "H × T × T", attended.attention.scores, "q·k/√d_k, later tokens hidden"),
        ("weights", "H × T × T", attended.attention.weights, "softmax of each row"),
        ("out", "H × T × d_v", attended.attention.out, "weights times v"),
        ("side by side", "T × H·d_v", merge(attended.attention.out), "the heads of each token"),
        ("attention", "T × d_model", attended.y, "times W_o; added to x"),
        ("hidden", "T × d_ff", hidden, "times W_up, then the activation"),
        ("feed-forward", "T × d_model", hidden @ np.ones((d_ff, d_model)), "times W_down; added to x"),
        ("logits", "T × n_vocab", x @ np.ones((d_model, n_vocab)), "after the last block"),
    )
    return Table(
        ("", "shape", "here", ""),
        tuple((name, shape, " × ".join(map(str, array.shape)), what) for name, shape, array, what in rows),
    )


def parameter_shares(name: str) -> Table:
    """How many numbers each part of a known model has, and what share of all that is."""
    parts = [(part.name, part.value or 0) for part in parameters(known(name).config)]
    everything = sum(n for _, n in parts)
    rows: list[tuple[Cell, ...]] = [
        (words, grouped(n), fixed(n / everything), Bar(n / everything)) for words, n in parts
    ]
    return Table(("", "numbers", "share", ""), (*rows, ("together", grouped(everything), fixed(1), None)))


def models(names: Sequence[str]) -> Table:
    """How often known models repeat their block, and how wide they are."""
    found = [(known(name).title, known(name).config) for name in names]
    rows: list[tuple[Cell, ...]] = [
        (title, *map(grouped, (c.n_layers, c.n_heads, c.d_model, c.d_ff, c.vocab_size))) for title, c in found
    ]
    return Table(("", "blocks", "heads", "d_model", "d_ff", "vocabulary"), tuple(rows))


def silu(x: float) -> float:
    """Return x·σ(x), as SwiGLU opens its gate."""
    return float(ACTIVATIONS["silu"](np.array([x]))[0])


def real_tokens(model: Model, text: str) -> list[Part]:
    """The tokens of a text and their ids."""
    reading = model.read(text)
    rows = tuple(
        (token, str(id)) for token, id in zip(map(quoted, reading.tokens), reading.token_ids, strict=True)
    )
    return [Table(("token", "id"), rows, model.title)]


def real_block(model: Model, text: str, layer: int) -> list[Part]:
    """One block of a model: its shapes, and what each part added to every token."""
    from riverhead.inspection import block_scene

    reading = model.read(text)
    found = block_scene(reading, reading.block(layer))
    return [Text((found.title,), "note"), *found.parts]


def real_weight(model: Model, text: str, head: str, focus: str) -> list[Part]:
    """A head's weight beside its habit, its swap and what it does if off."""
    from riverhead.inspection import telling

    return list(telling(model, text, focus=focus, head=head, n=1).scene().parts)


def real_odds_without(model: Model, text: str, head: str) -> list[Part]:
    """The odds of the next token, with one head and without it."""
    from riverhead.inspection import without

    found = without(model, text, [head]).scene()
    return [Text((found.title,), "note"), *found.parts]


NAMES = {
    "block_shapes": block_shapes,
    "centred": centred,
    "mean_square": mean_square,
    "models": models,
    "normed_by_hand": normed_by_hand,
    "parameter_shares": parameter_shares,
    "silu": silu,
}
IN_A_MODEL = {
    "real_block": real_block,
    "real_odds_without": real_odds_without,
    "real_tokens": real_tokens,
    "real_weight": real_weight,
}
