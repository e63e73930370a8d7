"""Attention for torch: tensors read where they lie, any weight to look at, a gradient that stores no T×T."""

from __future__ import annotations

from functools import reduce
from typing import Any, Literal, TypedDict, Unpack, overload

from riverhead.core import AttentionMap, kernel
from riverhead.core.backward import gradient
from riverhead.core.border import Align, Floats, count
from riverhead.core.inputs import check_groups
from riverhead.core.job import Job, job_of
from riverhead.errors import DtypeError, GradientError, InputError, MissingExtraError, ShapeError

try:
    import torch
    from torch import Tensor, nn
except ModuleNotFoundError as error:
    raise MissingExtraError("riverhead.torch needs torch: pip install 'riverhead[oracle]'") from error

__all__ = ["MultiHeadAttention", "Options", "SelfAttention", "scaled_dot_product_attention"]

DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
TENSORS = ("q", "k", "v", "mask", "bias", "alibi", "sinks", "lengths")  # of a job, in the order they travel


class Options(TypedDict, total=False):
    """What `riverhead.attend` takes beyond torch's own function, with the same meaning."""

    align: Align  # "end" unless given; "start" is what torch's is_causal does
    offset: int | None
    window: int | None
    softcap: float | None
    bias: Tensor | None  # added to the scores; gets no gradient, nor does alibi
    alibi: Tensor | None  # (H,)
    sinks: Tensor | None  # (H,), learned: they get a gradient
    lengths: Tensor | None  # (...): the keys from there on are hidden
    top: int  # how many of each query's largest weights the map keeps
    threads: int | None


@overload
def scaled_dot_product_attention(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    mask: Tensor | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    return_map: Literal[False] = False,
    **options: Unpack[Options],
) -> Tensor: ...
@overload
def scaled_dot_product_attention(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    mask: Tensor | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    return_map: bool,
    **options: Unpack[Options],
) -> Any: ...
def scaled_dot_product_attention(
    Q: Tensor,  # (..., H, T_q, d_k), or (T_q, d_k) for one head
    K: Tensor,  # (..., G, T_k, d_k); query head h reads kv head h // (H // G)
    V: Tensor,  # (..., G, T_k, d_v)
    mask: Tensor | None = None,  # boolean or 0/1, 1 = may attend; broadcasts to (..., H, T_q, T_k)
    *,
    is_causal: bool = False,
    scale: float | None = None,  # multiplies; 1/√d_k
    return_map: bool = False,
    **options: Unpack[Options],
) -> Tensor | tuple[Tensor, AttentionMap]:
    """Give each query the values mixed by its weights, and with ``return_map`` the weights to look at.

    Tensors are float32, float64, bfloat16 or float16, on the CPU, strided in any way; they are read where
    they lie, and the result (..., H, T_q, d_v) has their dtype. It can be differentiated once, with respect
    to Q, K, V and ``sinks``. Neither way is a T×T array stored.

    It differs from ``torch.nn.functional.scaled_dot_product_attention`` in this:

    - ``mask`` is boolean, or 0 and 1 of any dtype. torch *adds* a mask that is not boolean: that is ``bias``
      here. A mask and ``is_causal`` may stand together.
    - A query that sees no key gives zeros, and gets zeros as its gradient.
    - Where T_q ≠ T_k, ``is_causal`` lets the last query see the last key; torch's is ``align="start"``.
    - Grouped heads follow from the number of heads, without ``enable_gqa``; there is no ``dropout_p``.

    Raises `ShapeError`, `DtypeError` or `InputError`, naming the axis or the argument, and
    `GradientError` where it is differentiated twice.

    Vaswani et al. 2017, §3.2.1; the gradient: Dao 2023 (FlashAttention-2), §3.1.2.

    >>> Q, K, V = torch.zeros(1, 1), torch.ones(3, 1), torch.tensor([[1.0], [5.0], [9.0]])
    >>> out, A = scaled_dot_product_attention(Q, K, V, mask=torch.tensor([1, 1, 0]), return_map=True)
    >>> out, A[0]
    (tensor([[3.]]), array([0.5, 0.5, 0. ], dtype=float32))
    """
    given: dict[str, Any] = {**options}
    if unknown := given.keys() - Options.__annotations__.keys():
        raise TypeError(f"scaled_dot_product_attention() got an unexpected keyword argument {min(unknown)!r}")
    inputs = [_input(name, x) for name, x in (("Q", Q), ("K", K), ("V", V))]
    beside = [_beside(name, given.pop(name, None)) for name in TENSORS[4:]]
    plain = given | {"scale": scale, "causal": is_causal}
    run: Any = _Attention.apply
    if torch.compiler.is_compiling():  # which would take the NumPy inside for torch
        run = torch.compiler.disable(run)  # type: ignore[no-untyped-call]
    out, A = run(plain, return_map, *inputs, _mask(mask), *beside)
    return (out, A) if return_map else out


