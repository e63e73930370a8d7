"""`riverhead.watch`: one line around somebody else's model, and every head of it is seen."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, get_args

from riverhead.core.border import count
from riverhead.errors import InputError, MissingExtraError, ModelError
from riverhead.inspection.watching.heads import Choice, Heads
from riverhead.inspection.watching.recorder import Keep, Recorder
from riverhead.inspection.watching.seen import Seen

if TYPE_CHECKING:
    from torch import nn

__all__ = ["watch"]

TOP = 64


def watch(
    model: nn.Module,
    *,
    heads: Heads = None,
    top: int = 0,
    keep: Keep = "statistics",
    limit_bytes: int = 2_000_000_000,
    say: Callable[[str], object] | None = None,
) -> Watching:
    """Watch every attention head of a torch model while the block runs, beside what the model computes.

    Seen are transformers models, whatever their ``attn_implementation``, `nn.MultiheadAttention` with
    torch's encoder layers, and any code that calls ``F.scaled_dot_product_attention``. The model computes
    what it would without, by its own functions; the weights it never stores are read from q, k and the mask,
    and a few rows of each call are computed again and compared with the function's own output. ``as`` gives
    a `Seen`: a record of each attention call, with the statistics of `attend` under the same names. When the
    block ends, however it ends, everything is as it was.

    ``heads`` chooses: ``"L3.H5"``, ``(3, 5)``, several of them, or a function of layer and head. A layer's
    number is the module's own, or its place in the order of first calls. ``top`` is how many of each query's
    largest weights are kept, 0 to 64. ``keep="map"`` keeps q and k, so that ``seen[0].map`` has every weight
    (B, H, T_q, T_k) on demand; ``say`` is told the bytes first (the log "riverhead", otherwise), and records
    beyond ``limit_bytes`` are an error.

    Raises `InputError` for what was asked, `ModelError` for a model that cannot be watched or in which
    nothing was seen, naming why.

    >>> import torch
    >>> model = torch.nn.MultiheadAttention(6, 2, batch_first=True).eval()
    >>> x = torch.ones(1, 3, 6)
    >>> with watch(model) as seen:
    ...     y, _ = model(x, x, x, need_weights=False)
    >>> seen[0].shape, seen[0].max_weight[0, 1].round(3)
    ((1, 2, 3, 3), array([0.333, 0.333, 0.333], dtype=float32))
    """
    try:
        import torch
    except ModuleNotFoundError as error:
        raise MissingExtraError("riverhead.watch needs torch: pip install 'riverhead[oracle]'") from error
    if not isinstance(model, torch.nn.Module):
        raise InputError(f"model is of type {type(model).__name__}; it must be a torch.nn.Module")
    if count("top", top, 0) > TOP:
        raise InputError(f"top is {top}; 0 to {TOP} largest weights are kept for each query")
    if keep not in get_args(Keep):
        raise InputError(f"keep is {keep!r}; it is 'statistics' or 'map'")
    _check_python(model)
    recorder = Recorder(
        model, Choice(heads), top=top, keep=keep, limit_bytes=count("limit_bytes", limit_bytes), say=say
    )
    return Watching(recorder)


class Watching:
    """The block of `watch`: it hooks in when it begins, and leaves nothing behind when it ends."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder, self._hooks, self._used = recorder, ExitStack(), False

    def __enter__(self) -> Seen:
        from riverhead.inspection.watching import through_modules, through_torch, through_transformers

        if self._used:
            raise InputError("this watch has been used; call riverhead.watch(model) anew for each block")
        self._used = True
        with ExitStack() as hooks:
            hooks.enter_context(self._recorder.worker)
            for way in (through_modules, through_torch, through_transformers):
                hooks.enter_context(way.watching(self._recorder))
            self._hooks = hooks.pop_all()
        return self._recorder.seen

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hooks.close()
        if type(error).__module__.startswith("torch._dynamo"):
            raise ModelError(
                "torch.compile could not take the model apart while it was watched: inside the block call "
                "the model itself, and not what torch.compile made of it"
            ) from error
        if error is None:
            _check_seen(self._recorder)


def _check_python(model: nn.Module) -> None:
    """What runs as Python can be watched; what was compiled calls attention where nobody can stand beside."""
    import torch

    for name, module in model.named_modules():
        at = f"the {type(model).__name__}" if not name else f"{name} ({type(module).__name__})"
        if isinstance(module, torch.jit.ScriptModule):
            raise ModelError(
                f"{at} is TorchScript, which calls attention out of sight: watch the model it was made from"
            )
        if type(module).__name__ == "OptimizedModule" or getattr(module, "_compiled_call_impl", None):
            raise ModelError(
                f"{at} is compiled, which calls attention out of sight: watch the model as it was before "
                "torch.compile, model._orig_mod"
            )


def _check_seen(recorder: Recorder) -> None:
    """Nothing is never the answer: say what was looked for, and where."""
    model, missed = recorder.seen.model, recorder.missed()
    if not recorder.called:
        raise ModelError(f"the {model} was not called inside the block, so nothing was seen: call it there")
    if not recorder.n_calls:
        own = ", ".join(f"{name} ({kind})" for name, kind in [*recorder.seen.unseen.items()][:3])
        by = f" Attention of its own: {own}." if own else ""
        raise ModelError(
            f"no attention was seen in the {model}: it called none of transformers' AttentionInterface, "
            f"F.scaled_dot_product_attention and nn.MultiheadAttention.{by} Code that multiplies q and k "
            "itself can call F.scaled_dot_product_attention(q, k, v, ...) in place of these lines"
        )
    if missed:
        layers = ", ".join(f"L{layer}" for layer in recorder.layers)
        raise InputError(f"heads {', '.join(missed)} were not met; attention was called in {layers}")
    if not len(recorder.seen):
        raise InputError(f"heads chose none of the {recorder.n_calls} attention calls' heads in the {model}")
