"""Chat completions from bytes: however they are cut, and in every spelling that servers have."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from talking_server import call, chunk, words

from riverhead.learning.tutor.protocol import Call, End, Piece, read
from riverhead.learning.tutor.wire import NoAnswerError

TOLD = "√d_k is 1.41… — ¿qué? 🙂 \r\n next line"


def said_in(chunks: list[bytes]) -> tuple[str, End]:
    *pieces, end = read(chunks)
    assert isinstance(end, End)
    return "".join(piece.text for piece in pieces if isinstance(piece, Piece)), end


def cut(data: bytes, at: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(n % (len(data) + 1) for n in at)})
    return [data[a:b] for a, b in pairwise(places)]


def raw(delta: dict) -> bytes:
    """An event whose JSON holds its characters as they are."""
    return f"data: {json.dumps({'choices': [{'delta': delta}]}, ensure_ascii=False)}\n\n".encode()


STREAM = b"".join(
    [
        b"\xef\xbb\xbf: a comment\n\nevent: message\nid: 7\nretry: 100\n",
        *(raw({"content": character}) for character in TOLD),
        *call("cell", '{"ro', 'w": "bänk"}', index=0, id="a"),
        *call("softmax", "{}", index=1, id="b"),
        b'data: {"choices": [],\ndata:"usage": {"total_tokens": 3}}\n\n',
        chunk({}, "tool_calls"),
        b"data: [DONE]\n\n",
        b"data: what comes behind the end is not read\n\n",
    ]
)
ENDS = {"\\n": b"\n", "\\r\\n": b"\r\n", "\\r": b"\r"}


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 10_000), max_size=40), st.sampled_from(sorted(ENDS)))
def test_a_stream_reads_the_same_wherever_it_is_cut_and_however_its_lines_end(
    places: list[int], end: str
) -> None:
    text, last = said_in(cut(STREAM.replace(b"\n", ENDS[end]), places))
    assert text == TOLD
    assert last == End("tool_calls", (Call("a", "cell", '{"row": "bänk"}'), Call("b", "softmax", "{}")))


@pytest.mark.parametrize("end", ENDS)
def test_a_stream_reads_the_same_byte_by_byte(end: str) -> None:
    data = STREAM.replace(b"\n", ENDS[end])
    assert said_in([bytes([byte]) for byte in data])[0] == TOLD


def whole(message: dict, finish: str | None = "stop") -> bytes:
    return json.dumps({"choices": [{"message": message, "finish_reason": finish}]}, indent=1).encode()


SPELLINGS = {  # what servers send; the words; the calls
    "at once, without streaming": ([whole({"role": "assistant", "content": "so"})], "so", ()),
    "at once, with a call": (
        [whole({"content": None, "tool_calls": [{"id": "i", "function": {"name": "f", "arguments": "{}"}}]})],
        "",
        (Call("i", "f", "{}"),),
    ),
    "arguments as an object": (
        [chunk({"tool_calls": [{"id": "i", "function": {"name": "f", "arguments": {"a": 1}}}]}, "stop")],
        "",
        (Call("i", "f", '{"a": 1}'),),
    ),
    "calls without an index": (
        [
            chunk({"tool_calls": [{"id": "i", "function": {"name": "f", "arguments": "{"}}]}),
            chunk({"tool_calls": [{"function": {"arguments": "}"}}]}),
            chunk({"tool_calls": [{"id": "j", "function": {"name": "g", "arguments": "{}"}}]}, "tool_calls"),
        ],
        "",
        (Call("i", "f", "{}"), Call("j", "g", "{}")),
    ),
    "the name with every fragment": (
        [*call("f", "{"), *call("f", "}"), chunk({}, "tool_calls")],
        "",
        (Call("call_a", "f", "{}"),),
    ),
    "content in parts": (
        [chunk({"content": [{"type": "text", "text": "so"}, {"type": "image"}]}, "stop")], "so", (),
    ),
    "deltas without content": ([chunk({}), chunk({"content": None}), *words("so")], "so", ()),
    "thoughts are no words": ([chunk({"reasoning_content": "hm", "content": "so"}, "stop")], "so", ()),
    "a refusal is": ([chunk({"refusal": "no"}, "stop")], "no", ()),
    "an end without [DONE]": ([chunk({"content": "so"}), chunk({}, "stop")], "so", ()),
    "[DONE] without a reason": ([chunk({"content": "so"}), b"data: [DONE]\n\n"], "so", ()),
    "the last line unended": ([chunk({"content": "so"}, "stop"), b"data: [DONE]"], "so", ()),
    "no space behind data:": ([chunk({"content": "so"}, "x").replace(b": ", b":")], "so", ()),
    "broken behind the end": ([chunk({"content": "so"}, "stop"), b"data: {nonsense\n\n"], "so", ()),
    "no finish but null, then one": ([chunk({"content": "so"}, None), *words("!")], "so!", ()),
}  # fmt: skip


@pytest.mark.parametrize("name", SPELLINGS)
def test_every_spelling_of_a_reply_is_read(name: str) -> None:
    chunks, text, calls = SPELLINGS[name]
    told, end = said_in(chunks)
    assert (told, end.calls) == (text, calls)


NOTHINGS = [
    [],
    [b""],
    [b"  \n"],
    [b"hello"],
    [b": alive\n\n"],
    [b"[1, 2]"],
    [b"data: 7\n\n"],
    [b'"x"'],
    [b"{}"],
]


@pytest.mark.parametrize("chunks", NOTHINGS)
def test_what_is_no_reply_is_said_so(chunks: list[bytes]) -> None:
    with pytest.raises(NoAnswerError, match=r"cut off|no reply of a model"):
        list(read(chunks))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.binary(max_size=40) | st.sampled_from([b"data: ", b"\n\n", b"\r", b"{", b'"choices"', b":["]))
)
def test_no_bytes_raise_anything_but_no_answer(chunks: list[bytes]) -> None:
    with suppress(NoAnswerError):
        list(read(chunks))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["choices", "delta", "content", "tool_calls", "function", "index", "id", "arguments", "error"]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(JSON, JSON)
def test_no_json_raises_anything_but_no_answer(data: object, delta: object) -> None:
    for value in (data, {"choices": [{"delta": delta, "finish_reason": "stop"}]}, {"choices": delta}):
        with suppress(NoAnswerError):
            list(read([f"data: {json.dumps(value)}\n\n".encode()]))
