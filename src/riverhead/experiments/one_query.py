"""The last token asks: one row of weights for each head, and the way back to the four matrices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from riverhead.core import MultiHead, attention_gradient, merge, split
from riverhead.core.border import Floats
from riverhead.experiments.training import Parameters

__all__ = ["Asked", "last_token_asks"]


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """What the last token of each of N sequences found."""

    y: Floats  # (N, d_out)
    weights: Floats  # (N, H, T)
    mixed: Floats  # (N, H·d_v): the heads' outputs side by side, before W_o


def last_token_asks(
    x: Floats, W: Mapping[str, Floats], n_heads: int = 1
) -> tuple[Asked, Callable[[Floats], Parameters]]:
    """Let the last token of ``x`` (N, T, d_model) attend to all, and return the way back.

    The way back takes d_y (N, d_out) to the gradients of W_q, W_k, W_v, W_o, by their names, through the
    weights by `attention_gradient`. W_o may lead to logits: it is (H·d_v, d_out).

    >>> import numpy as np
    >>> W = {name: np.eye(2) for name in ("W_q", "W_k", "W_v", "W_o")}
    >>> asked, back = last_token_asks(np.array([[[0.0, 2.0], [0.0, 0.0]]]), W)
    >>> asked.y.tolist(), back(np.ones((1, 2)))["W_o"].tolist()
    ([[0.0, 1.0]], [[0.0, 0.0], [1.0, 1.0]])
    """
    asking = x[:, -1:]  # (N, 1, d_model)
    found = MultiHead(W["W_q"], W["W_k"], W["W_v"], W["W_o"], n_heads, n_heads).forward(asking, x)
    mixed = merge(found.attention.out)  # (N, 1, H·d_v)

    def back(d_y: Floats) -> Parameters:
        d_out = split(d_y[:, None] @ W["W_o"].T, n_heads)  # (N, H, 1, d_v)
        d = attention_gradient(d_out, found.q, found.k, found.v)
        return {
            "W_q": _summed(asking, merge(d.d_q)),
            "W_k": _summed(x, merge(d.d_k)),
            "W_v": _summed(x, merge(d.d_v)),
            "W_o": _summed(mixed, d_y[:, None]),
        }

    return Asked(found.y[:, 0], found.attention.weights[:, :, 0], mixed[:, 0]), back


def _summed(x: Floats, d: Floats) -> Floats:
    """The gradient of W in x @ W, given d of the product: xᵀd, summed over sequences and tokens."""
    total: Floats = x.reshape(-1, x.shape[-1]).T @ d.reshape(-1, d.shape[-1])
    return total
