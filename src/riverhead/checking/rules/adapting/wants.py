"""What is asked for beside the output: a gradient, the most memory that was held at once."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import process_time
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.adapting.layout import as_four, to_layout
from riverhead.checking.rules.adapting.returns import as_array
from riverhead.checking.rules.adapting.roles import INPUTS
from riverhead.checking.rules.call import Call
from riverhead.errors import InputError

if TYPE_CHECKING:
    from riverhead.checking.rules.adapting.attention import Handed, Way

__all__ = ["WANTS", "Made", "call_with", "tensor_bytes", "traced_bytes"]


@dataclass(frozen=True, slots=True)
class Made:
    """What a function returned; arrays that were made of it, in its own layout; facts."""

    result: Any
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)


Want: TypeAlias = "Callable[[Way, Call, Handed, Callable[[Any], Any], str], Made]"


def call_with(way: Way, values: Mapping[str, Any]) -> Any:
    """Call the function."""
    positions, names = way.roles.bind(values)
    return way.function(*positions, **names)


def plainly(way: Way, call: Call, handed: Handed, out_of: Callable[[Any], Any], layout: str) -> Made:
    """Call the function, and nothing else."""
    return Made(call_with(way, handed.values))


def gradient(way: Way, call: Call, handed: Handed, out_of: Callable[[Any], Any], layout: str) -> Made:
    """Return the gradient of (out · probe).sum(); zeros, and named, for what it does not reach."""
    if way.kind.name != "torch":
        raise InputError(f"{way.kind.words} have no gradient; torch tensors do")
    import torch

    leaves = {name: handed.values[name].requires_grad_() for name in INPUTS}
    values = handed.values | {name: leaf.clone() for name, leaf in leaves.items()}  # may be changed in place
    with torch.enable_grad():
        result = call_with(way, values)
        out = out_of(result)
        probe = to_layout(as_four(np.asarray(call.arrays["probe"], float)), layout)
        loss = (out * way.kind.give(probe, str(out.dtype).removeprefix("torch."))).sum()
    found = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
    grads = {
        f"d{name}": np.zeros(leaf.shape) if grad is None else as_array(grad)
        for (name, leaf), grad in zip(leaves.items(), found, strict=True)
    }
    none = [name for name, grad in zip(INPUTS, found, strict=True) if grad is None]
    return Made(result, grads, {"no_gradient": none})


def peak_bytes(way: Way, call: Call, handed: Handed, out_of: Callable[[Any], Any], layout: str) -> Made:
    """Measure the most memory held at once beyond the inputs, the output included."""

    def run() -> Any:
        return call_with(way, handed.values)

    started = process_time()
    result, peak = traced_bytes(run)
    cpu_seconds = process_time() - started
    if way.kind.name == "torch":  # whose memory Python does not see; what is made with NumPy inside, it does
        peak = max(peak, tensor_bytes(run)[1])
    return Made(result, facts={"peak_bytes": peak, "cpu_seconds": cpu_seconds})


def traced_bytes(run: Callable[[], Any]) -> tuple[Any, int]:
    """Run something; return its result and the peak of what Python and NumPy allocated for it.

    >>> traced_bytes(lambda: np.ones(10**6).sum() > 0)[1] // 10**6
    8
    """
    tracing = tracemalloc.is_tracing()
    if not tracing:
        tracemalloc.start(1)
    try:
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        result = run()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        if not tracing:
            tracemalloc.stop()
    return result, max(peak - before, 0)


def tensor_bytes(run: Callable[[], Any]) -> tuple[Any, int]:
    """Run something; return its result and the peak of what torch allocated for it on the CPU, exactly."""
    from torch.autograd.profiler import profile

    profiler: Any = profile(profile_memory=True, use_kineto=True)
    with quiet():
        profiler.__enter__()
    try:
        result = run()
    finally:
        with quiet():
            profiler.__exit__(None, None, None)
    events = profiler.kineto_results.events()
    steps = sorted((each.start_ns(), each.nbytes()) for each in events if each.name() == "[memory]")
    return result, int(np.cumsum([0, *(step for _, step in steps)]).max())


@contextmanager
def quiet() -> Iterator[None]:
    """Keep what C++ writes to standard error from being taken for what the function printed."""
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


WANTS: Mapping[str, Want] = {"": plainly, "gradient": gradient, "peak_bytes": peak_bytes}
