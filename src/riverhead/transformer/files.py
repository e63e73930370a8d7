"""The files a model comes as: found by name, or refused by name with what to do, before one is opened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from riverhead.errors import InputError, ModelError
from riverhead.transformer.kept import (
    CONFIG_FILE,
    FACTS_FILE,
    GGUF,
    INDEX_FILE,
    ONE_FILE,
    ORIGINAL,
    TEMPLATE_FILE,
    TOKENIZER_FILE,
)

__all__ = ["REFUSED", "files_of", "is_model", "originals", "read_json", "read_text"]

JSON_BYTES = 16 << 20
SHARDS = 1 << 10

SAVE = (
    "in Python: from transformers import AutoModelForCausalLM; "
    "AutoModelForCausalLM.from_pretrained(FOLDER).save_pretrained(NEW_FOLDER), for a BERT with AutoModel"
)
SAVE_TOKENIZER = (
    "in Python: from transformers import AutoTokenizer; "
    "AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)"
)


PICKLE = f"is a pickle: to open it is to run its code, so it is never opened; save the model {SAVE}"
OTHER = f"is of a kind that is not read; save the model {SAVE}"
REFUSED = dict.fromkeys(
    (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".joblib"), PICKLE
) | dict.fromkeys((".onnx", ".h5", ".keras", ".msgpack", ".tflite", ".npz", ".ggml", ".ot"), OTHER)


def is_model(path: Path) -> bool:
    """Whether what lies at ``path`` could be a model's own files, readable or refused."""
    return path.is_dir() or (path.is_file() and path.suffix in {".gguf", ".safetensors", *REFUSED})


def originals(path: Path) -> dict[str, Path]:
    """Find the files of the model at ``path`` by the names they are kept under: a GGUF file or a folder's.

    Raises `InputError` where no model's file is, `ModelError` for one that is refused or that lacks another.
    """
    if path.suffix in REFUSED:
        raise ModelError(f"{path.name} {REFUSED[path.suffix]}")
    if not is_model(path):
        raise InputError(f"{path} is not a .gguf, .safetensors or .whl file on this machine, and no folder")
    if path.is_file() and path.suffix == ".gguf":
        return {GGUF: path}
    return {f"{ORIGINAL}/{name}": file for name, file in files_of(path).items()}


def files_of(path: Path) -> dict[str, Path]:
    """Find the files a model is, by the names they are kept under, in its folder or beside its weights.

    Raises `ModelError` naming the file that is missing and what makes it.
    """
    folder = path if path.is_dir() else path.parent
    files = {name: folder / name for name in (CONFIG_FILE, TOKENIZER_FILE)}
    weights = _weights_of(path, folder)
    for name, remedy in (
        (CONFIG_FILE, "copy it from where the model came from"),
        (TOKENIZER_FILE, SAVE_TOKENIZER),
    ):
        if not files[name].is_file():
            raise ModelError(f"{folder}: there is no {name}; {remedy}")
    facts = {name: folder / name for name in (FACTS_FILE, TEMPLATE_FILE)}
    return files | weights | {name: file for name, file in facts.items() if file.is_file()}


def read_text(file: Path) -> str:
    """Return the text of a file; `ModelError` where it is no UTF-8, or more than 16 MB."""
    try:
        with file.open("rb") as stream:
            data = stream.read(JSON_BYTES + 1)
        if len(data) > JSON_BYTES:
            raise ValueError(f"it is longer than {JSON_BYTES} bytes")
        return data.decode("utf-8")
    except (OSError, ValueError) as error:
        raise ModelError(f"{file}: cannot be read: {error}") from error


def read_json(file: Path) -> dict[str, Any]:
    """Return the object a JSON file holds; `ModelError` for anything else."""
    text = read_text(file)
    try:
        found = json.loads(text)
        json.dumps(found, ensure_ascii=False).encode()  # half a surrogate pair, escaped, is no text
        if not isinstance(found, dict):
            raise ValueError(f"it has to be a JSON object, it is {type(found).__name__}")
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{file}: cannot be read: {error}") from error
    return found


def _weights_of(path: Path, folder: Path) -> dict[str, Path]:
    index = folder / INDEX_FILE
    shards = _shards(index) if index.is_file() else {}
    one = folder / ONE_FILE if path.is_dir() else path
    if path.name not in shards and one.is_file():
        return {ONE_FILE: one}
    if not shards:
        refused = sorted(file.name for file in folder.iterdir() if file.suffix in REFUSED)
        needed = f"a model's folder has {CONFIG_FILE}, {TOKENIZER_FILE} and {ONE_FILE} or its shards"
        found = f"{refused[0]} {REFUSED[Path(refused[0]).suffix]}" if refused else needed
        raise ModelError(f"{folder}: there is no {ONE_FILE}; {found}")
    return {INDEX_FILE: index} | shards


def _shards(index: Path) -> dict[str, Path]:
    """Return the files an index names, each of which lies beside it."""
    places = read_json(index).get("weight_map")
    if not isinstance(places, dict) or not all(isinstance(place, str) for place in places.values()):
        raise ModelError(f"{index}: weight_map has to name the file of each tensor")
    names = sorted(set(places.values()))
    if len(names) > SHARDS:
        raise ModelError(f"{index}: it names {len(names)} files, at most {SHARDS} are read")
    for name in names:
        if Path(name).name != name or "\\" in name or not name.endswith(".safetensors"):
            raise ModelError(f"{index}: {name!r:.80} is no name of a .safetensors file beside it")
        if not (index.parent / name).is_file():
            raise ModelError(f"{index}: it names {name}, which is not there; download it again")
    return {name: index.parent / name for name in names}
