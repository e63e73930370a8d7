"""How long somebody's function may run, and how much memory it may take: a bound, not a wall."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from riverhead.errors import InputError

__all__ = ["Limits", "bounded"]

SPACE = 16 * 2**30  # addresses beside the bytes: a library and a thread reserve many that they never fill
STATM = Path("/proc/self/statm")  # Linux: what a process holds, in pages
HELD = {"RLIMIT_AS": 0, "RLIMIT_DATA": 5}  # its columns


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call may take: ``seconds``, and ``bytes`` beside what its process holds already.

    ``load_seconds`` is for importing the code, which may bring torch with it. `InputError` unless all are
    positive. They stop a hang, a loop and an array that is too large; they are no wall against malice: the
    code runs with the rights of whoever starts it, and may read and write what they may.

    >>> Limits(seconds=0.5).bytes == 2 * 2**30
    True
    """

    seconds: float = 10.0
    bytes: int = 2 * 2**30
    load_seconds: float = 60.0

    def __post_init__(self) -> None:
        for name in ("seconds", "bytes", "load_seconds"):
            value = getattr(self, name)
            if not 0 < value < math.inf:
                raise InputError(f"limits: {name} is {value}; it is a positive number")


def bounded(n_bytes: int) -> None:
    """Let this process take ``n_bytes`` beside what it holds now; systems other than Linux do not count."""
    if not STATM.exists():
        return
    import resource

    pages = STATM.read_text("ascii").split()
    for name, extra in (("RLIMIT_AS", n_bytes + SPACE), ("RLIMIT_DATA", n_bytes)):
        kind = getattr(resource, name)
        _, most = resource.getrlimit(kind)
        wanted = int(pages[HELD[name]]) * resource.getpagesize() + extra
        resource.setrlimit(kind, (wanted if most == resource.RLIM_INFINITY else min(wanted, most), most))
