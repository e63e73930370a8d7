"""The one description of a model: what its file says, and all that bytes and FLOPs follow from."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any

from riverhead.errors import ModelError

__all__ = ["Config"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Sizes, constants and traits of a transformer; every size is a count of at least 1.

    The defaults of the traits are those of a plain Llama. Raises `ModelError` naming the field when a value
    cannot describe a model.

    >>> tiny = Config(architecture="llama", n_layers=2, n_heads=6, n_kv_heads=3, d_model=20, d_k=4, d_v=4,
    ...     d_ff=11, vocab_size=7, context_length=64, rope_base=10000.0, norm_epsilon=1e-5)
    >>> tiny.group, tiny.window(1), Config.from_dict(tiny.to_dict()) == tiny
    (2, None, True)
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
    norm_epsilon: float
    # positions
    rope_base: float | None = None  # None: nothing is turned
    rope_scaling: str | None = None  # its kind, in the words of Hugging Face's config: "linear", "llama3"
    n_positions: int = 0  # rows of a learned table; 0: there is none
    # who sees whom
    causal: bool = True
    windows: tuple[int, ...] = ()  # keys a query sees, layer by layer, 0 for all; empty: all in every layer
    # the parts of a block
    norm: str = "rms"  # or "layer", which subtracts the mean and has a shift beside the gain
    norm_after: bool = False  # after each part is added, as BERT does, instead of before it
    gated: bool = True  # the feed-forward multiplies its two halves, SwiGLU
    activation: str = "silu"
    qkv_bias: bool = False
    qk_norm: bool = False  # q and k of each head are normed before they are turned
    out_bias: bool = False  # of W_o
    feed_forward_bias: bool = False
    # before the first block and after the last
    n_segments: int = 0  # BERT's token types
    embedding_norm: bool = False
    final_norm: bool = True
    pooler: bool = False  # BERT's, which nothing here uses
    predicts: bool = True  # whether there are odds of a next token
    tied_embeddings: bool = True

    @property
    def group(self) -> int:
        """Query heads per kv head: query head h reads kv head ``h // group``."""
        return self.n_heads // self.n_kv_heads

    def window(self, layer: int) -> int | None:
        """How many keys, itself among them, a query of ``layer`` sees at most; None: all."""
        return (self.windows[layer] or None) if self.windows else None

    def attention(self, layer: int) -> dict[str, Any]:
        """Return what `riverhead.attend` takes besides q, k and v to do what ``layer`` does."""
        return {"scale": self.d_k**-0.5, "causal": self.causal, "window": self.window(layer)}

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, ready for JSON."""
        return asdict(self) | {"windows": list(self.windows)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Config:
        """Build a config from plain data, refusing missing, unknown and impossible fields."""
        known = {field.name for field in fields(cls)}
        needed = {field.name for field in fields(cls) if field.default is MISSING}
        if not needed <= data.keys() <= known:
            missing, unknown = sorted(needed - data.keys()), sorted(data.keys() - known)
            raise ModelError(f"config: missing {missing}, unknown {unknown}; its fields are {sorted(known)}")
        windows = data.get("windows", ())
        return cls(**data | {"windows": tuple(windows) if isinstance(windows, list) else windows})

    def __post_init__(self) -> None:
        for field in fields(self):
            _check(field.name, getattr(self, field.name))
        if self.n_heads % self.n_kv_heads:
            raise ModelError(
                f"n_heads {self.n_heads} is no multiple of n_kv_heads {self.n_kv_heads}: "
                "each kv head is read by as many query heads"
            )
        if self.windows and len(self.windows) != self.n_layers:
            raise ModelError(f"windows are {len(self.windows)}, there are n_layers {self.n_layers}")


Rule = tuple[Any, Callable[[Any], bool], str]

NAME: Rule = (str, lambda value: value != "", "a name")
FLAG: Rule = (bool, lambda value: True, "true or false")
SIZE: Rule = (int, lambda value: value >= 1, "a whole number of at least 1")
COUNT: Rule = (int, lambda value: value >= 0, "a whole number of at least 0")
CONSTANT: Rule = (
    int | float,
    lambda value: 0 < value <= sys.float_info.max,  # also of whole numbers too large for a float
    "a finite number above 0",
)
COUNTS: Rule = (
    tuple,
    lambda value: all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in value),
    "whole numbers of at least 0",
)


def _one_of(*names: str) -> Rule:
    return str, lambda value: value in names, "one of " + ", ".join(names)


def _or_none(rule: Rule) -> Rule:
    kind, allowed, words = rule
    return kind | None, lambda value: value is None or allowed(value), f"{words}, or none"


RULES: dict[str, Rule] = {
    "architecture": NAME,
    "norm_epsilon": CONSTANT,
    "rope_base": _or_none(CONSTANT),
    "rope_scaling": _or_none(NAME),
    "n_positions": COUNT,
    "windows": COUNTS,
    "norm": _one_of("rms", "layer"),
    "activation": _one_of("silu", "gelu", "gelu_tanh", "relu"),
    "n_segments": COUNT,
} | dict.fromkeys(
    (
        *("causal", "norm_after", "gated", "qkv_bias", "qk_norm", "out_bias", "feed_forward_bias"),
        *("embedding_norm", "final_norm", "pooler", "predicts", "tied_embeddings"),
    ),
    FLAG,
)  # every other field is a size


def _check(name: str, value: Any) -> None:
    kind, allowed, words = RULES.get(name, SIZE)
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)) or not allowed(value):
        raise ModelError(f"{name} is {value!r}, it has to be {words}")
