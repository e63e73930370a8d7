"""What no rule asks of a backend: how far from exact it is, what its masks, its dropout do, what it holds."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.backends.cells import NOTHING, Cell, Standing
from riverhead.checking.rules.adapting.wants import tensor_bytes
from riverhead.checking.rules.call import Call
from riverhead.checking.rules.judge import differ, tolerance
from riverhead.checking.rules.pipeline import follow
from riverhead.checking.rules.running.raised import described
from riverhead.core import attention

__all__ = ["PROBES", "which_mask"]

Attend = Callable[..., Any]
SHAPE = (2, 3, 129, 64)  # B, H, T, d: beyond a block of 128
SMALL = (1, 2, 5, 4)
LENGTHS = (1024, 2048, 4096)
BETWEEN = 3.0  # twice the length takes twice the bytes, or four times
MASKS: Mapping[str, Standing] = {"added": "weak", "ignored": "broken"}
MASKS_SAY = {
    "added": "Its numbers are added to the scores: nothing is hidden, and nothing is said.",
    "ignored": "What a mask hides gets the weight 0.",
}


def error(dtype: str) -> Callable[[Attend, bool], Cell]:
    """Return a probe of the largest error in units of the dtype's eps, relative to the largest output."""

    def asked(attend: Attend, drops: bool) -> Cell:
        import torch

        kind = getattr(torch, dtype)
        q, k, v = (x.to(kind) for x in _drawn(SHAPE))
        try:
            found = _first(attend(q, k, v)).double().numpy()
        except Exception as raised:  # noqa: BLE001 - it is somebody's code
            return Cell("refused", says=described(raised))
        exact = attention(*(x.double().numpy() for x in (q, k, v))).out  # of the rounded inputs
        worst = np.abs(found - exact).max() / np.abs(exact).max() / torch.finfo(kind).eps
        return Cell(f"{worst:.2g} eps")

    return asked


def memory(attend: Attend, drops: bool) -> Cell:
    """Whether the most bytes held at once grow with T or with T², in float32."""
    peaks = []
    for T in LENGTHS:
        peaks.append(tensor_bytes(partial(attend, *_drawn((1, 1, T, 64))))[1])
    squared = peaks[2] - peaks[1] > BETWEEN * (peaks[1] - peaks[0])
    T, share = LENGTHS[-1], peaks[-1] / (4 * LENGTHS[-1] ** 2)
    says = f"at T = {T} it holds {share:.2g} times a T × T matrix of float32"
    return Cell("T²" if squared else "T", says=says)


def dropout(attend: Attend, drops: bool) -> Cell:
    """Whether a dropout is still on where nothing is trained."""
    if "dropout_p" not in _parameters(attend):
        return NOTHING
    q, k, v = _drawn(SHAPE)
    try:
        with_dropout = _first(attend(q, k, v, dropout_p=0.5))
    except Exception as raised:  # noqa: BLE001 - it is somebody's code
        return Cell("refused", says=described(raised))
    if np.allclose(with_dropout.numpy(), _first(attend(q, k, v)).numpy(), atol=1e-5):
        return Cell("nothing")
    return Cell(
        "weights", "weak", "It knows nothing of training: whoever calls it has to pass 0 in evaluation."
    )


def mask_in_floats(hidden: float, visible: float) -> Callable[[Attend, bool], Cell]:
    """Return a probe of a mask in floats: which of the ways to read it is taken."""

    def asked(attend: Attend, drops: bool) -> Cell:
        if "attn_mask" not in _parameters(attend):
            return NOTHING
        return which_mask(lambda q, k, v, mask: attend(q, k, v, attn_mask=mask), hidden, visible)

    return asked


def which_mask(ask: Callable[..., Any], hidden: float = False, visible: float = True) -> Cell:
    """Return what a mask that holds these two numbers does: it hides, or is added to the scores."""
    import torch

    keep = _keep()
    given = np.where(keep, visible, hidden)
    mask = torch.from_numpy(given if given.dtype == bool else given.astype(np.float32))
    ways: dict[str, dict[str, NDArray[Any]]] = {
        "hides": {"mask": keep}, "hides the others": {"mask": ~keep},
        "added": {"bias": given.astype(float)}, "ignored": {},
    }  # fmt: skip
    if hidden == -math.inf:
        del ways["hides the others"]
    cell = _which(lambda q, k, v: ask(q, k, v, mask), ways)
    return Cell(cell.text, MASKS.get(cell.text, cell.standing), MASKS_SAY.get(cell.text, cell.says))


def mask_and_causal(attend: Attend, drops: bool) -> Cell:
    """What hides where both are given."""
    if not {"attn_mask", "is_causal"} <= _parameters(attend):
        return NOTHING
    import torch

    keep = _keep()
    past = np.tril(np.ones_like(keep))
    given = torch.from_numpy(~keep if drops else keep)
    ways = {
        "both": {"mask": keep & past},
        "the mask": {"mask": keep},
        "causal": {"mask": past},
    }
    cell = _which(lambda q, k, v: attend(q, k, v, attn_mask=given, is_causal=True), ways)
    if cell.text in ("both", "refused"):
        return cell
    return Cell(
        cell.text, "weak", "is_causal says that the mask is the causal one: another beside it is lost."
    )


def _which(ask: Callable[[Any, Any, Any], Any], ways: Mapping[str, Mapping[str, NDArray[Any]]]) -> Cell:
    """The first way that gives what is found; an exception is a refusal."""
    q, k, v = _drawn(SMALL)
    try:
        found = _first(ask(q, k, v)).numpy()
    except Exception as raised:  # noqa: BLE001 - it is somebody's code
        return Cell("refused", says=described(raised))
    arrays = dict(zip("qkv", (x.double().numpy() for x in (q, k, v)), strict=True))
    for name, more in ways.items():
        right = follow(Call({**arrays, **more})).out
        if differ(found, right, tolerance(right, found.dtype)) is None:
            return Cell(name)
    return Cell("otherwise", "broken", "It is none of the ways that are known.")


def _keep() -> NDArray[np.bool_]:
    """A mask that leaves each query some keys, some of them later ones, and the first."""
    T = SMALL[2]
    keep: NDArray[np.bool_] = np.indices((T, T)).sum(0) % 2 == 0
    keep[:, 0] = True
    return keep


def _drawn(shape: tuple[int, ...]) -> tuple[Any, Any, Any]:
    """q, k, v in float32, the same on any machine."""
    import torch

    draw = np.random.Generator(np.random.PCG64(8)).standard_normal
    q, k, v = (torch.from_numpy(draw(shape)).float() for _ in range(3))
    return q, k, v


def _first(result: Any) -> Any:
    return (result[0] if isinstance(result, tuple) else result).detach()


def _parameters(attend: Attend) -> set[str]:
    return set(inspect.signature(attend).parameters)


# By name; each is given the function, and whether True in its mask hides.
PROBES: Mapping[str, Callable[[Attend, bool], Cell]] = {
    **{f"error_{dtype}": error(dtype) for dtype in ("float32", "float16", "bfloat16")},
    "memory": memory,
    "dropout": dropout,
    "mask_added": mask_in_floats(-math.inf, 0.0),
    "mask_numbers": mask_in_floats(0.0, 1.0),
    "mask_and_causal": mask_and_causal,
}
