"""What is said of functions with one mistake each, and of right ones in many forms.

    OMP_NUM_THREADS=1 python benchmarks/implementations.py
    OMP_NUM_THREADS=1 python benchmarks/implementations.py --format markdown > docs/checking-mutants.md

The functions are those of tests/checking/rules/implementations, in NumPy and in torch; each is run against
every rule, in this very process. A test compares the page with a fresh run. Needs the [oracle] extra; takes
about a minute.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import get_terminal_size
from typing import TypeAlias

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "checking" / "rules"))

from implementations import LIBRARIES, right, wrong
from implementations.tables import Implementation

from riverhead.checking.rules import Report
from riverhead.checking.rules.report import Failure
from riverhead.checking.rules.rule import rules
from riverhead.render import render
from riverhead.scene import Scene, Table

Asked: TypeAlias = Callable[[Implementation], Report]

KINDS = {
    "attention": "Attention",
    "heads": "Modules of several heads",
    "rope": "RoPE",
    "alibi": "ALiBi",
    "cache": "KV caches",
    "positions": "Places of tokens in padded rows",
    "merge": "Two partial results made one",
}
TOP = """\
# Wrong and right implementations

`riverhead check code` is tried on functions as people write them: on wrong ones, each with one classic
mistake, in NumPy and in torch, and on right ones in many forms. Other tests ask them at sizes drawn at
random. The functions stand in `tests/checking/rules/implementations`; this page is what one command prints,
and a test compares it with a fresh run:

    python benchmarks/implementations.py --format markdown

**named**: this mistake is named, its rule is broken, and no other rule is. **its rule**: its rule is broken,
and no other; no name is given to what was done instead. **–**: there is no such function in this library.
"""


def said(report: Report) -> list[str]:
    """The mistakes found; one without a name by its rule."""
    return [failure.mistake or failure.rule for failure in report.failed]


def verdict(each: Implementation, report: Report) -> str:
    """Whether a wrong function is named, and as nothing else."""
    if said(report) != [each.mistake]:
        return ", ".join(said(report)) or "nothing"
    return "its rule" if each.mistake in rules() else "named"


def words(failure: Failure) -> str:
    """What is said of a mistake, without a share that was measured; of one without a name, its rule."""
    return failure.did.partition(": about ")[0] or f"does not hold: {failure.says}"


def wrong_ones(kind: str, asked: Asked) -> Iterator[tuple[str, ...]]:
    """A row for each mistake: what each library's function was called, and what was said of the first."""
    tables = {library: wrong(library) for library in LIBRARIES}
    names = [name for library in LIBRARIES for name, each in tables[library].items() if each.kind == kind]
    for name in dict.fromkeys(names):
        reports = {
            library: (table[name], asked(table[name])) for library, table in tables.items() if name in table
        }
        verdicts = [verdict(*reports[each]) if each in reports else "–" for each in LIBRARIES]
        _, report = next(iter(reports.values()))
        yield (name.partition(" ")[2], *verdicts, "; ".join(map(words, report.failed)))


def right_ones(asked: Asked) -> Iterator[tuple[str, ...]]:
    """A row for each form: what was said against it."""
    for library in LIBRARIES:
        for form, each in right(library).items():
            found = [f"{failure.rule}: {each.weak.get(failure.rule, '?')}" for failure in asked(each).failed]
            yield form, KINDS[each.kind], "; ".join(found) or "nothing"


def scenes(asked: Asked) -> Iterator[Scene]:
    """A table for each kind of wrong functions, and one of the right ones."""
    for kind, title in KINDS.items():
        rows = tuple(wrong_ones(kind, asked))
        table = Table(("mistake", "NumPy", "torch", "what is said"), rows)
        yield Scene(f"{title}: {len(rows)} functions", (table,))
    forms = tuple(right_ones(asked))
    table = Table(("form", "kind", "what is said against it"), forms)
    yield Scene(f"Right: {len(forms)} forms", (table,))


def page(asked: Asked) -> str:
    """All of it as a page of the documents."""
    parts = [str(render(scene, "markdown")).replace("# ", "## ", 1) for scene in scenes(asked)]
    return "\n".join([TOP, *parts])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--format", choices=("text", "markdown"), default="text")
    if parser.parse_args().format == "markdown":
        print(page(Implementation.report), end="")
    else:
        for scene in scenes(Implementation.report):
            print(render(scene, "text", width=get_terminal_size().columns))


if __name__ == "__main__":
    main()
