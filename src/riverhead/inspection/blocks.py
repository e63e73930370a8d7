"""One block of a real model as a sheet: its shapes in order, and what each part added to every token."""

from __future__ import annotations

from riverhead.numbers import fixed
from riverhead.scene import Cell, Scene, Table, Text
from riverhead.transformer import Block, Reading

__all__ = ["block_scene"]

WORDS = {  # what each array of a block is, in the words of the lessons
    "x": "the residual stream as it comes in, a vector a token",
    "q": "after RMSNorm, what each head asks (x W_q, turned by RoPE)",
    "k": "what each kv head answers to (x W_k, turned by RoPE)",
    "v": "what each kv head hands over (x W_v)",
    "weights": "softmax(scale · q kᵀ), a recipe a row; no later token is seen",
    "out": "weights @ v, head by head",
    "attention": "the heads side by side, times W_o: added to x",
    "gate": "after RMSNorm, x W_gate through SiLU",
    "up": "x W_up, multiplied by the gate",
    "feed_forward": "back down by W_down: added again",
}


def block_scene(reading: Reading, block: Block, *, digits: int | None = None) -> Scene:
    """Return the sheet of one block: shapes, and each token's length (L2) before, of each part, after.

    Source: Touvron et al. 2023 (LLaMA), §2.2: pre-normalisation, SwiGLU, rotary positions.
    """
    config, decimals = reading.model.config, 2 if digits is None else digits
    shapes: tuple[tuple[Cell, ...], ...] = tuple(
        (name, " × ".join(map(str, shape)), WORDS[name]) for name, shape in block.shapes.items()
    )
    norms = block.norms()
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (token, *(fixed(float(values[i]), decimals) for values in norms.values()))
        for i, token in enumerate(reading.tokens)
    )
    return Scene(
        f"Block {block.layer} of {config.n_layers} (L0 to L{config.n_layers - 1}): {reading.model.name}",
        (
            Text(("x + attention(RMSNorm(x)), then + SwiGLU(RMSNorm(that))",)),
            Table(("", "shape", ""), shapes),
            Text(("How long each token's vector is, before, what each part added, after",), "heading"),
            Table(("", *(f"‖{name}‖" for name in norms)), rows),
        ),
    )
