"""Who called attention, what of it is asked for, and the record that is made of it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from riverhead.errors import InputError, ModelError
from riverhead.inspection.watching import check, measure
from riverhead.inspection.watching.given import Given
from riverhead.inspection.watching.heads import Choice
from riverhead.inspection.watching.masks import Masks
from riverhead.inspection.watching.seen import Call, Seen

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = ["Keep", "Recorder"]

Keep = Literal["statistics", "map"]
Check = Callable[[Given], float | None]  # how far a reading is from the function's own output; None: unknown


class Recorder:
    """The state of one watch: the modules of its model, those that are running, and what was seen."""

    def __init__(
        self,
        model: nn.Module,
        choice: Choice,
        *,
        top: int,
        keep: Keep,
        limit_bytes: int,
        say: Callable[[str], object] | None,
    ) -> None:
        self.model, self.seen = model, Seen(type(model).__name__)
        self._names = {id(module): name for name, module in model.named_modules()}
        self._choice, self._top, self._keep, self._limit = choice, top, keep, limit_bytes
        self._say = say or logging.getLogger("riverhead").warning
        self._said = False
        self._thread = threading.get_ident()
        self._running: list[tuple[nn.Module, int]] = []  # with the number of calls there were when it began
        self._layers: dict[str, int] = {}
        self._masks = Masks(own=keep == "map")
        self.worker = ThreadPoolExecutor(1, "riverhead.watch")
        self.mode: Any = None  # the torch function mode of the watch, while it is on
        self.called = False  # whether any module of the model ran
        self.n_calls = 0  # attention calls met, watched or not
        self.busy = False  # inside an attention function whose own calls are part of it

    # which module is running

    def enters(self, module: nn.Module, _: Any = None) -> None:
        """A module begins; those of other models are none of our business."""
        if id(module) not in self._names:
            return
        if threading.get_ident() != self._thread:
            raise InputError(
                "the model was called from another thread; open the watch in the thread that calls it"
            )
        if module is self.model:  # what a swallowed interruption left behind
            self._running.clear()
        self.called = True
        self._running.append((module, self.n_calls))

    def leaves(self, module: nn.Module, *_: Any) -> None:
        """A module has ended; one that is called attention should have made a call."""
        if not self._running or self._running[-1][0] is not module:
            return
        before = self._running.pop()[1]
        if self.n_calls == before and type(module).__name__.endswith(("Attention", "Attn")):
            self.seen.unseen[self._names[id(module)]] = type(module).__name__

    @property
    def layers(self) -> tuple[int, ...]:
        """The numbers of the layers whose attention was called."""
        return tuple(sorted(self._layers.values()))

    def missed(self) -> list[str]:
        """Return the names of the heads that were asked for and not met."""
        return self._choice.missed()

    @property
    def running(self) -> nn.Module | None:
        """The innermost module of the model that is running."""
        return self._running[-1][0] if self._running else None

    def listens(self, module: nn.Module | None) -> bool:
        """Whether a call by ``module`` is to be recorded."""
        return not self.busy and module is not None and id(module) in self._names

    @contextmanager
    def inside(self) -> Iterator[None]:
        """While an attention function runs, the calls it makes are its own affair."""
        before, self.busy = self.busy, True
        try:
            yield
        finally:
            self.busy = before

    # what it did

    def take(
        self,
        module: nn.Module,
        function: str,
        call: Given,
        mask: Tensor | None,
        check_own: Check,
    ) -> None:
        """Record a call that was made; ``mask`` is boolean or added, ``check_own`` compares with its output.

        Raises `ModelError` for a call that cannot be read, `InputError` where no memory is left for it.
        """
        import torch

        self.n_calls += 1
        layer = self._layer(module)
        where = f"L{layer} ({self._names[id(module)] or 'the model itself'}, {type(module).__name__})"
        _refuse(call, where)
        heads = self._choice.of(layer, call.q.shape[-3])
        if not heads:
            return
        call = _as_computed(call)
        if not call.causal:
            call = replace(call, offset=call.shape[-1] - call.shape[-2])
        with torch.no_grad(), torch.autocast(call.q.device.type, enabled=False):
            call = call if mask is None else self._masks.read(call, mask.detach())
            if not call.dropout:
                _agrees(call, check_own, where, function)
            call = call.of_heads(heads)
            self._record(call, layer, module, function, heads)

    def _record(
        self,
        call: Given,
        layer: int,
        module: nn.Module,
        function: str,
        heads: tuple[int, ...],
    ) -> None:
        size = measure.bytes_of(call, self._top, map=self._keep == "map")
        self._afford(size, call)
        if self._keep == "map":
            kept, found = measure.mapped(call, self._top, self.worker)
        else:
            kept, found = None, measure.statistics(call, self._top, self.worker)
        sinks = None if call.sinks is None else call.sinks.detach().cpu().float().numpy()
        self.seen._add(
            Call(
                layer,
                module=self._names[id(module)],
                kind=type(module).__name__,
                function=function,
                heads=heads,
                shape=call.shape,
                spans=call.spans,
                statistics=found,
                sinks=sinks,
                notes=tuple(_remarks(call)),
                kept=kept,
                n_bytes=size,
            )
        )

    def _layer(self, module: nn.Module) -> int:
        """The module's own number where it has one that is free, else the next."""
        name = self._names[id(module)]
        if name not in self._layers:
            own: Any = getattr(module, "layer_idx", None)
            taken = self._layers.values()
            free = type(own) is int and own not in taken
            self._layers[name] = own if free else max(taken, default=-1) + 1
        return self._layers[name]

    def _afford(self, size: int, call: Given) -> None:
        total = self.seen.n_bytes + size
        shape = " × ".join(map(str, call.shape))
        if self._keep == "map" and not self._said:
            self._said = True
            self._say(
                f"riverhead.watch keeps q and k of each call: {size:,} bytes for this one, heads and weights "
                f"{shape}; at most {self._limit:,} bytes in all (limit_bytes)"
            )
        if total > self._limit:
            fewer = ", or keep='statistics'" if self._keep == "map" else ""
            raise InputError(
                f"the records would take {total:,} bytes with this call's {size:,}, {shape}; limit_bytes is "
                f"{self._limit:,}: raise it, watch fewer heads=, or call the model less in the block{fewer}"
            )


