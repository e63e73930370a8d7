"""Heads of real models: what they look at, and whether that is a finding."""

from riverhead.inspection.blocks import block_scene
from riverhead.inspection.derived import head_derivation
from riverhead.inspection.findings import Finding, Findings
from riverhead.inspection.questions import control, telling
from riverhead.inspection.words import Word

__all__ = ["Finding", "Findings", "Word", "block_scene", "control", "head_derivation", "telling"]
