"""What scaling of RoPE divides each pair's angle by, so that a model reads further than it was trained."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from riverhead.errors import ModelError

__all__ = ["SCALINGS", "divisors"]

Array = npt.NDArray[np.float32]

MOST_CHANNELS = 1 << 16  # of a head: no tensor has shown yet how wide it is


def divisors(kind: str, parameters: Mapping[str, Any], base: float, d_k: int) -> Array:
    """Return the divisors of the d_k / 2 pairs' angles under the scaling ``kind``, one of `SCALINGS`.

    ``parameters`` are named as in a Hugging Face config. Raises `ModelError` naming one that is missing or no
    number above 0. https://huggingface.co/docs/transformers/main/en/internal/rope_utils

    >>> divisors("linear", {"factor": 4}, 10000.0, 6)
    array([4., 4., 4.], dtype=float32)
    """
    if d_k > MOST_CHANNELS:
        raise ModelError(f"RoPE scaling {kind!r}: heads of {d_k} channels, at most {MOST_CHANNELS} are read")
    scaling, needed = SCALINGS[kind]
    for name in needed:
        value = parameters.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e30:
            raise ModelError(
                f"RoPE scaling {kind!r}: {name} is {value!r}, it has to be a number above 0, below 1e30"
            )
    wavelengths = 2 * math.pi * base ** (np.arange(0, d_k, 2) / d_k)
    return scaling(wavelengths, **{name: parameters[name] for name in needed}).astype(np.float32)


def _linear(wavelengths: npt.NDArray[Any], factor: float) -> npt.NDArray[Any]:
    """Chen et al. 2023, arXiv:2306.15595, equation 4: every position is divided."""
    return np.full_like(wavelengths, factor)


def _llama3(
    wavelengths: npt.NDArray[Any],
    factor: float,
    low_freq_factor: float,
    high_freq_factor: float,
    original_max_position_embeddings: float,
) -> npt.NDArray[Any]:
    """Short waves stay, long ones are divided, those between are blended (Llama 3.1's own code)."""
    if low_freq_factor >= high_freq_factor:
        raise ModelError(
            f"RoPE scaling 'llama3': low_freq_factor {low_freq_factor} has to be below high_freq_factor "
            f"{high_freq_factor}"
        )
    turns = original_max_position_embeddings / wavelengths
    kept = np.clip((turns - low_freq_factor) / (high_freq_factor - low_freq_factor), 0, 1)
    return 1 / ((1 - kept) / factor + kept)


Scaling = Callable[..., npt.NDArray[Any]]
SCALINGS: dict[str, tuple[Scaling, tuple[str, ...]]] = {
    "linear": (_linear, ("factor",)),
    "llama3": (
        _llama3,
        ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"),
    ),
}
