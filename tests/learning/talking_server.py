"""A server on this machine that speaks the protocol of chat completions as it is told to."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

from riverhead.derivation import example

__all__ = ["HANG", "Answer", "Server", "at_hand", "call", "chunk", "offline", "said", "serving", "words"]

HANG = b"\0hang"  # the server sends nothing more until the test is over


@dataclass
class Answer:
    """What is sent: a status, headers, and a body in pieces; without its ``end`` the connection breaks."""

    pieces: list[bytes] = field(default_factory=list)
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "text/event-stream"})
    whole: bool = True


@dataclass
class Server:
    """Answers the n-th request with the n-th answer; ``asked`` keeps the requests' bodies and headers."""

    port: int
    answers: list[Answer]
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"


@contextmanager
def serving(*answers: Answer) -> Iterator[Server]:
    """Serve these answers, one a request."""
    made = _Server(("127.0.0.1", 0), _Handler)
    server = Server(made.server_address[1], list(answers))
    made.told = server  # type: ignore[attr-defined]
    thread = threading.Thread(target=made.serve_forever, args=(0.005,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        made.shutdown()
        made.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """A client that leaves early is none of an error here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        server: Server = self.server.told  # type: ignore[attr-defined]
        server.headers.append(dict(self.headers))
        server.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        answer = server.answers[len(server.asked) - 1]
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in answer.pieces:
            if piece == HANG:
                server.over.wait(30)
                break
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        if answer.whole:
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True

    def log_message(self, *_: Any) -> None:
        pass


def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    """One chunk of a reply, as an event."""
    data = {"id": "x", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def words(*texts: str) -> list[bytes]:
    """The events of a reply that says these texts and is done."""
    return [
        chunk({"role": "assistant", "content": ""}),
        *(chunk({"content": text}) for text in texts),
        chunk({}, "stop"),
        b"data: [DONE]\n\n",
    ]


def said(*texts: str) -> Answer:
    """A reply that says these texts and is done."""
    return Answer(words(*texts))


def call(name: str, *arguments: str, index: int = 0, id: str = "call_a") -> list[bytes]:
    """The events of a call whose arguments come in fragments."""
    first = {"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}
    rest = [{"index": index, "function": {"arguments": fragment}} for fragment in arguments]
    return [chunk({"tool_calls": [fragment]}) for fragment in (first, *rest)]


def at_hand() -> SimpleNamespace:
    """The whiteboard's sentence."""
    worked = example("The river bank flooded").derive()
    return SimpleNamespace(text="The river bank flooded", derivation=worked, focus="bank", beside=())


def offline(question: str, at_hand: Any) -> SimpleNamespace:
    """An answer without a model, with one passage."""
    passage = SimpleNamespace(lesson=2, id="scaling", title="Why √d_k", prose="The spread grows: 7.25 here.")
    hits = (SimpleNamespace(passage=passage, score=0.5),)
    return SimpleNamespace(parts=(), passages=hits, question=question, to_dict=lambda: {"kind": "passages"})
