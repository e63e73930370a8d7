"""A converted model, mapped from its folder: tokens in, the residual stream and next-token logits out."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from riverhead.core import AttentionMap, attend
from riverhead.core.cache import KVCache
from riverhead.cost import Config
from riverhead.errors import InputError, ModelError
from riverhead.transformer.families import family_of
from riverhead.transformer.layout import MODEL_FILE, SCHEMA, TOKENIZER_FILE, WEIGHTS_FILE, Weights, n_numbers
from riverhead.transformer.names import HeadName, parse_head
from riverhead.transformer.steps import Off, attention_part
from riverhead.transformer.steps import attend as attend_unseen
from riverhead.transformer.threads import few_threads

if TYPE_CHECKING:
    from riverhead.transformer.generate import Generated
    from riverhead.transformer.reading import Reading
    from riverhead.transformer.tokens import Tokenizer

__all__ = ["Model", "Pass", "load", "open_model"]

Array = npt.NDArray[np.float32]
Watch = Callable[[int, Array, Array, Array], None]
See = Callable[[int, AttentionMap], None]
Without = Sequence[Collection[HeadName] | Mapping[HeadName, Any]]
Pairs = tuple[npt.ArrayLike, npt.ArrayLike]
Rows = int | slice | Sequence[int]

LOGITS_BYTES = 256 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Pass:
    """One run through the model: ``final`` is the residual stream after the last block.

    ``x`` is the residual stream into each block where it was kept, otherwise empty.
    """

    model: Model
    final: Array  # (B, T, d_model)
    x: tuple[Array, ...] = ()  # n_layers of (B, T, d_model)

    def logits(self, rows: Rows) -> Array:
        """Return the next-token logits after the tokens ``rows`` selects: (B, n, vocab_size).

        Raises `InputError` naming the bytes when they would take more than 256 MB, and for a model that
        predicts no next token.
        """
        model, config = self.model, self.model.config
        W_vocab = model.unembedding()
        try:
            x = self.final[:, rows]
        except IndexError as error:
            raise InputError(f"rows {rows} are asked for, there are {self.final.shape[1]} tokens") from error
        n_bytes = 4 * config.vocab_size * math.prod(x.shape[:-1])
        if n_bytes > LOGITS_BYTES:
            raise InputError(
                f"logits {(*x.shape[:-1], config.vocab_size)} take {n_bytes} bytes, at most {LOGITS_BYTES} "
                f"are made at once: ask for up to {LOGITS_BYTES // (4 * config.vocab_size)} rows at a time"
            )
        with few_threads(math.prod(x.shape[:-1])):
            logits: Array = model.family.final_norm(x, model.weights, config) @ W_vocab
        return logits


class Model:
    """A model of one of the families in ``folder``, its weights memory-mapped; its steps are ``family``'s."""

    def __init__(self, name: str, folder: Path, config: Config, flat: Array, text: dict[str, Any]) -> None:
        self.name, self.folder, self.config = name, folder, config
        self.family = family_of(config)
        self.weights = Weights.of(flat, config)
        self._text = text

    def __repr__(self) -> str:
        c = self.config
        return f"<Model {self.name}: {c.n_layers} layers, {c.n_heads} heads over {c.n_kv_heads} kv heads>"

    @cached_property
    def title(self) -> str:
        """What to call it: its published name, its own, or that of the file or folder it was opened by."""
        from riverhead.transformer.known import KNOWN
        from riverhead.transformer.manifest import read_stored

        if self.name in KNOWN:
            return KNOWN[self.name].title
        stored = read_stored(self.folder) if self.name == self.folder.name else None
        return stored.title if stored else self.name

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer, read when it is first needed."""
        from riverhead.transformer.tokens import Tokenizer

        return Tokenizer(self.folder / TOKENIZER_FILE, self._text)

    def tokenize(self, text: str) -> list[int]:
        """Return the token ids of ``text``."""
        return self.tokenizer.ids(text)

    def read(self, text: str) -> Reading:
        """Read ``text`` and keep what every head and block can be computed from.

        Raises `InputError` for an empty text, and for one longer than the model's context: nothing is cut.
        """
        from riverhead.transformer.reading import Reading

        if not isinstance(text, str):
            raise InputError(f"the text is {type(text).__name__}, it has to be a str")
        return Reading(self, text, self.tokenize(text))

    def generate(self, prompt: str | Sequence[Mapping[str, str]], **options: Any) -> Iterator[Generated]:
        """Continue a text, or answer chat messages, token by token; the options are those of `generate`."""
        from riverhead.transformer.generate import generate

        return generate(self, prompt, **options)

    def run(
        self,
        token_ids: npt.ArrayLike,
        *,
        without: Without | None = None,
        watch: Watch | None = None,
        cache: Sequence[KVCache] | None = None,
        keep: bool = False,
        see: See | None = None,
        top: int = 0,
        pairs: Pairs | None = None,
    ) -> Pass:
        """Run token ids (B, T) through every block.

        ``without`` holds one collection of heads per item, whose outputs are zeroed before W_o, or a mapping
        of heads to the vector (d_v,) that stands in for them; ``watch`` is called in each layer with
        (layer, q, k, v), after RoPE; ``cache`` holds one `KVCache` per layer, to which the tokens are
        appended (`new_cache` makes them); ``keep`` keeps the residual stream into each block. ``see`` is
        called in each layer with (layer, map): the `AttentionMap` whose pass made the layer's output, so that
        looking costs little; ``top`` and ``pairs`` are those of `riverhead.attend`.
        Raises `InputError` for tokens the model does not have, or more of them than its context.
        """
        x = self.embed(token_ids, len(cache[0]) if cache else 0)
        return self.run_from(
            0, x, without=without, watch=watch, cache=cache, keep=keep, see=see, top=top, pairs=pairs
        )

    def run_from(
        self,
        layer: int,
        x: Array,  # (B, T, d_model): the residual stream into block ``layer``
        *,
        without: Without | None = None,
        watch: Watch | None = None,
        cache: Sequence[KVCache] | None = None,
        keep: bool = False,
        see: See | None = None,
        top: int = 0,
        pairs: Pairs | None = None,
    ) -> Pass:
        """Run the blocks from ``layer`` on, with the options of `run`; ``x`` is left as it is."""
        B, T = self._checked_stream(layer, x, cache)
        off = self._switched_off(without, B)
        offset = len(cache[layer]) if cache else 0
        config, family, kept = self.config, self.family, []
        with few_threads(B * T):
            for at in range(layer, config.n_layers):
                block = self.weights.blocks[at]
                if keep:
                    kept.append(x)
                q, k, v = family.project(x, block, config, offset, self.weights.rope_divisors)
                if cache:
                    k, v = cache[at].append(k, v)
                if watch is not None:
                    watch(at, q, k, v)
                if see is None:
                    out = attend_unseen(q, k, v, **config.attention(at))
                else:
                    A = attend(q, k, v, **config.attention(at), top=top, pairs=pairs)
                    see(at, A)
                    out = A.out.copy() if at in off else A.out
                x = family.add_attention(x, attention_part(out, block, off.get(at, ())), block, config)
                x = family.add_feed_forward(x, family.feed_forward_part(x, block, config), block, config)
        return Pass(self, x, tuple(kept))

    def embed(self, token_ids: npt.ArrayLike, offset: int = 0) -> Array:
        """Return the residual stream into the first block (B, T, d_model), the first token at ``offset``.

        Raises `InputError` as `run` does.
        """
        ids = self._checked(token_ids, offset)
        return self.family.embed(ids, self.weights, self.config, offset)

    def new_cache(self) -> list[KVCache]:
        """Return an empty cache a layer, each as wide as its layer's window; for `run`."""
        return [KVCache(window=self.config.window(layer)) for layer in range(self.config.n_layers)]

    def unembedding(self) -> Array:
        """Return W_vocab (d_model, vocab_size); raise `InputError` when the model predicts no next token."""
        if self.weights.W_vocab is None:
            raise InputError(
                f"{self.name} predicts no next token: it has no odds to give; take a model that does, "
                "such as smollm2"
            )
        return self.weights.W_vocab

    def check_length(self, n_tokens: int) -> None:
        """Raise `InputError` where ``n_tokens`` are more than the model reads."""
        if n_tokens > self.config.context_length:
            raise InputError(
                f"{n_tokens} tokens, {self.name} reads at most {self.config.context_length}; "
                "nothing was cut: give a shorter text"
            )

    def _checked(self, token_ids: npt.ArrayLike, n_before: int) -> npt.NDArray[np.int64]:
        ids = np.asarray(token_ids)
        if ids.ndim != 2 or ids.dtype.kind not in "iu" or not ids.size:
            raise InputError(
                f"token_ids is {ids.dtype} {ids.shape}, it has to be whole numbers (B, T), none of them 0"
            )
        self.check_length(n_before + ids.shape[1])
        if ids.min() < 0 or ids.max() >= self.config.vocab_size:
            raise InputError(
                f"token ids run from {ids.min()} to {ids.max()}, {self.name} has 0 to "
                f"{self.config.vocab_size - 1}"
            )
        return ids.astype(np.int64)

    def _checked_stream(self, layer: int, x: Array, cache: Sequence[KVCache] | None) -> tuple[int, int]:
        """Return B and T of the residual stream into block ``layer``."""
        n, d_model = self.config.n_layers, self.config.d_model
        if not 0 <= layer < n:
            raise InputError(f"layer is {layer}; the model has {n}: 0 to {n - 1}")
        if x.ndim != 3 or x.shape[-1] != d_model:
            raise InputError(f"x is {x.shape}, the residual stream is (B, T, d_model {d_model})")
        if cache and not self.config.causal:
            raise InputError(
                f"{self.name} is bidirectional: what it makes of a token changes with every later one, so "
                "nothing can be kept in a cache; run the whole text at once"
            )
        return x.shape[0], x.shape[1]

    def _switched_off(self, without: Without | None, n_items: int) -> dict[int, list[Off]]:
        """Return layer -> (item, head, what it hands over instead)."""
        off: dict[int, list[Off]] = {}
        if without is None:
            return off
        if len(without) != n_items:
            raise InputError(f"without has {len(without)} collections of heads, the batch {n_items} items")
        for item, heads in enumerate(without):
            instead = heads if isinstance(heads, Mapping) else dict.fromkeys(heads, np.float32(0))
            for name, vector in instead.items():
                layer, head = parse_head(name, self.config)
                off.setdefault(layer, []).append((item, head, vector))
        return off


