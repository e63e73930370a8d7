"""The sections of a whiteboard: each makes a few parts of a scene from one derivation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from riverhead.derivation.arrays import Rows
from riverhead.derivation.derivation import Derivation
from riverhead.derivation.notation import MOST_DIGITS, Digits, divided, maths, of, prose, vector
from riverhead.derivation.steps import KINDS
from riverhead.numbers import Number, Verdict, fixed, plain, read
from riverhead.scene import Bar, Cell, Fold, Math, Matrix, Part, Power, Row, Sub, Symbol, Table, Text, Word

__all__ = [
    "Sheet",
    "best_score",
    "divided_label",
    "every_cell",
    "merge",
    "projections",
    "recipe",
    "result",
    "scores",
    "slips",
    "spend",
    "vectors",
]


FIRST = 8  # components of a vector that are written out


@dataclass(frozen=True, slots=True)
class Sheet:
    """What all sections of one board share: the derivation, the row in focus, the digits."""

    derivation: Derivation
    focus: int
    digits: Digits
    full: bool = False  # every cell with its arithmetic

    @property
    def token(self) -> str:
        """The token in focus."""
        return self.derivation.given.asking[self.focus]

    @property
    def heads(self) -> range:
        """The query heads."""
        return range(self.derivation.given.n_heads)

    def kv_head(self, head: int) -> int:
        """The head whose keys and values ``head`` reads."""
        return head // (self.derivation.given.n_heads // self.derivation.given.n_kv_heads)

    def caption(self, head: int) -> str:
        """Nothing for a single head; else which it is, and whose keys it reads."""
        given = self.derivation.given
        if given.n_heads == 1:
            return ""
        return f"head {head}" + (
            f", kv head {self.kv_head(head)}" if given.n_kv_heads < given.n_heads else ""
        )

    def numbers(self, step: str, row: Sequence[float]) -> tuple[Number, ...]:
        """Numbers of one step, as they are shown."""
        return tuple(self.digits.show(step, value) for value in row)

    def row(self, step: str, head: int, i: int | None = None) -> tuple[float, ...]:
        """The focus row of a step, or another."""
        return self.derivation[step].values[head][self.focus if i is None else i]


def projections(sheet: Sheet) -> list[Part]:
    """Where q, k and v come from: three matrices, three jobs."""
    given = sheet.derivation.given
    if given.x is None:
        return []
    source = "x" if given.x_k is None else "x_k"
    jobs: list[str | Math] = []
    for name, x in (("q", "x"), ("k", source), ("v", source)):
        jobs += ["    " * bool(jobs), maths(Symbol(name), "=", Symbol(x), Sub(Symbol("W"), Symbol(name)))]
    labels = {"x": given.asking, "x_k": given.answering}
    found = {name: getattr(given, name) for name in ("x", "x_k", "W_q", "W_k", "W_v")}
    matrices = [_matrix(sheet, n, m, labels.get(n, _counted(len(m)))) for n, m in found.items() if m]
    return [
        Text(("Three jobs, three matrices, the same for every token:",)),
        Text(tuple(jobs)),
        Text((sheet.derivation.arithmetic("q", sheet.focus, 0),)),
        Fold("x and the matrices", tuple(matrices), open=sheet.full),
    ]


def vectors(sheet: Sheet) -> list[Part]:
    """What each token asks, answers and hands over."""
    given = sheet.derivation.given
    if given.e is not None:
        rows = [(token, _vector(sheet, e)) for token, e in zip(given.asking, given.e, strict=True)]
        return [Table(("", "e = q = k = v: one vector, three jobs"), tuple(rows), focus=sheet.focus)]
    parts: list[Part] = []
    for head in sheet.heads:
        if given.tokens_k is None:
            parts.append(_jobs(sheet, head))
        else:
            asks = [(token, _vector(sheet, sheet.row("q", head, n))) for n, token in enumerate(given.asking)]
            parts.append(Table(("", "q asks"), tuple(asks), sheet.caption(head), sheet.focus))
            parts.append(_answers(sheet, head))
    return parts


def _jobs(sheet: Sheet, head: int) -> Table:
    answers = _answers(sheet, head)
    asks = [_vector(sheet, sheet.row("q", head, n)) for n in range(len(answers.rows))]
    rows = tuple((row[0], q, *row[1:]) for row, q in zip(answers.rows, asks, strict=True))
    columns = (answers.columns[0], "q asks", *answers.columns[1:])
    return Table(columns, rows, sheet.caption(head), sheet.focus)


def _answers(sheet: Sheet, head: int) -> Table:
    given, kv = sheet.derivation.given, sheet.kv_head(head)
    rows = []
    for n, token in enumerate(given.answering):
        pair = [_vector(sheet, sheet.row(step, kv, n)) for step in ("k", "v")]
        rows.append((token, *pair, *given.meanings[n : n + 1]))
    return Table(
        ("", "k answers", "v hands over", *[""] * bool(given.meanings)), tuple(rows), sheet.caption(head)
    )


def scores(sheet: Sheet) -> list[Part]:
    """Every query with every key; the spot is the focus row's largest score."""
    parts: list[Part] = []
    given = sheet.derivation.given
    for head in sheet.heads:
        best = _best(sheet, head)
        cells = tuple(sheet.numbers("dots", row) for row in sheet.derivation["dots"].values[head])
        name: Math = Word(sheet.caption(head)) if sheet.caption(head) else _qkt()
        parts.append(Matrix(name, given.asking, given.answering, cells, sheet.focus, (sheet.focus, best)))
    return parts


