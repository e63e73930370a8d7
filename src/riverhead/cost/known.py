"""The models `plan` knows by name: their sizes, where those stand, and the parameter counts others print."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from riverhead.cost.config import Config
from riverhead.errors import InputError

__all__ = ["Known", "known", "known_models", "sized", "windows"]

WINDOWED_LAYERS = 1 << 16  # a window is kept layer by layer; more layers than any model has


@dataclass(frozen=True, slots=True)
class Known:
    """A well-known model: ``source`` has its sizes, ``published_at`` the count others print.

    A ``note`` says how that count differs from ours; without one it is ours to the last parameter.
    """

    name: str
    title: str
    config: Config
    source: str
    published: int  # parameters
    published_at: str
    note: str = ""


@cache
def known_models() -> Mapping[str, Known]:
    """Return every known model by name.

    >>> list(known_models())[:3]
    ['gpt2', 'gpt2-medium', 'gpt2-large']
    """
    data = tomllib.loads(files("riverhead.cost").joinpath("models.toml").read_text("utf-8"))
    return {name: _known(name, data["family"], entry) for name, entry in data["model"].items()}


def known(name: str) -> Known:
    """Return the model of that name, title or Hugging Face id; capitals, spaces and hyphens do not count.

    Raises `InputError` with the nearest names.

    >>> known("Llama 3 8B").name, known("Qwen/Qwen2-7B").name
    ('llama-3-8b', 'qwen2-7b')
    """
    names = {_folded(called): model for model in known_models().values() for called in _calls(model)}
    if found := names.get(_folded(name)):
        return found
    near = difflib.get_close_matches(_folded(name)[:80], names, n=6, cutoff=0.5)
    nearest = dict.fromkeys(names[called].name for called in near)
    raise InputError(
        f"no known model is named {name!r:.80}; "
        + (f"nearest: {', '.join([*nearest][:3])}" if nearest else f"known: {', '.join(known_models())}")
    )


def sized(fields: Mapping[str, Any]) -> Config:
    """Return a config from its sizes, those that are missing as in plain multi-head attention.

    n_kv_heads is then n_heads, d_k d_model / n_heads, d_v d_k, d_ff 4·d_model; ``window`` is every layer's
    (0: none). Raises `ModelError` naming a size that is missing or cannot be.

    >>> sized({"n_layers": 2, "n_heads": 4, "d_model": 32, "vocab_size": 7}).d_k
    8
    """
    given: dict[str, Any] = PLAIN | dict(fields)
    window = given.pop("window", None)
    given.setdefault("n_kv_heads", given.get("n_heads"))
    if "d_k" not in given and {"d_model", "n_heads"} <= given.keys():
        given["d_k"], rest = divmod(given["d_model"], max(given["n_heads"], 1))
        if rest:
            raise InputError(
                f"d_model {given['d_model']} is no multiple of n_heads {given['n_heads']}; give d_k, too"
            )
    given.setdefault("d_v", given.get("d_k"))
    if "d_model" in given:
        given.setdefault("d_ff", 4 * given["d_model"])
    if window is not None:
        given["windows"] = windows(window, given.get("n_layers", 0))
    return Config.from_dict(given)


PLAIN: dict[str, Any] = {"architecture": "llama", "context_length": 2048, "norm_epsilon": 1e-5}


def windows(window: int, n_layers: int) -> tuple[int, ...]:
    """Return the same window for every layer, as `Config` has it; 0 is none.

    >>> windows(4096, 2), windows(0, 2)
    ((4096, 4096), ())
    """
    if window and n_layers > WINDOWED_LAYERS:
        raise InputError(f"n_layers {n_layers}: a window is kept for up to {WINDOWED_LAYERS} layers")
    return (window,) * n_layers if window else ()


def _known(name: str, families: Mapping[str, dict[str, Any]], entry: Mapping[str, Any]) -> Known:
    own = dict(entry)
    family = own.pop("family")
    about = {field: own.pop(field) for field in ABOUT if field in own}
    return Known(name=name, config=sized({"architecture": family} | families[family] | own), **about)


ABOUT = ("title", "source", "published", "published_at", "note")


def _calls(model: Known) -> tuple[str, str, str]:
    """All that a model is called: its name, its title, its id at Hugging Face."""
    return (
        model.name,
        model.title,
        model.source.removeprefix("https://huggingface.co/").partition("/blob/")[0],
    )


def _folded(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter not in " -_")