class _Attention(torch.autograd.Function):
    """The pass and its gradient; what it keeps it saves as tensors, so that torch sees a change in place."""

    @staticmethod
    def forward(ctx: Any, plain: dict[str, Any], look: bool, *tensors: Tensor | None) -> Any:
        job = _job(plain, tensors)
        found = kernel.run(job, statistics=look, threads=plain.get("threads"))
        out, lse = torch.from_numpy(found["out"]), torch.from_numpy(found["lse"])
        if job.one_head:
            out, lse = out[0], lse[0]
        ctx.plain = plain
        ctx.save_for_backward(*tensors, out, lse)
        dtype = reduce(torch.promote_types, [x.dtype for x in tensors[:3] if x is not None])
        return out.to(dtype), AttentionMap.of(job, found) if look else None

    @staticmethod
    def backward(ctx: Any, d_out: Tensor, _: None) -> Any:
        *tensors, out, lse = ctx.saved_tensors
        job = _job(ctx.plain, tensors)
        arrays = (x.detach().resolve_neg().numpy() for x in (out, lse, d_out.to(out.dtype)))
        arrays = (x[None] if job.one_head else x for x in arrays)
        found = gradient(job, *arrays, threads=ctx.plain.get("threads"))
        of = dict(zip(("q", "k", "v", "sinks"), found, strict=True))
        gradients = [_like(of.get(name), x) for name, x in zip(TENSORS, tensors, strict=True)]
        if torch.is_grad_enabled():  # create_graph=True: what comes of these may be differentiated again
            once: Any = _Once.apply
            gradients = [None if d is None else once(d, d_out, *tensors) for d in gradients]
        return None, None, *gradients


class _Once(torch.autograd.Function):
    """A gradient that knows where it came from, so that differentiating it again is an error, not 0."""

    @staticmethod
    def forward(ctx: Any, d: Tensor, *whence: Tensor | None) -> Tensor:
        return d.clone()

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> Any:
        raise GradientError(
            "attention has no second derivative here; torch's own has one, with "
            "torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)"
        )


def _job(plain: dict[str, Any], tensors: Any) -> Job:
    named = zip(TENSORS, tensors, strict=True)
    arrays: dict[str, Any] = {name: None if x is None else x.detach() for name, x in named}
    return job_of(**arrays, **{name: x for name, x in plain.items() if name != "threads"})


def _like(d: Floats | None, x: Tensor) -> Tensor | None:
    """Return a gradient in the shape of what it is for; torch sees to the dtype."""
    return None if d is None else torch.from_numpy(d).sum_to_size(x.shape)


def _on_cpu(name: str, x: Any) -> Tensor:
    """Return ``x`` if it is a tensor whose numbers lie where NumPy can read them."""
    if not isinstance(x, Tensor):
        kind = type(x).__name__
        raise InputError(f"{name} is of type {kind}; it must be a tensor: torch.as_tensor({name})")
    if x.is_nested:
        raise InputError(f"{name} is nested; pad it, {name}.to_padded_tensor(0.0), and give lengths=")
    if x.layout != torch.strided:
        kind = str(x.layout).removeprefix("torch.")
        raise InputError(f"{name} is {kind}; it must be strided, as {name}.to_dense() is")
    if x.device.type != "cpu":
        raise InputError(f"{name} is on {x.device}; it must be on the CPU, as {name}.cpu() is")
    return x.resolve_neg()


