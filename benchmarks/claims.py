"""Every number of a file of published examples beside what `riverhead.checking.claims` says of it.

    python benchmarks/claims.py published-numbers.json [TEXT …] [--misses] [--alone] [--json]

The file holds cases, as ``fields`` in it explains. A case of kind "claims" becomes one document of its raw
lines; of every other kind, the inputs and the published numbers written plainly, a line each. Two things
are added to a document of raw lines, both from ``reading`` (``--misses`` says where): the list that a line
works on and that no line of the case has ("scores: …" above a bare softmax), and the left side of a line
that begins with "=" and stands alone. ``--alone`` gives each raw line to the checker by itself instead.

A label is true, false or "loose" (false to the digit, explained by rounding: counted as true). Of the false
ones, *carried* are those that the checker too calls right if rounded values were carried forward. Exit 1 if
anything true is accused. TEXTs are checked as well: what is not simply true of them is listed.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from claims_cases import Case, Document, Label, Stretch, documents

from riverhead.checking.claims import Claim, claims

COLUMNS = ("true", "found true", "unchecked", "ACCUSED", "false", "found", "carried", "unchecked", "MISSED")


@dataclass
class Said:
    """A claim of the checker's, and where it stands."""

    claim: Claim
    at: Stretch

    @property
    def false(self) -> bool:
        return self.claim.verdict == "false"


def judged(document: Document) -> Iterator[tuple[Label, str, list[Said]]]:
    """Each label with what the checker says there: true, carried, false or "not checkable"."""
    said = spoken(document.text)
    wrong = [label.at for label in document.labels if not label.true]
    for label in document.labels:
        there = [s for s in said if meet(s.at, label.at)]
        false = [s for s in there if s.false and accuses(s, label, document, wrong)]
        right = [s for s in there if s.claim.verdict == "true"]
        verdict = "false" if false else "true" if right else "not checkable"
        if verdict == "true" and all(s.claim.how == "carried" for s in right):
            verdict = "carried"
        if verdict == "not checkable" and label.printed is not None and any(s.false for s in there):
            verdict = "true"  # its list is false, and this number is not why
        yield label, verdict, false or there


def accuses(said: Said, label: Label, document: Document, wrong: list[Stretch]) -> bool:
    """Whether a false claim is false because of this number: by the right value where it is given."""
    if label.printed is None:
        return True
    inside = [other for other in document.labels if meet(said.at, other.at)]
    leaves = list(flat(said.claim.exact))
    if len(leaves) == len(inside):
        exact = leaves[inside.index(label)]
        return abs(exact - label.printed) > label.half * (1 + 1e-9) + 1e-12
    return len(inside) == 1 or not label.true or not any(meet(said.at, at) for at in wrong)


def flat(exact: Any) -> Iterator[float]:
    if isinstance(exact, tuple | list):
        for item in exact:
            yield from flat(item)
    elif exact is not None:
        yield float(exact)


def spoken(text: str) -> list[Said]:
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    found = []
    for claim in claims(text):
        start = starts[claim.line - 1] + claim.column - 1
        found.append(Said(claim, (start, start + max(len(claim.text), 1))))
    return found


def meet(a: Stretch, b: Stretch) -> bool:
    return a[0] < b[1] and b[0] < a[1]


COLUMN_OF = {
    (True, "true"): 1, (True, "carried"): 1, (True, "not checkable"): 2, (True, "false"): 3,
    (False, "false"): 5, (False, "carried"): 6, (False, "not checkable"): 7, (False, "true"): 8,
}  # fmt: skip


def compare(cases: list[Case], alone: bool) -> tuple[dict[str, list[int]], list[str], float]:
    """Count by kind; list whatever is not as labelled; and take the time."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0] * len(COLUMNS))
    misses: list[str] = []
    spent = 0.0
    for case in cases:
        for document in documents(case, alone):
            misses += [f"{case['id']}: added {line!r}" for line in document.added]
            start = time.perf_counter()
            found = list(judged(document))
            spent += time.perf_counter() - start
            for label, verdict, said in found:
                column = COLUMN_OF[label.true, verdict]
                counts[label.kind][0 if label.true else 4] += 1
                counts[label.kind][column] += 1
                if column not in (1, 5):
                    truth = "true" if label.true else "false"
                    misses.append(f"{label.case}: {truth}, called {verdict}: {label.raw}")
                    misses += [f"    {about(s.claim)}" for s in said]
    return counts, misses, spent


def about(claim: Claim) -> str:
    place = f"{claim.line}:{claim.column} {claim.text!r}"
    words = [claim.verdict, claim.how, place, f"exact {claim.exact}", claim.cause]
    return ", ".join(word for word in words if word)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("cases", type=Path)
    parser.add_argument("texts", nargs="*", type=Path)
    parser.add_argument(
        "--misses", action="store_true", help="list each label not met, and what was said there"
    )
    parser.add_argument("--alone", action="store_true", help="each raw line by itself")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    cases = json.loads(args.cases.read_text("utf-8"))["cases"]
    if args.alone:
        cases = [case for case in cases if case["kind"] == "claims"]
    counts, misses, spent = compare(cases, args.alone)
    if args.json:
        found = {"columns": COLUMNS, "counts": counts, "misses": misses, "seconds": spent}
        print(json.dumps(found, ensure_ascii=False, indent=1))
    else:
        table(counts)
        print(f"{spent:.2f} s", *(misses if args.misses else ()), sep="\n")
    for path in args.texts:
        print(path.name)
        for claim in claims(path.read_text("utf-8")):
            if claim.verdict != "true" or claim.how == "carried":
                print("   ", about(claim))
    return 1 if any(row[3] for row in counts.values()) else 0


def table(counts: dict[str, list[int]]) -> None:
    print(f"{'':12}" + "".join(f"{name:>12}" for name in COLUMNS))
    rows = [*counts.items(), ("all", [sum(column) for column in zip(*counts.values(), strict=True)])]
    for kind, row in rows:
        print(f"{kind:12}" + "".join(f"{n:12}" for n in row))


if __name__ == "__main__":
    sys.exit(main())
