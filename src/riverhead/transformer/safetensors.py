"""A safetensors file: its header, checked against the file before it is believed, and its numbers.

The format is at https://huggingface.co/docs/safetensors/index#format: eight bytes of length, JSON, numbers.
The `safetensors` package has no bfloat16 for NumPy, so the numbers are mapped here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from riverhead.errors import ModelError

__all__ = ["FLOATS", "Tensor", "chunks", "read_header", "read_tensor"]

HEADER_BYTES = 4 << 20  # a model of 1,000 tensors needs 0.1 MB
AXES = 8
CHUNK_NUMBERS = 1 << 22  # at a time while they become float32

FLOATS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}  # BF16: the upper half of a float32
DTYPE_BYTES = {
    **dict.fromkeys(("F64", "I64", "U64", "C64"), 8),
    **dict.fromkeys(("F32", "I32", "U32"), 4),
    **dict.fromkeys(("F16", "BF16", "I16", "U16"), 2),
    **dict.fromkeys(("F8_E4M3", "F8_E5M2", "I8", "U8", "BOOL"), 1),
}


@dataclass(frozen=True, slots=True)
class Tensor:
    """Where a tensor lies; ``offset`` counts from the start of the file."""

    file: Path
    dtype: str
    shape: tuple[int, ...]
    offset: int
    n_bytes: int


def read_header(path: Path) -> dict[str, Tensor]:
    """Read and check the header of the file at ``path``; every byte behind it belongs to one tensor.

    Raises `ModelError` for a file that is no safetensors, is cut short, or claims what it cannot hold.
    """
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            n_bytes = int.from_bytes(file.read(8), "little")
            if size < 8 or n_bytes > min(HEADER_BYTES, size - 8):
                raise ModelError(
                    f"{path.name}: a header of {n_bytes} bytes in a file of {size}, at most {HEADER_BYTES} "
                    "are read: it is no safetensors file, or cut short"
                )
            entries = json.loads(file.read(n_bytes).decode("utf-8"), object_pairs_hook=_once)
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path.name}: cannot be read as a safetensors file: {error}") from error
    if not isinstance(entries, dict):
        raise ModelError(f"{path.name}: the header has to be a JSON object, it is {type(entries).__name__}")
    entries.pop("__metadata__", None)
    tensors = {name: _tensor(path, name, entry, 8 + n_bytes) for name, entry in entries.items()}
    end = 8 + n_bytes
    for name, tensor in sorted(tensors.items(), key=lambda item: (item[1].offset, item[1].n_bytes)):
        if tensor.offset != end:
            raise ModelError(
                f"{path.name}: tensor {name} begins at byte {tensor.offset}, the one before ends at {end}"
            )
        end += tensor.n_bytes
    if end != size:
        raise ModelError(f"{path.name}: its tensors end at byte {end}, the file at {size}: it is damaged")
    return tensors


def read_tensor(name: str, tensor: Tensor, out: npt.NDArray[np.float32]) -> None:
    """Turn a tensor into float32, some rows at a time, in ``out`` of the same shape."""
    if tensor.dtype not in FLOATS:
        raise ModelError(
            f"{tensor.file.name}: tensor {name} holds {tensor.dtype}, read are {', '.join(FLOATS)}: "
            "save the model in one of them"
        )
    first = 0
    for rows in chunks(tensor):
        if tensor.dtype == "BF16":
            rows = (rows.astype("<u4") << 16).view("<f4")
        with np.errstate(over="ignore"):  # what a float64 holds beyond float32 is reported below
            out[first : first + len(rows)] = rows
        first += len(rows)
    if not (np.isfinite(out.min()) and np.isfinite(out.max())):  # NaN goes through both
        raise ModelError(f"{tensor.file.name}: tensor {name} holds NaN or infinity")


def chunks(tensor: Tensor) -> Iterator[npt.NDArray[Any]]:
    """Map a tensor of `FLOATS`, and give it some rows at a time, as they lie."""
    raw = np.memmap(tensor.file, FLOATS[tensor.dtype], "r", tensor.offset, tensor.shape)
    step = max(1, CHUNK_NUMBERS // math.prod(tensor.shape[1:]))
    return (raw[first : first + step] for first in range(0, len(raw), step))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r:.60} is there twice")
    return found


def _tensor(path: Path, name: str, entry: Any, start: int) -> Tensor:
    try:
        dtype, shape, (first, last) = entry["dtype"], entry["shape"], entry["data_offsets"]
        if not isinstance(shape, list) or not all(_is_count(n) for n in (*shape, first, last)):
            raise ValueError(
                f"shape {shape!r:.60} and offsets {(first, last)!r:.60} have to be whole numbers"
            )
        if len(shape) > AXES:
            raise ValueError(f"it has {len(shape)} axes, at most {AXES} are read")
        n_bytes = math.prod(shape) * DTYPE_BYTES[dtype]
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{path.name}: tensor {name!r:.60} cannot be read: {error!r:.200}") from error
    if last - first != n_bytes:
        raise ModelError(
            f"{path.name}: tensor {name} of {dtype} {tuple(shape)} takes {n_bytes} bytes, "
            f"it has {last - first}"
        )
    return Tensor(path, dtype, tuple(shape), start + first, n_bytes)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63