def _input(name: str, x: Any) -> Tensor:
    tensor = _on_cpu(name, x)
    if tensor.dtype not in DTYPES:
        *kinds, last = (str(dtype).removeprefix("torch.") for dtype in DTYPES)
        raise DtypeError(f"{name} is {tensor.dtype}; it must be {', '.join(kinds)} or {last}: {name}.float()")
    return tensor


def _mask(mask: Any) -> Tensor | None:
    """Return a mask of 0 and 1 as booleans, in no more memory than it repeats itself from."""
    if mask is None or _on_cpu("mask", mask).dtype == torch.bool:
        return mask  # type: ignore[no-any-return]
    own = mask.detach()[tuple(slice(1) if stride == 0 else slice(None) for stride in mask.stride())]
    if (other := own[(own != 0) & (own != 1)]).numel():
        raise InputError(
            f"mask holds {other[0].item():g}; it must be boolean, or 0 and 1 (may attend): "
            "numbers to add to the scores are bias="
        )
    return (own == 1).expand(mask.shape)  # type: ignore[no-any-return]


def _beside(name: str, x: Any) -> Tensor | None:
    """Return bias, alibi, sinks or lengths as the core takes them."""
    if x is None:
        return None
    tensor = _on_cpu(name, x)
    if tensor.requires_grad and name != "sinks" and torch.is_grad_enabled():
        raise InputError(f"{name} requires a gradient, and none is made for it: give {name}.detach()")
    return tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor


class SelfAttention(nn.Module):
    """One head in which each token of x (B, T, d_model) attends to all: (B, T, d_k).

    Parameters are ``W_q``, ``W_k`` and ``W_v``, `nn.Linear` without bias. Vaswani et al. 2017, §3.2.1.

    >>> SelfAttention(d_model=7, d_k=3)(torch.ones(2, 5, 7)).shape
    torch.Size([2, 5, 3])
    """

    def __init__(self, d_model: int, d_k: int) -> None:
        super().__init__()
        self.d_model, self.d_k = count("d_model", d_model), count("d_k", d_k)
        self.W_q, self.W_k, self.W_v = (nn.Linear(d_model, d_k, bias=False) for _ in range(3))

    def forward(
        self, x: Tensor, mask: Tensor | None = None, *, is_causal: bool = False, return_map: bool = False
    ) -> Any:
        """Return (B, T, d_k), and with ``return_map`` the map (B, T, T) beside it.

        ``mask`` is boolean or 0/1, 1 = may attend, and broadcasts to (B, T, T).
        """
        _check_width("x", x, self.d_model)
        return scaled_dot_product_attention(
            self.W_q(x), self.W_k(x), self.W_v(x), mask, is_causal=is_causal, return_map=return_map
        )


