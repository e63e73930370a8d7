"""`nn.MultiheadAttention`: its queries and keys made again from what it is given, as it makes them."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from riverhead.errors import ModelError
from riverhead.inspection.watching import check
from riverhead.inspection.watching.given import Given

if TYPE_CHECKING:
    from torch import Tensor, nn

    from riverhead.inspection.watching.recorder import Recorder

__all__ = ["Projected", "of_call", "of_module", "read", "take"]


@dataclass(frozen=True, slots=True, eq=False)
class Projected:
    """What goes into ``F.multi_head_attention_forward``: its names, (T, B, d_model) or (T, d_model)."""

    query: Tensor
    key: Tensor
    value: Tensor
    n_heads: int
    weights: tuple[Tensor, ...]  # W_q, W_k, W_v, transposed as nn.Linear has them
    biases: tuple[Tensor | None, ...]
    bias_k: Tensor | None
    bias_v: Tensor | None
    add_zero_attn: bool
    dropout: float
    out_weight: Tensor
    out_bias: Tensor | None
    key_padding_mask: Tensor | None
    attn_mask: Tensor | None
    causal: bool


def of_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Projected:
    """Read the arguments of ``F.multi_head_attention_forward``."""
    import torch

    bound = inspect.signature(torch.nn.functional.multi_head_attention_forward).bind(*args, **kwargs)
    bound.apply_defaults()
    a = bound.arguments
    if a["static_k"] is not None or a["static_v"] is not None:
        raise ModelError("static_k and static_v give keys that no projection made: such a call is not read")
    separate = a["use_separate_proj_weight"]
    names = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
    return Projected(
        a["query"],
        a["key"],
        a["value"],
        a["num_heads"],
        tuple(a[name] for name in names) if separate else a["in_proj_weight"].chunk(3),
        (None,) * 3 if a["in_proj_bias"] is None else a["in_proj_bias"].chunk(3),
        a["bias_k"],
        a["bias_v"],
        a["add_zero_attn"],
        a["dropout_p"] if a["training"] else 0.0,
        a["out_proj_weight"],
        a["out_proj_bias"],
        a["key_padding_mask"],
        a["attn_mask"],
        a["is_causal"] and a["key_padding_mask"] is None and not a["need_weights"],
    )


def of_module(
    mha: nn.MultiheadAttention,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> Projected:
    """Read the arguments of an `nn.MultiheadAttention`; nested sequences are padded."""
    if query.is_nested:
        query, key, value, key_padding_mask = padded(query)
    if mha.batch_first and query.ndim == 3:
        query, key, value = (x.transpose(0, 1) for x in (query, key, value))
    W = mha.in_proj_weight
    separate: Any = (mha.q_proj_weight, mha.k_proj_weight, mha.v_proj_weight)  # None where W is one
    return Projected(
        query,
        key,
        value,
        mha.num_heads,
        separate if W is None else W.chunk(3),
        (None,) * 3 if mha.in_proj_bias is None else mha.in_proj_bias.chunk(3),
        mha.bias_k,
        mha.bias_v,
        mha.add_zero_attn,
        mha.dropout if mha.training else 0.0,
        mha.out_proj.weight,
        mha.out_proj.bias,
        key_padding_mask,
        attn_mask,
        is_causal and key_padding_mask is None and not need_weights,
    )


def padded(x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """A nested (B, *, d_model) with zeros after each sequence, three times, and what these are (B, T)."""
    import torch

    lengths = torch.tensor([len(of) for of in x.unbind()], device=x.device)
    full = x.to_padded_tensor(0.0)
    return full, full, full, torch.arange(full.shape[1], device=x.device) >= lengths[:, None]


def read(p: Projected) -> tuple[Given, Tensor | None]:
    """Return the call (B, H, T_q, T_k) and its mask, boolean or added."""
    import torch

    F = torch.nn.functional
    inputs = [x.detach() if x.ndim == 3 else x.detach()[:, None] for x in (p.query, p.key, p.value)]
    q, k, v = (
        F.linear(x, W.detach(), None if b is None else b.detach())
        for x, W, b in zip(inputs, p.weights, p.biases, strict=True)
    )
    B = q.shape[1]
    if p.bias_k is not None and p.bias_v is not None:
        k, v = (torch.cat([x, b.detach().expand(1, B, -1)]) for x, b in ((k, p.bias_k), (v, p.bias_v)))
    if p.add_zero_attn:
        k, v = (torch.cat([x, x.new_zeros(1, *x.shape[1:])]) for x in (k, v))
    q, k, v = (x.reshape(len(x), B, p.n_heads, -1).permute(1, 2, 0, 3) for x in (q, k, v))  # (B, H, T, d)
    call = Given(q, k, v, scale=q.shape[-1] ** -0.5, causal=p.causal, dropout=p.dropout)
    return call, None if p.causal else _mask(p, B, k.shape[-2])


def _mask(p: Projected, B: int, T_k: int) -> Tensor | None:
    """Both masks as one, in which True may attend, or added if one of them is; keys added to k are seen."""
    import torch

    masks = []
    if p.attn_mask is not None:
        masks.append(
            p.attn_mask if p.attn_mask.ndim == 2 else p.attn_mask.reshape(B, -1, *p.attn_mask.shape[1:])
        )
    if p.key_padding_mask is not None:
        masks.append(p.key_padding_mask.reshape(B, 1, 1, -1))
    if not masks:
        return None
    masks = [torch.nn.functional.pad(x, (0, T_k - x.shape[-1])) for x in masks]
    if all(x.dtype == torch.bool for x in masks):
        hidden = masks[0] if len(masks) == 1 else masks[0] | masks[1]
        return ~hidden
    added = [x.float().masked_fill(x, -float("inf")) if x.dtype == torch.bool else x for x in masks]
    return added[0] if len(added) == 1 else added[0] + added[1]


def take(recorder: Recorder, module: nn.Module, function: str, p: Projected, out: Tensor) -> None:
    """Record the call; ``out`` (T, B, d_model) or (T, d_model) is what the function gave."""
    call, mask = read(p)
    theirs = (out.detach() if out.ndim == 3 else out.detach()[:, None]).transpose(0, 1)  # (B, T_q, d_model)

    def far(given: Given) -> float:
        at = check.sample(given)
        ours, sees = mixed(p, given, at)
        return check.compared(ours, theirs[:, at], sees)

    recorder.take(module, function, call, mask, far)


def mixed(p: Projected, given: Given, at: Tensor) -> tuple[Tensor, Tensor]:
    """Return what attention gives the queries ``at``, (B, n, d_model), and which of them see a key (B, n)."""
    import torch

    heads, sees = check.mixed(given, at)  # (B, H, n, d), (B, H, n)
    merged = heads.transpose(1, 2).flatten(-2)
    bias = None if p.out_bias is None else p.out_bias.detach().to(merged.dtype)
    return torch.nn.functional.linear(merged, p.out_weight.detach().to(merged.dtype), bias), sees.any(dim=1)
