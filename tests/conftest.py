"""What every test may ask for: the real model, fetched once into the user's cache folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from riverhead.errors import FetchError, NotFetchedError


@pytest.fixture(scope="session")
def smollm2_folder() -> Path:
    """The folder of SmolLM2, the one download of the tests; several workers wait for one fetch.

    Without a network the test is skipped by name, unless RIVERHEAD_REQUIRE_MODEL=1 (as in CI) forbids that.
    """
    from riverhead.transformer import store

    try:
        return store.fetch("smollm2")
    except (FetchError, NotFetchedError) as error:
        refuse = pytest.fail if os.environ.get("RIVERHEAD_REQUIRE_MODEL") == "1" else pytest.skip
        refuse(f"needs the real model: {error}")


@pytest.fixture(scope="session")
def smollm2(smollm2_folder: Path) -> Any:
    """SmolLM2 opened, as `riverhead.load` gives it."""
    from riverhead.transformer import load

    return load(smollm2_folder)
