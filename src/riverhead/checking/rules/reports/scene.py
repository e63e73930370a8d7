"""A report as a scene: what is wrong first, then what was agreed, what holds, what was not asked."""

from __future__ import annotations

from riverhead.checking.rules.report import Report
from riverhead.scene import Scene, Text

__all__ = ["scene"]


def scene(report: Report) -> Scene:
    """Return a report as a scene."""
    return Scene(report.name, tuple(Text((failure.says,)) for failure in report.failed))
