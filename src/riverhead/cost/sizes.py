"""A config's sizes as counts with their symbols, and the pairs of query and key that its layers see."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from riverhead.core.border import count as checked
from riverhead.cost.config import Config
from riverhead.cost.counts import Count, count, sum_of
from riverhead.cost.figures import bytes_of
from riverhead.errors import InputError
from riverhead.scene import Math

__all__ = ["Layers", "Sizes", "layers_of", "pairs", "seen_by_one", "sizes"]


LARGEST = 10**100


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of a model, of a text, and of a number, under the names of the glossary."""

    n_layers: Count
    H: Count
    G: Count
    d_model: Count
    d_k: Count
    d_v: Count
    d_ff: Count
    n_vocab: Count
    n_positions: Count
    n_segments: Count
    T: Count
    B: Count
    b: Count

    @property
    def meanings(self) -> tuple[tuple[Math, str, int], ...]:
        """Each symbol, what it counts, and how many there are; those of this model that are not 0."""
        rows = ((getattr(self, name), words) for name, words in MEANINGS.items())
        return tuple((size.symbols, words, int(size.value)) for size, words in rows if size.value)


MEANINGS = {
    "T": "tokens",
    "B": "texts at once",
    "n_layers": "layers",
    "H": "query heads in a layer",
    "G": "kv heads in a layer",
    "d_model": "numbers in a token's vector",
    "d_k": "numbers in a query, and in a key",
    "d_v": "numbers in a value",
    "d_ff": "numbers inside the feed-forward",
    "n_vocab": "tokens in the vocabulary",
    "n_positions": "positions with a learned vector",
    "n_segments": "segments with a learned vector",
    "b": "bytes a number",
}


def sizes(config: Config, tokens: int = 1, batch: int = 1, dtype: str = "float32") -> Sizes:
    """Return the sizes of ``config`` as counts; raises `InputError` naming what cannot be counted."""
    c = config
    for name, size in (("tokens", tokens), ("batch", batch), *c.to_dict().items()):
        if isinstance(size, int) and size > 2 * LARGEST:  # twice: the text of `doubled`
            raise InputError(f"{name} has {size.bit_length()} bits; sizes up to 10^100 are counted")
    return Sizes(
        n_layers=count("n", c.n_layers, "layers"),
        H=count("H", c.n_heads),
        G=count("G", c.n_kv_heads),
        d_model=count("d", c.d_model, "model"),
        d_k=count("d", c.d_k, "k"),
        d_v=count("d", c.d_v, "v"),
        d_ff=count("d", c.d_ff, "ff"),
        n_vocab=count("n", c.vocab_size, "vocab"),
        n_positions=count("n", c.n_positions, "positions"),
        n_segments=count("n", c.n_segments, "segments"),
        T=count("T", checked("tokens", tokens)),
        B=count("B", checked("batch", batch)),
        b=count("b", bytes_of(dtype)),
    )


@dataclass(frozen=True, slots=True)
class Layers:
    """The layers that see alike: how many, and the window their queries have; None: every key."""

    n: Count
    window: Count | None


def layers_of(config: Config, keys: int) -> tuple[Layers, ...]:
    """Group the layers by their windows; one that holds all ``keys`` is none."""
    windows = Counter(w if 0 < w < keys else 0 for w in config.windows) or Counter({0: config.n_layers})
    several = len(windows.keys() - {0}) > 1  # then n_512 layers have a window of w_512, else n_w layers of w

    def layers(w: int, n: int) -> Layers:
        if not w:
            return Layers(count("n", n, "all" if len(windows) > 1 else "layers"), None)
        index = str(w) if several else "w"
        return Layers(count("n", n, index if len(windows) > 1 else "layers"), count("w", w, str(w) * several))

    return tuple(layers(*item) for item in sorted(windows.items()))


def pairs(config: Config, T: Count, *, visible: bool) -> Count:
    """Count the pairs of query and key in all layers: every one, or those that masks leave visible."""
    if not visible:
        return count("n", config.n_layers, "layers") * T**2
    return sum_of(
        layers.n * _visible(T, layers.window, config.causal) for layers in layers_of(config, int(T.value))
    )


def seen_by_one(config: Config, T: Count) -> Count:
    """Count the keys that the next query sees in all layers, T tokens before it and itself."""
    if not config.causal:
        raise InputError(
            f"a {config.architecture} sees both ways: no token is decoded after others, and nothing is cached"
        )
    return sum_of(layers.n * (layers.window or T + 1) for layers in layers_of(config, int(T.value) + 1))


def _visible(T: Count, window: Count | None, causal: bool) -> Count:
    if window is None:
        return T * (T + 1) / 2 if causal else T**2
    w = window
    return w * T - w * (w - 1) / 2 if causal else (2 * w - 1) * T - w * (w - 1)