def best_score(sheet: Sheet, head: int = 0) -> Math:
    """Return the arithmetic of the focus row's largest score."""
    return sheet.derivation.arithmetic("dots", sheet.focus, _best(sheet, head), head)


def recipe(sheet: Sheet, head: int, keys: Sequence[int] | None = None) -> Table:
    """The focus row from scores to weights; with ``keys`` only these, the rest of the row in one column."""
    derivation = sheet.derivation
    shown = range(derivation.given.T_k) if keys is None else keys
    scores = sheet.row(derivation.exponents, head)
    rest = [n for n in range(derivation.given.T_k) if n not in shown and np.isfinite(scores[n])]
    lines: list[tuple[str | Math, str]] = [
        (divided_label(sheet), "scores"),
        ("exp", "exp"),
        ("weight", "weights"),
    ]
    if keys is not None:
        lines.insert(0, ("q·k", "dots"))
    elif derivation.exponents == "masked":
        lines.insert(1, ("masked", "masked"))
    table: list[tuple[Cell, ...]] = []
    for label, step in lines:
        row, adds = sheet.row(step, head), step in ("exp", "weights")
        left = [sheet.digits.show(step, sum(row[n] for n in rest)) if adds else None] * bool(rest)
        numbers = sheet.numbers(step, [row[n] for n in shown])
        table.append((label, *numbers, *left, _total(sheet, step, head)))
    weights = sheet.row("weights", head)
    bars = [Bar(weights[n]) for n in shown] + [Bar(sum(weights[n] for n in rest))] * bool(rest)
    table.append(("", *bars, None))
    names = derivation.given.answering
    columns = [*(names[n] for n in shown), *[f"{len(rest)} others"] * bool(rest), "sum"]
    return Table(("", *columns), tuple(table), sheet.caption(head))


def _total(sheet: Sheet, step: str, head: int) -> Number | None:
    """What a row adds up to, where that means something; the weights print all their digits: 1.000."""
    if step == "exp":
        return sheet.digits.show("sum", sheet.row("sum", head)[0])
    return fixed(math.fsum(sheet.row("weights", head)), sheet.digits.decimals) if step == "weights" else None


def divided_label(sheet: Sheet) -> Row:
    """``÷ √2``, and what the root is where it is whole: ``÷ √64 = 8``."""
    given = sheet.derivation.given
    label = divided(given, sheet.digits)
    whole = given.d_k**0.5
    if len(label.items) == 2 and whole == int(whole) > 1 and not isinstance(label.items[1], Number):
        return maths(*label.items, "=", plain(whole))
    return label


def spend(sheet: Sheet, head: int) -> Row:
    """``0.065·(0, 0) + 0.539·(1, 0) + …``: the weights spent on the values."""
    items: list[Math | str] = []
    for n, weight in enumerate(sheet.row("weights", head)):
        value = _vector(sheet, sheet.row("v", sheet.kv_head(head), n))
        items += ["+"] * bool(items) + [sheet.digits.show("weights", weight), "·", value]
    return maths(*items)


def result(sheet: Sheet, head: int) -> list[Part]:
    """``bank′ = (0.604, 0.266)``, what bank was, and what bank′ is made of."""
    given = sheet.derivation.given
    after = _vector(sheet, sheet.row("out", head), "out")
    if given.n_heads > 1:
        return [Text((maths(Word(f"head {head}:"), of("out", sheet.token), "=", after),))]
    runs: list[str | Math] = [maths(Word(sheet.token, 1), "=", after)]
    if given.tokens_k is None:
        ending = given.endings[sheet.focus] if given.endings else ""
        runs += [
            f"    {sheet.token} was ",
            _vector(sheet, sheet.row("v", head)),
            f"; {ending}" * bool(ending),
        ]
    return [Text(tuple(runs)), *_made_of(sheet, head)]


def _made_of(sheet: Sheet, head: int) -> list[Part]:
    """The recipe in words, where the values have meanings."""
    given = sheet.derivation.given
    weights = sheet.row("weights", head)
    order = [n for n in sorted(range(given.T_k), key=lambda n: -weights[n]) if weights[n] > 0]
    if not given.meanings or not order:
        return []
    shares = ", ".join(
        f"{sheet.digits.show('weights', weights[n])} {given.meanings[n]}" for n in order[:FIRST]
    )
    return [Text((maths(Word(sheet.token, 1)), f" is {shares}"))]


