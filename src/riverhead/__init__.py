"""See every number in attention: by hand on four words, and in every head of a real model."""

import importlib
from typing import TYPE_CHECKING, Any

from riverhead import display
from riverhead._version import __version__

if TYPE_CHECKING:
    from riverhead.core import (
        Attention,
        AttentionMap,
        KVCache,
        MultiHead,
        attend,
        attention,
        attention_gradient,
        merge_maps,
    )
    from riverhead.derivation import Derivation, board, derive, example
    from riverhead.errors import RiverheadError
    from riverhead.inspection.watching import watch
    from riverhead.transformer import Model, Reading, load

_ROOMS = {  # public name: the room it lives in, opened on first use so that `import riverhead` stays light
    "Attention": "core",
    "AttentionMap": "core",
    "Derivation": "derivation",
    "KVCache": "core",
    "Model": "transformer",
    "MultiHead": "core",
    "Reading": "transformer",
    "RiverheadError": "errors",
    "attend": "core",
    "attention": "core",
    "attention_gradient": "core",
    "board": "derivation",
    "derive": "derivation",
    "example": "derivation",
    "load": "transformer",
    "merge_maps": "core",
    "watch": "inspection.watching",
}

__all__ = [
    "Attention",
    "AttentionMap",
    "Derivation",
    "KVCache",
    "Model",
    "MultiHead",
    "Reading",
    "RiverheadError",
    "__version__",
    "attend",
    "attention",
    "attention_gradient",
    "board",
    "derive",
    "example",
    "load",
    "merge_maps",
    "show",
    "watch",
]


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'riverhead' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"riverhead.{_ROOMS[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


def show(
    *args: Any,
    focus: str | int | None = None,
    digits: int | None = None,
    full: bool = False,
    **named: Any,
) -> display.Sheet:
    """Show attention worked by hand for arrays or tensors: a sheet that prints itself.

    Takes what `riverhead.derive` takes (``q, k, v`` or ``x, W_q, W_k, W_v`` or ``e``; ``tokens=``), and
    what `riverhead.board` takes: ``focus`` (a token or its index), ``digits``, and ``full`` for the
    arithmetic of every number.

    >>> import riverhead
    >>> sheet = riverhead.show([[1, 0]], [[0, 1]], [[3, 4]], tokens=["alone"], full=True)
    >>> print(str(sheet).splitlines()[0][:5])
    alone
    >>> "1.000 ÷ 1.000 = 1.000" in str(sheet)
    True
    """
    from riverhead.derivation import board, derive

    return display.Sheet(board(derive(*args, **named), focus=focus, digits=digits, full=full))


def _render(scene: Any, format: str) -> Any:
    from riverhead.render import render

    return render(scene, format)


def _scene_of(shown: Any) -> Any:
    """A map of attention as a picture, a formula on a line of its own."""
    from riverhead.core import AttentionMap
    from riverhead.derivation.heatmap import heatmap
    from riverhead.scene import Formula, Scene

    return heatmap(shown) if isinstance(shown, AttentionMap) else Scene("", (Formula(shown),))


def _derive(reading: Any, head: Any, focus: Any) -> Any:
    from riverhead.inspection import head_derivation

    return head_derivation(reading, head, focus)


display.plug(_render, _scene_of, _derive)
