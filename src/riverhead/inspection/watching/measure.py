"""The statistics of one call: by the kernel on the CPU, and in torch where the tensors lie elsewhere."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.core import AttentionMap, kernel
from riverhead.inspection.watching import rows
from riverhead.inspection.watching.given import Given

__all__ = ["bytes_of", "mapped", "statistics"]

Statistics = dict[str, NDArray[Any]]
ROWS, KEYS = 7, 2  # numbers a query and a key that are kept


def bytes_of(given: Given, top: int, *, map: bool) -> int:
    """Return what keeping a call will take, known before any of it is; masks are shared, and not counted."""
    *lead, T_q, T_k = given.shape
    wide = 8 if given.q.element_size() == 8 else 4
    size = math.prod(lead) * (T_q * (ROWS * wide + top * (wide + 4)) + T_k * KEYS * wide)
    if not map:
        return size
    return size + given.q.nbytes + given.k.nbytes


def statistics(given: Given, top: int) -> Statistics:
    """Return every statistic of `attend` but ``out``, (..., H, T_q) and (..., H, T_k); padding has zeros."""
    if given.spans is None:
        return _run(given, top)
    whole: Statistics = {}
    for item, (low, high) in enumerate(given.spans):
        if low == high:
            continue
        for name, x in _run(given.of_span(item, low, high), top).items():
            blank = {"lse": -np.inf, "top_key": -1}.get(name, 0)
            shape = (*given.shape[:-1], *x.shape[3:])
            to = whole.setdefault(name, np.full(shape, blank, x.dtype))
            to[item, :, low:high] = np.where(x < 0, x, x + low) if name == "top_key" else x[0]
    return whole


def mapped(given: Given, top: int) -> tuple[AttentionMap, Statistics]:
    """Return the map of a call, over copies of its q and k, and its statistics."""
    found = _run(given, top)
    copies = {name: getattr(given, name).detach().cpu().clone() for name in ("q", "k")}
    others = {name: getattr(given, name) for name in ("mask", "bias", "sinks")}
    others = {name: None if x is None else x.cpu() for name, x in others.items()}
    own = replace(given, **copies, **others, v=given.v[..., :0].cpu())
    return AttentionMap.of(own.job(top), dict(found)), found


def _on_cpu(given: Given) -> bool:
    return given.q.device.type == "cpu"


def _run(given: Given, top: int) -> Statistics:
    import torch

    if not _on_cpu(given):
        found = {name: x.cpu().numpy() for name, x in rows.statistics(given, top).items()}
    else:
        found = kernel.run(given.job(top), threads=torch.get_num_threads())
        del found["out"]
    return found if top else {name: x for name, x in found.items() if not name.startswith("top_")}
