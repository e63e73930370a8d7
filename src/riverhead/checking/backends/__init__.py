"""What the attention of torch and of transformers' models does, measured against the rules and float64."""

from __future__ import annotations

from collections.abc import Sequence

from riverhead.checking.backends.auditing import Audit, Tell, audit, quiet
from riverhead.checking.backends.backend import Backend
from riverhead.errors import InputError, MissingExtraError

__all__ = ["Audit", "audit_model", "audit_torch"]


def audit_torch(only: Sequence[str] = (), tell: Tell = quiet) -> Audit:
    """Measure every way in which torch attends on this machine; ``only`` some of them, by name.

    Raises `MissingExtraError` without torch, `InputError` for a name that is none of its ways.
    """
    try:
        import torch
    except ImportError as missing:
        raise MissingExtraError(
            "check backend torch needs torch: pip install 'riverhead[oracle]'"
        ) from missing
    from riverhead.checking.backends.of_torch import torch_backends, torch_probes

    backends = _chosen(torch_backends(), only)
    return audit("torch", backends, {"torch": torch.__version__}, torch_probes(), tell)


def audit_model(model: str, only: Sequence[str] = (), tell: Tell = quiet) -> Audit:
    """Measure the eager and the sdpa attention of a model: a folder, or a kind that transformers knows.

    Raises `MissingExtraError` without transformers, `InputError` or `ModelError` where there is none such.
    """
    from riverhead.checking.backends.model_probes import model_probes
    from riverhead.checking.backends.of_model import model_backends, opened, versions

    found = opened(model)
    backends = _chosen(model_backends(found), only)
    return audit(found.name, backends, versions(), model_probes(found), tell)


def _chosen(backends: Sequence[Backend], only: Sequence[str]) -> Sequence[Backend]:
    names = [each.name for each in backends]
    if unknown := [name for name in only if name not in names]:
        raise InputError(f"there is no {unknown[0]!r} among them; there are {', '.join(names)}")
    return [each for each in backends if each.name in only] or backends
