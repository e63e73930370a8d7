"""What the parameters, sizes and arguments of a module are for: known by their names, from a table."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product
from types import MappingProxyType
from typing import Any

from riverhead.checking.rules.adapting.roles import plain, role_of

__all__ = ["Named", "forward_role", "named", "size_of"]

WEIGHTS, BIASES = ("weight", "w", "kernel", "weights"), ("bias", "b")  # what a layer calls its own arrays


@cache
def tables() -> Mapping[str, Any]:
    """Return every table of names."""
    text = (files("riverhead.checking.rules.adapting") / "module_names.toml").read_text("utf-8")
    return MappingProxyType(tomllib.loads(text))


@cache
def jobs() -> Mapping[str, str]:
    """Return what each name of a matrix is for: q, k, v, o, or several of them in one."""
    found: dict[str, str] = {}
    for job, bases in tables()["bases"].items():
        for base, affix in product(bases, ["", *tables()["affixes"]["weights"]]):
            found |= {(affix + base).lower(): job, (base + affix).lower(): job}
    for job, names in tables()["names"].items():
        found |= dict.fromkeys(names, job)
    return MappingProxyType(found)


@dataclass(frozen=True, slots=True)
class Named:
    """What one array of a module is for: q, k, v, o, qkv, kqv, kv; its bias; and which head's, of a list."""

    job: str
    bias: bool
    index: int | None = None


def named(path: str) -> Named | None:
    """Return what a parameter is for by its path; None where no part of it is known.

    >>> named("attn.q_proj.weight"), named("heads.2.key.bias"), named("in_proj_weight"), named("norm.weight")
    (Named(job='q', bias=False, index=None), Named(job='k', bias=True, index=2), \
Named(job='qkv', bias=False, index=None), None)
    >>> named("linears.3.weight"), named("b_q"), named("to_out.0.weight")
    (Named(job='o', bias=False, index=None), Named(job='q', bias=True, index=None), \
Named(job='o', bias=False, index=0))
    """
    parts = path.split(".")
    last, bias = parts[-1].lower(), False
    if len(parts) > 1 and last in (*WEIGHTS, *BIASES):
        bias = last in BIASES
        parts = parts[:-1]
    elif (core := unbiased(parts[-1])) is not None:
        parts, bias = [*parts[:-1], core], True
    digits = [int(part) for part in parts if part.isdigit()]
    jobs_of = [job_of(part) for part in reversed(parts) if letters(part)]
    if not jobs_of or jobs_of[0] is None:
        return None
    job, general = jobs_of[0]
    if general:  # a linear layer within q_proj is q's
        job = next((each[0] for each in jobs_of[1:] if each is not None and not each[1]), job)
    if job == "list":
        return Named("qkvo"[digits[-1]], bias) if digits and digits[-1] < len("qkvo") else None
    return Named(job, bias, digits[-1] if digits else None)


def job_of(part: str) -> tuple[str, bool] | None:
    """Return what a part of a path is for, and whether that is said in general alone; None if unknown."""
    for name in (letters(part), re.sub("weights?$", "", letters(part))):
        if name in jobs():
            return jobs()[name], name in [each for names in tables()["names"].values() for each in names]
    return None


def letters(name: str) -> str:
    """A name's letters, in lower case.

    >>> letters("W_q2")
    'wq'
    """
    return re.sub("[^a-z]", "", name.lower())


def unbiased(name: str) -> str | None:
    """Return whose bias an array is by its own name, None for what is no bias.

    >>> unbiased("q_bias"), unbiased("b_q"), unbiased("W_q")
    ('q', 'q', None)
    """
    bare = letters(name)
    for affix, other in product(tables()["affixes"]["biases"], ("start", "end")):
        core = bare.removeprefix(affix) if other == "start" else bare.removesuffix(affix)
        if core != bare and jobs().get(core, "list") != "list":
            return core
    return None


def size_of(name: str) -> str | None:
    """Return which size, or what else, a constructor's argument is; None where its name is not known.

    >>> size_of("embed_dim"), size_of("nhead"), size_of("colour")
    ('d_model', 'n_heads', None)
    """
    return next((role for role, names in tables()["sizes"].items() if plain(name) in names), None)


def forward_role(name: str, default: Any = None) -> str | None:
    """Return what an argument of forward is for; None where its name is not known.

    >>> forward_role("hidden_states"), forward_role("key_padding_mask"), forward_role("beta")
    ('x', 'key_mask', None)
    """
    found = next((role for role, names in tables()["forward"].items() if plain(name) in names), None)
    return found or role_of(name, default)
