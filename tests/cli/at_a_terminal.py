"""Riverhead at a real pseudo-terminal: what it writes there, what is typed, how it exits."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sysconfig
import termios
import time
from pathlib import Path

RIVERHEAD = str(Path(sysconfig.get_path("scripts")) / "riverhead")
PATIENCE_SECONDS = 60.0  # a bound for a test that fails; one that passes never waits
TAKES_IT = 'exec "$0" "$@" < "$ITS_TERMINAL"'  # opened by the first of a session, Ctrl-C comes from it
CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\x1b\][^\x07]*\x07|\r")


def _hangs_up() -> None:
    """A terminal's end is told again, where whoever runs the tests ignores it, as nohup does."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


class Terminal:
    """A process whose standard streams are a terminal of ``columns`` by ``rows``."""

    def __init__(
        self, *words: str, data: Path, columns: int = 80, rows: int = 24, **environment: str
    ) -> None:
        self._master, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        hidden = ("COLUMNS", "LINES", "NO_COLOR")
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", TAKES_IT, RIVERHEAD, *words],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
            preexec_fn=_hangs_up,
            env={
                **{name: value for name, value in os.environ.items() if name not in hidden},
                "TERM": "xterm-256color",
                "ITS_TERMINAL": os.ttyname(terminal),
                "RIVERHEAD_DATA": str(data),
                "RIVERHEAD_CACHE": str(data / "cache"),
                "RIVERHEAD_OFFLINE": "1",
                **environment,
            },
        )
        os.close(terminal)
        self._came = b""
        self.seen = ""  # all of it, without what moves and colours
        self._read = 0  # of it, what `until` has passed

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._master)

    def until(self, words: str) -> str:
        """Wait for ``words``, and return what came up to their end since the last call."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (at := self.seen.find(words, self._read)) < 0:
            assert self._more(deadline), f"{words!r} never came; there was\n{self.seen[self._read :]}"
        found = self.seen[self._read : at + len(words)]
        self._read = at + len(words)
        return found

    def type(self, keys: str) -> None:
        """Type."""
        os.write(self._master, keys.encode())

    def kill(self, how: signal.Signals) -> None:
        """Let it be told to end, or killed."""
        self._process.send_signal(how)

    def end(self) -> int:
        """Wait until it exits, and return its status."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self._more(deadline):
            pass
        return self._process.wait(PATIENCE_SECONDS)

    def _more(self, deadline: float) -> bool:
        """Read what comes next; False at the end."""
        ready, _, _ = select.select([self._master], [], [], max(deadline - time.monotonic(), 0))
        assert ready, f"nothing came any more; there was\n{self.seen[self._read :]}"
        try:
            came = os.read(self._master, 65536)
        except OSError:  # Linux's way to say that the other end has closed
            return False
        self._came += came  # a letter, or what moves, may come in two pieces
        self.seen = CONTROLS.sub("", self._came.decode("utf-8", "ignore"))
        return bool(came)
