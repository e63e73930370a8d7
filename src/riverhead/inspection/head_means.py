"""What every head does with a text on average, from the one pass that reads it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from riverhead.core import AttentionMap
from riverhead.inspection.copies import LayerWeights, copies, on_copies
from riverhead.inspection.habit import NEAR, Habit
from riverhead.transformer import HeadName, Model

__all__ = ["HeadMeans", "head_means"]

TOP = 8  # largest weights of each query that the pass keeps

Array = NDArray[np.float32]
Means = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class HeadMeans:
    """Means over the queries of a text, (n_layers, H) by name; NaN where there is no query that can.

    ``n_copied`` queries have an earlier copy of their token. A surprise may be too small by up to ``slack``
    (n_layers, H): a key beyond the largest weights that were kept may surprise more.
    """

    by_name: dict[str, Means]
    n_copied: int
    slack: Means


def head_means(
    model: Model,
    token_ids: NDArray[np.intp],
    habit: Habit | None = None,
    *,
    off: Collection[HeadName] = (),
    progress: Callable[[int, int], object] | None = None,
) -> HeadMeans:
    """Read ``token_ids`` (T,) once and return each head's means; ``progress`` is told (layers done, of all).

    No T × T is made: each layer's statistics come with its output, the rest from its q, k and log-sum-exp.
    The first token is apart, as many heads rest on it: its own query counts nowhere (in a causal model it has
    no choice), it is no copy, and the previous and near tokens are those of queries that have it farther off.
    Without a ``habit`` there is no surprise.
    """
    places, T = [group + 1 for group in copies(token_ids[1:])], len(token_ids)
    apart = np.isin(token_ids, list(model.tokenizer.special_ids))
    apart[0] = True
    n_copied = sum(group.shape[0] * (group.shape[1] - 1) for group in places)
    layers: list[dict[str, Means]] = []
    qk: list[Array] = []

    def watch(layer: int, q: Array, k: Array, v: Array) -> None:
        qk[:] = q[0], k[0]

    def see(layer: int, A: AttentionMap) -> None:
        q, k = qk
        options = model.config.attention(layer)
        weights = LayerWeights.of(q, k, A.lse[0], options)
        found = {"entropy_nats": _mean(A.entropy_nats[0]), "mean_distance": _mean(A.mean_distance[0])}
        found["entropy_share"] = found["entropy_nats"] / max(_most_entropy(T, **options), 1e-9)
        found |= _places(A, weights, options["causal"])
        for name, behind in (("duplicate_weight", 0), ("induction_weight", 1)):
            found[name] = on_copies(weights, places, behind) / (n_copied or np.nan)
        unknown = np.full(A.shape[1], np.nan)
        found["surprise"], found["slack"] = (
            _surprise(A[0], habit, layer, apart) if habit else (unknown, unknown)
        )
        layers.append(found)
        if progress is not None:
            progress(len(layers), model.config.n_layers)

    model.run(token_ids[None], without=[off], watch=watch, see=see, top=TOP if habit else 0)
    by_name = {name: np.array([found[name] for found in layers]) for name in layers[0]}
    return HeadMeans(by_name, n_copied, by_name.pop("slack"))


def _mean(values: Array, first: int = 1) -> Means:
    """The mean (H,) over queries from ``first`` on."""
    n = values.shape[-1] - first
    mean: Means = values[:, first:].sum(axis=-1, dtype=np.float64) / (n if n > 0 else np.nan)
    return mean


def _most_entropy(T: int, *, causal: bool, window: int | None, scale: float) -> float:
    """The mean over queries of the largest entropy there can be, ln of the number of keys they see."""
    i, reach = np.arange(1, T), window or T
    behind, ahead = np.minimum(i + 1, reach), 0 if causal else np.minimum(T - 1 - i, reach - 1)
    return float(np.log(behind + ahead).mean())


def _places(A: AttentionMap, weights: LayerWeights, causal: bool) -> dict[str, Means]:
    """The mean weights on places: the first token, the one before, oneself, all near ones; both ways also
    on the one after and on the last token."""
    T = A.shape[-1]
    found = {
        "first_weight": _mean(weights.along(slice(T), slice(1))),
        "previous_weight": _mean(A.previous_weight[0], 2),
        "self_weight": _mean(A.self_weight[0]),
    }
    if not causal:
        found["next_weight"] = _mean(weights.along(slice(T - 1), slice(1, T)))
        found["last_weight"] = _mean(weights.along(slice(T), slice(T - 1, T)))
    near = A.self_weight[0] + A.previous_weight[0]
    for back in range(2, min(NEAR + 1, T)):
        near[:, back:] += weights.along(slice(back, T), slice(T - back))
    for ahead in range(1, 0 if causal else min(NEAR + 1, T)):
        near[:, :-ahead] += weights.along(slice(T - ahead), slice(ahead, T))
    found["near_weight"] = _mean(near, NEAR + 1)
    return found


def _surprise(A: AttentionMap, habit: Habit, layer: int, apart: NDArray[np.bool_]) -> tuple[Means, Means]:
    """The mean over queries of the largest weight − habit, and how much larger it might be, (H,) each.

    Oneself and the keys ``apart``, the first token and special ones, are left out; only the largest weights
    were kept, and no other key can surprise by more than the smallest of them.
    """
    queries = np.arange(A.shape[-2])[:, None]  # (T, 1)
    found = []
    for head, (keys, weights) in enumerate(zip(A.top_key, A.top_weight, strict=True)):  # (T, TOP) each
        beyond = weights - habit.on(queries, keys, (layer, head))
        beyond[(keys < 0) | apart[keys] | (keys == queries)] = -np.inf  # −1 stands where there is no key
        largest = beyond.max(axis=-1)
        asked = np.isfinite(largest)
        asked[0] = False
        more = (keys[:, -1] >= 0) & (len(queries) > TOP)  # there may be keys that were not kept
        slack = np.where(more, np.maximum(weights[:, -1] - largest, 0), 0)
        both = largest[asked], slack[asked]
        found.append([x.sum(dtype=np.float64) / (len(x) or np.nan) for x in both])
    surprises, slacks = np.array(found).T
    return surprises, slacks
