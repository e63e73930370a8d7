"""The request itself, over httpx: patience, one retry before the first byte, and every failure in words."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from riverhead.errors import MissingExtraError, RiverheadError

if TYPE_CHECKING:
    import httpx

    from riverhead.learning.tutor.endpoint import Endpoint

__all__ = ["NoAnswerError", "Patience", "post"]

RETRIED = (429, 502, 503)
PAUSE_SECONDS = 0.5  # before the retry, unless the server says how long
LONGEST_PAUSE_SECONDS = 5.0
MOST_OF_AN_ERROR = 64 << 10  # bytes of it that are read
MOST_SAID = 200  # characters of the server's own words

STATUSES = {  # what each says to somebody who asks a model
    400: "it does not take the request",
    401: "it refuses the key: check RIVERHEAD_LLM_KEY",
    402: "it wants to be paid",
    403: "the key may not use this model: check RIVERHEAD_LLM_KEY and RIVERHEAD_LLM_MODEL",
    404: "there is no such model or address: check RIVERHEAD_LLM_URL and RIVERHEAD_LLM_MODEL",
    413: "the conversation is too long for it",
    422: "it does not take the request",
    429: "too many questions for now",
}


class NoAnswerError(RiverheadError):
    """The model gave no answer; ``said`` holds the server's own words, where it ``refused`` in words."""

    def __init__(self, message: str, said: str = "", *, refused: bool = False) -> None:
        super().__init__(f"{message} ({said})" if said else message)
        self.said, self.refused = said, refused


@dataclass(frozen=True, slots=True)
class Patience:
    """How long is waited, and for how much."""

    connect_seconds: float = 10.0
    silent_seconds: float = 120.0  # a model on a slow machine reads a long prompt before its first word
    total_seconds: float = 600.0
    most_bytes: int = 8 << 20  # of one reply, with all that is around its words


def post(
    endpoint: Endpoint,
    body: dict[str, Any],
    patience: Patience,
    wait: Callable[[float], None] = time.sleep,
) -> Iterator[bytes]:
    """Yield what the endpoint answers as it comes; nothing is followed anywhere else.

    A refused connection and the statuses of `RETRIED` are tried once more. Raises `NoAnswerError` with one
    line that says what is wrong and what to do, and `MissingExtraError` without httpx.
    """
    try:
        import httpx
    except ImportError as error:
        raise MissingExtraError("a model is asked through httpx: pip install 'riverhead[tutor]'") from error
    data = json.dumps(body).encode("ascii")
    timeout = httpx.Timeout(patience.silent_seconds, connect=patience.connect_seconds)
    try:
        # What goes to this machine is for no proxy of the environment; over http no certificate is read.
        local, secure = endpoint.is_local, endpoint.url.startswith("https:")
        with httpx.Client(timeout=timeout, trust_env=not local, verify=secure or not local) as client:
            pause = yield from _tried(client, endpoint, data, patience, last=False)
            if pause is not None:
                wait(pause)
                yield from _tried(client, endpoint, data, patience, last=True)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise NoAnswerError(_in_words(error, endpoint, patience)) from None


def _tried(
    client: httpx.Client, endpoint: Endpoint, data: bytes, patience: Patience, last: bool
) -> Generator[bytes, None, float | None]:
    """Yield the answer; return the seconds to wait before the request is worth another try, else None."""
    import httpx

    headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
    if endpoint.key is not None:
        headers["Authorization"] = endpoint.key.bearer
    try:
        with client.stream("POST", endpoint.url, content=data, headers=headers) as response:
            if response.status_code == 200:
                yield from _bytes(response, patience)
                return None
            pause = None if last else _pause(response)
            if pause is None:
                raise _refused(response, endpoint)
            return pause
    except httpx.ConnectError:
        if last:
            raise
        return PAUSE_SECONDS


def _bytes(response: httpx.Response, patience: Patience) -> Iterator[bytes]:
    end, size = time.monotonic() + patience.total_seconds, 0
    for chunk in response.iter_bytes():
        size += len(chunk)
        if size > patience.most_bytes:
            raise NoAnswerError(f"its answer is longer than {patience.most_bytes:,} bytes")
        yield chunk
        if time.monotonic() >= end:
            raise NoAnswerError(f"it is not done after {patience.total_seconds:g} seconds")


def _pause(response: httpx.Response) -> float | None:
    """How long to wait before a second try, None where none is worth it."""
    if response.status_code not in RETRIED:
        return None
    asked = response.headers.get("Retry-After", "").strip()
    if not asked.isascii() or not asked.isdecimal():
        return PAUSE_SECONDS  # a date, or nothing
    return float(asked) if len(asked) < 4 and float(asked) <= LONGEST_PAUSE_SECONDS else None


def _refused(response: httpx.Response, endpoint: Endpoint) -> NoAnswerError:
    """Say what a status means, and what the server says of it."""
    status = response.status_code
    if 300 <= status < 400:
        return NoAnswerError(
            f"{endpoint.host} answers {status}: it is elsewhere now, and nothing is sent on, least of all "
            "the key; set RIVERHEAD_LLM_URL to its new address",
            endpoint.hidden(_short(response.headers.get("Location", ""))),
        )
    words = STATUSES.get(status, "a fault on its side" if status >= 500 else "it does not answer questions")
    if status == 429 and (asked := response.headers.get("Retry-After")):
        words += f"; it asks to wait {_short(asked)} seconds"
    said = endpoint.hidden(_said(response))
    return NoAnswerError(f"{endpoint.host} answers {status}: {words}", said, refused=True)


def _said(response: httpx.Response) -> str:
    """What the body of an error says: its message, wherever servers put it, or else its first words."""
    body = b""
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) >= MOST_OF_AN_ERROR:
            break
    text = body[:MOST_OF_AN_ERROR].decode("utf-8", "replace")
    try:
        return _short(message_of(json.loads(text)))
    except (ValueError, RecursionError):
        return "" if "<" in text else _short(text)  # a page for a browser


def message_of(data: Any) -> str:
    """Return the message in an error as servers write them: under error, message or detail."""
    for _ in range(3):
        if isinstance(data, list) and data:
            data = data[0]
        if not isinstance(data, dict):
            break
        data = next((data[name] for name in ("error", "message", "detail") if data.get(name)), "")
    return data if isinstance(data, str) else ""


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MOST_SAID else line[: MOST_SAID - 1] + "…"


def _in_words(error: Exception, endpoint: Endpoint, patience: Patience) -> str:
    """What a failure of the transport means; never the library's own words, which may hold what was sent."""
    import httpx

    host = endpoint.host
    for kind, words in (
        (httpx.ConnectTimeout, f"{host} could not be reached within {patience.connect_seconds:g} seconds"),
        (httpx.ConnectError, f"{host} could not be reached: is it running, and is RIVERHEAD_LLM_URL right?"),
        (httpx.TimeoutException, f"{host} sent nothing for {patience.silent_seconds:g} seconds"),
        (httpx.ProxyError, f"{host} could not be reached through the proxy"),
        (httpx.InvalidURL, "RIVERHEAD_LLM_URL is no address that can be asked"),
    ):
        if isinstance(error, kind):
            return words
    return f"{host} broke off"
