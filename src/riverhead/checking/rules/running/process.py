"""The parent's end of a forked child: a line to it, an ear for its noise, and its end."""

from __future__ import annotations

import os
import selectors
import signal
import socket
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress

from riverhead.checking.rules.running.child import exited
from riverhead.checking.rules.running.raised import place_in
from riverhead.checking.rules.running.wire import Frame, WireError, received

__all__ = ["LostError", "Process"]

GLANCE = 0.05  # seconds between looks whether it lives: a child of its own may keep the line open
LAST_WORDS = 0.5  # seconds to say where it stands, before it is killed
MOST_PRINTED, MOST_DUMPED = 500, 8000  # bytes of what it prints, first and last; the others are let go
CHUNK, CHUNKS = 2**16, 16  # bytes that are read at once, and how often when it has answered
DUMP = b"Fatal Python error"  # how faulthandler begins


class LostError(Exception):
    """The child gives no answer, now or ever; the message says why."""


class Process:
    """A forked child that runs ``work(line, mouth)``; `end` kills it, and whatever it has started."""

    def __init__(self, work: Callable[[socket.socket, int], None]) -> None:
        self._line, theirs = socket.socketpair()
        self._ear, mouth = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads: the child uses one
            self.pid = os.fork()
        if self.pid == 0:
            self._line.close()
            _work_and_exit(lambda: work(theirs, mouth))
        theirs.close()
        os.close(mouth)
        os.set_blocking(self._ear, False)
        self._status: int | None = None
        self._first, self._last = b"", b""
        self._ears = selectors.DefaultSelector()
        self._ears.register(self._line, selectors.EVENT_READ)
        self._ears.register(self._ear, selectors.EVENT_READ)

    def ask(self, frame: bytes, seconds: float) -> Frame:
        """Send a frame, empty for none, and return the answer; `LostError` where none comes."""
        deadline = time.monotonic() + seconds
        self._line.settimeout(seconds)
        try:
            self._line.sendall(frame)
            return received(lambda n: self._taken(n, deadline))
        except TimeoutError:
            raise LostError(f"did not answer within {seconds:g} s{self._last_words()}") from None
        except OSError:  # the other end is closed
            raise LostError(self._how_it_ended()) from None
        except WireError as garbage:
            raise LostError(f"its process answered what cannot be read: {garbage}") from None

    def noise(self) -> str:
        """Return the first of what it printed since this was asked last."""
        for _ in range(CHUNKS):
            if not self._heard():
                break
        first, self._first = self._first.partition(DUMP)[0], b""
        return first.decode("utf-8", "replace")

    def end(self) -> None:
        """Kill it, with all that it has started, and wait for it."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        if self._status is None:
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(self.pid, signal.SIGKILL)  # should it have no session of its own yet
                os.waitpid(self.pid, 0)
        self._ears.close()
        self._line.close()
        os.close(self._ear)

    def _taken(self, n: int, deadline: float) -> bytearray:
        """The next n bytes of an answer."""
        taken = bytearray(n)
        rest = memoryview(taken)
        while rest:
            self._wait(deadline)
            count = self._line.recv_into(rest)
            if not count:
                raise ConnectionResetError
            rest = rest[count:]
        return taken

    def _wait(self, deadline: float) -> None:
        """Return when the line has something; hear the noise meanwhile, so that no print waits for an ear."""
        while (left := deadline - time.monotonic()) > 0:
            ready = [key.fileobj for key, _ in self._ears.select(min(left, GLANCE))]
            if self._ear in ready and not self._heard():
                self._ears.unregister(self._ear)  # it has closed its mouth
            if self._line in ready:
                return
            if not ready and self._gone(0):
                raise ConnectionResetError
        raise TimeoutError

    def _heard(self) -> bool:
        """Hear some noise; whether there was any."""
        try:
            noise = os.read(self._ear, CHUNK)
        except BlockingIOError:
            return False
        self._first += noise[: MOST_PRINTED - len(self._first)]
        self._last = (self._last + noise)[-MOST_DUMPED:]
        return bool(noise)

    def _gone(self, seconds: float) -> bool:
        """Whether it has ended, or does so within some seconds."""
        deadline = time.monotonic() + seconds
        while self._status is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # somebody else has waited for it
                pid, status = self.pid, 0
            if pid:
                self._status = os.waitstatus_to_exitcode(status)
            elif time.monotonic() >= deadline:
                return False
            else:
                self._heard()
                time.sleep(GLANCE / 20)
        return True

    def _last_words(self) -> str:
        """Have a process that hangs say where, which ends it."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGABRT)
        self._gone(LAST_WORDS)
        return self._where()

    def _how_it_ended(self) -> str:
        if not self._gone(LAST_WORDS) or self._status is None:
            return "its process closed its line, and answers no more"
        if self._status >= 0:
            return exited(self._status)
        number = -self._status
        if number == signal.SIGKILL:
            return "its process was killed (SIGKILL), as a system does that runs out of memory"
        name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
        return f"its process was ended by {name} ({signal.strsignal(number)}){self._where()}"

    def _where(self) -> str:
        """The place in the user's code that faulthandler dumped last."""
        self.noise()
        _, dumped, dump = self._last.rpartition(DUMP)
        place = place_in(dump.decode("utf-8", "replace")) if dumped else ""
        return f", at {place}" if place else ""


def _work_and_exit(work: Callable[[], None]) -> None:
    """Never return: what stands above this in the parent is not for its child."""
    status = os.EX_SOFTWARE
    try:
        work()
        status = os.EX_OK
    except BaseException:  # noqa: BLE001 - said, and the process ends
        traceback.print_exc()
    finally:
        os._exit(status)
