"""A GGUF file's header, walked with bounds before anything in it is believed.

The format is at https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. The `gguf` package's own reader
takes counts at their word, and hangs on absurd ones; here every count and size is compared with the file
first. Block sizes and dequantisation are the package's.
"""

from __future__ import annotations

import math
import mmap
import struct
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

from riverhead.errors import ModelError

__all__ = ["Header", "Tensor", "read_header", "read_tensor"]

VERSIONS = (2, 3)
HEADER_BYTES = 64 << 20  # the largest vocabularies in use need about 10 MB
ENTRIES = 1 << 16  # metadata fields, and tensors, of one file
STRINGS = 1 << 20  # in all arrays together: the largest vocabularies in use have 0.7 million with merges
CHUNK_BYTES = 16 << 20  # of float32 at a time while dequantising

STRING, ARRAY = 8, 9
SCALARS = dict(zip((0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12), "BbHhIif?Qqd", strict=True))

Value = Any  # int, float, bool, str, a list of str or a NumPy array


@dataclass(frozen=True, slots=True)
class Tensor:
    """Where a tensor lies: ``shape`` is rows first, ``offset`` counts from the start of the file."""

    name: str
    shape: tuple[int, ...]
    kind: GGMLQuantizationType
    offset: int
    n_bytes: int


@dataclass(frozen=True, slots=True)
class Header:
    """What a GGUF file says about itself, every size checked against the file."""

    path: Path
    metadata: dict[str, Value]
    tensors: dict[str, Tensor]

    def get(self, key: str, kind: type | tuple[type, ...], default: Value = None) -> Value:
        """Return the metadata value of ``key``, refusing another type; without a default it must be there."""
        value = self.metadata.get(key, default)
        names = kind.__name__ if isinstance(kind, type) else " or ".join(k.__name__ for k in kind)
        if value is None:
            raise ModelError(f"{self.path.name}: metadata {key} is missing, it has to be {names}")
        if not isinstance(value, kind):
            raise ModelError(f"{self.path.name}: metadata {key} is {str(value)[:60]!r}, it has to be {names}")
        return value


