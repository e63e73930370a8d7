"""The Config a model's own files give before any weight is read: config.json, a GGUF's header, or ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from riverhead.cost import Config
from riverhead.errors import InputError, ModelError
from riverhead.transformer.files import read_json
from riverhead.transformer.huggingface import PREDICTS, classes_of, config_from
from riverhead.transformer.kept import CONFIG_FILE
from riverhead.transformer.layout import MODEL_FILE

__all__ = ["FileConfig", "read_config", "read_file"]

NO_COST = ("quantization_config", "rope_scaling", "rope_parameters")  # packing, scaling: as many numbers
CLASSES = {"gpt2": "GPT2", "bert": "Bert"}  # how the names of a family's classes start; else its own name
FLOATS = ("F16", "F32", "F64", "BF16")  # GGUF's


@dataclass(frozen=True, slots=True)
class FileConfig:
    """What a model's file says: its config, what that leaves out, and how its weights are packed."""

    config: Config
    left_out: tuple[str, ...] = ()
    quantised: str | None = None  # None: they are not; "": in a way the file does not name


def read_config(path: Path) -> Config:
    """Read the config of the model at ``path`` as `read_file` does."""
    return read_file(path).config


def read_file(path: Path) -> FileConfig:
    """Read what the model at ``path`` is: from a config.json, its folder, or a GGUF file.

    Raises `InputError` where none of these is, `ModelError` for a file that cannot be read as one.
    """
    if path.is_dir():
        path = next((path / name for name in (MODEL_FILE, CONFIG_FILE) if (path / name).is_file()), path)
    if path.is_dir() or not path.is_file() or path.suffix not in (".json", ".gguf"):
        found = (
            "a folder without one"
            if path.is_dir()
            else "no such file"
            if not path.exists()
            else "another file"
        )
        raise InputError(
            f"{path}: {found}; sizes are read from a config.json, the folder it lies in, or a GGUF file"
        )
    if path.suffix == ".gguf":
        return _gguf(path)
    return FileConfig(_ours(path)) if path.name == MODEL_FILE else _huggingface(path)


def _gguf(path: Path) -> FileConfig:
    from riverhead.transformer import gguf_model
    from riverhead.transformer.gguf import read_header

    header = read_header(path)
    packed = sorted({tensor.kind.name for tensor in header.tensors.values()} - {*FLOATS})
    return FileConfig(gguf_model.config_from(header), quantised=", ".join(packed) or None)


def _ours(path: Path) -> Config:
    config = read_json(path).get("config")
    if not isinstance(config, dict):
        raise ModelError(f"{path}: it has no config; add or fetch the model again")
    return Config.from_dict(config)


def _huggingface(path: Path) -> FileConfig:
    whole = read_json(path)
    given = {name: value for name, value in whole.items() if name not in NO_COST}
    config = config_from(given)
    classes = classes_of(given)
    predicts = not classes or any(name.endswith(PREDICTS) for name in classes)
    config = replace(config, predicts=config.predicts and (predicts or config.tied_embeddings))
    return FileConfig(config, tuple(_left_out(config, classes)), _packing(whole))


def _left_out(config: Config, classes: list[str]) -> Iterator[str]:
    """Say of each class that is more than what is counted what it is counted as."""
    start = CLASSES.get(config.architecture, config.architecture.title())
    ends = ("Model", *(PREDICTS if config.predicts else ()))
    counted = "with the odds of a next token" if config.predicts else "without a head"
    pooler = ", with its pooler" if config.pooler else ""
    for name in classes:
        if name not in [start + end for end in ends]:
            yield (
                f"{name:.60} is counted as a {config.architecture} {counted}{pooler}; what else it has, "
                "such as a head of its own, is left out."
            )


def _packing(given: Mapping[str, Any]) -> str | None:
    packing = given.get("quantization_config")
    if not packing:
        return None
    return f"{packing.get('quant_method', ''):.40}" if isinstance(packing, dict) else ""