def load(
    name_or_path: str | os.PathLike[str],
    *,
    say: Callable[[str], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Model:
    """Open a model of this machine by name, by its folder, or by its own files, which are converted once.

    ``say`` hears what takes long, ``progress(done_bytes, total_bytes)`` how far a conversion is.
    Raises `NotFetchedError`, with the command that brings it, when it is not here.
    """
    from riverhead.transformer import store

    return open_model(store.locate(name_or_path, say=say or store.quiet, progress=progress))


def open_model(folder: Path | str, *, name: str | None = None) -> Model:
    """Map the converted model in ``folder``; raise `ModelError` when the folder does not hold a whole one."""
    folder = Path(folder)
    try:
        description = json.loads((folder / MODEL_FILE).read_text(encoding="utf-8"))
        flat = np.load(folder / WEIGHTS_FILE, mmap_mode="r", allow_pickle=False)
        if description["schema"] != SCHEMA:
            raise ValueError(f"schema {description['schema']!r}, read is {SCHEMA!r}")
        config, text = Config.from_dict(description["config"]), description["text"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{folder}: no whole converted model here: {error}; convert it again") from error
    n = n_numbers(config)
    if flat.shape != (n,) or flat.dtype != np.float32:
        raise ModelError(
            f"{folder}: {WEIGHTS_FILE} is {flat.dtype} {flat.shape}, {MODEL_FILE} makes it float32 "
            f"({n},); convert the model again"
        )
    return Model(name or folder.name, folder, config, flat, text)
