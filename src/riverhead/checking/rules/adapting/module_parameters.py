"""The learned arrays of a module, read and written as W_q, W_k, W_v, W_o and biases, however kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.adapting.module_names import Named, named, size_of
from riverhead.checking.rules.adapting.returns import is_tensor
from riverhead.errors import InputError

__all__ = ["Leaf", "Parameters", "leaves", "parameters_of"]

DEEP = 4  # how far arrays are looked for in plain objects
BY_TORCH = (
    "Linear",
    "NonDynamicallyQuantizableLinear",
    "MultiheadAttention",
)  # keep what comes out by what goes in
BY_GPT2 = ("Conv1D",)  # of transformers: keeps what goes in by what comes out

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Leaf:
    """One learned array, where its owner keeps it; ``turned``: as (out, in); None where that is not known."""

    path: str
    owner: Any
    key: Any
    turned: bool | None = None

    @property
    def held(self) -> Any:
        """The array itself."""
        return self.owner[self.key] if isinstance(self.owner, (dict, list)) else getattr(self.owner, self.key)

    def read(self, gradient: bool = False) -> Array:
        """Return its numbers, or those of its gradient (0 where there is none)."""
        held = self.held
        if not is_tensor(held):
            return np.array(held, float)
        if gradient:
            held = held.new_zeros(held.shape) if held.grad is None else held.grad
        return np.array(held.detach().double().cpu().numpy())

    def write(self, x: Array) -> None:
        """Put other numbers there."""
        held = self.held
        if is_tensor(held):
            import torch

            with torch.no_grad():
                held.copy_(torch.from_numpy(np.ascontiguousarray(x)))
        else:
            held[...] = x

    @property
    def shape(self) -> tuple[int, ...]:
        """Its axes, as they are kept."""
        return tuple(self.held.shape)


def leaves(thing: Any) -> tuple[Leaf, ...]:
    """Return every learned array: a torch module's parameters, or all arrays of real numbers."""
    if hasattr(thing, "named_parameters") and hasattr(thing, "get_submodule"):
        return tuple(_of_torch(thing))
    return tuple(_of_object(thing, "", DEEP, set()))


def _of_torch(module: Any) -> Iterator[Leaf]:
    for path, _ in module.named_parameters(remove_duplicate=False):
        before, _, name = path.rpartition(".")
        owner = module.get_submodule(before)
        kind = type(owner).__name__
        yield Leaf(path, owner, name, True if kind in BY_TORCH else False if kind in BY_GPT2 else None)


def _of_object(thing: Any, path: str, deep: int, met: set[int]) -> Iterator[Leaf]:
    if id(thing) in met or deep < 0:
        return
    met.add(id(thing))
    for key, value in _items(thing):
        here = f"{path}.{key}" if path else str(key)
        if _learned(value):
            yield Leaf(here, thing, key)
        elif hasattr(value, "named_parameters"):
            yield from (replace(leaf, path=f"{here}.{leaf.path}") for leaf in leaves(value))
        elif isinstance(value, (dict, list)) or (hasattr(value, "__dict__") and not callable_class(value)):
            yield from _of_object(value, here, deep - 1, met)


def callable_class(value: Any) -> bool:
    """Whether something is a class, a function or a module of Python, whose insides are not looked at."""
    return isinstance(value, type) or hasattr(value, "__code__") or type(value).__name__ == "module"


