"""Which module of the model is running, and torch's own attention modules, which may run in one piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from riverhead.inspection.watching import check, projected
from riverhead.inspection.watching.given import Given
from riverhead.inspection.watching.through_torch import aside

if TYPE_CHECKING:
    from torch import Tensor, nn

    from riverhead.inspection.watching.recorder import Recorder

__all__ = ["watching"]

Forward = Callable[..., Any]


@contextmanager
def watching(recorder: Recorder) -> Iterator[None]:
    """While it lasts, follow the model's modules, and record those that torch computes in one piece.

    Hooks on a module would turn its fast path off, and so change its output by a rounding: those that
    follow are global, and the forwards of torch's modules are wrapped in the model alone.
    """
    from torch.nn.modules import module as torch_module

    with ExitStack() as undo:
        for handle in (
            torch_module.register_module_forward_pre_hook(recorder.enters),
            torch_module.register_module_forward_hook(recorder.leaves, always_call=True),
        ):
            undo.callback(handle.remove)
        for module in recorder.model.modules():
            make = _wrapper(module)
            if make is not None:
                undo.enter_context(_swapped(module, make(recorder, module, module.forward)))
        yield


def _wrapper(module: nn.Module) -> Callable[[Recorder, Any, Forward], Forward] | None:
    """How to watch a module of torch's; None for those whose attention is seen without."""
    from torch import nn

    if isinstance(module, nn.MultiheadAttention) and type(module).forward is nn.MultiheadAttention.forward:
        return _multi_head
    if _stock(module):
        return _encoder_layer
    if isinstance(module, nn.TransformerEncoder) and all(map(_stock, module.layers)):
        return _encoder
    return None


def _stock(module: nn.Module) -> bool:
    from torch import nn

    own = nn.TransformerEncoderLayer
    return isinstance(module, own) and (type(module).forward, type(module)._sa_block) == (
        own.forward,
        own._sa_block,
    )


@contextmanager
def _swapped(module: nn.Module, forward: Forward) -> Iterator[None]:
    own = vars(module).get("forward")  # others may have wrapped it in their way
    vars(module)["forward"] = forward
    try:
        yield
    finally:
        if own is None:
            del vars(module)["forward"]
        else:
            vars(module)["forward"] = own


def _encoder(recorder: Recorder, module: nn.TransformerEncoder, forward: Forward) -> Forward:
    def run(*args: Any, **kwargs: Any) -> Any:
        with aside(recorder):
            return forward(*args, **kwargs)

    return run


def _multi_head(recorder: Recorder, module: nn.MultiheadAttention, forward: Forward) -> Forward:
    def run(*args: Any, **kwargs: Any) -> Any:
        if not recorder.listens(module):
            return forward(*args, **kwargs)
        with aside(recorder), recorder.inside():
            result = forward(*args, **kwargs)
        given = projected.of_module(module, *args, **kwargs)
        out = result[0]
        if out.is_nested:
            out = out.to_padded_tensor(0.0)
        out = out.transpose(0, 1) if module.batch_first and out.ndim == 3 else out
        projected.take(recorder, module, "nn.MultiheadAttention", given, out)
        return result

    return run


def _encoder_layer(recorder: Recorder, layer: nn.TransformerEncoderLayer, forward: Forward) -> Forward:
    def run(
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        before = recorder.n_calls
        with aside(recorder):
            out: Tensor = forward(src, src_mask, src_key_padding_mask, is_causal)
        if recorder.n_calls == before and recorder.listens(layer):  # it was one operation, attention and all
            _take_layer(recorder, layer, out, src, src_mask, src_key_padding_mask)
        return out

    return run


def _take_layer(
    recorder: Recorder,
    layer: nn.TransformerEncoderLayer,
    out: Tensor,
    src: Tensor,
    src_mask: Tensor | None,
    src_key_padding_mask: Tensor | None,
) -> None:
    import torch

    src, out = src.detach(), out.detach()
    if src.is_nested:
        src, _, _, src_key_padding_mask = projected.padded(src)
        out = out.to_padded_tensor(0.0)
    with torch.no_grad():
        x = layer.norm1(src) if layer.norm_first else src
    p = projected.of_module(layer.self_attn, x, x, x, src_key_padding_mask, attn_mask=src_mask)
    call, mask = projected.read(p)

    def far(given: Given) -> float:
        at = check.sample(given)
        added, sees = projected.mixed(p, given, at)
        y = src[:, at] + added.to(src.dtype)
        y = y if layer.norm_first else layer.norm1(y)
        after = (
            y + layer._ff_block(layer.norm2(y)) if layer.norm_first else layer.norm2(y + layer._ff_block(y))
        )
        return check.compared(after, out[:, at], sees)

    recorder.take(layer.self_attn, "nn.TransformerEncoderLayer's fast path", call, mask, far)
