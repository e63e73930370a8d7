"""Vectors from a file: TOML or JSON with {tokens, q, k, v | x, W_q, W_k, W_v | e}, whatever it may hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riverhead.derivation.derivation import Derivation, derived
from riverhead.derivation.fields import load, undata
from riverhead.derivation.given import Given
from riverhead.derivation.tokens import position, texts
from riverhead.errors import InputError

__all__ = ["Example", "parse", "read_vectors"]

MOST_BYTES = 4 << 20
ABOUT = ("sentence", "source", "focus")  # what a file says beside what is derived


@dataclass(frozen=True, slots=True)
class Example:
    """Vectors with a name: what is given, where it is from, and the token to look at first."""

    name: str
    given: Given
    sentence: str = ""  # what finds it
    source: str = ""
    focus: str | None = None

    def derive(self, **changes: Any) -> Derivation:
        """Derive the example, with other settings or operands where they are given."""
        return derived(self.given.but(**changes) if changes else self.given)


def read_vectors(source: str | Path, format: str | None = None) -> Example:
    """Read vectors from a file ending in ``.toml`` or ``.json``, or from text if ``format`` says which it is.

    Fields: ``tokens`` (and ``tokens_k``); ``q, k, v``, or ``x, W_q, W_k, W_v`` (and ``x_k``), or ``e``; and
    what `derive` takes besides. Raises `InputError` and its kin, naming the field; `OSError` as the system.

    >>> found = read_vectors('{"tokens": ["alone"], "q": [[1]], "k": [[2]], "v": [[3]]}', "json")
    >>> found.derive()["out"].values
    (((3.0,),),)
    """
    if format is None:
        path = Path(source)
        format, name = path.suffix.lstrip(".").lower(), path.stem
        _check_format(format)
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    else:
        _check_format(format)
        raw, name = str(source).encode("utf-8", "surrogatepass"), "vectors"
    if len(raw) > MOST_BYTES:
        raise InputError(f"the vectors are more than {MOST_BYTES:,} bytes; give fewer, or arrays to derive()")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"the vectors are not UTF-8 text: {error.reason} at byte {error.start}") from error
    return parse(name, load(text, format))


def parse(name: str, raw: Mapping[str, Any]) -> Example:
    """Return the example that the fields of a file describe."""
    about: dict[str, Any] = {}
    for field in ABOUT:
        if field in raw:
            (about[field],) = texts(field, [raw[field]])
    example = Example(
        name, undata({field: value for field, value in raw.items() if field not in ABOUT}), **about
    )
    if example.focus is not None:
        position(example.given.tokens, example.focus, "focus")
    return example


def _check_format(format: str) -> None:
    if format not in ("json", "toml"):
        raise InputError(f"vectors come as .toml or .json, not {format[:20]!r}")
