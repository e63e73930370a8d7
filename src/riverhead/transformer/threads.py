"""One BLAS thread for small products: on a busy machine several spin longer than they multiply."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

__all__ = ["few_threads"]

SMALL = 512  # tokens; of fewer, a second thread hardly shortens the products of a model

_held = Lock()


@contextmanager
def few_threads(n_tokens: int) -> Iterator[None]:
    """Hold BLAS to one thread meanwhile, where ``n_tokens`` are few.

    BLAS has one number of threads for the whole process: whoever comes while the limit is held leaves it
    to the holder to lift.
    """
    if n_tokens >= SMALL or not _held.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1):
            yield
    finally:
        _held.release()


@cache
def _controller() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