class MultiHeadAttention(nn.Module):
    """Several heads, each as wide as d_model / n_heads, and ``W_o`` to mix them: (B, T, d_model) to the same.

    Parameters are the `nn.Linear` ``W_q``, ``W_k``, ``W_v`` and ``W_o``. With ``n_kv_heads`` neighbouring
    heads share keys and values. Vaswani et al. 2017, §3.2.2; grouped heads: Ainslie et al. 2023, §2.2.

    >>> y, A = MultiHeadAttention(d_model=6, n_heads=3)(torch.ones(2, 5, 6), is_causal=True, return_map=True)
    >>> y.shape, A.shape, A[0, 2, 1].round(3)
    (torch.Size([2, 5, 6]), (2, 3, 5, 5), array([0.5, 0.5, 0. , 0. , 0. ], dtype=float32))
    """

    def __init__(
        self, d_model: int, n_heads: int, n_kv_heads: int | None = None, *, bias: bool = False
    ) -> None:
        super().__init__()
        self.d_model, self.n_heads = count("d_model", d_model), count("n_heads", n_heads)
        self.n_kv_heads = n_heads if n_kv_heads is None else count("n_kv_heads", n_kv_heads)
        check_groups(self.n_heads, self.n_kv_heads)
        if d_model % n_heads:
            raise ShapeError(f"d_model {d_model} cannot be cut into n_heads {n_heads} of the same width")
        self.d_k = d_model // n_heads
        narrow = self.n_kv_heads * self.d_k
        self.W_q, self.W_o = (nn.Linear(d_model, d_model, bias=bias) for _ in range(2))
        self.W_k, self.W_v = (nn.Linear(d_model, narrow, bias=bias) for _ in range(2))

    @classmethod
    def from_torch(cls, mha: nn.MultiheadAttention) -> MultiHeadAttention:
        """Return a module with a copy of the weights and biases of ``mha``.

        It takes (B, T, d_model) whatever ``mha.batch_first`` is, and masks in which True = may attend, the
        opposite of ``mha``'s: ``attn_mask`` becomes ``~attn_mask``, and ``key_padding_mask`` (B, T_k) becomes
        ``~key_padding_mask[:, None, None]``. Raises `InputError` for what ``mha`` does and this does not:
        dropout while training, ``add_bias_kv``, ``add_zero_attn``, ``kdim`` or ``vdim`` of their own.
        """
        if not isinstance(mha, nn.MultiheadAttention):
            raise InputError(f"mha is of type {type(mha).__name__}; it must be a torch.nn.MultiheadAttention")
        beyond = {
            f"dropout {mha.dropout} while training; eval() ends that": mha.training and mha.dropout,
            "add_bias_kv": mha.bias_k is not None,
            "add_zero_attn": mha.add_zero_attn,
            f"kdim {mha.kdim} and vdim {mha.vdim} beside embed_dim {mha.embed_dim}": mha.in_proj_weight
            is None,
        }
        for what in (what for what, has in beyond.items() if has):
            raise InputError(f"MultiHeadAttention has nothing like mha's {what}")
        made = cls(mha.embed_dim, mha.num_heads, bias=mha.in_proj_bias is not None).to(mha.in_proj_weight)
        made.train(mha.training)
        linears = (made.W_q, made.W_k, made.W_v, made.W_o)
        with torch.no_grad():
            for linear, W in zip(linears, (*mha.in_proj_weight.chunk(3), mha.out_proj.weight), strict=True):
                linear.weight.copy_(W)
            if mha.in_proj_bias is not None:
                for linear, b in zip(linears, (*mha.in_proj_bias.chunk(3), mha.out_proj.bias), strict=True):
                    linear.bias.copy_(b)
        return made

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        context: Tensor | None = None,
        is_causal: bool = False,
        return_map: bool = False,
        **options: Unpack[Options],
    ) -> Any:
        """Return (B, T_q, d_model), and with ``return_map`` the map (B, H, T_q, T_k) beside it.

        With ``context`` (B, T_k, d_model) keys and values come from a second sequence. ``mask`` is boolean
        or 0/1, 1 = may attend: (T_q, T_k) for all, or (B or 1, H or 1, T_q, T_k); ``lengths`` (B,) says where
        each sequence's padding starts. ``options`` are those of `scaled_dot_product_attention`.
        """
        context = x if context is None else context
        _check_width("x", x, self.d_model)
        _check_width("context", context, self.d_model)
        if mask is not None and mask.ndim == 3 and x.ndim > 2:
            raise ShapeError(
                f"mask has 3 axes {tuple(mask.shape)}, and the first could be B or H: give (T_q, T_k), or "
                "(B or 1, H or 1, T_q, T_k), as in mask[:, None] for a mask of each sequence"
            )
        q, k, v = (
            linear(of).unflatten(-1, (n, self.d_k)).transpose(-3, -2)  # (B, H or G, T, d_k)
            for linear, of, n in (
                (self.W_q, x, self.n_heads),
                (self.W_k, context, self.n_kv_heads),
                (self.W_v, context, self.n_kv_heads),
            )
        )
        heads = scaled_dot_product_attention(
            q, k, v, mask, is_causal=is_causal, return_map=return_map, **options
        )
        out, A = heads if return_map else (heads, None)
        y = self.W_o(out.transpose(-3, -2).flatten(-2))
        return (y, A) if return_map else y


def _check_width(name: str, x: Any, d_model: int) -> None:
    if _on_cpu(name, x).ndim < 2 or x.shape[-1] != d_model:
        raise ShapeError(f"{name} is {tuple(x.shape)}; it must be (B, T, d_model) with d_model {d_model}")
