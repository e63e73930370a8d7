"""What `plan` is asked to plan: a known name, a model's file, or sizes, alone or in place of a model's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from riverhead.cost import Config
    from riverhead.transformer.config_file import FileConfig

__all__ = ["config_of", "flag", "size_options", "whole"]

F = TypeVar("F", bound=Callable[..., Any])

MOST = 10**12  # far beyond any model, and every figure is still instant


def whole(least: int = 1) -> Callable[[click.Context, click.Parameter, int | None], int | None]:
    """Return what refuses a number below ``least`` or beyond every model."""

    def check(ctx: click.Context, param: click.Parameter, value: int | None) -> int | None:
        return None if value is None else click.IntRange(least, MOST).convert(value, param, ctx)

    return check


SIZES = {  # option: (what it is, the least it may be)
    "n_layers": ("Blocks.", 1),
    "n_heads": ("Query heads of a layer.", 1),
    "n_kv_heads": (
        "Key and value heads: n_heads is MHA (sizes alone: unless given), 1 MQA, between GQA.",
        1,
    ),
    "d_model": ("Width of the residual stream.", 1),
    "d_k": ("Width of a query and a key; of sizes alone d_model / n_heads unless given.", 1),
    "d_v": ("Width of a value; d_k unless given.", 1),
    "d_ff": ("Width of the feed-forward; of sizes alone 4·d_model unless given.", 1),
    "vocab_size": ("Tokens there are.", 1),
    "window": ("Keys a query sees in every layer, itself among them, to each side if not causal; 0: all.", 0),
}
ALONE = (
    "Sizes alone: taken as a causal model of Llama's kind that reads {:,} tokens: RMSNorm, SwiGLU, no "
    "biases, W_vocab tied to the embedding; the turns of RoPE are not counted."
)
QUANTISED = "Counted as {}; the file's weights are quantised{}."
NEEDED = ("n_layers", "n_heads", "d_model", "vocab_size")


def size_options(command: F) -> F:
    """Add an option for every size."""
    for name, (words, least) in reversed(SIZES.items()):
        option = click.option(flag(name), name, type=int, callback=whole(least), metavar="N", help=words)
        command = option(command)
    return command


def config_of(model: str | None, sizes: Mapping[str, int], dtype: str) -> tuple[str, Config, tuple[str, ...]]:
    """Return what the model is called, its config with ``sizes`` in place of its own, and what to note.

    Raises `InputError` for a name that is unknown, giving the nearest, and `ModelError` for sizes that
    cannot be.
    """
    from riverhead.cost.known import sized

    changes = ", ".join(f"{name} {value:,}" for name, value in sizes.items())
    if model is None:
        if missing := [flag(name) for name in NEEDED if name not in sizes]:
            raise click.UsageError(
                f"give a NAME, a FILE, or sizes: {' '.join(missing)} missing; --list has the names"
            )
        config = sized(sizes)
        return changes, config, (ALONE.format(config.context_length),)
    if not model.strip():
        raise click.UsageError("give a name: NAME is empty; --list has the names")
    name, found = _named(model)
    notes = found.left_out
    if found.quantised is not None:
        notes += (QUANTISED.format(dtype, found.quantised and f" ({found.quantised})"),)
    if not sizes:
        return name, found.config, notes
    followed = _followed(found.config, sizes)
    if words := ", ".join(f"{size} {value:,}" for size, value in followed.items()):
        notes += (f"Followed from the sizes given, as in the model itself: {words}.",)
    return f"{name} with {changes}", _changed(found.config, followed | dict(sizes)), notes


def flag(name: str) -> str:
    """Return the option that gives ``name``: ``--d-model``."""
    return "--" + name.replace("_", "-")


def _named(model: str) -> tuple[str, FileConfig]:
    from riverhead.cost.known import known
    from riverhead.errors import InputError
    from riverhead.transformer.config_file import FileConfig, read_file

    place = Path(model)
    if place.suffix in (".json", ".gguf") or ("/" in model and place.exists()):
        return model, read_file(place)
    try:
        found = known(model)
    except InputError:
        if (folder := place if place.is_dir() else _stored(model)) is None:
            raise
        return model, read_file(folder)
    return found.title, FileConfig(found.config)


def _stored(name: str) -> Path | None:
    """The folder of a model that was added under ``name``."""
    from riverhead.transformer.store import models

    return next((stored.folder for stored in models() if stored.name == name), None)


def _followed(config: Config, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the sizes not given that follow from those given as they do in ``config`` itself."""
    from riverhead.errors import InputError

    n_heads, d_model = (sizes.get(name, getattr(config, name)) for name in ("n_heads", "d_model"))
    found: dict[str, int] = {}
    if "n_heads" in sizes and config.n_kv_heads == config.n_heads:
        found["n_kv_heads"] = n_heads
    if sizes.keys() & {"n_heads", "d_model"} and config.d_k * config.n_heads == config.d_model:
        if d_model % n_heads and "d_k" not in sizes:
            raise InputError(f"d_model {d_model:,} is no multiple of n_heads {n_heads:,}; give --d-k, too")
        found["d_k"] = d_model // n_heads
    if config.d_v == config.d_k and "d_k" in (found | dict(sizes)):
        found["d_v"] = (found | dict(sizes))["d_k"]
    if "d_model" in sizes and config.d_ff % config.d_model == 0:
        found["d_ff"] = config.d_ff // config.d_model * d_model
    return {
        name: value for name, value in found.items() if name not in sizes and value != getattr(config, name)
    }


def _changed(config: Config, sizes: dict[str, Any]) -> Config:
    from riverhead.cost.known import windows
    from riverhead.errors import InputError

    n_layers = sizes.get("n_layers", config.n_layers)
    if "window" in sizes:
        sizes["windows"] = windows(sizes.pop("window"), n_layers)
    elif config.windows and n_layers != config.n_layers:
        if len(set(config.windows)) > 1:
            raise InputError(f"n_layers {n_layers}: layers have windows of their own; give --window, too")
        sizes["windows"] = windows(config.windows[0], n_layers)
    return replace(config, **sizes)
