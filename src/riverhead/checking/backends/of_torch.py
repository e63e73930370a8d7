"""torch's own attention: the function and its kernels, FlexAttention, and nn.MultiheadAttention."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from riverhead.checking.backends.backend import Backend, four_axes
from riverhead.checking.backends.cells import NOTHING, Cell

__all__ = ["torch_backends", "torch_probes"]

KERNELS = {"math": "MATH", "flash": "FLASH_ATTENTION", "efficient": "EFFICIENT_ATTENTION"}


def torch_backends() -> tuple[Backend, ...]:
    """Return every way that torch has, whether it runs on this machine or not."""
    function = "F.scaled_dot_product_attention"
    module = "nn.MultiheadAttention, its projections the identity, batch_first=True, in evaluation"
    return (
        Backend("SDPA", f"{function}; torch chooses the kernel", scaled_dot_product(None)),
        *(
            Backend(
                f"SDPA {name}",
                f"{function} under sdpa_kernel(SDPBackend.{kernel})",
                scaled_dot_product(kernel),
            )
            for name, kernel in KERNELS.items()
        ),
        Backend("Flex", "flex_attention, not compiled; the mask is a mask_mod", flex),
        Backend("MHA", f"{module}, need_weights=False", multihead(need_weights=False)),
        Backend("MHA weights", f"{module}, need_weights=True, its default", multihead(need_weights=True)),
        Backend("MHA fast", f"{module}, under no_grad: q, k, v stand side by side in one x", fast_path),
    )


def torch_probes() -> Mapping[str, Callable[[Backend], Cell]]:
    """Return what is measured of nn.MultiheadAttention beside: how x lies where nobody says it."""

    def default_layout(backend: Backend) -> Cell:
        return default_batch() if backend.name.startswith("MHA") else NOTHING

    return {"default_layout": default_layout}


def default_batch() -> Cell:
    """Whether samples see each other in a module that is made with sizes alone, given x (B, T, d_model)."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    module = nn.MultiheadAttention(8, 2).eval()
    x = torch.randn(3, 5, 8)
    other = x.clone()
    other[1:] += 1
    with torch.no_grad():
        one, two = (module(each, each, each)[0][0] for each in (x, other))
    if (one == two).all():
        return Cell("apart")
    return Cell("mixed", "weak", "Without batch_first=True it takes (T, B, d_model): samples stand for time.")


def scaled_dot_product(kernel: str | None) -> Callable[..., Any]:
    """Return the function, kept to one kernel."""

    def attend(
        query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
        is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
    ) -> Any:  # fmt: skip
        from torch.nn.attention import SDPBackend, sdpa_kernel
        from torch.nn.functional import scaled_dot_product_attention

        four_axes(query)
        kernels = list(SDPBackend.__members__.values()) if kernel is None else [getattr(SDPBackend, kernel)]
        with sdpa_kernel(kernels):
            return scaled_dot_product_attention(
                query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
            )

    return attend


def flex(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """FlexAttention with a mask (…, T_q, T_k), True = may attend, as its mask_mod."""
    import torch
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    four_axes(query)
    (B, H, T_q, _), T_k = query.shape, key.shape[2]
    blocks = None
    if attn_mask is not None:
        mask = attn_mask.expand(B, H, T_q, T_k)
        blocks = create_block_mask(lambda b, h, i, j: mask[b, h, i, j], B, H, T_q, T_k, device=query.device)
    with torch.compiler.set_stance("force_eager"):
        return flex_attention(query, key, value, block_mask=blocks, scale=scale, enable_gqa=enable_gqa)


def multihead(*, need_weights: bool) -> Callable[..., Any]:
    """Return nn.MultiheadAttention as a function of q, k, v (B, H, T, d): its matrices are the identity."""

    def attend(
        query: Any, key: Any, value: Any, attn_mask: Any = None, key_padding_mask: Any = None,
        is_causal: bool = False, dropout_p: float = 0.0,
    ) -> Any:  # fmt: skip
        import torch

        four_axes(query)
        B, H, T, d = query.shape
        eye = torch.eye(H * d, dtype=query.dtype)
        module = _module(H, H * d, dropout_p, torch.cat([eye, eye, eye]), query.dtype)
        q, k, v = (x.transpose(1, 2).flatten(2) for x in (query, key, value))  # (B, T, H·d)
        out, weights = module(
            q, k, v, key_padding_mask, need_weights, attn_mask=attn_mask, is_causal=is_causal
        )
        out = out.view(B, T, H, d).transpose(1, 2)
        return (out, weights) if need_weights else out

    return attend


def fast_path(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    key_padding_mask: Any = None,
    dropout_p: float = 0.0,
) -> Any:
    """nn.MultiheadAttention as it runs under no_grad when x is query, key and value: one kernel of its own.

    A head holds [q, k, v] of width d; in_proj picks q·√3, k and v out of it, as the scale is 1/√(3d) there.
    """
    import torch

    four_axes(query)
    B, H, T, d = query.shape
    x = torch.cat([query, key, value], -1)  # (B, H, T, 3·d)
    pick = [_picking(H, d, part, query.dtype) for part in range(3)]
    module = _module(
        H, 3 * H * d, dropout_p, torch.cat([math.sqrt(3) * pick[0], pick[1], pick[2]]), query.dtype
    )
    x = x.transpose(1, 2).flatten(2)  # (B, T, 3·H·d)
    with torch.no_grad():
        out, _ = module(x, x, x, key_padding_mask, need_weights=False, attn_mask=attn_mask)
    return out.view(B, T, H, 3 * d).transpose(1, 2)[..., :d]


def _picking(H: int, d: int, part: int, dtype: Any) -> Any:
    """The matrix that leaves one third of each head at its beginning, and zeros behind it."""
    import torch

    one = torch.zeros(3 * d, 3 * d, dtype=dtype)
    one[range(d), range(part * d, (part + 1) * d)] = 1
    return torch.block_diag(*[one] * H)  # type: ignore[no-untyped-call]


def _module(H: int, E: int, dropout: float, in_proj: Any, dtype: Any) -> Any:
    import torch
    from torch import nn

    module = nn.MultiheadAttention(E, H, dropout=dropout, batch_first=True, dtype=dtype).eval()
    with torch.no_grad():
        module.in_proj_weight.copy_(in_proj)
        module.out_proj.weight.copy_(torch.eye(E, dtype=dtype))
    return module.requires_grad_(False)
