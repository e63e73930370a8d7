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
from riverhead.transformer import llama
from riverhead.transformer.layout import MODEL_FILE, SCHEMA, TOKENIZER_FILE, WEIGHTS_FILE, Weights, n_numbers
from riverhead.transformer.names import HeadName, parse_head
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

        Raises `InputError` naming the bytes when they would take more than 256 MB.
        """
        config, weights = self.model.config, self.model.weights
        if weights.W_vocab is None or weights.final_gain is None:
            raise InputError(f"{self.model.name} predicts no next token: it has no odds to give")
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
            logits: Array = llama.rms_norm(x, weights.final_gain, config.norm_epsilon) @ weights.W_vocab
        return logits


class Model:
    """A Llama-family model in ``folder``, its weights memory-mapped."""

    def __init__(self, name: str, folder: Path, config: Config, flat: Array, text: dict[str, Any]) -> None:
        self.name, self.folder, self.config = name, folder, config
        self.weights = Weights.of(flat, config)
        self._text = text

    def __repr__(self) -> str:
        c = self.config
        return f"<Model {self.name}: {c.n_layers} layers, {c.n_heads} heads over {c.n_kv_heads} kv heads>"

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
        appended; ``keep`` keeps the residual stream into each block. ``see`` is called in each layer with
        (layer, map): the `AttentionMap` whose pass made the layer's output, so that looking costs little;
        ``top`` and ``pairs`` are those of `riverhead.attend`.
        Raises `InputError` for tokens the model does not have, or more of them than its context.
        """
        offset = len(cache[0]) if cache else 0
        ids = self._checked(token_ids, offset)
        x: Array = self.weights.embedding[ids]  # (B, T, d_model)
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
        B, T, _ = x.shape
        off = self._switched_off(without, B)
        offset = len(cache[0]) if cache else 0
        kept = []
        with few_threads(B * T):
            for at in range(layer, self.config.n_layers):
                block = self.weights.blocks[at]
                if keep:
                    kept.append(x)
                q, k, v = llama.project(x, block, self.config, offset)
                if cache:
                    k, v = cache[at].append(k, v)
                if watch is not None:
                    watch(at, q, k, v)
                if see is None:
                    out = llama.attend(q, k, v)
                else:
                    A = attend(q, k, v, **self.config.attention(at), top=top, pairs=pairs)
                    see(at, A)
                    out = A.out.copy() if at in off else A.out
                x = x + llama.attention_part(out, block, off.get(at, ()))
                x += llama.feed_forward_part(x, block, self.config)
        return Pass(self, x, tuple(kept))

    def _checked(self, token_ids: npt.ArrayLike, n_before: int) -> npt.NDArray[np.int64]:
        ids = np.asarray(token_ids)
        if ids.ndim != 2 or ids.dtype.kind not in "iu" or not ids.size:
            raise InputError(
                f"token_ids is {ids.dtype} {ids.shape}, it has to be whole numbers (B, T), none of them 0"
            )
        if (n_tokens := n_before + ids.shape[1]) > self.config.context_length:
            raise InputError(
                f"{n_tokens} tokens, {self.name} reads at most {self.config.context_length}; "
                "nothing was cut: give a shorter text"
            )
        if ids.min() < 0 or ids.max() >= self.config.vocab_size:
            raise InputError(
                f"token ids run from {ids.min()} to {ids.max()}, {self.name} has 0 to "
                f"{self.config.vocab_size - 1}"
            )
        return ids.astype(np.int64)

    def _switched_off(self, without: Without | None, n_items: int) -> dict[int, list[llama.Off]]:
        """Return layer -> (item, head, what it hands over instead)."""
        off: dict[int, list[llama.Off]] = {}
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
    """Open a model of this machine by name, by its folder, or by a GGUF file, which is converted once.

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
