"""A Hugging Face folder, as `save_pretrained` writes it: its files and its tensors, by name; nothing runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from riverhead.cost import Config
from riverhead.errors import ModelError
from riverhead.transformer import safetensors
from riverhead.transformer.files import files_of, read_json, read_text
from riverhead.transformer.huggingface import PREDICTS, classes_of, config_from, family_of, rope_of
from riverhead.transformer.json_tokenizer import tokenizer_of
from riverhead.transformer.kept import CONFIG_FILE, FACTS_FILE, INDEX_FILE, TEMPLATE_FILE, TOKENIZER_FILE
from riverhead.transformer.plan import Original
from riverhead.transformer.rope import divisors
from riverhead.transformer.tensor_names import NAMES, Names

__all__ = ["read_checkpoint"]

Array = npt.NDArray[np.float32]


def read_checkpoint(path: Path) -> Original:
    """Read all a folder says about its model, and the headers of its weights; `ModelError` otherwise."""
    files = files_of(path)
    given = read_json(files[CONFIG_FILE])
    family = family_of(given)
    weights = _Weights(
        path.name, {name: file for name, file in files.items() if name.endswith(".safetensors")}
    )
    if INDEX_FILE in files:
        weights.check(read_json(files[INDEX_FILE]))
    names = NAMES[family]
    left_out = weights.rename(names)
    config = config_from(given, weights.shapes)
    config, remarks = _with_odds(config, given, weights)
    computed = {}
    if config.rope_scaling:
        kind, base, parameters = rope_of(given)
        computed["rope_divisors"] = divisors(str(kind), parameters, base, config.d_k)
    facts = read_json(files[FACTS_FILE]) if FACTS_FILE in files else {}
    template = read_text(files[TEMPLATE_FILE]) if TEMPLATE_FILE in files else None
    tokenizer, text = tokenizer_of(files[TOKENIZER_FILE], given, facts, template)
    if left_out:
        remarks += (f"left out of {path.name}, no part of attention: {', '.join(left_out)}",)
    return Original(weights, config, names, tokenizer, text, computed, remarks)


@dataclass(slots=True)
class _Weights:
    """The tensors of one or several safetensors files, by the names that transformers gives them now."""

    name: str
    files: dict[str, Path]
    tensors: dict[str, safetensors.Tensor]

    def __init__(self, name: str, files: dict[str, Path]) -> None:
        self.name, self.files, self.tensors = name, files, {}
        for file in files.values():
            for tensor, place in safetensors.read_header(file).items():
                self._add(tensor, tensor, place)

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        return {name: tensor.shape for name, tensor in self.tensors.items()}

    def read(self, tensor: str, out: Array) -> None:
        safetensors.read_tensor(tensor, self.tensors[tensor], out)

    def same(self, one: str, other: str, shape: tuple[int, ...]) -> bool:
        """Whether two tensors of ``shape`` are there and hold the same numbers."""
        found = [self.tensors[name] for name in (one, other) if name in self.tensors]
        dtypes = {tensor.dtype for tensor in found}
        if [tensor.shape for tensor in found] != [shape] * 2 or len(dtypes) > 1:
            return False
        if not dtypes <= safetensors.FLOATS.keys():
            return False
        return all(np.array_equal(*rows) for rows in zip(*map(safetensors.chunks, found), strict=True))

    def check(self, index: Mapping[str, Any]) -> None:
        """Compare the index with the files it names."""
        for tensor, file in index["weight_map"].items():
            if tensor not in self.tensors or self.tensors[tensor].file.name != file:
                raise ModelError(f"{INDEX_FILE}: tensor {tensor!r:.80} is not in {file}, where it has to be")

    def rename(self, names: Names) -> list[str]:
        """Take prefixes and older spellings off, drop what was saved beside the model; return its parts."""
        saved, self.tensors, left_out = self.tensors, {}, []
        for name, tensor in saved.items():
            own = name.removeprefix(names.prefix)
            for old, new in names.respelled:
                own = own.removesuffix(old) + new if own.endswith(old) else own
            if names.heads.fullmatch(own):
                left_out.append(name)
            elif not names.buffers.fullmatch(own):
                self._add(own, name, tensor)
        return left_out

    def _add(self, own: str, name: str, tensor: safetensors.Tensor) -> None:
        if own in self.tensors:
            raise ModelError(f"{self.name}: tensor {name} is there twice")
        self.tensors[own] = tensor


def _with_odds(config: Config, given: Mapping[str, Any], weights: _Weights) -> tuple[Config, tuple[str, ...]]:
    """Find out what makes the odds of a next token: a matrix of its own, the embedding, or nothing."""
    names = NAMES[config.architecture].whole
    if not config.predicts:
        return config, ()
    if (head := names["W_vocab"]) in weights.tensors:
        if config.tied_embeddings and weights.same(
            head, names["embedding"], (config.vocab_size, config.d_model)
        ):
            del weights.tensors[head]
            return config, ()
        return replace(config, tied_embeddings=False), ()  # as transformers does: what was saved counts
    if config.tied_embeddings:
        return config, ()
    if any(name.endswith(PREDICTS) for name in classes_of(given)):
        raise ModelError(f"{weights.name}: tensor {head} is missing")
    return replace(config, predicts=False), (
        f"{weights.name} has no {head}, so there are no odds of a next token",
    )