def _as_computed(call: Given) -> Given:
    """Under autocast the functions compute narrower than what they are given."""
    import torch

    kind = call.q.device.type
    if not torch.is_autocast_enabled(kind):
        return call
    dtype = torch.get_autocast_dtype(kind)
    q, k, v = (x.to(dtype) if x.dtype == torch.float32 else x for x in (call.q, call.k, call.v))
    return replace(call, q=q, k=k, v=v)


def _refuse(call: Given, where: str) -> None:
    """What holds no numbers that could be read."""
    import torch

    for name, x in (("q", call.q), ("k", call.k)):
        if x.is_nested or x.layout != torch.strided or x.device.type == "meta":
            kind = "nested" if x.is_nested else f"{x.layout}, on {x.device}"
            raise ModelError(
                f"{where}: {name} is {kind}; only strided tensors that hold numbers can be watched"
            )
        if not x.dtype.is_floating_point or x.element_size() < 2:
            raise ModelError(f"{where}: {name} is {x.dtype}; 16, 32 and 64 bit floats can be watched")
    if 0 in call.shape:
        raise ModelError(
            f"{where}: its weights are {call.shape}; with nothing in them there is nothing to see"
        )


def _agrees(call: Given, check_own: Check, where: str, function: str) -> None:
    far, limit = check_own(call), check.allowed(call, check.sample(call))
    if far is not None and far > limit:
        other = (
            "model.set_attn_implementation('eager') or 'sdpa' may make it one that can"
            if "transformers" in function
            else "watch others with heads="
        )
        raise ModelError(
            f"{where}: {function} computes something else than softmax(scale · q kᵀ + mask) v as it was "
            f"read: rows computed again differ by {far:.2g} of their length, {limit:.2g} is allowed. This "
            f"attention cannot be watched; {other}"
        )


def _remarks(call: Given) -> Iterator[str]:
    if call.dropout:
        yield f"dropout {call.dropout:g} was on: the weights are those before it, and none was checked"
    if call.sinks is not None:
        yield "rows sum below 1: the rest goes to learned sinks, which are no key (row_sum has the sums)"
    if call.spans is not None:
        yield "padding was left out: each sequence's statistics are those of its own tokens"