def _items(thing: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(thing, dict):
        return [(key, value) for key, value in thing.items() if isinstance(key, str)]
    return list(enumerate(thing)) if isinstance(thing, list) else list(vars(thing).items())


def _learned(value: Any) -> bool:
    if is_tensor(value):
        return bool(value.is_floating_point()) and 1 <= value.ndim <= 3
    return isinstance(value, np.ndarray) and value.dtype.kind == "f" and 1 <= value.ndim <= 3


@dataclass(frozen=True, slots=True)
class Place:
    """A learned array and whose numbers it holds: of ``names`` (W_q, …) the ``index``th of ``n`` parts."""

    leaf: Leaf
    names: tuple[str, ...]
    index: int = 0
    n: int = 1

    @property
    def bias(self) -> bool:
        """Whether it is added, not multiplied with."""
        return self.names[0].startswith("b")


@dataclass(frozen=True, slots=True)
class Parameters:
    """The learned arrays of a module by the house's names, and how many heads they make."""

    places: tuple[Place, ...]
    n_heads: int
    n_kv_heads: int
    turned: bool = False  # whether arrays of which it is not known lie as (out, in)

    @property
    def names(self) -> frozenset[str]:
        """W_q, b_q, …: those that there are."""
        return frozenset(name for place in self.places for name in place.names)

    @property
    def packed(self) -> bool:
        """Whether one matrix makes queries, keys and values."""
        return any(len(place.names) == len("qkv") for place in self.places)

    @property
    def plain(self) -> bool:
        """Whether matrices are arrays of which nothing says how they lie."""
        return any(place.leaf.turned is None for place in self.places)

    def read(self, gradient: bool = False) -> dict[str, Array]:
        """Return W_q (d_model, H·d_k), … as they are, or their gradients."""
        parts: dict[str, list[Array]] = {}
        for place in sorted(self.places, key=lambda place: place.index):
            block = self._to_house(place, place.leaf.read(gradient))
            for name, part in zip(place.names, self._apart(place, block), strict=True):
                parts.setdefault(name, []).append(part)
        return {name: _joined(name, found) for name, found in parts.items()}

    def write(self, arrays: Mapping[str, Array]) -> None:
        """Put other numbers there."""
        for place in self.places:
            wanted = [_part(name, np.asarray(arrays[name], float), place) for name in place.names]
            place.leaf.write(self._to_stored(place, np.concatenate(wanted, axis=-1)))

    def _turned(self, place: Place) -> bool:
        return self.turned if place.leaf.turned is None else place.leaf.turned

    def _stacked(self, place: Place) -> bool:
        """Whether three axes are (H, d_model, d_k), not (d_model, H, d_k)."""
        heads = self.n_heads if place.names == ("W_q",) else self.n_kv_heads
        return place.names != ("W_o",) and place.leaf.shape[0] == heads

    def _to_house(self, place: Place, x: Array) -> Array:
        if place.bias:
            return x.reshape(-1)
        if x.ndim == 2:
            return x.T if self._turned(place) else x
        if place.names == ("W_o",):
            return x.reshape(-1, x.shape[-1])  # (H, d_v, d_model)
        x = np.moveaxis(x, 0, 1) if self._stacked(place) else x  # (d_model, H, d_k)
        return x.reshape(len(x), -1)

    def _to_stored(self, place: Place, block: Array) -> Array:
        shape = place.leaf.shape
        if not place.bias and len(shape) == 2:
            return block.T if self._turned(place) else block
        if not place.bias and self._stacked(place):
            return np.moveaxis(block.reshape(shape[1], shape[0], shape[2]), 0, 1)
        return block.reshape(shape)

    def _apart(self, place: Place, block: Array) -> list[Array]:
        """Cut packed columns into those of each name."""
        shares = [self.n_heads if name.endswith("q") else self.n_kv_heads for name in place.names]
        ends = np.cumsum(shares)[:-1] * block.shape[-1] // sum(shares)
        return np.split(block, ends, axis=-1)


def _joined(name: str, parts: list[Array]) -> Array:
    return parts[0] if name == "b_o" else np.concatenate(parts, axis=0 if name == "W_o" else -1)


def _part(name: str, x: Array, place: Place) -> Array:
    """A head's share of an array: of W_o it is rows; one b_o is enough."""
    if name == "b_o":
        return x if place.index == 0 else np.zeros_like(x)
    return np.split(x, place.n, axis=0 if name == "W_o" else -1)[place.index]


def parameters_of(thing: Any, name: str, told: Mapping[str, int]) -> Parameters:
    """Return the learned arrays of a module by what they are for; ``told`` are sizes that are known.

    Raises `InputError`, naming them, where one is of no known use, or where W_q, W_k or W_v is none of them.
    """
    found = [(leaf, named(leaf.path)) for leaf in leaves(thing)]
    strange = [leaf.path for leaf, known in found if known is None]
    if strange and hasattr(thing, "named_parameters"):
        raise InputError(
            f"{name} has the parameter {strange[0]}, and what that is for is not known; a module of "
            "attention alone has W_q, W_k, W_v and W_o (q_proj, query, in_proj, …) and their biases"
        )
    places = tuple(_places([(leaf, known) for leaf, known in found if known is not None], name))
    of = {each: place for place in places for each in place.names}
    for each in of:
        others = [other.leaf.path for other in places if each in other.names and other.n == 1]
        if len(others) > 1:
            raise InputError(f"{name} has several {each}: {', '.join(others)}")
    if lacking := [each for each in ("W_q", "W_k", "W_v") if each not in of]:
        paths = ", ".join(leaf.path for leaf, _ in found[:20]) or "none"
        raise InputError(f"{name} has no {lacking[0]} that is known by its name; its parameters: {paths}")
    sizes = {**sizes_of(thing), **told}
    turned = _lies_turned(of, sizes.get("d_model"))
    H, G = _heads(of, sizes, turned)
    width = _width(of["W_q"], turned)
    if H < 1 or G < 1 or width % H or H % G:
        raise InputError(
            f"{name}: n_heads {H}, n_kv_heads {G} and {width} columns do not fit; say how many heads "
            "there are: --argument n_heads=N"
        )
    return Parameters(places, H, G, turned)


def _places(found: list[tuple[Leaf, Named]], name: str) -> Iterator[Place]:
    """Put the arrays of one job in the order of their heads."""
    groups: dict[tuple[str, bool], list[tuple[Leaf, Named]]] = {}
    for leaf, known in found:
        groups.setdefault((known.job, known.bias), []).append((leaf, known))
    for (job, bias), group in groups.items():
        names = tuple(f"{'b' if bias else 'W'}_{of}" for of in job)
        if len(group) > 1 and len({known.index for _, known in group} - {None}) < len(group):
            raise InputError(f"{name} has several {names[0]}: {', '.join(leaf.path for leaf, _ in group)}")
        ordered = sorted(group, key=lambda each: each[1].index or 0)
        yield from (Place(leaf, names, i, len(group)) for i, (leaf, _) in enumerate(ordered))


def sizes_of(thing: Any) -> dict[str, int]:
    """Return the sizes that a module keeps as attributes, its own before its parts'."""
    found: dict[str, int] = {}
    parts = [part for _, part in thing.named_modules()] if hasattr(thing, "named_modules") else [thing]
    for part in parts:
        kept = getattr(part, "__dict__", {})
        configs = [value for key, value in kept.items() if size_of(key) == "config"]
        for values in (kept, *(getattr(config, "__dict__", {}) for config in configs)):
            for key, value in values.items():
                if (role := size_of(key)) and type(value) is int and value > 0:
                    found.setdefault(role, value)
    return found


def _heads(of: Mapping[str, Place], sizes: Mapping[str, int], turned: bool) -> tuple[int, int]:
    """Return n_heads and n_kv_heads: by a list of heads, an axis, a size that is told; else one."""
    q, k = of["W_q"], of["W_k"]
    if q.n > 1:
        return q.n, k.n
    if len(q.leaf.shape) == 3:
        H = sizes.get("n_heads") or next((n for n in q.leaf.shape[:2] if n != sizes.get("d_model")), 1)
        return H, k.leaf.shape[q.leaf.shape.index(H)] if H in q.leaf.shape else 0
    width, d_k = _width(q, turned), sizes.get("d_k", 0)
    packed = len(q.names) > 1
    H = sizes.get("n_heads") or (width // len(q.names) // d_k if d_k else 1)
    if packed:
        return H, sizes.get("n_kv_heads", H)
    return H, _width(k, turned) // len(k.names) * H // width


def _lies_turned(of: Mapping[str, Place], d_model: int | None) -> bool:
    """Whether plain matrices lie as (out, in): only where their axes say so."""
    plain = [of[name].leaf for name in ("W_q", "W_k", "W_v") if of[name].leaf.turned is None]
    return any(len(leaf.shape) == 2 and leaf.shape[0] != d_model == leaf.shape[1] for leaf in plain)


def _width(place: Place, turned: bool) -> int:
    """How many columns a matrix has, all heads together."""
    shape = place.leaf.shape
    lies = turned if place.leaf.turned is None else place.leaf.turned
    return int(np.prod(shape[1:]) if len(shape) == 3 else shape[0 if lies else -1]) * place.n
