"""One BLAS thread for a few tokens: on a busy machine several spin longer than they multiply."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from riverhead.core.blas import one_blas_thread

__all__ = ["few_threads"]

SMALL = 512  # tokens; of fewer, a second thread hardly shortens the products of a model


def few_threads(n_tokens: int) -> AbstractContextManager[None]:
    """Hold BLAS to one thread meanwhile, where ``n_tokens`` are few."""
    return one_blas_thread() if n_tokens < SMALL else nullcontext()
