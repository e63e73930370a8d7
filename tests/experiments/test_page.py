"""docs/why.md holds what every experiment says today, a verdict for each prediction, and its picture."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from riverhead.experiments import EXPERIMENTS, growth, prepare
from riverhead.render import render

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_page_says_what_the_experiment_says(name: str) -> None:
    if name == "growth" and growth._lengths(False)[-1] < growth.LAST:
        pytest.skip("less memory is free here than where the page was made")
    page = (DOCS / "why.md").read_text("utf-8")
    experiment = prepare(name)
    said = re.sub(r"^#", "##", render(experiment.scene(), "markdown"), flags=re.M)
    assert said in page, "docs/refresh_why.py makes the page anew"
    n = len(experiment.predictions)
    section = page.split(said)[1].split("\n## ")[0]
    assert f"agree: {n} of {n}." in section or f"of {n} predictions did not hold" in section
    (picture,) = re.findall(r"\]\((why/.+\.svg)\)", section)
    assert picture == f"why/{name}.svg"
    ElementTree.parse(DOCS / picture)
