"""If off: how far the next-token odds, or else the final vectors, move when one head hands over nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riverhead.transformer import Model, Pass

__all__ = ["if_off_nats", "if_off_vector_change", "kl_nats", "vector_changes"]


def kl_nats(logits: ArrayLike, others: ArrayLike) -> NDArray[np.float64]:
    """Return KL(p ‖ q) in nats, (...), p the odds of ``logits`` (n,), q those of ``others`` (..., n).

    Kullback and Leibler 1951, "On Information and Sufficiency".

    >>> kl_nats(np.log([1.0, 1.0]), np.log([[1.0, 1.0], [1.0, 3.0]])).round(4)  # ½ ln(½ / ¼) + ½ ln(½ / ¾)
    array([0.    , 0.1438])
    """
    p, q = _log_odds(logits), _log_odds(others)
    nats: NDArray[np.float64] = np.sum(np.exp(p) * (p - q), axis=-1)
    return np.maximum(nats, 0)  # below 0 by rounding alone


def if_off_nats(
    model: Model, token_ids: NDArray[np.intp], heads: Sequence[tuple[int, int]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the next-token odds (vocabulary,) and how far they move without each head, in nats (n_heads,).

    ``token_ids`` is (T,); the odds are those after its last token. Raises `InputError` for a model that
    predicts no next token.
    """
    run = _each_off(model, token_ids, heads)
    logits = run.logits([len(token_ids) - 1])[:, 0]  # (1 + n_heads, vocabulary)
    return np.exp(_log_odds(logits[0])), kl_nats(logits[0], logits[1:])


def if_off_vector_change(
    model: Model, token_ids: NDArray[np.intp], heads: Sequence[tuple[int, int]]
) -> NDArray[np.float64]:
    """Return how far the final vectors of ``token_ids`` (T,) move without each head, (n_heads,), on average.

    It is the mean of `vector_changes` over the tokens, those that open and close the text included.
    """
    final = _each_off(model, token_ids, heads).final  # (1 + n_heads, T, d_model)
    mean: NDArray[np.float64] = vector_changes(final[0], final[1:]).mean(axis=-1)
    return mean


def vector_changes(x: ArrayLike, others: ArrayLike) -> NDArray[np.float64]:
    """Return ‖x′ − x‖ / ‖x‖ of each token, (..., T): x is (T, d_model), x′ in ``others`` (..., T, d_model).

    >>> vector_changes([[3.0, 4.0], [0.0, 2.0]], [[[3.0, 4.0], [0.0, 3.0]]])
    array([[0. , 0.5]])
    """
    wide = np.asarray(x, np.float64)
    moved = np.linalg.norm(np.asarray(others) - wide, axis=-1)
    changes: NDArray[np.float64] = moved / np.linalg.norm(wide, axis=-1)
    return changes


def _each_off(model: Model, token_ids: NDArray[np.intp], heads: Sequence[tuple[int, int]]) -> Pass:
    """Run the text with every head, and once more without each of ``heads``: 1 + n_heads items."""
    batch = np.tile(token_ids, (1 + len(heads), 1))
    return model.run(batch, without=[[], *([head] for head in heads)])


def _log_odds(logits: ArrayLike) -> NDArray[np.float64]:
    wide = np.asarray(logits, np.float64)
    below = wide - wide.max(axis=-1, keepdims=True)  # so that no exponential overflows
    odds: NDArray[np.float64] = below - np.log(np.exp(below).sum(axis=-1, keepdims=True))
    return odds
