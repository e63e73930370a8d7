"""A way into somebody else's attention: a function of q, k, v, or why there is none on this machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

__all__ = ["Backend", "four_axes", "in_a_sentence", "tried"]


@dataclass(frozen=True, slots=True)
class Backend:
    """A name, how it is called, and a function ``attend(query, key, value, …)`` of tensors (B, H, T, d).

    ``attend`` is None where it does not run here; ``why`` says why. Options have the names that the rules'
    adapters know: attn_mask, key_padding_mask, is_causal, scale, dropout_p, enable_gqa.
    """

    name: str
    says: str
    attend: Callable[..., Any] | None = None
    why: str = ""
    way: str = ""  # its name where its model's is left out


def four_axes(query: Any) -> None:
    """Refuse what is not (B, H, T, d): a kernel that is asked for takes nothing else, others then step in."""
    if query.dim() != 4:
        raise ValueError(f"query has {query.dim()} axes; it is asked as (B, H, T, d)")


def tried(backend: Backend) -> Backend:
    """Call a backend once; where that raises, it is not available here, and why is known."""
    if backend.attend is None:
        return backend
    import torch

    q = torch.ones(1, 1, 2, 8)
    try:
        backend.attend(q, q, q)
    except Exception as raised:  # noqa: BLE001 - anything it raises says that it does not run here
        return replace(backend, attend=None, why=in_a_sentence(raised))
    return backend


def in_a_sentence(raised: Exception) -> str:
    """The first sentence of an exception.

    >>> in_a_sentence(RuntimeError("No kernel was found. This is likely due to …"))
    'No kernel was found'
    """
    return " ".join(str(raised).split(". ")[0].split())[:200]
