"""Continue a text token by token: a KV cache, greedy or seeded sampling, stop tokens, chat templates."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from riverhead.core.border import count
from riverhead.core.cache import KVCache
from riverhead.core.equation import softmax
from riverhead.errors import InputError, ModelError
from riverhead.transformer.model import Model, Pass, See

__all__ = ["Generated", "Prompt", "Sampling", "generate", "prompt_ids", "render_chat"]

Prompt = str | Sequence[Mapping[str, str]]

RENDERED_CHARACTERS = 1 << 22  # a chat template may not make more


@dataclass(frozen=True, slots=True)
class Generated:
    """One token: the ``text`` it completes, empty inside a character; ``stop`` when it ends the answer."""

    token_id: int
    text: str
    probability: float  # the model's own, before temperature, top_k and top_p
    stop: bool = False


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is drawn; temperature 0 takes the likeliest.

    >>> Sampling().draw([0.5, 2.0, 1.0], np.random.default_rng(0))
    1
    >>> [Sampling(1.0, top_k=2).draw([0.5, 2.0, 1.0], np.random.default_rng(seed)) for seed in range(5)]
    [1, 1, 1, 1, 2]
    """

    temperature: float = 0.0
    top_k: int | None = None  # only the k likeliest
    top_p: float | None = None  # only the likeliest that together reach p (Holtzman et al. 2019, §3.1)

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < np.inf:
            raise InputError(f"temperature is {self.temperature}, it has to be 0 or more")
        if self.top_k is not None and self.top_k < 1:
            raise InputError(f"top_k is {self.top_k}, it has to be at least 1")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise InputError(f"top_p is {self.top_p}, it has to be above 0 and at most 1")

    def draw(self, logits: npt.ArrayLike, random: np.random.Generator) -> int:
        """Return a token id for ``logits`` (vocab_size,)."""
        x = np.asarray(logits, np.float64)
        if self.temperature == 0:
            return int(x.argmax())
        order = np.argsort(-x, kind="stable")[: self.top_k]
        with np.errstate(over="ignore"):  # at a temperature near 0 all others fall to −∞, as they should
            odds = softmax((x[order] - x[order[0]]) / self.temperature)
        if self.top_p is not None:
            n_kept = 1 + int(np.searchsorted(odds.cumsum(), self.top_p))
            odds = odds[:n_kept] / odds[:n_kept].sum()
        return int(random.choice(order[: len(odds)], p=odds))


def prompt_ids(model: Model, prompt: Prompt) -> list[int]:
    """Return the tokens of a text, or of chat messages as the model reads them; refuse an empty prompt."""
    if not prompt:
        raise InputError("the prompt is empty: give at least one word")
    if isinstance(prompt, str):
        return model.tokenize(prompt)
    return model.tokenizer.ids(render_chat(model, prompt), add_bos=False)  # a template writes its own


def check_room(model: Model, ids: Sequence[int], n_tokens: int, asked: str = "max_tokens") -> None:
    """Raise `InputError`, naming ``asked``, where ``n_tokens`` cannot follow the prompt ``ids``."""
    model.check_length(len(ids))
    room = model.config.context_length - len(ids)
    if not room:
        raise InputError(
            f"the prompt has {len(ids)} tokens, as many as {model.name} reads: none can follow; "
            "nothing was cut: give a shorter text"
        )
    if not 1 <= n_tokens <= room:
        raise InputError(
            f"{asked} is {n_tokens}; the prompt has {len(ids)} token{'s' * (len(ids) != 1)} and {model.name} "
            f"reads {model.config.context_length}: it has to be 1 to {room}"
        )


def generate(
    model: Model,
    prompt: Prompt,
    *,
    max_tokens: int = 64,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int = 0,
    stop: Collection[str] = (),
    cache: Sequence[KVCache] | None = None,
    see: See | None = None,
) -> Iterator[Generated]:
    """Continue a text, or answer chat messages ``[{"role": "user", "content": …}]``, token by token.

    The model's end token, and each single-token text in ``stop``, end the answer. The same seed gives the
    same tokens. ``see`` is that of `Model.run`; ``cache``, empty as `Model.new_cache` makes it, can be
    watched as it fills. Raises `InputError` at once for a model that predicts no next token, for an empty
    prompt, or when prompt and ``max_tokens`` do not fit the model's context together.
    """
    sampling = Sampling(temperature, top_k, top_p)
    model.unembedding()  # or it predicts nothing
    ids = prompt_ids(model, prompt)
    check_room(model, ids, count("max_tokens", max_tokens, 0))
    stops = {model.tokenizer.id_of(text) for text in stop} | {model.tokenizer.eos_id}
    random = np.random.default_rng(count("seed", seed, 0))
    reads = partial(model.run, cache=model.new_cache() if cache is None else cache, see=see)
    return _continue(model, reads, ids, max_tokens, sampling, stops, random)


def _continue(
    model: Model,
    reads: Callable[[list[list[int]]], Pass],
    ids: list[int],
    max_tokens: int,
    sampling: Sampling,
    stops: set[int | None],
    random: np.random.Generator,
) -> Iterator[Generated]:
    text = codecs.getincrementaldecoder("utf-8")("replace")
    for n_left in reversed(range(max_tokens)):
        logits = reads([ids]).logits(-1)[0]
        token_id = sampling.draw(logits, random)
        stop = token_id in stops
        spelled = b"" if stop else model.tokenizer.spelled(token_id)
        piece = text.decode(spelled, final=stop or not n_left)
        yield Generated(token_id, piece, float(softmax(logits.astype(np.float64))[token_id]), stop)
        if stop:
            return
        ids = [token_id]


def render_chat(model: Model, messages: Sequence[Mapping[str, str]]) -> str:
    """Write chat messages as the model was trained to read them, up to where its answer begins.

    The template comes with the model file: it runs in jinja2's sandbox.
    """
    import jinja2
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    if model.tokenizer.chat_template is None:
        raise InputError(f"{model.name} has no chat template: give the prompt as text")

    def refuse(message: str) -> NoReturn:
        raise jinja2.TemplateError(message)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.globals["raise_exception"] = refuse
    tokens: dict[str, Any] = {
        f"{name}_token": model.tokenizer.pieces([token_id])[0]
        for name, token_id in (("bos", model.tokenizer.bos_id), ("eos", model.tokenizer.eos_id))
        if token_id is not None
    }
    pieces, n_characters = [], 0
    try:
        template = environment.from_string(model.tokenizer.chat_template)
        for piece in template.generate(messages=messages, add_generation_prompt=True, **tokens):
            pieces.append(piece)
            n_characters += len(piece)
            if n_characters > RENDERED_CHARACTERS:
                raise ModelError(f"the chat template makes more than {RENDERED_CHARACTERS} characters")
    except (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
        raise ModelError(f"the chat template cannot be applied to these messages: {error}") from error
    return "".join(pieces)
