"""The real models that tests read, fetched once into the user's cache folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from riverhead.errors import FetchError, NotFetchedError


def fetched(name: str) -> Path:
    """The folder of a real model, downloaded once for all tests; several workers wait for one fetch.

    Without a network the test is skipped by name, unless RIVERHEAD_REQUIRE_MODEL=1 (as in CI) forbids that.
    """
    from riverhead.transformer import store

    try:
        return store.fetch(name)
    except (FetchError, NotFetchedError) as error:
        refuse = pytest.fail if os.environ.get("RIVERHEAD_REQUIRE_MODEL") == "1" else pytest.skip
        refuse(f"needs the real model: {error}")
