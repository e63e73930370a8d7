"""What a room brings in: nothing heavy on import, and only what is used after that."""

from __future__ import annotations

import subprocess
import sys

import pytest

import riverhead.transformer
from riverhead.transformer import Model

HEAVY = {"gguf", "jinja2", "numpy", "tokenizers", "torch", "transformers"}


def brought(code: str) -> set[str]:
    command = [sys.executable, "-c", f"{code}\nimport sys; print(*sorted({HEAVY!r} & sys.modules.keys()))"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import riverhead.transformer", set()),
        ("from riverhead.transformer import parse_head", set()),
        ("from riverhead.transformer import open_model", {"numpy"}),
        ("import riverhead.transformer.convert", {"numpy"}),
        ("import riverhead.transformer.checkpoint", {"numpy", "tokenizers"}),
        ("import riverhead.transformer.gguf_model", {"gguf", "numpy", "tokenizers"}),
    ],
)
def test_imports(code: str, expected: set[str]) -> None:
    assert brought(code) == expected


def test_reading_a_text_needs_no_gguf(llama: Model) -> None:
    code = f"from riverhead.transformer import open_model; open_model({str(llama.folder)!r}).read('the ab')"
    assert brought(code) == {"numpy", "tokenizers"}


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match=r"'riverhead.transformer' has no attribute 'modle'"):
        riverhead.transformer.modle  # noqa: B018
