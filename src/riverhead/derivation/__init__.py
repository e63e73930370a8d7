"""Attention worked by hand: ordered steps, each number with its arithmetic, and the known examples."""

from riverhead.derivation.changes import changed
from riverhead.derivation.derivation import Derivation, derive
from riverhead.derivation.heatmap import heatmap
from riverhead.derivation.library import example, examples
from riverhead.derivation.moves import before_and_after, destinations
from riverhead.derivation.python import script
from riverhead.derivation.settings import apply_setting
from riverhead.derivation.steps import Step
from riverhead.derivation.temperature import sweep
from riverhead.derivation.vectors import Example, read_vectors
from riverhead.derivation.whiteboard import board

__all__ = [
    "Derivation",
    "Example",
    "Step",
    "apply_setting",
    "before_and_after",
    "board",
    "changed",
    "derive",
    "destinations",
    "example",
    "examples",
    "heatmap",
    "read_vectors",
    "script",
    "sweep",
]
