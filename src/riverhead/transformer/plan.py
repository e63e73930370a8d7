"""Which tensors of a file each array is made of: shapes are checked before anything is read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from riverhead.cost import Config
from riverhead.errors import ModelError
from riverhead.transformer.layout import layout
from riverhead.transformer.tensor_names import Names

if TYPE_CHECKING:
    import tokenizers

__all__ = ["Original", "Part", "Plan", "Source", "fill", "plan"]

Array = npt.NDArray[np.float32]


class Source(Protocol):
    """The tensors of one model, in one file or several, before any is read."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The shape of each tensor, as it lies in the file, checked against the file's bytes."""

    def read(self, tensor: str, out: Array) -> None:
        """Write a tensor into ``out``, which has its shape; `ModelError` for NaN and infinity."""


@dataclass(frozen=True, slots=True)
class Part:
    """A tensor's share of an array: some of its rows."""

    tensor: str
    shape: tuple[int, ...]  # as the array has it: (out, in)
    transposed: bool = False  # it lies as (in, out)
    turned_heads: int = 0  # heads whose RoPE pairs lie as neighbours; here they are halves


Plan = dict[str, tuple[Part, ...]]


@dataclass(frozen=True, slots=True)
class Original:
    """What a model's own files say: all there is to know before its weights are read."""

    source: Source
    config: Config
    names: Names
    tokenizer: tokenizers.Tokenizer
    text: dict[str, Any]
    computed: Mapping[str, Array]  # arrays no tensor holds
    remarks: tuple[str, ...] = ()  # what is left out, and why


def plan(original: Original) -> Plan:
    """Find every tensor the config calls for; the first that is missing ends the walk, however long.

    Raises `ModelError` naming a tensor that is missing, has another shape, or has no place in the model.
    """
    source, config, names = original.source, original.config, original.names
    found = {
        name: tuple(_checked(source, part) for part in _parts(name, shape, config, names))
        for name, shape in layout(config)
        if name not in original.computed
    }
    used = {part.tensor for parts in found.values() for part in parts}
    if unused := source.shapes.keys() - used:
        raise ModelError(
            f"{source.name}: tensor {min(unused)} has no place in a {config.architecture} as its config is"
        )
    return found


def fill(source: Source, parts: tuple[Part, ...], d_k: int, out: Array) -> None:
    """Read ``parts``, one after the other, into an array that is written out flat."""
    start = 0
    for part in parts:
        stop = start + math.prod(part.shape)
        rows = out[start:stop].reshape(part.shape)
        source.read(part.tensor, rows.T if part.transposed else rows)
        if part.turned_heads:
            pairs = rows.reshape(part.turned_heads, d_k // 2, 2, -1)
            rows[...] = pairs.swapaxes(1, 2).reshape(rows.shape)
        start = stop


def _parts(name: str, shape: tuple[int, ...], config: Config, names: Names) -> Iterator[Part]:
    layer, _, own = name.rpartition(".")
    templates = (names.block if layer else names.whole)[own].split()
    columns = shape[1:]
    rows = shape[:1] if len(templates) == 1 else _rows(config, own)
    heads = (config.n_heads, config.n_kv_heads, 0) if names.neighbours and own.endswith("_qkv") else (0,) * 3
    for template, n_rows, n_heads in zip(templates, rows, heads, strict=False):
        yield Part(template.format(layer), (n_rows, *columns), own in names.transposed, n_heads)


def _rows(c: Config, own: str) -> tuple[int, ...]:
    """How many rows of an array come from each of its tensors."""
    if own.endswith("_qkv"):
        return c.n_heads * c.d_k, c.n_kv_heads * c.d_k, c.n_kv_heads * c.d_v
    return c.d_ff, c.d_ff


def _checked(source: Source, part: Part) -> Part:
    if part.tensor not in source.shapes:
        raise ModelError(f"{source.name}: tensor {part.tensor} is missing")
    found, expected = source.shapes[part.tensor], part.shape[:: -1 if part.transposed else 1]
    if found != expected:
        raise ModelError(
            f"{source.name}: tensor {part.tensor} has shape {found}, the sizes in the config "
            f"make it {expected}"
        )
    return part
