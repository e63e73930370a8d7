"""What `plan` is asked to plan: a known name, a model's file, or sizes, alone or in place of a model's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from riverhead.cost import Config

__all__ = ["config_of", "size_options", "whole"]

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
    "n_kv_heads": ("Key and value heads: n_heads is MHA, 1 is MQA, between them GQA.", 1),
    "d_model": ("Width of the residual stream.", 1),
    "d_k": ("Width of a query and a key; d_model / n_heads unless given.", 1),
    "d_v": ("Width of a value; d_k unless given.", 1),
    "d_ff": ("Width of the feed-forward; 4·d_model unless given.", 1),
    "vocab_size": ("Tokens there are.", 1),
    "window": ("Keys a query sees, in every layer; 0 is all.", 0),
}
NEEDED = ("n_layers", "n_heads", "d_model", "vocab_size")


def size_options(command: F) -> F:
    """Add an option for every size."""
    for name, (words, least) in reversed(SIZES.items()):
        option = click.option(_flag(name), name, type=int, callback=whole(least), metavar="N", help=words)
        command = option(command)
    return command


def config_of(model: str | None, sizes: Mapping[str, int]) -> tuple[str, Config]:
    """Return what the model is called and its config, ``sizes`` put in place of its own.

    Raises `InputError` for a name that is unknown, giving the nearest, and `ModelError` for sizes that
    cannot be.
    """
    from riverhead.cost.known import sized

    changes = ", ".join(f"{name} {value:,}" for name, value in sizes.items())
    if model is None:
        if missing := [_flag(name) for name in NEEDED if name not in sizes]:
            raise click.UsageError(
                f"give a NAME, a FILE, or sizes: {' '.join(missing)} missing; --list has the names"
            )
        return changes, sized(sizes)
    name, config = _named(model)
    return (f"{name} with {changes}", _changed(config, dict(sizes))) if sizes else (name, config)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _named(model: str) -> tuple[str, Config]:
    from riverhead.cost.known import known
    from riverhead.errors import InputError
    from riverhead.transformer.config_file import read_config

    place = Path(model)
    if place.suffix in (".json", ".gguf") or ("/" in model and place.exists()):
        return model, read_config(place)
    try:
        found = known(model)
    except InputError:
        if (folder := place if place.is_dir() else _stored(model)) is None:
            raise
        return model, read_config(folder)
    return found.title, found.config


def _stored(name: str) -> Path | None:
    """The folder of a model that was added under ``name``."""
    from riverhead.transformer.store import models

    return next((stored.folder for stored in models() if stored.name == name), None)


def _changed(config: Config, sizes: dict[str, Any]) -> Config:
    from riverhead.cost.known import windows
    from riverhead.errors import InputError

    n_layers = sizes.get("n_layers", config.n_layers)
    if "d_k" in sizes:
        sizes.setdefault("d_v", sizes["d_k"])
    if "window" in sizes:
        sizes["windows"] = windows(sizes.pop("window"), n_layers)
    elif config.windows and n_layers != config.n_layers:
        if len(set(config.windows)) > 1:
            raise InputError(f"n_layers {n_layers}: layers have windows of their own; give --window, too")
        sizes["windows"] = windows(config.windows[0], n_layers)
    return replace(config, **sizes)
