"""A page that zooms into the maps of heads, from the whole text to single tokens: one file, no network."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from riverhead.errors import InputError, RiverheadError
from riverhead.render.letters import visible
from riverhead.shapes import check_axis

__all__ = ["MapPage", "PageHead", "Precision", "map_page"]

Precision = Literal["exact", "rounded"]

EXACT_BYTES = 16_000_000  # of q, k and lse: up to here they are written as they are
MOST_BYTES = 64_000_000  # of what a browser is given to hold
BLOCK = 1 << 21  # weights that are made at once
FLOAT32 = 2.0**-24  # half a step of float32, as a share of the number
HALF = 0.0005 + 2.0**-50  # half a step of three decimals, and what float64 may add to it
SCRIPTS = ("map_weights.js", "map_view.js", "map_words.js", "map_input.js")


class PageHead(Protocol):
    """One head; ``weights[rows, keys]`` are its weights in float64, ``weights.lse`` (T,) the log-sum-exp."""

    @property
    def name(self) -> str: ...
    @property
    def q(self) -> NDArray[np.float32]: ...  # (T, d_k)
    @property
    def k(self) -> NDArray[np.float32]: ...  # (T, d_k)
    @property
    def scale(self) -> float: ...
    @property
    def causal(self) -> bool: ...
    @property
    def window(self) -> int | None: ...
    @property
    def weights(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class MapPage:
    """The page as HTML, which weights it holds, and in words how far the largest error of them goes."""

    html: str
    precision: Precision
    largest_error: float
    said: str


def map_page(
    title: str, tokens: Sequence[str], heads: Sequence[PageHead], precision: Precision | None = None
) -> MapPage:
    """Return one HTML file with the maps of ``heads`` over the same ``tokens`` (T).

    ``"exact"`` holds q, k and the log-sum-exp, from which the page makes any weight, exact to float32;
    ``"rounded"`` holds the weights to three decimals. The default is exact up to 16 MB. Every weight the page
    can show is compared with the head's own first. Raises `InputError` naming the bytes where a page would
    hold more than 64 MB, and `RiverheadError` where a weight is not what the page would say.

    >>> from types import SimpleNamespace
    >>> from riverhead.core import attend
    >>> x = np.eye(3, dtype=np.float32)
    >>> A = attend(*[x.astype(float)] * 3, scale=1.0, causal=True)
    >>> head = SimpleNamespace(name="L0.H0", q=x, k=x, scale=1.0, causal=True, window=None, weights=A)
    >>> map_page("three tokens", ["a", "b", "c"], [head]).precision
    'exact'
    """
    if not heads:
        raise InputError("heads is empty; a page shows at least one")
    for head in heads:
        check_axis("T", "each token has a q and a k", tokens=len(tokens), q=len(head.q), k=len(head.k))
    n_seen = sum(int(np.subtract(*_span(head)[::-1]).sum()) for head in heads)
    sizes = {"exact": sum(4 * (head.q.size + head.k.size) for head in heads), "rounded": 2 * n_seen}
    chosen: Precision = precision or ("exact" if sizes["exact"] <= EXACT_BYTES else "rounded")
    if sizes[chosen] > MOST_BYTES:
        raise InputError(
            f"{len(heads)} heads over {len(tokens):,} tokens would make the page hold "
            f"{sizes[chosen] / 1e6:,.0f} MB ({chosen}), at most {MOST_BYTES / 1e6:,.0f} MB: name fewer "
            "heads, or give a shorter text"
        )
    numbers, layout, error = (_exact if chosen == "exact" else _rounded)(heads)
    said = SAID[chosen].format(n=n_seen, heads=len(heads), error=f"{error:.2g}")
    data = {"exact": chosen == "exact", "tokens": [visible(token) for token in tokens], **layout}
    return MapPage(_page(title, said, data, numbers), chosen, error, said)


SAID = {
    "exact": "Exact to float32: each weight is exp(scale · q·k − lse), made here in double precision from "
    "the head's own q and k. All {n:,} were compared with Python's when this was written; the largest "
    "difference is {error}.",
    "rounded": "To three decimals: {n:,} weights ({heads:,} × every visible pair), each rounded once; the "
    "largest error is {error}. Fewer heads or a shorter text make an exact page.",
}


def _exact(heads: Sequence[PageHead]) -> tuple[Iterable[bytes], dict[str, Any], float]:
    """All lse, all q, then each k once however many heads read it."""
    keys: dict[bytes, int] = {}  # in the order of their first head
    widths: list[int] = []
    described, lse, error = [], [], 0.0
    for head in heads:
        k = _bytes(head.k, "<f4")
        if k not in keys:
            keys[k] = len(keys)
            widths.append(head.k.shape[1])
        described.append({**_described(head), "scale": head.scale, "d": head.q.shape[1], "kv": keys[k]})
        own = head.weights
        lse.append(_bytes(own.lse, "<f8"))
        error = max(error, _largest_difference(head, own))
    numbers = (*lse, *(_bytes(head.q, "<f4") for head in heads), *keys)
    return numbers, {"heads": described, "keys": widths}, error


def _largest_difference(head: PageHead, own: Any) -> float:
    """How far the page's one line is from the head's own weights; more than float32's step is an error."""
    q, k = (x.astype(np.float32).astype(np.float64) for x in (head.q, head.k))  # as they are written
    largest = 0.0
    for rows, seen in _blocks(head):
        weights = own[rows, :]
        with np.errstate(all="ignore"):
            shown = np.where(seen, np.exp(head.scale * (q[rows] @ k.T) - own.lse[rows, None]), 0.0)
            difference = np.abs(shown - weights)
            _demand(head, rows, difference <= FLOAT32 * weights)
        largest = max(largest, float(difference.max()))
    return largest


