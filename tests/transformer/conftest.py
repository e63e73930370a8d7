"""One random Llama for the whole folder: its file, its tensors, and the model made from it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from llamas import Sizes, random_tensors, write_llama

from riverhead.transformer import Model, open_model
from riverhead.transformer.convert import convert

CHAT = (
    "{% for m in messages %}<|begin|>{{ m['role'] }}\n{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|begin|>assistant\n{% endif %}"
)


@pytest.fixture(scope="session")
def sizes() -> Sizes:
    return Sizes()


@pytest.fixture(scope="session")
def tensors(sizes: Sizes) -> dict[str, np.ndarray]:
    return random_tensors(sizes)


@pytest.fixture(scope="session")
def llama_file(
    tmp_path_factory: pytest.TempPathFactory, tensors: dict[str, np.ndarray], sizes: Sizes
) -> Path:
    return write_llama(tmp_path_factory.mktemp("gguf") / "tiny.gguf", tensors, sizes, chat_template=CHAT)


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory, llama_file: Path) -> Model:
    folder = tmp_path_factory.mktemp("converted")
    convert(llama_file, folder)
    return open_model(folder, name="tiny")
