"""Training on the project's own gradients: a few layers, each with its way back, and two optimizers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, Unpack

import numpy as np
from numpy.typing import NDArray

from riverhead.core import HeadsOutput, MultiHead, Options, attention_gradient, merge, split
from riverhead.core.blas import one_blas_thread
from riverhead.core.border import Floats

__all__ = [
    "SGD",
    "Adam",
    "Loss",
    "Optimizer",
    "Parameters",
    "cross_entropy",
    "linear",
    "multi_head",
    "squared_error",
    "train",
]

Parameters = dict[str, Floats]  # a name's numbers; gradients have the same names and shapes
Loss = Callable[[Parameters, int], tuple[float, Parameters]]  # (parameters, step) -> loss, gradients


def linear(x: Floats, W: Floats) -> tuple[Floats, Callable[[Floats], tuple[Floats, Floats]]]:
    """Return x @ W, and the way back from d_y to (d_x, d_W); x is (..., d_in), W (d_in, d_out).

    >>> y, back = linear(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]]))
    >>> y.tolist(), [d.tolist() for d in back(np.ones((1, 1)))]
    ([[11.0]], [[[3.0, 4.0]], [[1.0], [2.0]]])
    """

    def back(d_y: Floats) -> tuple[Floats, Floats]:
        return d_y @ W.T, x.reshape(-1, x.shape[-1]).T @ d_y.reshape(-1, d_y.shape[-1])

    return x @ W, back


def multi_head(
    x: Floats,
    W: Mapping[str, Floats],
    n_heads: int = 1,
    n_kv_heads: int | None = None,
    **options: Unpack[Options],
) -> tuple[HeadsOutput, Callable[[Floats], tuple[Floats, Parameters]]]:
    """Let ``x`` (..., T, d_model) attend to itself with W_q, W_k, W_v, W_o, and the way back.

    The way back takes d_y (..., T, d_out) to d_x and the gradients of the four, by their names; through the
    weights by `attention_gradient`. W_o may lead to logits: it is (H·d_v, d_out). ``options`` are those of
    `attention`. ``n_kv_heads`` is n_heads unless given.

    >>> W = {name: np.eye(2) for name in ("W_q", "W_k", "W_v", "W_o")}
    >>> found, back = multi_head(np.eye(2), W, scale=0.0)  # every weight is 1/2
    >>> back(np.eye(2))[1]["W_o"].tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    G = n_heads if n_kv_heads is None else n_kv_heads
    found = MultiHead(W["W_q"], W["W_k"], W["W_v"], W["W_o"], n_heads, G).forward(x, **options)

    def back(d_y: Floats) -> tuple[Floats, Parameters]:
        d_merged, d_W_o = linear(merge(found.attention.out), W["W_o"])[1](d_y)
        d = attention_gradient(split(d_merged, n_heads), found.q, found.k, found.v, **options)
        by_name = {
            name: linear(x, W[name])[1](merge(d_heads))
            for name, d_heads in (("W_q", d.d_q), ("W_k", d.d_k), ("W_v", d.d_v))
        }
        d_x: Floats = sum((d_x for d_x, _ in by_name.values()), np.zeros_like(x))
        return d_x, {**{name: d_W for name, (_, d_W) in by_name.items()}, "W_o": d_W_o}

    return found, back


def cross_entropy(logits: Floats, classes: NDArray[np.integer]) -> tuple[float, Floats]:
    """Return the mean of −ln p of the right class in nats, and d_logits: (p − 1 at the class) / n.

    ``logits`` are (..., n_classes), ``classes`` (...).

    >>> loss, d = cross_entropy(np.zeros((1, 2)), np.array([1]))
    >>> round(loss, 4), d.tolist()
    (0.6931, [[0.5, -0.5]])
    """
    at = np.expand_dims(classes, -1)
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    d_logits = np.exp(log_p)
    np.put_along_axis(d_logits, at, np.take_along_axis(d_logits, at, -1) - 1, -1)
    return -float(np.take_along_axis(log_p, at, -1).mean()), d_logits / classes.size


def squared_error(y: Floats, wanted: Floats) -> tuple[float, Floats]:
    """Return the mean of (y − wanted)², and d_y.

    >>> squared_error(np.array([1.0, 3.0]), np.array([1.0, 1.0]))
    (2.0, array([0., 2.]))
    """
    off = y - wanted
    return float(np.mean(off**2)), 2 * off / off.size


class Optimizer(Protocol):
    """Moves parameters, in place, against their gradients."""

    def step(self, parameters: Parameters, gradients: Parameters) -> None: ...


@dataclass(slots=True)
class SGD:
    """Plain gradient descent: every number moves by −learning_rate times its gradient."""

    learning_rate: float

    def step(self, parameters: Parameters, gradients: Parameters) -> None:
        for name, gradient in gradients.items():
            parameters[name] -= self.learning_rate * gradient


@dataclass(slots=True)
class Adam:
    """Adam: every number moves by about learning_rate, whatever the size of its gradient.

    Kingma & Ba 2015, Algorithm 1, with its defaults.

    >>> W = {"W": np.array([1.0])}
    >>> Adam(0.1).step(W, {"W": np.array([1e-3])})
    >>> W["W"].round(4)
    array([0.9])
    """

    learning_rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    t: int = field(default=0, init=False)
    mean: Parameters = field(default_factory=dict, init=False)
    square: Parameters = field(default_factory=dict, init=False)

    def step(self, parameters: Parameters, gradients: Parameters) -> None:
        self.t += 1
        for name, g in gradients.items():
            m = self.beta1 * self.mean.get(name, 0) + (1 - self.beta1) * g
            v = self.beta2 * self.square.get(name, 0) + (1 - self.beta2) * g**2
            self.mean[name], self.square[name] = m, v
            unbiased = np.sqrt(v / (1 - self.beta2**self.t)) + self.epsilon
            parameters[name] -= self.learning_rate * (m / (1 - self.beta1**self.t)) / unbiased


def train(
    parameters: Parameters,
    loss: Loss,
    optimizer: Optimizer,
    n_steps: int,
    progress: Callable[[float], object] | None = None,
) -> NDArray[np.float64]:
    """Train ``parameters`` in place and return the loss before each step, (n_steps,).

    ``loss(parameters, step)`` returns it with the gradients of what is to be trained: a name it leaves out
    stays as it is. A loss that diverges is reported, as ∞ or NaN. ``progress`` is told the fraction done.

    >>> def loss(parameters, step):
    ...     loss, d = squared_error(parameters["b"], np.array([3.0]))
    ...     return loss, {"b": d}
    >>> b = {"b": np.zeros(1)}
    >>> train(b, loss, SGD(0.25), 3), b["b"]
    (array([9.    , 2.25  , 0.5625]), array([2.625]))
    """
    losses = np.empty(n_steps)
    with np.errstate(all="ignore"), one_blas_thread():  # the products are small; ∞ and NaN are results here
        for step in range(n_steps):
            losses[step], gradients = loss(parameters, step)
            optimizer.step(parameters, gradients)
            if progress is not None:
                progress((step + 1) / n_steps)
    return losses
