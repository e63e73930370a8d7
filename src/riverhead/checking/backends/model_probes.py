"""What a whole model does, on a few tokens: padding, packed texts, a cache, weights that are asked for."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

from riverhead.checking.backends.backend import Backend
from riverhead.checking.backends.cells import NOTHING, Cell
from riverhead.checking.backends.of_model import Opened, called
from riverhead.checking.backends.probes import which_mask
from riverhead.checking.rules.running.raised import described

__all__ = ["model_probes"]

FIRST, SECOND = (5, 9, 13), (7, 3, 11, 4)  # two texts, of tokens that a tiny vocabulary has too
SAME = 1e-4  # of the largest number: float32 rounding, over a few layers
PADDING = 3


def model_probes(model: Opened) -> Mapping[str, Callable[[Backend], Cell]]:
    """Return the measurements of a model by name; each is asked of the way that a backend is named for."""

    def of(probe: Callable[[Any], Cell]) -> Callable[[Backend], Cell]:
        def asked(backend: Backend) -> Cell:
            import torch

            try:
                with torch.no_grad():
                    return probe(model.models[backend.way])
            except Exception as raised:  # noqa: BLE001 - it is somebody's code
                return Cell("refused", says=described(raised))

        return asked

    def raw_boolean(backend: Backend) -> Cell:
        return which_mask(lambda q, k, v, keep: called(model.first, backend.way, q, k, v, keep))

    return {
        "own_scale": lambda _: own_scale(model),
        "raw_boolean": raw_boolean,
        "padded_right": of(lambda m: padded(m, left=False)),
        "padded_left": of(lambda m: padded(m, left=True)),
        "padded_left_placed": of(lambda m: padded(m, left=True, placed=True)),
        "all_padded": of(all_padded),
        "packed": of(lambda m: packed(m, use_cache=False)),
        "packed_cache": of(lambda m: packed(m)),
        "packed_mask": of(lambda m: packed(m, mask=True, use_cache=False)),
        "cached": of(cached),
        "asked_weights": of(asked_weights),
    }


def own_scale(model: Opened) -> Cell:
    """The scale that the model's module hands over, beside 1/√d_k."""
    scaling, width = model.first.scaling, model.first.width
    if scaling is None or math.isclose(scaling, width**-0.5):
        return Cell("1/√d_k")
    return Cell(f"{scaling:.4g}", says=f"its heads are {width} wide: 1/√d_k is {width**-0.5:.4g}")


def padded(model: Any, *, left: bool, placed: bool = False) -> Cell:
    """Whether a text beside padding gives what it gives alone; ``placed``: with position_ids."""
    import torch

    if placed and not _takes(model, "position_ids"):
        return NOTHING
    zeros, ones = [0] * PADDING, [1] * len(SECOND)
    ids = torch.tensor([[*zeros, *SECOND] if left else [*SECOND, *zeros]])
    mask = torch.tensor([[*zeros, *ones] if left else [*ones, *zeros]])
    more = {"position_ids": (mask.cumsum(-1) - 1).clamp(min=0)} if placed else {}
    rows = _read(model, ids, attention_mask=mask, **more)[0]
    found = rows[PADDING:] if left else rows[: len(SECOND)]
    unplaced = left and not placed
    says = "The padding is counted as places: give position_ids." if unplaced else "Padding changes nothing."
    cell = _as_alone(model, found, "moved", "weak" if unplaced else "broken", says)
    return cell if rows.isfinite().all() else Cell(f"{cell.text}; NaN in the padding", "broken", NUMBERS)


def all_padded(model: Any) -> Cell:
    """What a sample without a single token gives, and whether the sample beside it notices."""
    import torch

    ids = torch.tensor([[*SECOND], [0] * len(SECOND)])
    mask = torch.tensor([[1] * len(SECOND), [0] * len(SECOND)])
    rows = _read(model, ids, attention_mask=mask)
    beside = _as_alone(model, rows[0], "moved")
    if beside.standing:
        return beside
    return Cell("finite") if rows[1].isfinite().all() else Cell("NaN", "broken", NUMBERS)


def packed(model: Any, *, mask: bool = False, **more: Any) -> Cell:
    """Whether two texts in one row, each with positions from 0, see each other."""
    import torch

    if not _takes(model, "position_ids") or not _is_causal(model):
        return NOTHING
    ids = torch.tensor([[*FIRST, *SECOND]])
    places = torch.tensor([[*range(len(FIRST)), *range(len(SECOND))]])
    beside = {"attention_mask": torch.ones_like(ids)} if mask else {}
    rows = _read(model, ids, position_ids=places, **beside, **more)[0, len(FIRST) :]
    return _as_alone(model, rows, "leaks", "weak", APART)


def cached(model: Any) -> Cell:
    """Whether tokens read after a cache give the rows that they give in one go."""
    import torch

    if not _is_causal(model):
        return NOTHING
    ids, n = torch.tensor([[*SECOND]]), 2
    kept = getattr(model(input_ids=ids[:, :n], use_cache=True), "past_key_values", None)
    if kept is None:
        return NOTHING
    rows = _read(model, ids[:, n:], past_key_values=kept)[0]
    return _as_alone(
        model, rows, "apart", says="A step with a cache gives the row of the whole text.", skip=n
    )


def asked_weights(model: Any) -> Cell:
    """What comes back where the weights are asked for in the call."""
    import torch

    given = getattr(model(input_ids=torch.tensor([[*SECOND]]), output_attentions=True), "attentions", None)
    if given is None or not len(given) or given[0] is None:
        return Cell("nothing", "weak", "It is asked for weights, hands back none, and says nothing.")
    return Cell("per head")


NUMBERS = "A query that may attend to no key gives numbers."
APART = "Places that start again do not tell it that another text begins: a mask has to."


def _as_alone(
    model: Any,
    rows: Any,
    otherwise: str,
    standing: Any = "broken",
    says: str = "Padding changes nothing.",
    skip: int = 0,
) -> Cell:
    """Whether rows are those that the second text gives by itself, and how far they are from them."""
    import torch

    alone = _read(model, torch.tensor([[*SECOND]]))[0, skip:]
    apart = float((rows - alone).abs().max() / alone.abs().max())
    if math.isnan(apart):
        return Cell("NaN", "broken", NUMBERS)
    return Cell("the same") if apart < SAME else Cell(f"{otherwise} {apart:.2g}", standing, says)


def _read(model: Any, ids: Any, **more: Any) -> Any:
    return model(input_ids=ids, **more).last_hidden_state


def _is_causal(model: Any) -> bool:
    """Whether the last token leaves the first row as it is."""
    import torch

    one, two = (_read(model, torch.tensor([[*SECOND[:-1], last]]))[0, 0] for last in (SECOND[-1], FIRST[0]))
    return bool((one == two).all())


def _takes(model: Any, name: str) -> bool:
    return name in inspect.signature(model.forward).parameters
