"""A real model, block by block: mapped from its folder, read, continued; nothing heavy until it is used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from riverhead.transformer.generate import Generated
    from riverhead.transformer.model import Model, Pass, load, open_model
    from riverhead.transformer.names import HeadName, head_name, parse_head
    from riverhead.transformer.reading import Block, Head, Reading

_HOME = {
    "Block": "reading",
    "Generated": "generate",
    "Head": "reading",
    "HeadName": "names",
    "Model": "model",
    "Pass": "model",
    "Reading": "reading",
    "head_name": "names",
    "load": "model",
    "open_model": "model",
    "parse_head": "names",
}

__all__ = [
    "Block",
    "Generated",
    "Head",
    "HeadName",
    "Model",
    "Pass",
    "Reading",
    "head_name",
    "load",
    "open_model",
    "parse_head",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
