"""What a derivation starts from, checked and frozen: vectors for some tokens, and the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from riverhead.derivation.arrays import Bools, Grid, Rows, check_size, flags, grid, number, rows, whole
from riverhead.derivation.tokens import labels, texts, tokens
from riverhead.errors import InputError, ShapeError
from riverhead.numbers import Rounding
from riverhead.shapes import check_axis

__all__ = ["Given", "Printed", "PrintedRow", "given"]

KINDS = (("q", "k", "v"), ("x", "W_q", "W_k", "W_v"), ("e",))
MATRICES = ("x", "x_k", "e", "W_q", "W_k", "W_v", "W_o")
MOST_CELLS = 1 << 18  # scores of all heads: every number of every step is kept


@dataclass(frozen=True, slots=True)
class PrintedRow:
    """Numbers printed elsewhere for one row of one step, as they were printed."""

    step: str
    row: int
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Printed:
    """What another source prints of the same: where, with which digits at each step, and the rows."""

    where: str
    digits: tuple[tuple[str, Rounding], ...]
    rows: tuple[PrintedRow, ...]


@dataclass(frozen=True, slots=True)
class Given:
    """The operands as they were given, and the settings; ``None`` where there is none.

    One of three kinds is set: q, k and v; or x with W_q, W_k and W_v; or e alone, for q = k = v = e.
    """

    tokens: tuple[str, ...]
    tokens_k: tuple[str, ...] | None = None  # None: queries and keys are the same tokens
    q: Grid | None = None  # (H, T_q, d_k)
    k: Grid | None = None  # (G, T_k, d_k)
    v: Grid | None = None  # (G, T_k, d_v)
    x: Rows | None = None  # (T_q, d_model)
    x_k: Rows | None = None  # (T_k, d_model)
    e: Rows | None = None  # (T, H·d_k)
    W_q: Rows | None = None  # (d_model, H·d_k)
    W_k: Rows | None = None  # (d_model, G·d_k)
    W_v: Rows | None = None  # (d_model, G·d_v)
    W_o: Rows | None = None  # (H·d_v, d_out)
    n_heads: int = 1
    n_kv_heads: int = 1
    scale: float | None = None  # None: 1/√d_k
    temperature: float = 1.0
    mask: Bools | None = None  # (1 or H, T_q, T_k)
    causal: bool = False
    align: Literal["end", "start"] = "end"
    title: str = ""
    meanings: tuple[str, ...] = ()  # what each value stands for
    endings: tuple[str, ...] = ()  # what becomes of each query, in words
    printed: Printed | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The tokens that answer."""
        return self.tokens if self.tokens_k is None else self.tokens_k

    @property
    def asking(self) -> tuple[str, ...]:
        """What each query is called."""
        return labels(self.tokens)

    @property
    def answering(self) -> tuple[str, ...]:
        """What each key is called."""
        return labels(self.keys)

    @property
    def T_q(self) -> int:  # noqa: N802
        """How many ask."""
        return len(self.q[0]) if self.q else len(self.x or self.e or ())

    @property
    def T_k(self) -> int:  # noqa: N802
        """How many answer."""
        return len(self.k[0]) if self.k else len(self.x_k or self.x or self.e or ())

    @property
    def d_k(self) -> int:
        """How wide a query of one head is."""
        return len(self.q[0][0]) if self.q else len((self.W_q or self.e or ((),))[0]) // self.n_heads

    @property
    def d_v(self) -> int:
        """How wide a value of one head is."""
        return len(self.v[0][0]) if self.v else len((self.W_v or self.e or ((),))[0]) // self.n_kv_heads

    @property
    def raw(self) -> dict[str, Any]:
        """What is set, by name: what `given` takes to make the same again."""
        return {f.name: value for f in fields(self) if (value := getattr(self, f.name)) is not None}

    def but(self, **changes: Any) -> Given:
        """Return the same with other settings, without what was said of these numbers only."""
        return given(self.raw | {"printed": None, "endings": None} | changes)


def given(raw: Mapping[str, Any]) -> Given:
    """Check and freeze what is to be derived.

    Raises `InputError`, `ShapeError` or `DtypeError`; the message names the field.
    """
    known = [f.name for f in fields(Given)]
    unknown = [name for name in raw if name not in known]
    if unknown:
        raise InputError(f"{unknown[0]!r:.60} is not a field of a derivation; it has {', '.join(known)}")
    raw = {name: value for name, value in raw.items() if value is not None}
    found = Given(tokens=(), **(_settings(raw) | _operands(raw)))
    _check_axes(found)
    same = found.T_q == found.T_k and found.x_k is None and "tokens_k" not in raw
    found = replace(
        found,
        tokens=tokens("tokens", raw.get("tokens"), "T_q", found.T_q),
        tokens_k=None if same else tokens("tokens_k", raw.get("tokens_k"), "T_k", found.T_k),
    )
    if found.meanings:
        check_axis("T_k", "a meaning stands beside each value", meanings=len(found.meanings), v=found.T_k)
    if found.endings:
        check_axis("T_q", "an ending stands beside each query", endings=len(found.endings), q=found.T_q)
    return found


