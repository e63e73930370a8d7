"""The one description of a model: what its file says, and all that bytes and FLOPs follow from."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any

from riverhead.errors import ModelError

__all__ = ["Config"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Sizes and constants of a transformer; every size is a count of at least 1.

    Raises `ModelError` naming the field when a value cannot describe a model.

    >>> tiny = Config(architecture="llama", n_layers=2, n_heads=6, n_kv_heads=3, d_model=20, d_k=4, d_v=4,
    ...     d_ff=11, vocab_size=7, context_length=64, rope_base=10000.0, norm_epsilon=1e-5)
    >>> tiny.group, Config.from_dict(tiny.to_dict()) == tiny
    (2, True)
    """

    architecture: str
    n_layers: int
    n_heads: int
    n_kv_heads: int
    d_model: int
    d_k: int
    d_v: int
    d_ff: int
    vocab_size: int
    context_length: int
    rope_base: float
    norm_epsilon: float
    tied_embeddings: bool = True

    @property
    def group(self) -> int:
        """Query heads per kv head: query head h reads kv head ``h // group``."""
        return self.n_heads // self.n_kv_heads

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Config:
        """Build a config from plain data, refusing missing, unknown and impossible fields."""
        known = {field.name for field in fields(cls)}
        if data.keys() != known:
            missing, unknown = sorted(known - data.keys()), sorted(data.keys() - known)
            raise ModelError(f"config: missing {missing}, unknown {unknown}; it has exactly {sorted(known)}")
        return cls(**data)

    def __post_init__(self) -> None:
        for field in fields(self):
            _check(field.name, str(field.type), getattr(self, field.name))
        if self.n_heads % self.n_kv_heads:
            raise ModelError(
                f"n_heads {self.n_heads} is no multiple of n_kv_heads {self.n_kv_heads}: "
                "each kv head is read by as many query heads"
            )


_RULES: dict[str, tuple[Any, Callable[[Any], bool], str]] = {
    "str": (str, lambda value: value != "", "a name"),
    "bool": (bool, lambda value: True, "true or false"),
    "int": (int, lambda value: value >= 1, "a whole number of at least 1"),
    "float": (int | float, lambda value: math.isfinite(value) and value > 0, "a finite number above 0"),
}


def _check(name: str, kind: str, value: Any) -> None:
    type_, allowed, words = _RULES[kind]
    if not isinstance(value, type_) or (kind != "bool" and isinstance(value, bool)) or not allowed(value):
        raise ModelError(f"{name} is {value!r}, it has to be {words}")