def merge(sheet: Sheet) -> list[Part]:
    """The heads side by side, and mixed by W_o."""
    given, parts = sheet.derivation.given, list[Part]()
    if given.n_heads > 1:
        side = maths(of("merged", sheet.token), "=", _vector(sheet, sheet.row("merged", 0), "merged"))
        parts.append(Text((f"{given.n_heads} heads side by side: ", side)))
    if given.W_o is not None:
        mixed = maths(of("y", sheet.token), "=", _vector(sheet, sheet.row("y", 0), "y"))
        parts.append(Text((*prose("mixed by W_o: "), mixed)))
        parts.append(Text((sheet.derivation.arithmetic("y", sheet.focus, 0),)))
        matrix = _matrix(sheet, "W_o", given.W_o, _counted(len(given.W_o)))
        size = f"W_o, {len(matrix.rows)} × {len(matrix.columns)}"
        small = len(matrix.columns) <= FIRST
        parts.append(
            Fold(size, (matrix,), open=sheet.full)
            if small
            else Text(prose(f"{size}, is not written out"), "note")
        )
    return parts


def slips(sheet: Sheet) -> list[Part]:
    """Numbers printed elsewhere for the focus row that are not the exact value rounded once, and what is."""
    printed = sheet.derivation.given.printed
    if printed is None:
        return []
    found: dict[Verdict, list[str]] = {Verdict.CARRIED: [], Verdict.FALSE: []}
    for row in printed.rows:
        if row.row != sheet.focus:
            continue
        for n, text in enumerate(row.texts):
            verdict = sheet.derivation.judge(row.step, row.row, n, text, digits=dict(printed.digits))
            if verdict in found:
                exact = sheet.derivation[row.step].values[0][row.row][n]
                found[verdict].append(f"{text} is {_finer(sheet, text).show(row.step, exact)}")
    why = {Verdict.CARRIED: "rounded from a rounded number", Verdict.FALSE: "no rounding explains it"}
    said = [f"{', '.join(texts)} ({why[verdict]})" for verdict, texts in found.items() if texts]
    return [Text((f"{printed.where}: {'; '.join(said)}",), "note")] if said else []


def _finer(sheet: Sheet, text: str) -> Digits:
    """The digits of the sheet, or as many as ``text`` has: there the two differ."""
    printed = read(text)
    return Digits(min(MOST_DIGITS, max(sheet.digits.decimals, printed.decimals, printed.digits - 1)))


def every_cell(sheet: Sheet, step: str) -> Fold:
    """What is true of a step, and the arithmetic of every cell of it."""
    derivation = sheet.derivation
    found = derivation[step]
    lines: list[Part] = [Text(prose(found.says), "note")] if found.says else []
    once = step in ("x", "x_k") or (
        step in ("q", "k", "v") and derivation.given.x is None
    )  # a row is one line
    for head, grid in enumerate(found.values):
        for i, row in enumerate(grid):
            for j in range(1 if once else len(row)):
                how = derivation.arithmetic(step, i, j, head, digits=sheet.digits.decimals)
                lines.append(Text((_label(sheet, step, head, i, j), how)))
    return Fold(f"{found.title}: every number", tuple(lines), open=True)


def _label(sheet: Sheet, step: str, head: int, i: int, j: int) -> str:
    """Which cell it is, where its arithmetic does not say so."""
    derivation = sheet.derivation
    which = f"head {head}, " if len(derivation[step].values) > 1 else ""
    if step in ("x", "x_k", "q", "k", "v", "dots", "y"):
        return which and f"{which[:-2]}: "
    columns = KINDS[step].columns
    across = {"keys": f" → {derivation.given.answering[j]}", "sum": ""} if columns != "components" else {}
    return f"{which}{derivation.rows(step)[i]}{across.get(columns, f', component {j + 1}')}: "


def _matrix(sheet: Sheet, name: str, cells: Rows, labels: tuple[str, ...]) -> Matrix:
    """A matrix as it was given; columns are counted from 1."""
    symbol = Sub(Symbol(name[0]), Symbol(name[2:])) if "_" in name else Symbol(name)
    shown = tuple(tuple(sheet.digits.operand(n) for n in row) for row in cells)
    return Matrix(symbol, labels, _counted(len(cells[0])), shown)


def _vector(sheet: Sheet, row: Sequence[float], step: str = "") -> Math:
    """A vector as it is shown: as an operand, or with the digits of ``step``; of one number, the number."""
    shown = sheet.numbers(step, row)
    return shown[0] if len(shown) == 1 else vector(shown, FIRST)


def _best(sheet: Sheet, head: int) -> int:
    """The key, other than the token itself, with the focus row's largest weight; of several, the first."""
    weights = np.array(sheet.row("weights", head))
    if sheet.derivation.given.tokens_k is None and len(weights) > 1:
        weights[sheet.focus] = -1
    return int(weights.argmax())


def _qkt() -> Row:
    return maths(Symbol("Q"), Power(Symbol("K"), Symbol("T")))


def _counted(count: int) -> tuple[str, ...]:
    return tuple(str(n + 1) for n in range(count))
