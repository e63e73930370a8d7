"""Where a model answers: an address, a model's name, and a key that shows itself nowhere."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from riverhead.errors import InputError

__all__ = ["Endpoint", "Key"]

URL, MODEL, KEY = "RIVERHEAD_LLM_URL", "RIVERHEAD_LLM_MODEL", "RIVERHEAD_LLM_KEY"
LONGEST_URL, LONGEST_MODEL, LONGEST_KEY = 2_000, 200, 4_000  # characters
SHORTEST_HIDDEN = 8  # characters; a shorter key ("none") is a word that may stand anywhere
COMPLETIONS = "/chat/completions"


class Key:
    """A secret: only `bearer` gives it away, to the header it is for."""

    __slots__ = ("_secret",)

    def __init__(self, secret: str) -> None:
        self._secret = secret

    def __repr__(self) -> str:
        return "Key(…)"

    @property
    def bearer(self) -> str:
        """The value of the Authorization header."""
        return f"Bearer {self._secret}"

    def hidden(self, text: str) -> str:
        """Return ``text``, which a server wrote, without the key in it."""
        return text.replace(self._secret, "•••") if len(self._secret) >= SHORTEST_HIDDEN else text


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address that speaks OpenAI's chat completions; `read` and `found` make one, checked.

    ``url`` is that of the request itself, ``…/chat/completions``.
    """

    url: str
    model: str
    key: Key | None = field(default=None, repr=False)

    @classmethod
    def read(cls, url: str, model: str, key: str = "") -> Endpoint:
        """Return the endpoint at ``url``: up to ``/v1``, or whole.

        ``/chat/completions`` may be left out, and ``/v1`` too where the address has no path. Raises
        `InputError` for what is no http or https address, and for a key that would travel in the clear:
        over http it goes to this machine alone.

        >>> Endpoint.read("http://localhost:8080", "smollm2").url
        'http://localhost:8080/v1/chat/completions'
        """
        where, name = _whole(url.strip()), model.strip()
        if not name or len(name) > LONGEST_MODEL or not name.isprintable():
            raise InputError(f"{MODEL} is {name[:40]!r}; it takes the name of the model to ask at {URL}")
        secret = key.strip()
        if len(secret) > LONGEST_KEY or not re.fullmatch(r"[!-~]*", secret):
            raise InputError(f"{KEY} is no key: one word of ASCII letters, digits and signs is")
        if secret and where.startswith("http:") and not _is_local(where):
            raise InputError(
                f"{URL} is http, and {KEY} would travel readable to {_host(where)}: "
                f"give an https address, or unset {KEY}"
            )
        return cls(where, name, Key(secret) if secret else None)

    @classmethod
    def found(cls, environ: Mapping[str, str]) -> Endpoint | None:
        """Return the endpoint that RIVERHEAD_LLM_URL, _MODEL and _KEY name, None where no URL is set."""
        url = environ.get(URL, "")
        return cls.read(url, environ.get(MODEL, ""), environ.get(KEY, "")) if url.strip() else None

    @property
    def host(self) -> str:
        """The host and the port, for messages."""
        return _host(self.url)

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine."""
        return _is_local(self.url)

    def hidden(self, text: str) -> str:
        """Return what the server said without the key in it."""
        return text if self.key is None else self.key.hidden(text)


def _whole(url: str) -> str:
    """Return the address of chat completions under ``url``."""
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:  # of a port or a bracket
        known = False
    if not known or len(url) > LONGEST_URL or not re.fullmatch(r"[!-~]+", url):
        raise InputError(
            f"{URL} is no address of a model; give one like http://localhost:8080/v1 or https://host/v1"
        )
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise InputError(f"{URL} has a password or a # in it; give the key as {KEY}")
    path = parts.path.rstrip("/").removesuffix(COMPLETIONS) or "/v1"
    return parts._replace(path=path + COMPLETIONS).geturl()


def _host(url: str) -> str:
    return urlsplit(url).netloc


def _is_local(url: str) -> bool:
    name = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
