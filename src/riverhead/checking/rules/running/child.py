"""The forked child: it loads somebody's function and answers one call after another, whatever they do."""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import socket
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from riverhead.checking.rules.call import Call, Outcome
from riverhead.checking.rules.running.limits import Limits, bounded
from riverhead.checking.rules.running.raised import described
from riverhead.checking.rules.running.wire import call_of, of_outcome, packed, received
from riverhead.cost.figures import bytes_said
from riverhead.errors import InputError, RiverheadError

if TYPE_CHECKING:
    from riverhead.checking.rules.adapting.signature import Asked
    from riverhead.checking.rules.running.subject import Adapter

__all__ = ["exited", "serve"]

NO_MEMORY = "can't allocate memory"  # how torch says it, in a RuntimeError


def serve(line: socket.socket, noise: int, load: Callable[[], Any], asked: Asked, limits: Limits) -> None:
    """Answer on ``line``: that it is loaded; what it is, or why it is refused; then each call.

    ``noise`` is where standard output and error go.
    """
    from riverhead.checking.rules import adapting

    _alone(noise)
    own = os.getpid()

    def answer(frame: bytes) -> None:
        if os.getpid() != own:  # the function has forked, and this is what came of it
            os._exit(0)
        sys.stdout.flush()
        line.sendall(frame)

    try:
        bounded(limits.bytes)
        thing = _done("loading it", load)
        answer(packed({}))
        bounded(limits.bytes)
        adapter = _done("trying it", lambda: adapting.adapt(thing, asked))
    except RiverheadError as refused:
        return answer(packed({"refused": str(refused)}))
    says = {"name": adapter.name, "kind": adapter.kind, "notes": list(adapter.notes)}
    answer(packed({**says, "offers": sorted(adapter.offers)}))
    with suppress(EOFError):
        while True:
            call = call_of(received(lambda n: _taken(line, n)))
            signal.setitimer(signal.ITIMER_REAL, 2 * limits.seconds)  # should the parent be gone by then
            answer(_answer(adapter, call, limits))
            signal.setitimer(signal.ITIMER_REAL, 0)


def exited(status: object) -> str:
    """How it is said that a process ended by its own will."""
    return f"its process left with exit status {status}, before it answered"


def _alone(noise: int) -> None:
    """Part from the parent: its session, its signals, its streams, and its garbage."""
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(noise, 1)
    os.dup2(noise, 2)
    # new ones: the parent's may hold what it has not written yet, or the lock of another thread
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="replace", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8", errors="replace", closefd=False)
    faulthandler.enable(2, all_threads=False)
    warnings.simplefilter("ignore")
    gc.freeze()


def _done(what: str, do: Callable[[], Any]) -> Any:
    """Load or adapt somebody's code; `RiverheadError` says why that cannot be done."""
    _one_thread()
    try:
        return do()
    except RiverheadError:
        raise
    except BaseException as raised:  # noqa: BLE001 - it is somebody's code
        raise InputError(f"{what} raised {described(raised)}") from None
    finally:
        _one_thread()  # it may have brought torch


def _one_thread() -> None:
    """A pool of the parent's threads is not in its child, which would wait for it without an end."""
    threadpool_limits(1)
    with suppress(AttributeError):
        if torch := sys.modules.get("torch"):
            torch.set_num_threads(1)


def _answer(adapter: Adapter, call: Call, limits: Limits) -> bytes:
    try:
        with np.errstate(all="ignore"):
            return of_outcome(adapter.run(call))
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else int(left.code is not None)
        return of_outcome(Outcome(ended=exited(status)))
    except BaseException as raised:  # noqa: BLE001 - it is somebody's code
        said = described(raised)
        if isinstance(raised, MemoryError) or NO_MEMORY in said:
            said = f"ran out of memory; it may take {bytes_said(limits.bytes)}: {said}"
            return of_outcome(Outcome(ended=said))
        return of_outcome(Outcome(error=said))


def _taken(line: socket.socket, n: int) -> bytearray:
    """The next n bytes; `EOFError` where the parent is gone."""
    taken = bytearray(n)
    rest = memoryview(taken)
    while rest:
        count = line.recv_into(rest)
        if not count:
            raise EOFError
        rest = rest[count:]
    return taken
