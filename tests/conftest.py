"""What every test may ask for: the real models, fetched once into the user's cache folder."""

from __future__ import annotations

import importlib.util
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from real_models import fetched
from tiny import Tiny, make_tiny

if TYPE_CHECKING:
    from riverhead.transformer import Model

# How long an example takes depends on who else is at the machine: no test fails for it.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def pytest_configure(config: pytest.Config) -> None:
    """Hear Ctrl-C, which a background job ignores; keep data apart; have the oracles that are required."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    data = tempfile.TemporaryDirectory(prefix="riverhead-")  # nobody's own progress is touched
    os.environ["RIVERHEAD_DATA"] = data.name
    config.add_cleanup(data.cleanup)
    for name in ("RIVERHEAD_LLM_URL", "RIVERHEAD_LLM_MODEL", "RIVERHEAD_LLM_KEY"):
        os.environ.pop(name, None)
    if os.environ.get("RIVERHEAD_REQUIRE_ORACLES") == "1":
        missing = [name for name in ("torch", "transformers") if importlib.util.find_spec(name) is None]
        if missing:
            pytest.exit(f"RIVERHEAD_REQUIRE_ORACLES=1, and not installed: {', '.join(missing)}", returncode=3)


@pytest.fixture(scope="session")
def smollm2_folder() -> Path:
    return fetched("smollm2")


@pytest.fixture(scope="session")
def smollm2(smollm2_folder: Path) -> Model:
    """SmolLM2, opened: memory-mapped, so that it costs next to nothing until it is used."""
    from riverhead.transformer import open_model

    return open_model(smollm2_folder)


@pytest.fixture(scope="session")
def minilm() -> Model:
    """MiniLM, the BERT that sees both ways."""
    from riverhead.transformer import open_model

    return open_model(fetched("minilm"))


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tiny]:
    """A model of a few hundred bytes that ``riverhead models fetch tiny`` brings into a cache of its own."""
    tiny = make_tiny(tmp_path, monkeypatch)
    yield tiny
    for gate in tiny.gates:
        gate.close()
