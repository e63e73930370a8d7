"""The compiled pass (kernels/module.cpp)."""

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import NDArray

def isas() -> list[str]: ...
def peak(isa: str) -> float: ...
def run(
    isa: str,
    q: NDArray[Any],
    k: NDArray[Any],
    v: NDArray[Any],
    batch: Sequence[NDArray[Any]],
    bfloat: bool,
    scale: float,
    mask: NDArray[Any] | None,
    bias: NDArray[Any] | None,
    alibi: NDArray[Any] | None,
    sinks: NDArray[Any] | None,
    lengths: NDArray[Any] | None,
    softcap: float,
    causal: bool,
    offset: int,
    window: int,
    top: int,
    pairs: tuple[NDArray[Any], NDArray[Any]] | None,
    outputs: dict[str, NDArray[Any]],
    n_threads: int,
    progress: Callable[[float], object] | None,
) -> None: ...
