"""Tokens as a model generated them: where each one's query looked, and what the KV cache held; plain data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any

from riverhead.cost import Config
from riverhead.display import Displayable
from riverhead.inspection.findings import quoted
from riverhead.numbers import fixed, grouped
from riverhead.scene import Cell, Scene, Table, Text

__all__ = ["CacheBytes", "Continuation", "Look", "Step"]

NUMBER_BYTES = 4  # float32
NO_CLAIM = "no claim"
TAIL = 240  # characters of a prompt before what was generated
ALL_HEADS = "all heads, mean"
NOTES = (
    "A new token comes from the query before it. Beside where that looked stands its habit, what such a "
    f"place gets in plain text; the first token and oneself have none: {NO_CLAIM}",
    "The head named is the one with most weight beyond its habit; no word was swapped, no head switched off: "
    "no finding",
)


@dataclass(frozen=True, slots=True)
class Look:
    """A key that a query looked at; ``head`` None is the mean over every head, ``habit`` None is no claim."""

    position: int
    token: str
    weight: float
    habit: float | None = None
    head: str | None = None


@dataclass(frozen=True, slots=True)
class CacheBytes:
    """The KV cache after ``n_tokens``, ``n_new`` of them in this step, in bytes.

    ``held`` is counted in the cache itself; the others follow from the sizes, without windows: as many kv
    heads as heads (MHA, Vaswani et al. 2017, §3.2.2), as this model has (GQA, Ainslie et al. 2023, §2.2), one
    (MQA, Shazeer 2019, §3).
    """

    n_tokens: int
    n_new: int
    appended_bytes: int
    held_bytes: int
    mha_bytes: int
    gqa_bytes: int
    mqa_bytes: int

    @classmethod
    def of(cls, config: Config, n_tokens: int, n_new: int, held_bytes: int) -> CacheBytes:
        """Work out the bytes of ``n_tokens`` in a model of these sizes."""
        a_head = config.n_layers * (config.d_k + config.d_v) * NUMBER_BYTES  # of one token
        return cls(
            n_tokens,
            n_new,
            appended_bytes=n_new * config.n_kv_heads * a_head,
            held_bytes=held_bytes,
            mha_bytes=n_tokens * config.n_heads * a_head,
            gqa_bytes=n_tokens * config.n_kv_heads * a_head,
            mqa_bytes=n_tokens * a_head,
        )


@dataclass(frozen=True)
class Step(Displayable):
    """One new token, the place it takes, and where the query that it comes from looked.

    ``text`` is what it completes, empty inside a character; ``probability`` is the model's own, before
    temperature and top-k. ``first`` and ``itself`` (None where the query is the first token) and ``looks``,
    the keys with most weight of the others, are means over all heads; ``head`` is the one head with most
    weight beyond its habit on one of these others, None where none has any.
    """

    position: int
    token_id: int
    token: str
    text: str
    probability: float
    stop: bool
    query: str
    first: Look
    itself: Look | None
    looks: tuple[Look, ...]
    head: Look | None
    cache: CacheBytes

    def scene(self) -> Scene:
        """Lay out where its query looked, and what was appended to the KV cache."""
        table = Table((f"{quoted(self.query)} looked at", "", "weight", "habit"), tuple(self.cells()))
        ends = ", which ends it" if self.stop else ""
        title = f"{self.position}  {quoted(self.token)}  p = {fixed(self.probability)}{ends}"
        cache = f"KV cache: {self.cache.appended_bytes:,} bytes appended, {self.cache.held_bytes:,} held"
        return Scene(title, (table, Text((cache,), role="note")))

    def cells(self) -> Iterator[tuple[Cell, ...]]:
        """Give a row for each key looked at: its name, which heads, the weight, the habit."""
        for name, look in (("first", self.first), ("itself", self.itself)):
            if look is not None:
                yield f"{name}, {quoted(look.token)}", ALL_HEADS, fixed(look.weight), NO_CLAIM
        for look in (*self.looks, self.head):
            if look is not None:
                habit = NO_CLAIM if look.habit is None else fixed(look.habit)
                yield quoted(look.token), look.head or ALL_HEADS, fixed(look.weight), habit


@dataclass(frozen=True)
class Continuation(Displayable):
    """A prompt and what a model made of it, token by token; ``prompt`` is the text of its tokens."""

    model: str
    config: Config
    prompt: tuple[str, ...]
    steps: tuple[Step, ...]

    @property
    def text(self) -> str:
        """What was generated."""
        return "".join(step.text for step in self.steps)

    def scene(self) -> Scene:
        """Lay out where each step looked, and then the KV cache."""
        rows: list[tuple[Cell, ...]] = []
        for step in self.steps:
            named: list[tuple[Cell, Cell]] = [(quoted(step.token), fixed(step.probability))]
            rows += [(*name, *row) for name, row in zip_longest(named, step.cells(), fillvalue=(None, None))]
        looks = Table(("new token", "p", "its query looked at", "", "weight", "habit"), tuple(rows))
        return Scene(f"Token by token: {self.model}", (looks, *self.summary().parts))

    def summary(self) -> Scene:
        """Lay out the whole text, the KV cache step by step, and what the numbers are."""
        prompt = "".join(self.prompt)
        shown = prompt if len(prompt) <= TAIL else f"… {prompt[-TAIL:]}"
        text = Text((quoted(shown + self.text),))
        columns = ("KV cache: read", "tokens", "appended", "bytes held", "as MHA", "as MQA")
        cache = Table(columns, tuple(map(_cache_cells, self.steps)))
        notes = (Text((note,), role="note") for note in (*self._about_bytes(), *NOTES))
        n = len(self.steps)
        return Scene(f"{n} new token{'s' * (n != 1)}: {self.model}", (text, cache, *notes))

    def _about_bytes(self) -> Iterator[str]:
        c, last = self.config, self.steps[-1].cache
        own, as_mha, as_mqa = (
            f"{n_bytes // last.n_tokens:,}" for n_bytes in (last.gqa_bytes, last.mha_bytes, last.mqa_bytes)
        )
        yield (
            f"A token takes {c.n_layers} layers × {c.n_kv_heads} kv heads × ({c.d_k} + {c.d_v}) numbers × "
            f"{NUMBER_BYTES} bytes = {own}; with a kv head for each of {c.n_heads} heads (MHA) {as_mha}, "
            f"with one for all (MQA) {as_mqa}"
        )
        if any(c.windows):
            yield f"Windows forget: without them {last.gqa_bytes:,} bytes would be held at the end"

    def rows(self) -> list[dict[str, Any]]:
        """Return a row per step, for CSV."""
        return [_flat(step) for step in self.steps]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, ready for JSON."""
        return asdict(self) | {"config": self.config.to_dict(), "text": self.text}


def _cache_cells(step: Step) -> tuple[Cell, ...]:
    cache = step.cache
    read = quoted(step.query) if cache.n_new == 1 else f"the prompt, {cache.n_new} tokens"
    sizes = (cache.appended_bytes, cache.held_bytes, cache.mha_bytes, cache.mqa_bytes)
    return read, *map(grouped, (cache.n_tokens, *sizes))


def _flat(step: Step) -> dict[str, Any]:
    own = ("position", "token_id", "token", "probability", "stop", "query")
    looks = {"first": step.first, "self": step.itself, "looked_at": next(iter(step.looks), None)}
    row = {name: getattr(step, name) for name in own} | asdict(step.cache)
    for name, look in (looks | {"head": step.head}).items():
        row |= {f"{name}_{field}": look and getattr(look, field) for field in ("token", "weight", "habit")}
    return row | {"head": step.head and step.head.head}
