"""The sections of a whiteboard: each makes a few parts of a scene from one derivation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from riverhead.derivation.derivation import Derivation
from riverhead.derivation.notation import Digits, divided, maths, of, vector
from riverhead.numbers import Number, Verdict, fixed, plain
from riverhead.scene import Bar, Cell, Fold, Math, Matrix, Part, Power, Row, Symbol, Table, Text, Word

__all__ = ["Sheet", "every_cell", "merge", "projections", "recipe", "scores", "slips", "spend", "vectors"]


@dataclass(frozen=True, slots=True)
class Sheet:
    """What all sections of one board share: the derivation, the row in focus, the digits."""

    derivation: Derivation
    focus: int
    digits: Digits

    @property
    def token(self) -> str:
        """The token in focus, without the space a model's tokens carry."""
        return self.derivation.given.tokens[self.focus].strip() or self.derivation.given.tokens[self.focus]

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
    names = [("q", "x"), ("k", source), ("v", source)]
    jobs: list[str | Math] = []
    for name, x in names:
        weight = maths(Symbol(name), "=", Symbol(x), Symbol(f"W_{name}"))
        jobs += [", " if jobs else "", weight]
    matrices = {
        name: getattr(given, name) for name in ("x", "x_k", "W_q", "W_k", "W_v") if getattr(given, name)
    }
    grids = []
    for name, cells in matrices.items():
        labels = {"x": given.tokens, "x_k": given.keys}.get(name, _counted(len(cells)))
        shown = tuple(tuple(sheet.digits.operand(n) for n in row) for row in cells)
        grids.append(Matrix(Symbol(name), labels, _counted(len(cells[0])), shown))
    first = sheet.derivation.arithmetic("q", sheet.focus, 0)
    return [
        Text(("Three jobs, three matrices, the same for every token: ", *jobs)),
        Text((first,)),
        Fold("x and the matrices", tuple(grids)),
    ]


def vectors(sheet: Sheet) -> list[Part]:
    """What each token asks, answers and hands over."""
    given = sheet.derivation.given
    if given.e is not None:
        rows = [(token, _vector(sheet, e)) for token, e in zip(given.tokens, given.e, strict=True)]
        return [Table(("", "e = q = k = v: one vector, three jobs"), tuple(rows), focus=sheet.focus)]
    parts: list[Part] = []
    for head in sheet.heads:
        if given.tokens_k is None:
            parts.append(_jobs(sheet, head))
        else:
            asks = [(token, _vector(sheet, sheet.row("q", head, n))) for n, token in enumerate(given.tokens)]
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
    for n, token in enumerate(given.keys):
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
        parts.append(Matrix(name, given.tokens, given.keys, cells, sheet.focus, (sheet.focus, best)))
    return parts


def best_score(sheet: Sheet, head: int = 0) -> Math:
    """Return the arithmetic of the focus row's largest score."""
    return sheet.derivation.arithmetic("dots", sheet.focus, _best(sheet, head), head)


def recipe(sheet: Sheet, head: int, keys: Sequence[int] | None = None) -> Table:
    """The focus row from scores to weights; with ``keys`` only these, the rest of the row in one column."""
    derivation = sheet.derivation
    shown = range(derivation.given.T_k) if keys is None else keys
    rest = [n for n in range(derivation.given.T_k) if n not in shown]
    seen = [n for n in rest if np.isfinite(sheet.row(derivation.exponents, head)[n])]
    lines = [*([("q·k", "dots")] if keys is not None else []), (divided_label(sheet), "scores")]
    lines += [("masked", "masked")] if derivation.exponents == "masked" and keys is None else []
    lines += [("exp", "exp"), ("weight", "weights")]
    table: list[tuple[Cell, ...]] = []
    for label, step in lines:
        row = sheet.row(step, head)
        adds = step in ("exp", "weights")
        others = [sheet.digits.show(step, sum(row[n] for n in seen)) if adds else None] * bool(seen)
        total = sheet.row("sum", head)[0] if step == "exp" else sum(row)
        sums = _total(sheet, step, total) if adds else None
        table.append((label, *sheet.numbers(step, [row[n] for n in shown]), *others, sums))
    weights = sheet.row("weights", head)
    table.append(
        ("", *(Bar(weights[n]) for n in shown), *[Bar(sum(weights[n] for n in seen))] * bool(seen), None)
    )
    columns = (*(derivation.given.keys[n] for n in shown), *[f"{len(seen)} others"] * bool(seen), "sum")
    return Table(("", *columns), tuple(table), sheet.caption(head))


def divided_label(sheet: Sheet) -> Row:
    """``÷ √2``, and what the root is where it is whole: ``÷ √64 = 8``."""
    given = sheet.derivation.given
    label = divided(given, sheet.digits)
    whole = given.d_k**0.5
    if len(label.items) == 2 and whole == int(whole) > 1 and not isinstance(label.items[1], Number):
        return maths(*label.items, "=", plain(whole))
    return label


def _total(sheet: Sheet, step: str, total: float) -> Number:
    """The weights' own sum, 1 or 0, prints with all its digits: 1.000."""
    return fixed(total, sheet.digits.decimals) if step == "weights" else sheet.digits.show(step, total)