def _settings(raw: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        name: number(name, raw[name]) for name in ("scale", "temperature") if name in raw
    }
    if found.get("temperature", 1) <= 0:
        raise InputError(f"temperature is {found['temperature']:g}; it divides the scores and is above 0")
    for name, kind in (("causal", bool), ("title", str), ("printed", Printed)):
        if name in raw:
            if not isinstance(raw[name], kind):
                raise InputError(f"{name} is {str(raw[name])[:40]!r}; it takes a {kind.__name__}")
            found[name] = raw[name]
    found["align"] = raw.get("align", "end")
    if found["align"] not in ("end", "start"):
        raise InputError(f"align is {str(raw['align'])[:40]!r}; it is 'end' (decoding) or 'start'")
    if "mask" in raw:
        found["mask"] = flags("mask", raw["mask"])
    return found | {name: texts(name, raw.get(name, ())) for name in ("meanings", "endings")}


def _operands(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Exactly one kind of operands, whole, with the heads counted."""
    there = [name for kind in KINDS for name in kind if name in raw]
    if tuple(there) not in KINDS or ("x_k" in raw and "x" not in raw):
        found = ", ".join([*there, *(["x_k"] if "x_k" in raw else [])]) or "none of them"
        raise InputError(f"give q, k and v, or x with W_q, W_k and W_v, or e alone; found {found}")
    n_heads = whole("n_heads", raw.get("n_heads", 1))
    n_kv_heads = whole("n_kv_heads", raw.get("n_kv_heads", n_heads))
    operands: dict[str, Any] = {name: rows(name, raw[name]) for name in MATRICES if name in raw}
    if "q" in there:
        q, k, v = (
            grid(n, raw[n], heads) for n, heads in (("q", n_heads), ("k", n_kv_heads), ("v", n_kv_heads))
        )
        operands |= {"q": q, "k": k, "v": v}
        check_axis("n_kv_heads", "each key head has its value head", k=len(k), v=len(v))
        check_axis("n_heads", "leave it out or give as many", q=len(q), n_heads=raw.get("n_heads") or len(q))
        check_axis(
            "n_kv_heads", "leave it out or give as many", k=len(k), n_kv_heads=raw.get("n_kv_heads") or len(k)
        )
        n_heads, n_kv_heads = len(q), len(k)
    if n_heads % n_kv_heads:
        raise ShapeError(
            f"{n_heads} query heads cannot share {n_kv_heads} kv heads; n_kv_heads divides n_heads"
        )
    return operands | {"n_heads": n_heads, "n_kv_heads": n_kv_heads}


def _check_axes(g: Given) -> None:
    """Every axis has one size, and all the scores together a bearable one."""
    H, G = g.n_heads, g.n_kv_heads
    if g.q and g.k and g.v:
        check_axis("d_k", "a query meets a key component by component", q=len(g.q[0][0]), k=len(g.k[0][0]))
        check_axis("T_k", "each key is paired with one value", k=len(g.k[0]), v=len(g.v[0]))
    if g.x and g.W_q and g.W_k and g.W_v:
        wide = {"x_k": len(g.x_k[0])} if g.x_k else {}
        tall = {"W_q": len(g.W_q), "W_k": len(g.W_k), "W_v": len(g.W_v)}
        check_axis("d_model", "a projection has a row for each component of x", x=len(g.x[0]), **wide, **tall)
        for name, matrix, heads in (("W_q", g.W_q, H), ("W_k", g.W_k, G), ("W_v", g.W_v, G)):
            _check_share(name, len(matrix[0]), heads)
        check_axis("d_k", "a query meets a key", W_q=len(g.W_q[0]) // H, W_k=len(g.W_k[0]) // G)
    if g.e:
        _check_share("e", len(g.e[0]), H)
        check_axis("n_kv_heads", "without projections every head has its own keys", n_heads=H, n_kv_heads=G)
    if g.W_o:
        check_axis("H·d_v", "W_o mixes the heads side by side", heads=H * g.d_v, W_o=len(g.W_o))
    if g.mask:
        check_axis("T_q", "the mask has a row for each query", mask=len(g.mask[0]), q=g.T_q)
        check_axis("T_k", "the mask has a column for each key", mask=len(g.mask[0][0]), k=g.T_k)
        if len(g.mask) not in (1, H):
            raise ShapeError(f"mask has {len(g.mask)} heads, q has {H}; it needs one for all or one for each")
    if H * g.T_q * g.T_k > MOST_CELLS:
        raise InputError(
            f"{H} heads × {g.T_q} queries × {g.T_k} keys are {H * g.T_q * g.T_k:,} scores, and every step "
            f"keeps them; up to {MOST_CELLS:,} fit: give one head, or the one query in question"
        )
    _check_made(g)


def _check_made(g: Given) -> None:
    """Small operands may make a large step, or share one among many heads."""
    heads = f" of {g.n_heads} heads" * (g.n_heads > 1)
    made = {"q": g.T_q * g.d_k, "k": g.T_k * g.d_k, "v": g.T_k * g.d_v, "out": g.T_q * g.d_v}
    for name, size in made.items():
        check_size(name + heads, g.n_heads * size)
    if g.W_o:
        check_size("y", g.T_q * len(g.W_o[0]))


def _check_share(name: str, width: int, heads: int) -> None:
    if width % heads:
        raise ShapeError(f"{name} is {width} wide, which {heads} heads cannot share equally")
