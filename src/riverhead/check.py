"""Check what others say about attention, `claims`, and what their code does, `implementation`."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from riverhead.checking.claims import Claim, claims
    from riverhead.checking.rules import Limits, Report, implementation

_ROOMS = {  # public name: the room it lives in, opened on first use so that the import stays light
    "Claim": "checking.claims",
    "Limits": "checking.rules",
    "Report": "checking.rules",
    "claims": "checking.claims",
    "implementation": "checking.rules",
}

__all__ = ["Claim", "Limits", "Report", "claims", "implementation"]


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'riverhead.check' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"riverhead.{_ROOMS[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
