"""The reference text as a model reads it, in windows; and what was measured on it, kept beside the model."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from riverhead.inspection.tables import reference_text
from riverhead.transformer import Model

__all__ = ["kept", "longest_window", "twice", "windows"]

VERSION = 1  # raise it whenever another number would be measured from the same text

Array = NDArray[np.float32]


def windows(model: Model, T: int) -> NDArray[np.intp]:
    """Cut the reference text into windows of ``T`` tokens, each opened and closed as a text is, (B, T)."""
    opening, ids, closing = _framed(model)
    step = T - len(opening) - len(closing)
    cut = [ids[at : at + step] for at in range(0, len(ids) - step + 1, step)]
    return np.array([opening + window + closing for window in cut], np.intp)


def twice(model: Model, n: int) -> NDArray[np.intp]:
    """Return ``n`` tokens of the reference text and the same once more, fewer where the context is short."""
    opening, ids, closing = _framed(model)
    room = model.config.context_length - len(opening) - len(closing)
    passage = ids[: min(n, room // 2)]
    return np.array([*opening, *passage, *passage, *closing], np.intp)


def longest_window(model: Model) -> int:
    """Return the largest power of two that a window can be long: by the reference text, and the context."""
    tokens = sum(map(len, _framed(model)))
    return 1 << int(math.log2(min(tokens, model.config.context_length)))


def kept(folder: Path, name: str, shape: tuple[int, ...], measure: Callable[[], Array]) -> Array:
    """Read a measurement from the model's folder, or make it and leave it there if the folder allows."""
    digest = hashlib.sha256(f"{VERSION} {reference_text()}".encode()).hexdigest()[:12]
    file = folder / f"{name}-{digest}.f32"  # the bare numbers: no header to believe
    with contextlib.suppress(OSError):
        if file.stat().st_size == 4 * math.prod(shape):
            found = np.fromfile(file, "<f4").reshape(shape)
            if np.isfinite(found).all():
                return found
    measured = measure()
    with contextlib.suppress(OSError):  # a folder that cannot be written: used, not kept
        _write(file, measured.astype("<f4").tobytes())
    return measured


def _framed(model: Model) -> tuple[list[int], list[int], list[int]]:
    """The reference text's tokens between those that open a text and those that close it."""
    bare = model.tokenizer.ids(reference_text(), add_bos=False)
    whole = model.tokenizer.ids(reference_text())
    n = len(bare)
    first = next(at for at in range(len(whole) - n + 1) if whole[at : at + n] == bare)
    return whole[:first], bare, whole[first + n :]


def _write(file: Path, data: bytes) -> None:
    """Write beside and rename, so that nobody ever reads half a file."""
    handle, beside = tempfile.mkstemp(dir=file.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.replace(beside, file)
    except BaseException:
        os.unlink(beside)
        raise
