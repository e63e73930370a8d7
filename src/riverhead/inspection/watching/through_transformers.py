"""transformers models: whatever function `AttentionInterface` hands them, with a record made beside it."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from riverhead.errors import ModelError
from riverhead.inspection.watching import check
from riverhead.inspection.watching.given import Given
from riverhead.inspection.watching.through_torch import aside

if TYPE_CHECKING:
    from torch import Tensor, nn

    from riverhead.inspection.watching.recorder import Recorder

__all__ = ["watching"]

Function = Callable[..., Any]


@contextmanager
def watching(recorder: Recorder) -> Iterator[None]:
    """While it lasts, record the attention functions that models look up by name.

    The name in a model's config stays what it is. So it gets the masks that belong to that name: under a
    name of one's own, registered in `AttentionInterface` but not in `AttentionMaskInterface`, padding would
    be attended to.

    https://huggingface.co/docs/transformers/attention_interface
    """
    library = sys.modules.get("transformers.modeling_utils")
    if library is None:  # so that no model of its is loaded
        yield
        return
    interface: Any = library.AttentionInterface
    looked_up = interface.get_interface

    @functools.wraps(looked_up)
    def get_interface(self: Any, attn_implementation: str, default: Function) -> Function:
        function = looked_up(self, attn_implementation, default)
        return _recorded(recorder, function, attn_implementation)

    interface.get_interface = get_interface
    try:
        yield
    finally:
        interface.get_interface = looked_up


def _recorded(recorder: Recorder, function: Function, name: str) -> Function:
    @functools.wraps(function)
    def attention(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
        if not recorder.listens(module):
            return function(module, *args, **kwargs)
        with aside(recorder), recorder.inside():
            result = function(module, *args, **kwargs)
        call, mask = _read(function, name, module, args, kwargs)

        def far(read: Given) -> float:
            at = check.sample(read)
            ours, sees = check.mixed(read, at)
            theirs = (
                result[0].detach().reshape(*result[0].shape[:2], read.q.shape[-3], -1)
            )  # (B, T_q, H, d_v)
            return check.compared(ours, theirs.transpose(1, 2)[:, :, at], sees)

        recorder.take(module, f"transformers {name}", call, mask, far)
        return result

    return attention


def _read(
    function: Function, name: str, module: nn.Module, args: Any, kwargs: Any
) -> tuple[Given, Tensor | None]:
    """The call as its function takes it; a mask goes along the keys, as far as they reach."""
    given = _arguments(function, module, args, kwargs)
    q, k, v = (given[n].detach() for n in ("query", "key", "value"))
    if q.ndim != 4:
        raise ModelError(
            f"{type(module).__name__}: its query is {tuple(q.shape)}; (B, H, T_q, d_k) can be watched"
        )
    T_q, T_k = q.shape[-2], k.shape[-2]
    mask, flash = _dense(given.get("attention_mask"), q, k), "flash" in name
    causal = given.get("is_causal")
    causal = getattr(module, "is_causal", True) if causal is None else causal
    scale, sinks, bias = (given.get(n) for n in ("scaling", "s_aux", "position_bias"))
    sinks = getattr(module, "sinks", None) if sinks is None else sinks
    only_causal = (mask is None or flash) and name not in ("eager", "flex_attention") and T_q > 1
    call = Given(
        q,
        k,
        v,
        scale=q.shape[-1] ** -0.5 if scale is None else float(scale),
        bias=None if bias is None else bias.detach(),
        causal=bool(causal) and only_causal,
        offset=T_k - T_q if flash else 0,  # as torch's is_causal has it, but for flash attention
        window=given.get("sliding_window") if flash else None,  # elsewhere the mask has it
        softcap=given.get("softcap"),
        sinks=None if sinks is None else sinks.detach().flatten(),
        dropout=float(given.get("dropout") or 0.0) if name != "eager" or module.training else 0.0,
    )
    return call, mask


def _arguments(function: Function, module: nn.Module, args: Any, kwargs: Any) -> dict[str, Any]:
    """What it is given, by name; the first four after the module get the same names everywhere."""
    bound = inspect.signature(function).bind_partial(module, *args, **kwargs).arguments
    flat: dict[str, Any] = {}
    for name, value in bound.items():
        flat |= value if name == "kwargs" else {name: value}
    first = dict(zip(("query", "key", "value", "attention_mask"), args, strict=False))
    return flat | first


def _dense(mask: Any, q: Tensor, k: Tensor) -> Tensor | None:
    """A mask over (B, 1 or H, T_q or 1, T_k): of flex attention the blocks, of flash attention the keys."""
    import torch

    if mask is None:
        return None
    if isinstance(mask, torch.Tensor):
        if mask.ndim == 2:
            return mask[:, None, None, : k.shape[-2]].bool()
        return mask[..., : k.shape[-2]]
    from torch.nn.attention.flex_attention import BlockMask, create_mask

    if not isinstance(mask, BlockMask):
        raise ModelError(
            f"its attention mask is of type {type(mask).__name__}; tensors and BlockMasks are read"
        )
    B, H = mask.shape[:2]
    return create_mask(mask.mask_mod, B, H, q.shape[-2], k.shape[-2], device=str(q.device))
