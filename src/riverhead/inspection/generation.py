"""Watch a model generate: token by token, the KV cache as it fills, and where each new token looked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.core import AttentionMap
from riverhead.core.cache import KVCache
from riverhead.inspection.continuation import CacheBytes, Continuation, Look, Step
from riverhead.inspection.habit import BY_PLACE, Habit, Say, habit_of, silent
from riverhead.transformer import Generated, Model, head_name
from riverhead.transformer.generate import Prompt, generate, prompt_ids

__all__ = ["continuation", "watch_generation"]

N_LOOKS = 3

Array = NDArray[np.float32]


def watch_generation(
    model: Model, prompt: Prompt, *, max_tokens: int = 16, say: Say = silent, **options: Any
) -> Iterator[Step]:
    """Continue ``prompt`` as `Model.generate` does, with its ``options``, and watch each step.

    The weights are those of the query each new token comes from, in every layer and head; the cache is the
    one the model reads. ``say`` is told what is being measured. Raises `InputError` at once for what cannot
    be generated from, and for a model that predicts no next token.
    """
    rows: list[Array] = []  # layer by layer, (H, T_k): what the last query gives each key

    def see(layer: int, A: AttentionMap) -> None:
        rows.append(A[0, :, -1, :])

    cache = model.new_cache()
    tokens = generate(model, prompt, max_tokens=max_tokens, cache=cache, see=see, **options)
    ids = prompt_ids(model, prompt)
    habits = _Habits(model, len(ids) + max_tokens, say)
    return _steps(model, ids, tokens, cache, rows, habits)


def continuation(model: Model, prompt: Prompt, steps: Iterable[Step]) -> Continuation:
    """Put the ``steps`` that were watched together, as one thing to show."""
    pieces = model.tokenizer.pieces(prompt_ids(model, prompt))
    return Continuation(model.title, model.config, pieces, tuple(steps))


def _steps(
    model: Model,
    ids: list[int],
    tokens: Iterator[Generated],
    cache: list[KVCache],
    rows: list[Array],
    habits: _Habits,
) -> Iterator[Step]:
    n_before = 0
    for token in tokens:
        T = len(ids)
        pieces = model.tokenizer.pieces([*ids, token.token_id])
        weights = _aligned(rows, T)
        rows.clear()
        held_bytes = sum(layer.nbytes for layer in cache)
        yield Step(
            position=T,
            token_id=token.token_id,
            token=pieces[-1],
            text=token.text,
            probability=token.probability,
            stop=token.stop,
            query=pieces[-2],
            **_looks(weights, habits.of(T - 1), pieces),
            cache=CacheBytes.of(model.config, T, T - n_before, held_bytes),
        )
        n_before = T
        ids = [*ids, token.token_id]


def _aligned(rows: list[Array], T: int) -> Array:
    """Stack the rows of all layers, (n_layers, H, T); what a window has forgotten gets 0."""
    weights = np.zeros((len(rows), len(rows[0]), T), np.float32)
    for layer, row in zip(weights, rows, strict=True):
        layer[:, T - row.shape[-1] :] = row
    return weights


def _looks(weights: Array, habit: Array, pieces: tuple[str, ...]) -> dict[str, Any]:
    """Find what a query, the last of T tokens, looked at; ``weights`` and ``habit`` are (n_layers, H, T)."""
    T = weights.shape[-1]
    mean, usual = (x.mean(axis=(0, 1), dtype=np.float64) for x in (weights, habit))
    others = slice(1, T - 1)  # neither the first token nor the query itself
    likeliest = 1 + np.argsort(-mean[others], kind="stable")[:N_LOOKS]
    looks = tuple(Look(int(j), pieces[j], float(mean[j]), float(usual[j])) for j in likeliest)
    return {
        "first": Look(0, pieces[0], float(mean[0])),
        "itself": Look(T - 1, pieces[T - 1], float(mean[T - 1])) if T > 1 else None,
        "looks": looks,
        "head": _beyond(weights, habit, others, pieces),
    }


def _beyond(weights: Array, habit: Array, others: slice, pieces: tuple[str, ...]) -> Look | None:
    """Find the one head with most weight beyond its habit on one of the keys ``others``."""
    beyond = (weights - habit)[..., others]
    if not beyond.size or beyond.max() <= 0:
        return None
    layer, head, at = map(int, np.unravel_index(beyond.argmax(), beyond.shape))
    key = others.start + at
    name, where = head_name(layer, head), (layer, head, key)
    return Look(key, pieces[key], float(weights[where]), float(habit[where]), name)


class _Habits:
    """The habit of every place a text of ``n_tokens`` has: by place where that is known, else by distance."""

    def __init__(self, model: Model, n_tokens: int, say: Say) -> None:
        self._near = habit_of(model, min(BY_PLACE, model.config.context_length), say)
        self._far: Habit | None = habit_of(model, n_tokens, say) if n_tokens > self._near.T else None

    def of(self, query: int) -> Array:
        """Return the habit of ``query`` for each key it sees, (n_layers, H, query + 1)."""
        habit = self._near if query < self._near.T or self._far is None else self._far
        return habit.on(np.array(query), np.arange(query + 1))
