"""A report made by hand, and what it shows as text."""

from __future__ import annotations

from riverhead.checking.rules.report import Agreed, Failure, NotOffered, Report
from riverhead.checking.rules.reports.scene import scene
from riverhead.checking.rules.reports.standing import Standing
from riverhead.render import render

SCALE = Failure(
    "scale", "must", (0, 1), "out", 0.2517, 0.2744, "0.5·0.5 + 0.5·0.0488", mistake="no-scale",
    did="the dots are not divided by √d_k", given={"q": [[1.0, 2.0]], "causal": True},
)  # fmt: skip
WEAK = Failure("hidden-values", "should", detail="a hidden value moves the output")
REPORT = Report(
    "attention", "attention", ("definition", "roles"), (SCALE, WEAK),
    (Agreed("mask", "keep", "True means: may attend"),),
    (NotOffered("window", "takes no window"), NotOffered("causal", "takes no causal")),
    (NotOffered("softmax-axis", "follows from scale"),), ("NumPy arrays",), "hello\n", "mine:attention",
)  # fmt: skip


def text(standing: Standing, everything: bool = False) -> str:
    return str(render(scene(standing, everything), "text", width=200))
