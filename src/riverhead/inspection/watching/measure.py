"""The statistics of one call: by the kernel on the CPU, and in torch where the tensors lie elsewhere."""

from __future__ import annotations

import math
import mmap
from concurrent.futures import Executor
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


def statistics(given: Given, top: int, worker: Executor) -> Statistics:
    """Return every statistic of `attend` but ``out``, (..., H, T_q) and (..., H, T_k); padding has zeros.

    The kernel runs in a thread of its own, and what is kept lies on pages of its own: memory taken and given
    back between the blocks of a running model would keep theirs from being used again, layer after layer.
    """
    if given.spans is None:
        return _set_apart(_run(given, top, worker))
    whole: Statistics = {}
    for item, (low, high) in enumerate(given.spans):
        if low == high:
            continue
        for name, x in _run(given.of_span(item, low, high), top, worker).items():
            blank = {"lse": -np.inf, "top_key": -1}.get(name, 0)
            shape = (*given.shape[:-1], *x.shape[3:])
            to = whole.setdefault(name, np.full(shape, blank, x.dtype))
            to[item, :, low:high] = np.where(x < 0, x, x + low) if name == "top_key" else x[0]
    return _set_apart(whole)


def mapped(given: Given, top: int, worker: Executor) -> tuple[AttentionMap, Statistics]:
    """Return the map of a call, over copies of its q and k, and its statistics."""
    found = _run(given, top, worker)
    copies = {name: getattr(given, name).detach().cpu().clone() for name in ("q", "k")}
    others = {name: getattr(given, name) for name in ("mask", "bias", "sinks")}
    others = {name: None if x is None else x.cpu() for name, x in others.items()}
    own = replace(given, **copies, **others, v=given.v[..., :0].cpu())
    return AttentionMap.of(own.job(top), dict(found)), found


def _set_apart(found: Statistics) -> Statistics:
    """Move what is kept to pages of its own."""
    pages = mmap.mmap(-1, max(1, sum(x.nbytes for x in found.values())))
    moved: Statistics = {}
    at = 0
    for name, x in sorted(found.items(), key=lambda item: -item[1].itemsize):  # so that each is aligned
        to = np.frombuffer(pages, x.dtype, x.size, at).reshape(x.shape)
        to[...] = x
        moved[name], at = to, at + x.nbytes
    return {name: moved[name] for name in found}


def _on_cpu(given: Given) -> bool:
    return given.q.device.type == "cpu"


def _run(given: Given, top: int, worker: Executor) -> Statistics:
    import torch

    if not _on_cpu(given):
        found = {name: x.cpu().numpy() for name, x in rows.statistics(given, top).items()}
    else:
        run = worker.submit(kernel.run, given.job(top), threads=torch.get_num_threads())
        found = {name: x for name, x in run.result().items() if name != "out"}
    return found if top else {name: x for name, x in found.items() if not name.startswith("top_")}
