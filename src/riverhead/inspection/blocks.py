"""One block of a real model as a sheet: its shapes in order, and what each part added to every token."""

from __future__ import annotations

from riverhead.cost import Config
from riverhead.numbers import fixed
from riverhead.scene import Cell, Scene, Table, Text
from riverhead.transformer import Block, Reading

__all__ = ["block_scene"]

NORMS = {"rms": "RMSNorm", "layer": "LayerNorm"}
ACTIVATIONS = {"silu": "SiLU", "gelu": "GELU", "gelu_tanh": "GELU (by tanh)", "relu": "ReLU"}


def block_scene(reading: Reading, block: Block, *, digits: int | None = None) -> Scene:
    """Return the sheet of one block: shapes, and each token's length (L2) before, of each part, after.

    Sources: Vaswani et al. 2017, §3.1 (norms after each part); Touvron et al. 2023 (LLaMA), §2.2 (before).
    """
    config, decimals = reading.model.config, 2 if digits is None else digits
    words = _words(config, block.layer)
    shapes: tuple[tuple[Cell, ...], ...] = tuple(
        (name, " × ".join(map(str, shape)), words[name]) for name, shape in block.shapes.items()
    )
    norms = block.norms()
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (token, *(fixed(float(values[i]), decimals) for values in norms.values()))
        for i, token in enumerate(reading.tokens)
    )
    return Scene(
        f"Block {block.layer} of {config.n_layers} (L0 to L{config.n_layers - 1}): {reading.model.title}",
        (
            Text((_formula(config),)),
            Table(("", "shape", ""), shapes),
            Text(("How long each token's vector is, before, what each part added, after",), "heading"),
            Table(("", *(f"‖{name}‖" for name in norms)), rows),
        ),
    )


def _formula(c: Config) -> str:
    """The block in one line."""
    norm, feed_forward = NORMS[c.norm], "SwiGLU" if c.gated and c.activation == "silu" else "feed-forward"
    if c.norm_after:
        return f"{norm}(x + attention(x)), then {norm}(that + {feed_forward}(that))"
    return f"x + attention({norm}(x)), then + {feed_forward}({norm}(that))"


def _words(c: Config, layer: int) -> dict[str, str]:
    """What each array of a block is, in the words of the lessons."""
    norm, activation = NORMS[c.norm], ACTIVATIONS[c.activation]
    before, after = ("", f", then {norm}") if c.norm_after else (f"after {norm}, ", "")
    made = ", normed" * c.qk_norm + ", turned by RoPE" * (c.rope_base is not None)
    return {
        "x": "the residual stream as it comes in, a vector a token",
        "q": f"{before}what each head asks (x W_q{made})",
        "k": f"what each kv head answers to (x W_k{made})",
        "v": "what each kv head hands over (x W_v)",
        "weights": f"softmax(scale · q kᵀ), a recipe a row; {_sight(c, layer)}",
        "out": "weights @ v, head by head",
        "attention": f"the heads side by side, times W_o: added to x{after}",
        "gate": f"{before}x W_gate through {activation}",
        "up": "x W_up, multiplied by the gate" if c.gated else f"{before}x W_up through {activation}",
        "feed_forward": f"back down by W_down: added again{after}",
    }


def _sight(c: Config, layer: int) -> str:
    """Who sees whom."""
    window = c.window(layer)
    if not c.causal:
        return "every token sees all others" if window is None else f"a token sees {window - 1} on each side"
    return f"at most {window} tokens are seen, none of them later" if window else "no later token is seen"
