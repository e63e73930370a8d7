"""``riverhead doctor``: versions, the model cache, threads, and which attention runs."""

from __future__ import annotations

import os
import platform
from importlib import metadata

import click

from riverhead._version import __version__
from riverhead.cli.escapes import as_json
from riverhead.cli.options import format_option

PACKAGES = ("numpy", "click", "rich", "gguf", "tokenizers", "platformdirs", "jinja2", "filelock")
LEARNING = ("fsrs", "markdown-it-py", "prompt-toolkit")
OPTIONAL = ("resvg_py", "typst", "httpx", "torch", "transformers")


@click.command(epilog="\b\nExample:\n  riverhead doctor --format json\n")
@format_option("text", "json")
def doctor(format: str) -> None:
    """What is installed, what is cached, what runs: the first thing to send with a report."""
    found = examine()
    if format == "json":
        click.echo(as_json({"schema": "riverhead.doctor/1", **found}))
        return
    width = max(map(len, found))
    for name, value in found.items():
        if isinstance(value, dict):
            value = ", ".join(f"{model} ({state})" for model, state in value.items()) or "none fetched"
        click.echo(f"{name:<{width}}  {value}")


def examine() -> dict[str, object]:
    """Everything the doctor says, by name."""
    from riverhead.cli.learn_data import progress_file
    from riverhead.core import kernel
    from riverhead.transformer import store

    versions = {name: _version(name) for name in PACKAGES + LEARNING + OPTIONAL}
    cached = store.models()
    return {
        "riverhead": __version__,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "threads": kernel.threads_of(None),
        "kernel": f"{kernel.path()} (of {', '.join(kernel.paths())})",
        "matrix products": f"NumPy, {_blas()}",
        **{name: version or "not installed (optional)" for name, version in versions.items()},
        "cache": str(store.cache_folder()),
        "progress": str(progress_file()),
        "models": {model.name: model.problem or f"{model.n_bytes:,} bytes" for model in cached},
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _blas() -> str:
    import numpy as np

    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return f"{blas['name']} {blas['version']}"
