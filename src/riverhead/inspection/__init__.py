"""Heads of real models: what they look at, whether that is a finding, and somebody else's model watched."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from riverhead.inspection.ablation import rank, without
    from riverhead.inspection.blocks import block_scene
    from riverhead.inspection.comparing import compare
    from riverhead.inspection.comparing_models import compare_models
    from riverhead.inspection.comparison import Comparison
    from riverhead.inspection.continuation import Continuation
    from riverhead.inspection.derived import head_derivation
    from riverhead.inspection.effects import Effect
    from riverhead.inspection.every_head import Heads, heads
    from riverhead.inspection.findings import Finding, Findings
    from riverhead.inspection.generation import watch_generation
    from riverhead.inspection.maps import HeadMaps, head_maps
    from riverhead.inspection.model_comparison import ModelComparison
    from riverhead.inspection.questions import control, telling, whole_layer
    from riverhead.inspection.ranking import Ranking
    from riverhead.inspection.watching import Seen, watch
    from riverhead.inspection.words import Word

_HOME = {
    "Comparison": "comparison",
    "Continuation": "continuation",
    "Effect": "effects",
    "Finding": "findings",
    "Findings": "findings",
    "HeadMaps": "maps",
    "Heads": "every_head",
    "ModelComparison": "model_comparison",
    "Ranking": "ranking",
    "Seen": "watching",
    "Word": "words",
    "block_scene": "blocks",
    "compare": "comparing",
    "compare_models": "comparing_models",
    "control": "questions",
    "head_derivation": "derived",
    "head_maps": "maps",
    "heads": "every_head",
    "rank": "ablation",
    "telling": "questions",
    "watch": "watching",
    "watch_generation": "generation",
    "whole_layer": "questions",
    "without": "ablation",
}

__all__ = [
    "Comparison",
    "Continuation",
    "Effect",
    "Finding",
    "Findings",
    "HeadMaps",
    "Heads",
    "ModelComparison",
    "Ranking",
    "Seen",
    "Word",
    "block_scene",
    "compare",
    "compare_models",
    "control",
    "head_derivation",
    "head_maps",
    "heads",
    "rank",
    "telling",
    "watch",
    "watch_generation",
    "whole_layer",
    "without",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
