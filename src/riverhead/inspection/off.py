"""If off: how far the odds of the next token move when one head hands over nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riverhead.transformer import Model

__all__ = ["if_off_nats", "kl_nats"]


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
    batch = np.tile(token_ids, (1 + len(heads), 1))
    run = model.run(batch, without=[[], *([head] for head in heads)])
    logits = run.logits([len(token_ids) - 1])[:, 0]  # (1 + n_heads, vocabulary)
    return np.exp(_log_odds(logits[0])), kl_nats(logits[0], logits[1:])


def _log_odds(logits: ArrayLike) -> NDArray[np.float64]:
    wide = np.asarray(logits, np.float64)
    below = wide - wide.max(axis=-1, keepdims=True)  # so that no exponential overflows
    odds: NDArray[np.float64] = below - np.log(np.exp(below).sum(axis=-1, keepdims=True))
    return odds
