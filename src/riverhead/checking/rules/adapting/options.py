"""What a function is given beside its arrays: what was asked for, what turns the rest off, and sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from riverhead.checking.rules.adapting.roles import Roles
from riverhead.checking.rules.call import Call

__all__ = ["stated"]

ASKED = ("causal", "scale", "softcap", "training")  # handed over as they are
TOLD = ("n_heads", "n_kv_heads", "repeats", "grouped")  # whoever has such a parameter is always told


def stated(roles: Roles, forms: Mapping[str, str], call: Call, sizes: Mapping[str, int]) -> dict[str, Any]:
    """Return values by role for a call: nothing but q, k and v works unless it was asked for.

    A parameter that has a default and is not asked for keeps it, unless that default would do something:
    a dropout, causality, training are turned off.
    """
    off: dict[str, Any] = {"causal": False, "dropout": 0.0, "training": False, "deterministic": True}
    of_call = off | _sizes(sizes) | dict.fromkeys(("mask", "key_mask", "bias", "sinks", "softcap"))
    values = {
        role: value for role, value in of_call.items() if role in roles and _needed(roles, role, off, value)
    }
    options = call.options
    values |= {role: options[role] for role in ASKED if role in options}
    if options.get("training"):
        values["deterministic"] = False
    if "dropout" in options:
        values["dropout"] = _dropout(
            forms.get("dropout", ""), options["dropout"], options.get("training", False)
        )
    if "window" in options:
        values["window"] = _window(forms.get("window", ""), options["window"], bool(options.get("causal")))
    if "weights" in call.want:
        values["weights"] = True
    return {role: value for role, value in values.items() if role in roles}


def _needed(roles: Roles, role: str, off: Mapping[str, Any], value: Any) -> bool:
    default = roles.default(role)
    if default is roles.by_role[role].empty or role in TOLD:
        return True
    return role in off and default is not None and default != value


def _sizes(sizes: Mapping[str, int]) -> dict[str, Any]:
    H, G, d_k = sizes["H"], sizes["G"], sizes["d_k"]
    return {
        "scale": 1 / math.sqrt(d_k), "d_k": d_k, "n_heads": H, "n_kv_heads": G, "repeats": H // G,
        "grouped": H != G, "weights": False, "window": sizes["T"] + sizes["S"],  # wider than any text
        # what functions of transformers ask their module for
        "module": SimpleNamespace(training=False, num_key_value_groups=H // G, is_causal=False, config=None),
    }  # fmt: skip


def _dropout(form: str, p: float, training: bool) -> Any:
    """A dropout as the function takes it: a number, or a module of torch."""
    if form != "module":
        return p
    from torch import nn

    return nn.Dropout(p).train(training)


def _window(form: str, window: int, causal: bool) -> Any:
    """A window as the function takes it: how many keys, or (how many before, after) oneself.

    >>> _window("pair", 3, causal=True), _window("", 3, causal=True)
    ((2, 0), 3)
    """
    return (window - 1, 0 if causal else window - 1) if form == "pair" else window
