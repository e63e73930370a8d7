"""A model's own files become a folder of mapped float32: weights.npy, model.json and tokenizer.json."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from riverhead.errors import ModelError
from riverhead.transformer.layout import MODEL_FILE, SCHEMA, TOKENIZER_FILE, WEIGHTS_FILE, layout, n_numbers
from riverhead.transformer.plan import Original, Plan, fill, plan

__all__ = ["check", "convert", "read_original"]

Say = Callable[[str], None]
Progress = Callable[[int, int], None]  # done_bytes, total_bytes


def read_original(path: Path | str) -> Original:
    """Read what a GGUF file, or a Hugging Face folder or its weights, say about the model: no weights yet."""
    if Path(path).suffix == ".gguf":
        from riverhead.transformer.gguf_model import read_gguf

        return read_gguf(Path(path))
    from riverhead.transformer.checkpoint import read_checkpoint

    return read_checkpoint(Path(path))


def convert(
    path: Path | str, folder: Path | str, *, say: Say | None = None, progress: Progress | None = None
) -> None:
    """Check the model's files at ``path``, then write its weights and its tokenizer into ``folder``.

    ``say`` hears what is left out; ``progress(done_bytes, total_bytes)`` is called after each array.
    ``model.json`` is written last: a folder without it is no model. Raises `ModelError` for files that are
    not a whole model of a family that is read.
    """
    original, folder = read_original(path), Path(folder)
    parts = plan(original)
    if say is not None:
        for remark in original.remarks:
            say(remark)
    description = {"schema": SCHEMA, "config": original.config.to_dict(), "text": original.text}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write_weights(original, parts, folder / WEIGHTS_FILE, progress)
        (folder / TOKENIZER_FILE).write_text(original.tokenizer.to_str(), encoding="utf-8")
        (folder / MODEL_FILE).write_text(json.dumps(description, indent=1), encoding="utf-8")
    except OSError as error:
        raise ModelError(f"{folder}: the converted model cannot be written: {error}") from error


def check(path: Path) -> int:
    """Return the bytes of the arrays that `convert` would write; or refuse the files as it would."""
    original = read_original(path)
    plan(original)
    return 4 * n_numbers(original.config)  # float32


def _write_weights(original: Original, parts: Plan, path: Path, progress: Progress | None) -> None:
    """Write one flat array, part by part: a full disk is then an error, where a mapping would crash."""
    config = original.config
    total, done = n_numbers(config), 0
    with path.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (total,)}
        np.lib.format.write_array_header_1_0(file, header)
        for name, shape in layout(config):
            if name in original.computed:
                array = original.computed[name].astype("<f4")
            else:
                array = np.empty(math.prod(shape), "<f4")
                fill(original.source, parts[name], config.d_k, array)
            file.write(array.data)
            done += array.size
            if progress is not None:
                progress(4 * done, 4 * total)