def read_header(path: Path) -> Header:
    """Read and check the header of the GGUF file at ``path``, within a second and 0.3 GB whatever it claims.

    Raises `ModelError` for a file that is no GGUF, is cut short, or claims what it cannot hold.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _walk(path, data)
    except (OSError, ValueError) as error:  # mmap refuses an empty file with a ValueError
        raise ModelError(f"{path}: cannot be read as a GGUF file: {error}") from error


def read_tensor(header: Header, tensor: Tensor, out: npt.NDArray[np.float32]) -> None:
    """Dequantise ``tensor`` into ``out`` (n_rows, n_columns), some rows at a time."""
    block, block_bytes = GGML_QUANT_SIZES[tensor.kind]
    row_bytes = tensor.shape[-1] // block * block_bytes
    raw = np.memmap(header.path, np.uint8, "r", tensor.offset, (tensor.n_bytes // row_bytes, row_bytes))
    step = max(1, CHUNK_BYTES // (4 * tensor.shape[-1]))
    for first in range(0, len(raw), step):
        with np.errstate(all="ignore"):  # a damaged scale is reported below
            out[first : first + step] = dequantize(raw[first : first + step], tensor.kind)
    if not (np.isfinite(out.min()) and np.isfinite(out.max())):  # NaN goes through both
        raise ModelError(f"{header.path.name}: tensor {tensor.name} holds NaN or infinity")


class _Cursor:
    """A place in the header that never moves past its end."""

    def __init__(self, data: mmap.mmap, name: str) -> None:
        self.data, self.name, self.at, self.strings = data, name, 0, 0
        self.end = min(len(data), HEADER_BYTES)

    def fail(self, problem: str) -> ModelError:
        return ModelError(f"{self.name}: {problem}")

    def skip(self, n_bytes: int, what: str) -> int:
        """Move over ``n_bytes``; return where they start."""
        start = self.at
        if n_bytes > self.end - start:
            limit = "the file ends" if self.end == len(self.data) else "a header may end"
            raise self.fail(f"{what} at byte {start} takes {n_bytes} bytes, {limit} at {self.end}")
        self.at = start + n_bytes
        return start

    def scalar(self, code: str, what: str) -> Any:
        form = "<" + code
        return struct.unpack_from(form, self.data, self.skip(struct.calcsize(form), what))[0]

    def count(self, what: str, most: int) -> int:
        count: int = self.scalar("Q", what)
        if count > most:
            raise self.fail(f"{what} is {count}, at most {most} are read")
        return count

    def text(self, what: str) -> str:
        n_bytes = self.scalar("Q", what)
        start = self.skip(n_bytes, what)
        try:
            return str(self.data[start : self.at], "utf-8")
        except UnicodeDecodeError as error:
            raise self.fail(f"{what} at byte {start} is not UTF-8") from error

    def value(self, key: str) -> Value:
        kind = self.scalar("I", key)
        return self.array(key) if kind == ARRAY else self.single(kind, key)

    def single(self, kind: int, key: str) -> Value:
        if kind == STRING:
            return self.text(key)
        if kind not in SCALARS:
            raise self.fail(f"{key} has value type {kind}, known are 0 to 12, and no array inside an array")
        return self.scalar(SCALARS[kind], key)

    def array(self, key: str) -> Value:
        kind = self.scalar("I", key)
        if kind in SCALARS:
            dtype = np.dtype("<" + SCALARS[kind])
            n_values = self.scalar("Q", key)
            start = self.skip(n_values * dtype.itemsize, key)
            return np.frombuffer(self.data[start : self.at], dtype)
        n_values = self.count(f"{key} length", STRINGS - self.strings)
        self.strings += n_values
        return [self.single(kind, key) for _ in range(n_values)]


def _walk(path: Path, data: mmap.mmap) -> Header:
    cursor = _Cursor(data, path.name)
    if data[:4] != b"GGUF":
        raise cursor.fail(f"starts with {data[:4]!r}, a GGUF file starts with b'GGUF'")
    cursor.skip(4, "magic")
    version = cursor.scalar("I", "version")
    if version not in VERSIONS:
        raise cursor.fail(f"GGUF version {version}, read are little-endian {VERSIONS}")
    n_tensors = cursor.count("tensor count", ENTRIES)
    n_fields = cursor.count("metadata count", ENTRIES)
    metadata: dict[str, Value] = {}
    for _ in range(n_fields):
        _add(cursor, metadata, key := cursor.text("metadata key"), cursor.value(key))
    tensors: dict[str, Tensor] = {}
    for _ in range(n_tensors):
        tensor = _tensor(cursor)
        _add(cursor, tensors, tensor.name, tensor)
    return Header(path, metadata, _place(cursor, metadata.get("general.alignment", 32), tensors))


def _add(cursor: _Cursor, entries: dict[str, Any], key: str, value: Any) -> None:
    if key in entries:
        raise cursor.fail(f"{key} is there twice")
    entries[key] = value


def _tensor(cursor: _Cursor) -> Tensor:
    name = cursor.text("tensor name")
    n_dims = cursor.scalar("I", f"{name} dimensions")
    if not 1 <= n_dims <= 4:
        raise cursor.fail(f"tensor {name} has {n_dims} dimensions, 1 to 4 are allowed")
    shape = tuple(cursor.scalar("Q", f"{name} shape") for _ in range(n_dims))[
        ::-1
    ]  # the file has columns first
    kind = cursor.scalar("I", f"{name} type")
    offset = cursor.scalar("Q", f"{name} offset")
    if not _readable(kind):
        raise cursor.fail(f"tensor {name} has number format {kind}, which cannot be dequantised")
    kind = GGMLQuantizationType(kind)
    block, block_bytes = GGML_QUANT_SIZES[kind]
    if min(shape) < 1 or shape[-1] % block:
        raise cursor.fail(f"tensor {name} has shape {shape}; {kind.name} takes rows of a multiple of {block}")
    return Tensor(name, shape, kind, offset, math.prod(shape) // block * block_bytes)


@cache
def _readable(kind: int) -> bool:
    """Whether the package can turn this number format into float32: it is asked for one block."""
    try:
        block_bytes = GGML_QUANT_SIZES[GGMLQuantizationType(kind)][1]
        dequantize(np.zeros((1, block_bytes), np.uint8), GGMLQuantizationType(kind))
    except (ValueError, NotImplementedError):
        return False
    return True


def _place(cursor: _Cursor, alignment: Value, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Turn offsets into file positions; no tensor may leave the file, nor all of them exceed it."""
    if type(alignment) is not int or alignment < 1 or alignment & (alignment - 1):
        raise cursor.fail(f"general.alignment is {alignment!r}, it has to be a power of two")
    start, size = -(-cursor.at // alignment) * alignment, len(cursor.data)
    claimed = sum(tensor.n_bytes for tensor in tensors.values())
    if claimed > size:
        raise cursor.fail(f"the tensors take {claimed} bytes, the file has {size}: it is cut short or wrong")
    placed = {}
    for name, tensor in tensors.items():
        first = start + tensor.offset
        if first + tensor.n_bytes > size:
            raise cursor.fail(
                f"tensor {name} {tensor.shape} takes {tensor.n_bytes} bytes from byte {first}, "
                f"the file has {size}: it is cut short or wrong"
            )
        placed[name] = Tensor(name, tensor.shape, tensor.kind, first, tensor.n_bytes)
    return placed
