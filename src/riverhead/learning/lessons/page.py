"""A section as parts of a scene: its words, its computed numbers, exercises and pauses in their places."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from jinja2 import StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markdown_it import MarkdownIt
from markdown_it.token import Token

from riverhead.errors import InputError
from riverhead.learning.lessons.source import Section
from riverhead.learning.lessons.toolbox import IN_A_MODEL, NAMES
from riverhead.learning.lessons.toolbox.figures import short
from riverhead.numbers import fixed
from riverhead.scene import Code, Formula, Math, Part, Table, Text

if TYPE_CHECKING:
    from riverhead.transformer import Model

__all__ = ["Bench", "Item", "Pause", "Try"]

NO_MODEL = "The real model is not here: `riverhead models fetch smollm2` brings it."


@dataclass(frozen=True, slots=True)
class Try:
    """An exercise at this place: its ``kind``, and a ``seed`` where the text speaks of its numbers."""

    kind: str
    seed: str = ""


@dataclass(frozen=True, slots=True)
class Pause:
    """A question to think about before reading on."""

    question: str


Item: TypeAlias = Part | Try | Pause


class Bench:
    """What computes the numbers of lessons; ``model`` opens the real model, where there is one to open."""

    def __init__(self, model: Callable[[], Model | None] | None = None) -> None:
        self._open = model
        self._markdown = MarkdownIt("commonmark").enable("table")
        self._jinja = ImmutableSandboxedEnvironment(undefined=StrictUndefined, finalize=shown)
        self._jinja.globals.update(NAMES)
        self._jinja.globals.update({name: self._with_model(make) for name, make in IN_A_MODEL.items()})
        self._jinja.filters["to"] = lambda value, decimals: fixed(value, decimals).text

    @cached_property
    def model(self) -> Model | None:
        """The real model, opened at its first use."""
        return self._open() if self._open else None

    def items(self, section: Section) -> list[Item]:
        """Return what a section shows, in order."""
        return list(self._blocks(self._markdown.parse(section.source), section.given))

    def parts(self, section: Section) -> list[Part]:
        """Return what can be read of a section: all but exercises; pauses as prose."""
        items = (Text((item.question,)) if isinstance(item, Pause) else item for item in self.items(section))
        return [item for item in items if not isinstance(item, Try)]

    def prose(self, section: Section) -> str:
        """Return the words of a section on one line, without its tables and figures: for a search."""
        words = (token for token in self._markdown.parse(section.source) if token.type != "fence")
        texts = (item for item in self._blocks(list(words), section.given) if isinstance(item, Text | Pause))
        return " ".join("".join(map(str, x.runs)) if isinstance(x, Text) else x.question for x in texts)

    def words(self, source: str, given: Mapping[str, Any]) -> str:
        """Return a line of Markdown as plain words, its numbers computed."""
        made = self._jinja.from_string(source).render(given)
        (inline,) = self._markdown.parseInline(made)
        return "".join(" " if token.type == "softbreak" else token.content for token in inline.children or ())

    def _blocks(self, tokens: Sequence[Token], given: Mapping[str, Any]) -> Iterator[Item]:
        """Walk the tokens of a section, block by block."""
        kinds: list[str] = []  # the blocks that are open
        rows: list[list[str]] = []
        for token in tokens:
            if token.type == "fence":
                yield from self._fence(token, given)
            elif token.type == "inline":
                words = self.words(token.content, given)
                if "table_open" in kinds:
                    rows[-1].append(words)
                elif "blockquote_open" in kinds:
                    yield Pause(words)
                else:
                    yield Text(("– " * ("list_item_open" in kinds) + words,))
            elif token.nesting > 0:
                kinds.append(token.type)
                rows += [[]] * (token.type == "tr_open")
            elif token.nesting < 0:
                kinds.pop()
                if token.type == "table_close":
                    yield Table(tuple(rows[0]), tuple(map(tuple, rows[1:])))
                    rows = []
            else:
                raise InputError(f"a lesson has words, lists, tables, quotes and fences; found {token.type}")

    def _fence(self, token: Token, given: Mapping[str, Any]) -> Iterator[Item]:
        """What a fence holds: an exercise, figures by the engine, or code as it is."""
        if token.info == "try":
            yield Try(**tomllib.loads(token.content))
        elif token.info == "riverhead":
            for line in token.content.strip().split("\n\n"):
                yield from _parts(self._jinja.compile_expression(line, undefined_to_none=False)(**given))
        else:
            yield Code(self._jinja.from_string(token.content).render(given).rstrip("\n"), token.info)

    def _with_model(self, make: Callable[..., Any]) -> Callable[..., Any]:
        """Give a figure its model; where there is none, say how to get one."""

        def made(*args: Any, **named: Any) -> Any:
            if self.model is None:
                return Text((NO_MODEL,), "note")
            return make(self.model, *args, **named)

        return made


def shown(value: Any) -> Any:
    """Return what an expression gives as it stands in a sentence, numbers as `figures.short` shows them.

    >>> shown(4.0), shown(0.5), shown(0.538776), shown("bank")
    ('4', '0.5', '0.539', 'bank')
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"({', '.join(map(shown, value))})" if isinstance(value, list | tuple) else str(value)
    return short(value).text


def _parts(found: Any) -> Iterator[Part]:
    """What an expression gives, as parts: one, several, or a formula on its own line."""
    if isinstance(found, list | tuple):
        for each in found:
            yield from _parts(each)
    elif isinstance(found, Part):
        yield found
    elif isinstance(found, Math):
        yield Formula(found)
    else:
        raise InputError(f"a fence of a lesson shows parts of a scene; found {type(found).__name__}")