def _rounded(heads: Sequence[PageHead]) -> tuple[Iterable[bytes], dict[str, Any], float]:
    """The visible weights in thousandths, row by row: all low bytes, then all high bytes."""
    low, high, error = bytearray(), bytearray(), 0.0
    for head in heads:
        own = head.weights
        for rows, seen in _blocks(head):
            weights = own[rows, :]
            with np.errstate(all="ignore"):
                thousandths = np.where(seen, np.rint(1000 * weights), 0.0)
                difference = np.abs(thousandths / 1000 - weights)
                _demand(head, rows, difference <= HALF)
            kept = thousandths[seen].astype("<u2").view(np.uint8)
            low += kept[::2].tobytes()
            high += kept[1::2].tobytes()
            error = max(error, float(difference.max()))
    return (bytes(low), bytes(high)), {"heads": [_described(head) for head in heads]}, error


def _demand(head: PageHead, rows: slice, right: NDArray[np.bool_]) -> None:
    if not right.all():  # NaN is not right either
        i, j = np.argwhere(~right)[0]
        raise RiverheadError(
            f"{head.name}: the weight of query {rows.start + i} on key {j} cannot be shown as it is: it is "
            "not finite, or not what q, k and the log-sum-exp give"
        )


def _described(head: PageHead) -> dict[str, Any]:
    return {"name": head.name, "causal": head.causal, "window": head.window}


def _span(head: PageHead) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first key each query sees, and the one after the last (T,)."""
    T = len(head.q)
    i = np.arange(T)
    reach = T if head.window is None else head.window
    return np.maximum(i - reach + 1, 0), np.minimum(i + (1 if head.causal else reach), T)


def _blocks(head: PageHead) -> Iterator[tuple[slice, NDArray[np.bool_]]]:
    """Rows, a few at a time, and which keys they see (n, T)."""
    T = len(head.q)
    first, end = _span(head)
    for start in range(0, T, max(BLOCK // T, 1)):
        rows = slice(start, min(start + max(BLOCK // T, 1), T))
        j = np.arange(T)
        yield rows, (j >= first[rows, None]) & (j < end[rows, None])


def _bytes(x: NDArray[Any], dtype: str) -> bytes:
    return x.astype(dtype).tobytes()


def _page(title: str, said: str, data: dict[str, Any], numbers: Iterable[bytes]) -> str:
    style, script = _data("map.css"), "\n".join(map(_data, SCRIPTS))
    allowed = f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}"
    return _data("map.html").format(
        title=escape(visible(title)),
        policy=escape(f"{allowed}; base-uri 'none'; form-action 'none'"),
        precision=escape(said),
        style=style,
        data=json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"),
        numbers=b64encode(_packed(numbers)).decode(),
        script=script,
    )


def _packed(parts: Iterable[bytes]) -> bytes:
    """Deflated for the browser's own DecompressionStream; such numbers repeat as letters, not as words."""
    deflate = zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS, 9, zlib.Z_FILTERED)
    return b"".join([*map(deflate.compress, parts), deflate.flush()])


def _hash(text: str) -> str:
    """What a policy calls a script or a style that it lets in."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


@cache
def _data(name: str) -> str:
    return files("riverhead.render").joinpath("data", name).read_text(encoding="utf-8")
