"""Published examples as texts to check, each number with what is true of it."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

NUMERAL = re.compile(r"\d{1,3}(?:,\d{3})+(?![\d,])|\d+(?:\.\d+)?|\.\d+")
CONTINUES = re.compile(r"[\s│|*/#]*(?:=|≈|→|->|\\approx)")
Stretch = tuple[int, int]
Case = dict[str, Any]


@dataclass
class Label:
    """A number, or a line, of the file: where it stands in a document, and what is true of it."""

    kind: str
    case: str
    at: Stretch
    true: bool
    raw: str
    printed: float | None = None  # where the label is of one number
    half: float = 0.0


@dataclass
class Document:
    """A text made from a case, and its labels."""

    text: str = ""
    labels: list[Label] = field(default_factory=list)
    added: list[str] = field(default_factory=list)

    def write(self, text: str) -> Stretch:
        """Append text; return where it stands."""
        start = len(self.text)
        self.text += text
        return start, len(self.text)


def documents(case: Case, alone: bool) -> Iterator[Document]:
    """Write a case as the texts that the checker is given."""
    if case["kind"] == "claims":
        yield from raw_lines(case, alone)
    elif "published" in case:
        yield attention(case)
    else:
        plainly = {"softmax": softmax, "cost": cost, "positions": positions, "layernorm": layernorm}
        yield plainly[case["kind"]](case)


def raw_lines(case: Case, alone: bool) -> Iterator[Document]:
    raws = list(dict.fromkeys(line["raw"] for line in case["lines"]))
    whole = [raw for raw in raws if not any(raw.strip() in other for other in raws if other != raw)]
    places: dict[str, int] = {}
    document = Document()
    for raw in whole:
        for line in case["lines"] if not alone else ():
            if line["raw"] == raw:
                for extra in missing(line, whole):
                    document.added.append(extra)
                    document.write(extra + "\n")
        places[raw] = document.write(raw + "\n")[0]
    for line in case["lines"]:
        raw = line["raw"]
        host = next(other for other in whole if raw.strip() in other)
        start = 0 if alone else places[host] + host.index(raw.strip() if raw != host else raw)
        first, last = window(raw, line["reading"])
        label = Label("claims", case["id"], (start + first, start + last), line["loose"], raw)
        if alone:
            yield Document(raw, [label])
        document.labels.append(label)
    if not alone:
        yield document


def missing(line: dict[str, Any], raws: list[str]) -> Iterator[str]:
    """What a reading works on and no raw line has: its list under the name it goes by, or its left side."""
    left = line["reading"][0]
    operand = vector(left)
    wanted = numerals(operand)
    if not operand or within(wanted, line["raw"]) or any(holds(numerals(raw), wanted) for raw in raws):
        return
    if CONTINUES.match(line["raw"]):
        border = re.match(r"\s*│ ", line["raw"])
        yield (border[0] if border else "") + left
    else:
        name = re.search(r"[^\W\d_]̂", line["raw"])  # the hatted name of a normalised vector
        yield f"{name[0]} = {operand}" if name else f"scores: {operand}"


def vector(expression: str) -> str:
    """The list an expression works on, as written: the one in it, or the numbers its items differ in."""
    tree = ast.parse(expression, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.List) and all(plain(item) for item in node.elts):
            return ast.unparse(node) if len(node.elts) > 1 and node is not tree.body else ""
    if isinstance(tree.body, ast.List):
        items = [re.findall(r"\(?-?[\d.]+\)?", ast.unparse(item)) for item in tree.body.elts]
        differing = [row for row in zip(*items, strict=False) if len(set(row)) > 1]
        if len(differing) == 1 and len(items[0]) > 1 and "." in differing[0][0]:
            return "[" + ", ".join(number.strip("()") for number in differing[0]) + "]"
    return ""


def plain(node: ast.expr) -> bool:
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


def numerals(text: str) -> list[str]:
    """The numbers of a text, each in one spelling: 0.60 is 0.6, and 1,280 is 1280."""
    found = [number.replace(",", "") for number in NUMERAL.findall(text)]
    return [number.rstrip("0").rstrip(".") or "0" if "." in number else number for number in found]


def holds(numbers: list[str], wanted: list[str]) -> bool:
    return any(numbers[i : i + len(wanted)] == wanted for i in range(len(numbers)))


def within(wanted: list[str], raw: str) -> bool:
    have = iter(numerals(raw))
    return all(number in have for number in wanted)


def window(raw: str, reading: list[str]) -> Stretch:
    """Where in a raw line a reading stands: the shortest stretch with its numbers in order, or all of it."""
    wanted = numerals(" ".join(reading))
    found = list(NUMERAL.finditer(raw))
    have = [numerals(match[0])[0] for match in found]
    best: Stretch = (0, len(raw))
    for first in range(len(have)):
        at = first
        for number in wanted:
            at = next((i for i in range(at, len(have)) if have[i] == number), len(have)) + 1
        if at <= len(have):
            best = min(best, (found[first].start(), found[at - 1].end()), key=lambda span: span[1] - span[0])
    return best


def attention(case: Case) -> Document:
    document = Document()
    scaled = case["scale"].startswith("sqrt")
    document.write(f"Attention(Q, K, V) = softmax(Q Kᵀ{' / √d_k' if scaled else ''}) V\n")
    for name, rows in case["inputs"].items():
        document.write(f"{name} = {json.dumps([[short(x) for x in row] for row in rows])}\n")
    for name, rows in case["published"].items():
        verdicts = {tuple(verdict["at"]): verdict for verdict in case["verdicts"].get(name, ())}
        if any("?" in row for row in rows):
            for i, row in enumerate(rows):
                loose_row(document, case, name, i, row, verdicts)
            continue
        document.write(f"{name} = [")
        for i, row in enumerate(rows):
            document.write(", [" if i else "[")
            numbers(document, case, row, [verdicts.get((i, j)) for j in range(len(row))])
            document.write("]")
        document.write("]\n")
    return document


def loose_row(document: Document, case: Case, name: str, i: int, row: list[str], verdicts: Any) -> None:
    """A row with numbers that the page does not have: those it has, and "…" for a tail that it has not."""
    known = [j for j, printed in enumerate(row) if printed != "?"]
    judged = [verdicts.get((i, j)) for j in known]
    if known == list(range(len(known))) and known:
        document.write(f"{name}[{i}] = [")
        numbers(document, case, [row[j] for j in known], judged)
        document.write("]\n" if len(known) == len(row) else ", ...]\n")
    else:
        for j, verdict in zip(known, judged, strict=True):
            document.write(f"{name}[{i}][{j}] = ")
            numbers(document, case, [row[j]], [verdict])
            document.write("\n")


def softmax(case: Case) -> Document:
    document = Document()
    for item in case["items"]:
        heat = "" if item["temperature"] == 1 else f" / {item['temperature']}"
        document.write(f"softmax({item['inputs']}{heat}) = [")
        known = [printed for printed in item["published"] if printed != "?"]
        numbers(document, case, known, item["verdicts"])
        document.write("]\n" if len(known) == len(item["published"]) else ", ...]\n")
    return document


def cost(case: Case) -> Document:
    return equations(case, ((written(item["expr"]), item) for item in case["items"]))


def positions(case: Case) -> Document:
    inputs = case["inputs"]

    def formulas() -> Iterator[tuple[str, Any]]:
        angle = ""
        for item in case["items"]:
            what = item["what"]
            turned = re.search(r"R\((.+?)\)", what)
            angle = turned[1] if turned else angle
            if "d_model" in inputs:
                pos, i = map(int, re.findall(r"\d+", what)[:2])
                function = "cos" if i % 2 else "sin"
                yield f"{function}({pos} / 10000^({i // 2 * 2}/{inputs['d_model']}))", item
            elif "heads" in inputs:
                yield f"2^(-8 × {int(what[-1]) + 1} / {inputs['heads']})", item
            elif "rope_theta" in inputs:
                yield f"{'sin' if what == 'y' else 'cos'}({angle})", item
            else:
                yield what if "(" in what else "{}({})".format(*what.split()), item

    return equations(case, formulas())


def layernorm(case: Case) -> Document:
    inputs = case["inputs"]
    document = Document(f"x = {[short(x) for x in inputs['x']]}\n")
    if inputs["eps"]:
        document.write(f"eps = {inputs['eps']}\n")
    outputs = [item for item in case["items"] if item["what"].startswith("y[")]
    for item in case["items"]:
        if item not in outputs:
            name = item["what"].split(":")[0].split(" (")[0]
            document.write(f"{name.replace('np.', '')} = ")
            numbers(document, case, [item["printed"]], [item])
            document.write("\n")
    if outputs:
        document.write("LayerNorm(x) = [")
        numbers(document, case, [item["printed"] for item in outputs], outputs)
        document.write("]\n")
    return document


def equations(case: Case, formulas: Iterable[tuple[str, Any]]) -> Document:
    document = Document()
    for formula, item in formulas:
        document.write(f"{formula} = ")
        numbers(document, case, [item["printed"]], [item])
        document.write(f" {item.get('unit', '')}".rstrip() + "\n")
    return document


def numbers(document: Document, case: Case, printed: list[str], verdicts: list[Any]) -> None:
    """Write numbers with commas between, each with its label."""
    for n, (text, verdict) in enumerate(zip(printed, verdicts, strict=True)):
        document.write(", " if n else "")
        at = document.write(text)
        if verdict is not None:
            what = f"{text} (right: {verdict.get('right', verdict.get('right_decimal_unit'))})"
            true = verdict["verdict"] == "right"
            document.labels.append(Label(case["kind"], case["id"], at, true, what, *value(text)))


def value(text: str) -> tuple[float, float]:
    """A printed number and half a unit of its last digit."""
    percent = 0.01 if text.endswith("%") else 1.0
    digits, _, power = text.rstrip("%").partition("e")
    unit = 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))
    return float(text.rstrip("%")) * percent, unit * percent / 2


def short(x: float) -> float | int:
    return int(x) if x == int(x) else x


def written(expression: str) -> str:
    """A Python expression as people write one: × and ^."""
    return re.sub(r"\s*\*\s*", " × ", expression.replace("**", "^"))
