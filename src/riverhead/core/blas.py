"""One BLAS thread meanwhile: where products are small, or threads of our own already share the work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

__all__ = ["one_blas_thread"]

_held = Lock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread meanwhile.

    BLAS has one number of threads for the whole process: whoever comes while the limit is held leaves it
    to the holder to lift.
    """
    if not _held.acquire(blocking=False):
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
