"""Figures that others print come out of the plan to the byte, the right ones right, the others wrong."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from riverhead.cost import Config
from riverhead.cost.figures import bytes_of
from riverhead.cost.known import known
from riverhead.cost.memory import kv_cache, weights
from riverhead.cost.parameters import parameters

CASES = tomllib.loads((Path(__file__).parent / "published.toml").read_text("utf-8"))
POWERS = {"K": 1, "M": 2, "G": 3}


def config_of(case: dict[str, Any]) -> Config:
    return replace(known(case["model"]).config, **case.get("sizes", {}))


def right(printed: str, n_bytes: int) -> str:
    """How ``printed`` says ``n_bytes``, rounded to as many digits as it has."""
    digits, unit = printed.split()
    number = Decimal(digits)
    if unit == "bytes":
        return "exact" if number == n_bytes else "never"
    bases = {"binary": 1024} if "i" in unit else {"decimal": 1000, "binary": 1024}
    half = Decimal(1).scaleb(number.as_tuple().exponent) / 2  # type: ignore[arg-type]
    power = POWERS[unit[0]]
    found = [name for name, base in bases.items() if abs(Decimal(n_bytes) / base**power - number) <= half]
    return {0: "never", 1: "".join(found), 2: "both"}[len(found)]


def of_parts(case: dict[str, Any]) -> int:
    config = config_of(case)
    found = {part.name: part.value or 0 for part in parameters(config)}
    counted = sum(found[name] for name in case.get("parts", found))
    return counted // config.n_layers if "a_layer" in case else counted


@pytest.mark.parametrize("case", CASES["kv"], ids=lambda case: f"{case['case']}: {case['printed']}")
def test_kv_caches(case: dict[str, Any]) -> None:
    cache = kv_cache(
        config_of(case),
        case.get("tokens", 1),
        case.get("batch", 1),
        case.get("dtype", "float16"),
        case.get("as", "own"),
        windows=False,
    )
    assert cache.value == case["bytes"]
    assert right(case["printed"], cache.value) == case["right"]


@pytest.mark.parametrize("case", CASES["weights"], ids=lambda case: f"{case['case']}: {case['printed']}")
def test_weights(case: dict[str, Any]) -> None:
    dtype = case.get("dtype", "float16")
    n_bytes = of_parts(case) * bytes_of(dtype)
    assert n_bytes == case["bytes"]
    assert right(case["printed"], n_bytes) == case["right"]
    if "parts" not in case:
        assert weights(config_of(case), dtype).value == n_bytes


@pytest.mark.parametrize("case", CASES["parameters"], ids=lambda case: f"{case['case']}: {case['printed']}")
def test_parameters(case: dict[str, Any]) -> None:
    assert of_parts(case) == case["value"]


def test_both_verdicts_are_there() -> None:
    """A list of right numbers alone would be passed by a test that compares nothing."""
    assert {case["right"] for case in CASES["kv"]} == {"exact", "decimal", "binary", "both", "never"}
    assert any(case["printed"] != case["value"] for case in CASES["parameters"])
