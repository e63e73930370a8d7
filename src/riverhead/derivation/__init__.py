"""Attention worked by hand: ordered steps, each number with its arithmetic, and the known examples."""

from riverhead.derivation.derivation import Derivation, derive
from riverhead.derivation.whiteboard import board

__all__ = ["Derivation", "board", "derive"]
