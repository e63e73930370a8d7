"""Which function is meant: ``package.module:function``, ``path/file.py:Class``, ``module:object.method``."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import pkgutil
import sys
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

from riverhead.checking.rules.running.raised import described
from riverhead.errors import InputError

__all__ = ["load_target"]

TAKEN = ({"q", "query", "queries"}, {"k", "key", "keys"}, {"v", "value", "values"})  # by attention
WORDS = ("attention", "attn", "attend", "sdpa", "mha")  # or it is called so
MOST_NAMED = 8


def load_target(text: str) -> Any:
    """Import a module or a file, which runs it, and return what ``text`` names in it.

    A file's folder, or the current one for a module, comes first on ``sys.path``, as it does for Python.
    Without a name it is the one function that looks like attention. `InputError` says what is not there, and
    what is.

    >>> load_target("riverhead.core:attention").__name__
    'attention'
    """
    place, name = (text, "") if ":" not in text or Path(text).is_file() else text.rsplit(":", 1)
    if not place:
        raise InputError(f"{text!r} names no module: give package.module:function, or path/file.py:function")
    is_file = place.endswith((".py", ".ipynb")) or os.sep in place or Path(place).is_file()
    module = _of_file(Path(place)) if is_file else _of_name(place)
    thing = _named(module, place, name) if name else _only(module, place)
    if not callable(thing):
        raise InputError(f"{text} cannot be called: it is {thing!r:.100}")
    return thing


def _of_file(path: Path) -> ModuleType:
    """Run a file as a module; one in a package as a part of it, so that its relative imports work."""
    if not path.is_file():
        there = [each.name for each in path.parent.glob("*.py")]
        what = "is a folder: give a file in it" if path.is_dir() else "is not there"
        raise InputError(f"{path} {what}{_or(path.name, there)}")
    if path.suffix != ".py":
        raise InputError(f"{path} is no Python file: put the function into one that ends in .py")
    path = path.resolve()
    root = path.parent
    while (root / "__init__.py").is_file():
        root = root.parent
    _first_on_path(root)
    if root == path.parent:
        return _run(path.name, lambda: _executed(path))
    parts = path.relative_to(root).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    module = _run(path.name, lambda: importlib.import_module(name))
    if module.__file__ is None or not path.samefile(module.__file__):
        raise InputError(f"{path} is {name}, which is imported from {module.__file__} already")
    return module


def _executed(path: Path) -> ModuleType:
    name = path.stem if path.stem not in sys.modules else f"{path.stem} in {path.parent}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None  # it ends in .py
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _of_name(name: str) -> ModuleType:
    _first_on_path(Path.cwd())
    try:
        return _run(name, lambda: importlib.import_module(name))
    except InputError as failed:
        missing = failed.__cause__
        if not isinstance(missing, ModuleNotFoundError) or not f"{name}.".startswith(f"{missing.name}."):
            raise
    above, _, last = str(missing.name).rpartition(".")
    package = sys.modules.get(above)
    if package is not None and hasattr(package, last):  # a dot where a colon is meant
        raise InputError(f"{missing.name} is no module: give {above}:{last}")
    folders = getattr(package, "__path__", ()) if package else [os.getcwd()]
    there = [module.name for module in pkgutil.iter_modules(folders)]
    raise InputError(f"there is no module {missing.name}{_or(last, there)}")


def _run(place: str, run: Callable[[], ModuleType]) -> ModuleType:
    """Import something; what goes wrong in it is told with its line."""
    try:
        return run()
    except SystemExit as left:
        said = f"{place} left with exit status {left.code or 0} while it was imported"
        raise InputError(f"{said}: keep what it runs under `if __name__ == '__main__':`") from left
    except Exception as raised:
        raise InputError(f"{place} cannot be imported: {described(raised)}") from raised


def _first_on_path(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _named(module: ModuleType, place: str, name: str) -> Any:
    thing: Any = module
    for part in name.split("."):
        try:
            thing = getattr(thing, part)
        except AttributeError:
            there = [known for known in dir(thing) if not known.startswith("_")]
            near = _or(part, there)
            raise InputError(f"{place} has no {name}{near or _defines(_own(module))}") from None
    return thing


def _only(module: ModuleType, place: str) -> Any:
    """The one function of a module that looks like attention, or the only one there is."""
    own = _own(module)
    alike = [name for name, thing in own.items() if _looks_like_attention(name, thing)] or list(own)
    if len(alike) != 1:
        example = f"{place}:{alike[0]}" if alike else f"{place}:function"
        raise InputError(f"say which function is meant, as in {example}{_defines(alike)}")
    return own[alike[0]]


def _own(module: ModuleType) -> Mapping[str, Any]:
    """What a module defines itself and can be called."""
    public = {name: thing for name, thing in vars(module).items() if not name.startswith("_")}
    here = module.__name__
    return {n: x for n, x in public.items() if callable(x) and getattr(x, "__module__", "") == here}


def _looks_like_attention(name: str, thing: Any) -> bool:
    if any(word in name.lower() for word in WORDS):
        return True
    try:
        parameters = list(inspect.signature(thing).parameters)
    except (TypeError, ValueError):
        return False
    return len(parameters) >= 3 and all(p in names for p, names in zip(parameters[:3], TAKEN, strict=True))


def _or(name: str, there: Iterable[str]) -> str:
    near = get_close_matches(name, list(there), 1)
    return f"; did you mean {near[0]}?" if near else ""


def _defines(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"; it defines {', '.join(names[:MOST_NAMED])}{more}" if names else "; it defines no function"
