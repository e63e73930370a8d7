"""What an attention function was given, in one form, whichever function it was."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from riverhead.core.job import Job, job_of

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Given", "Spans"]

Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """The arguments of one attention call, as tensors on whatever device; names and order are `attend`'s."""

    q: Tensor  # (..., H, T_q, d_k)
    k: Tensor  # (..., G, T_k, d_k)
    v: Tensor  # (..., G, T_k, d_v)
    scale: float
    mask: Tensor | None = None  # boolean, True = may attend; broadcasts to (..., H, T_q, T_k)
    bias: Tensor | None = None
    causal: bool = False
    offset: int = 0  # query i stands at the key i + offset
    window: int | None = None
    softcap: float | None = None
    sinks: Tensor | None = None  # (H,)
    dropout: float = 0.0
    spans: Spans | None = None  # where each sequence's own tokens stand, (low, high), where there is padding

    @property
    def shape(self) -> tuple[int, ...]:
        """(..., H, T_q, T_k)."""
        return (*self.q.shape[:-1], self.k.shape[-2])

    def of_heads(self, heads: tuple[int, ...]) -> Given:
        """Return the call of some of its heads; each then has keys and values of its own."""
        H, G = self.q.shape[-3], self.k.shape[-3]
        if heads == tuple(range(H)):
            return self
        at, of = list(heads), [h // (H // G) for h in heads]

        def cut(x: Tensor | None) -> Tensor | None:
            return x if x is None or x.ndim < 3 or x.shape[-3] == 1 else x[..., at, :, :]

        return replace(
            self,
            q=self.q[..., at, :, :],
            k=self.k[..., of, :, :],
            v=self.v[..., of, :, :],
            mask=cut(self.mask),
            bias=cut(self.bias),
            sinks=None if self.sinks is None else self.sinks[at],
        )

    def groups(self) -> Iterator[Given]:
        """Return the call a kv head at a time, as views."""
        G = self.k.shape[-3]
        group = self.q.shape[-3] // G
        for g in range(G):
            of_q, of_k = slice(g * group, (g + 1) * group), slice(g, g + 1)
            mask, bias = (
                x if x is None or x.ndim < 3 or x.shape[-3] == 1 else x[..., of_q, :, :]
                for x in (self.mask, self.bias)
            )
            yield replace(
                self,
                q=self.q[..., of_q, :, :],
                k=self.k[..., of_k, :, :],
                v=self.v[..., of_k, :, :],
                mask=mask,
                bias=bias,
                sinks=None if self.sinks is None else self.sinks[of_q],
            )

    def of_span(self, item: int, low: int, high: int) -> Given:
        """Return the call of one sequence (1, H, n, n), from token ``low`` up to ``high``."""
        of, part = slice(item, item + 1), slice(low, high)

        def cut(x: Tensor | None) -> Tensor | None:
            if x is None:
                return None
            x = x[of] if x.ndim == 4 and x.shape[0] > 1 else x
            x = x[..., part, :] if x.ndim > 1 and x.shape[-2] > 1 else x
            return x[..., part] if x.shape[-1] > 1 else x

        mask = cut(self.mask)
        return replace(
            self,
            q=self.q[of, :, part],
            k=self.k[of, :, part],
            v=self.v[of, :, part],
            mask=None if mask is None or bool(mask.all()) else mask,
            bias=cut(self.bias),
            spans=None,
        )

    def job(self, top: int) -> Job:
        """Return what the kernel runs; of v it needs nothing, and takes no column of it."""
        sinks, bias = (None if x is None else _wide(x).numpy() for x in (self.sinks, self.bias))
        return job_of(
            self.q,
            self.k,
            self.v[..., :0],
            scale=self.scale,
            mask=None if self.mask is None else self.mask.numpy(),
            bias=bias,
            causal=self.causal,
            offset=self.offset,
            window=self.window,
            softcap=self.softcap,
            sinks=sinks,
            top=top,
        )


def _wide(x: Tensor) -> Tensor:
    return x.float() if x.element_size() < 4 else x
