"""Measure every experiment anew and write docs/why.md with its pictures: a part of refresh.py.

    python docs/refresh_why.py

Seconds differ from run to run; every other number stays as it is while the code does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from riverhead.experiments import EXPERIMENTS, Result, measure
from riverhead.render import render
from riverhead.scene import Lines, Scene

DOCS = Path(__file__).parent
PICTURES = DOCS / "why"

TOP = """\
# Why attention is built as it is

Six experiments, each predicted from theory, with bounds, before it was measured; `riverhead why NAME` runs
one of them, `riverhead why` lists them. They are seeded; here the seed is 0. What does not hold is shown like
what does, and exits with status 1. Training uses the project's own gradients, in NumPy.

`python docs/refresh.py` measures them again and writes this page. Seconds are one machine's, and nothing is
claimed of them.
"""


def section(result: Result) -> Iterator[str]:
    """One experiment in Markdown, its headings one level lower, its charts in a picture."""
    scene, name = result.scene(), result.experiment.name
    charts = tuple(part for part in scene.parts if isinstance(part, Lines))
    words = render(Scene(scene.title, tuple(part for part in scene.parts if part not in charts)), "markdown")
    yield re.sub(r"^#", "##", words, flags=re.M)
    if charts:
        picture = render(Scene(f"why {name}", charts), "svg")
        (PICTURES / f"{name}.svg").write_text(picture, "utf-8")
        says = "; ".join(f"{chart.y} against {chart.x}" for chart in charts)
        yield f"![why {name}: {says}](why/{name}.svg)\n"


PICTURES.mkdir(exist_ok=True)
results = [measure(name) for name in EXPERIMENTS]
(DOCS / "why.md").write_text("\n".join([TOP, *(part for each in results for part in section(each))]), "utf-8")
