"""The Config a model's own files give before any weight is read: config.json, a GGUF's header, or ours."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from riverhead.cost import Config
from riverhead.errors import InputError, ModelError
from riverhead.transformer.files import read_json
from riverhead.transformer.kept import CONFIG_FILE
from riverhead.transformer.layout import MODEL_FILE

__all__ = ["read_config"]

NO_COST = ("quantization_config", "rope_scaling", "rope_parameters")  # packing, scaling: as many numbers
PREDICTS = ("ForCausalLM", "LMHeadModel")  # how transformers' classes that have odds of a next token end


def read_config(path: Path) -> Config:
    """Read the config of the model at ``path``: a config.json, its folder, or a GGUF file.

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
        from riverhead.transformer.gguf import read_header
        from riverhead.transformer.gguf_model import config_from

        return config_from(read_header(path))
    return _ours(path) if path.name == MODEL_FILE else _huggingface(path)


def _ours(path: Path) -> Config:
    config = read_json(path).get("config")
    if not isinstance(config, dict):
        raise ModelError(f"{path}: it has no config; add or fetch the model again")
    return Config.from_dict(config)


def _huggingface(path: Path) -> Config:
    from riverhead.transformer.huggingface import config_from

    given = {name: value for name, value in read_json(path).items() if name not in NO_COST}
    config = config_from(given)
    classes = given.get("architectures") or ()
    predicts = not classes or any(str(name).endswith(PREDICTS) for name in classes)
    return replace(config, predicts=config.predicts and (predicts or config.tied_embeddings))