def spend(sheet: Sheet, head: int) -> Row:
    """``0.065·(0, 0) + 0.539·(1, 0) + …``: the weights spent on the values."""
    items: list[Math | str] = []
    for n, weight in enumerate(sheet.row("weights", head)):
        value = _vector(sheet, sheet.row("v", sheet.kv_head(head), n))
        items += ["+"] * bool(items) + [sheet.digits.show("weights", weight), "·", value]
    return maths(*items)


def result(sheet: Sheet, head: int) -> Text:
    """``bank′ = (0.604, 0.266)``, what bank was, and what bank′ is made of."""
    given = sheet.derivation.given
    after = vector(sheet.numbers("out", sheet.row("out", head)), 8)
    runs: list[str | Math] = [maths(Word(sheet.token, 1), "=", after)]
    if given.tokens_k is None:
        before = _vector(sheet, sheet.row("v", sheet.kv_head(head)))
        ending = given.endings[sheet.focus] if given.endings else ""
        runs += [f"    {sheet.token} was ", before, f"; {ending}" if ending else ""]
    return Text(tuple(runs))


def made_of(sheet: Sheet, head: int) -> list[Part]:
    """The recipe in words, where the values have meanings."""
    given = sheet.derivation.given
    weights = sheet.row("weights", head)
    order = [n for n in sorted(range(given.T_k), key=lambda n: -weights[n]) if weights[n] > 0]
    if not given.meanings or not order:
        return []
    shares = ", ".join(f"{sheet.digits.show('weights', weights[n])} {given.meanings[n]}" for n in order)
    return [Text((maths(Word(sheet.token, 1)), f" is {shares}"))]


def merge(sheet: Sheet) -> list[Part]:
    """The heads side by side, and mixed by W_o."""
    given, derivation = sheet.derivation.given, sheet.derivation
    parts: list[Part] = []
    if given.n_heads > 1:
        side = vector(sheet.numbers("merged", sheet.row("merged", 0)), 8)
        parts.append(
            Text((f"{given.n_heads} heads side by side: ", maths(of("merged", sheet.token), "=", side)))
        )
    if given.W_o is not None:
        mixed = vector(sheet.numbers("y", sheet.row("y", 0)), 8)
        cells = tuple(tuple(sheet.digits.operand(n) for n in row) for row in given.W_o)
        parts.append(Text(("W_o mixes them: ", maths(of("y", sheet.token), "=", mixed))))
        parts.append(Text((derivation.arithmetic("y", sheet.focus, 0),)))
        parts.append(
            Fold("W_o", (Matrix(Symbol("W_o"), _counted(len(cells)), _counted(len(cells[0])), cells),))
        )
    return parts


def slips(sheet: Sheet) -> list[Part]:
    """Numbers printed elsewhere that are not the exact value rounded once, with what they are."""
    printed = sheet.derivation.given.printed
    if printed is None:
        return []
    found: dict[Verdict, list[str]] = {Verdict.CARRIED: [], Verdict.FALSE: []}
    for row in printed.rows:
        for n, text in enumerate(row.texts):
            verdict = sheet.derivation.judge(row.step, row.row, n, text, digits=dict(printed.digits))
            if verdict in found:
                exact = sheet.digits.show(row.step, sheet.derivation[row.step].values[0][row.row][n])
                found[verdict].append(f"{text} is {exact}")
    why = {Verdict.CARRIED: "rounded from a rounded number", Verdict.FALSE: "no rounding explains it"}
    said = [f"{', '.join(texts)} ({why[verdict]})" for verdict, texts in found.items() if texts]
    return [Text((f"{printed.where}: {'; '.join(said)}",), "note")] if said else []


def every_cell(sheet: Sheet, step: str) -> Fold:
    """The arithmetic of every cell of a step."""
    derivation = sheet.derivation
    values = derivation[step].values
    lines: list[Part] = [Text((derivation[step].says,), "note")] if derivation[step].says else []
    rows = derivation.rows(step)
    for head, grid in enumerate(values):
        for i, row in enumerate(grid):
            whole = step in ("q", "k", "v") and derivation.given.x is None
            for j in range(1 if whole else len(row)):
                label = f"{rows[i].strip()}" + (
                    f" → {derivation.given.keys[j].strip()}" if len(row) > 1 else ""
                )
                which = f"head {head}, " if len(values) > 1 else ""
                show = derivation.arithmetic(step, i, j, head, digits=sheet.digits.decimals)
                lines.append(Text((f"{which}{label}: " if step not in ("q", "k", "v") else "", show)))
    return Fold(f"{derivation[step].title}: every number", tuple(lines), open=True)


def _vector(sheet: Sheet, row: Sequence[float]) -> Math:
    return vector([sheet.digits.operand(n) for n in row], 8)


def _best(sheet: Sheet, head: int) -> int:
    """The key with the focus row's largest weight; of several, the first."""
    return int(np.argmax(sheet.row("weights", head)))


def _qkt() -> Row:
    return maths(Symbol("Q"), Power(Symbol("K"), Symbol("T")))


def _counted(count: int) -> tuple[str, ...]:
    return tuple(str(n + 1) for n in range(count))
