"""Chat completions as they stream: bytes to events, events to words and tool calls."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from riverhead.learning.tutor.wire import NoAnswerError, message_of

__all__ = ["Call", "End", "Piece", "read"]

MOST_CALLS = 8  # tools asked for at once
MOST_ARGUMENTS = 16_000  # characters of one call's
MOST_EVENT_BYTES = 1 << 20
LINE_END = re.compile(rb"\r\n|\n|\r(?!\Z)")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
CUT = "its answer was cut off"
HALF = re.compile("[\ud800-\udbff]\\Z")  # of a character beyond the first 65,536, which JSON writes in two


@dataclass(frozen=True, slots=True)
class Piece:
    """Some words of the reply."""

    text: str


@dataclass(slots=True)
class Call:
    """A tool that the model asks for: ``arguments`` is JSON, as it wrote it."""

    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class End:
    """Why the reply ends, in the protocol's word ("stop", "length", …), and the tools it asks for."""

    finish: str
    calls: tuple[Call, ...]


def read(chunks: Iterable[bytes]) -> Iterator[Piece | End]:
    """Yield the words of a reply as they come, and its `End`.

    ``chunks`` are server-sent events (WHATWG HTML, 9.2) or one JSON object, cut anywhere. Raises
    `NoAnswerError` for an error that the server sends, for what is no reply, and where the stream is cut
    before its end.

    >>> said = [b'data: {"choices": [{"delta": {"content": "so"}, "finish_reason": "stop"}]}', b"\\n\\n"]
    >>> list(read(said))
    [Piece(text='so'), End(finish='stop', calls=())]
    """
    reply = _Reply()
    try:
        for payload in _payloads(iter(chunks)):
            if payload == "[DONE]":
                reply.finish = reply.finish or "stop"
                break
            yield from reply.take(_parsed(payload))
    except NoAnswerError:
        if not reply.finish:  # what breaks behind the end breaks nothing
            raise
    if not reply.finish:
        raise NoAnswerError(CUT)
    yield from reply.rest()
    yield End(reply.finish, tuple(reply.calls))


@dataclass(slots=True)
class _Reply:
    """A reply as far as it has come."""

    finish: str = ""
    calls: list[Call] = field(default_factory=list)
    half: str = ""  # of a character that two deltas share

    def take(self, data: Any) -> Iterator[Piece]:
        """Take one chunk of the reply, or the reply as a whole."""
        if not isinstance(data, dict):
            raise NoAnswerError("what it sends is no reply of a model: check RIVERHEAD_LLM_URL")
        if data.get("error"):
            raise NoAnswerError("it broke off with an error", message_of(data)[:200])
        choices = data.get("choices", [])
        if not isinstance(choices, list):
            raise NoAnswerError("its reply is malformed: choices is no list")
        for choice in choices[:1]:  # a chunk about usage has none
            yield from self._choice(choice if isinstance(choice, dict) else {})

    def rest(self) -> Iterator[Piece]:
        """What was held back for a second half that never came."""
        if self.half:
            yield Piece("\ufffd")

    def _choice(self, choice: dict[str, Any]) -> Iterator[Piece]:
        delta = choice.get("delta") or choice.get("message") or {}
        if not isinstance(delta, dict):
            raise NoAnswerError("its reply is malformed: a delta is no object")
        if text := self._text(delta.get("content") or delta.get("refusal")):
            yield Piece(text)
        calls = delta.get("tool_calls") or []
        if not isinstance(calls, list):
            raise NoAnswerError("its tool calls are malformed: tool_calls is no list")
        for fragment in calls:
            self._call(fragment)
        finish = choice.get("finish_reason")
        self.finish = finish if isinstance(finish, str) and finish else self.finish

    def _text(self, content: Any) -> str:
        """The words of a delta: a string, or a list of parts; every character whole."""
        if isinstance(content, list):
            parts = (part.get("text") for part in content if isinstance(part, dict))
            content = "".join(part for part in parts if isinstance(part, str))
        if not isinstance(content, str) or not content:
            return ""
        text = self.half + content
        self.half = found[0] if (found := HALF.search(text)) else ""
        whole = text[: len(text) - len(self.half)]
        return whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def _call(self, fragment: Any) -> None:
        """Add a fragment to its call: by its index; without one a new id begins a new call."""
        function = fragment.get("function") if isinstance(fragment, dict) else None
        if not isinstance(function, dict):
            raise NoAnswerError("its tool calls are malformed: a call has no function")
        call = self._slot(fragment)
        call.id = call.id or _string(fragment.get("id"))
        call.name = call.name or _string(function.get("name"))
        arguments = function.get("arguments") or ""
        call.arguments += arguments if isinstance(arguments, str) else json.dumps(arguments)
        if len(call.arguments) > MOST_ARGUMENTS:
            raise NoAnswerError(f"its tool calls are malformed: more than {MOST_ARGUMENTS:,} characters")

    def _slot(self, fragment: dict[str, Any]) -> Call:
        index = fragment.get("index")
        if not isinstance(index, int) or isinstance(index, bool):
            known = {call.id: number for number, call in enumerate(self.calls)}
            new = len(self.calls) if fragment.get("id") or not self.calls else len(self.calls) - 1
            index = known.get(_string(fragment.get("id")), new)
        if index == len(self.calls) < MOST_CALLS:
            self.calls.append(Call())
        if not 0 <= index < len(self.calls):
            raise NoAnswerError(f"its tool calls are malformed: call {index} of at most {MOST_CALLS}")
        return self.calls[index]


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _parsed(payload: str) -> Any:
    try:
        return json.loads(payload)
    except (ValueError, RecursionError):
        raise NoAnswerError("what it sends is no reply of a model: broken JSON") from None


def _whole(payload: str) -> str:
    """Return the last payload of a stream, which may have been cut anywhere."""
    try:
        json.loads(payload)
    except (ValueError, RecursionError):
        if payload != "[DONE]":
            raise NoAnswerError(CUT) from None
    return payload


def _payloads(chunks: Iterator[bytes]) -> Iterator[str]:
    """Yield the data of each event; a body that begins with a brace is one by itself."""
    start = b""
    for chunk in chunks:
        start += chunk
        if start.removeprefix(BYTE_ORDER_MARK).strip():
            break
    start = start.removeprefix(BYTE_ORDER_MARK)
    if start.lstrip()[:1] in (b"{", b"["):
        yield b"".join([start, *chunks]).decode("utf-8", "replace")
        return
    data: list[str] = []
    any_event = False
    for line in _lines(chain([start], chunks)):
        name, _, value = line.decode("utf-8", "replace").partition(":")
        if name == "data":
            data.append(value.removeprefix(" "))
        if data and not line:
            any_event = True
            yield "\n".join(data)
            data = []
    if data:  # an end without the empty line
        yield _whole("\n".join(data))
    elif not any_event and start.strip():
        raise NoAnswerError("what it sends is no reply of a model: check RIVERHEAD_LLM_URL")


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    r"""Yield lines that end in \r\n, \n or \r, the last also without an end."""
    held = b""
    for chunk in chunks:
        looked, begin = max(len(held) - 1, 0), 0
        held += chunk
        for end in LINE_END.finditer(held, looked):
            yield held[begin : end.start()]
            begin = end.end()
        held = held[begin:]
        if len(held) > MOST_EVENT_BYTES:
            raise NoAnswerError(f"its reply is malformed: a line of more than {MOST_EVENT_BYTES:,} bytes")
    if held:
        yield held.removesuffix(b"\r")
