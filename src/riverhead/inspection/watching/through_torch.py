"""Torch code that calls attention itself: `F.scaled_dot_product_attention` and what stands beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from riverhead.inspection.watching import check, projected
from riverhead.inspection.watching.given import Given

if TYPE_CHECKING:
    from torch import Tensor, nn

    from riverhead.inspection.watching.recorder import Recorder

__all__ = ["aside", "watching"]


@contextmanager
def watching(recorder: Recorder) -> Iterator[None]:
    """While it lasts, record the attention functions that modules of the model call.

    https://docs.pytorch.org/docs/stable/torch.overrides.html#torch.overrides.TorchFunctionMode
    """
    with _mode()(recorder) as recorder.mode:
        yield


@contextmanager
def aside(recorder: Recorder) -> Iterator[None]:
    """Take the mode off: that one is on would turn torch's fast path off, and compile flex attention anew."""
    from torch.overrides import _get_current_function_mode

    mode: Any = recorder.mode
    current = _get_current_function_mode()  # type: ignore[no-untyped-call]  # torch gives it no types
    if mode is None or current is not mode:
        yield
        return
    mode.__exit__(None, None, None)
    try:
        yield
    finally:
        mode.__enter__()


@cache  # one class for all watches: torch compiles anew for each that it meets
def _mode() -> Any:
    import torch
    from torch.overrides import TorchFunctionMode

    F = torch.nn.functional
    takes: dict[Any, Callable[..., None]] = {
        F.scaled_dot_product_attention: _sdpa,
        F.multi_head_attention_forward: _multi_head,
    }

    class Mode(TorchFunctionMode):
        def __init__(self, recorder: Recorder) -> None:
            super().__init__()
            self.recorder = recorder

        def __torch_function__(
            self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
        ) -> Any:
            kwargs, take, module = kwargs or {}, takes.get(func), self.recorder.running
            out = func(*args, **kwargs)
            if take is not None and module is not None and self.recorder.listens(module):
                take(self.recorder, module, out, *args, **kwargs)
            return out

    return Mode


def _sdpa(
    recorder: Recorder,
    module: nn.Module,
    out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> None:
    q, k, v, out = (_with_heads(x.detach()) for x in (query, key, value, out))
    call = Given(
        q,
        k,
        v,
        scale=q.size(-1) ** -0.5 if scale is None else scale,
        causal=is_causal,  # whose first query sees the first key
        dropout=dropout_p,
    )
    mask = attn_mask
    if mask is not None and query.ndim == 3 and mask.ndim == 3:
        mask = mask.unsqueeze(-3)

    def far(read: Given) -> float:
        at = check.sample(read)
        ours, sees = check.mixed(read, at)
        return check.compared(ours, out[..., at, :], sees)

    recorder.take(module, "F.scaled_dot_product_attention", call, mask, far)


def _with_heads(x: Tensor) -> Tensor:
    """(B, T, d) is a batch of one head."""
    return x.unsqueeze(-3) if not x.is_nested and x.ndim == 3 else x


def _multi_head(recorder: Recorder, module: nn.Module, out: Any, *args: Any, **kwargs: Any) -> None:
    weights = projected.of_call(args, kwargs)
    projected.take(recorder, module, "F.multi_head_attention_forward", weights, out[0])
