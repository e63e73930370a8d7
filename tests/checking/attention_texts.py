"""Attention written out as articles write it: random inputs, every stage printed, in several layouts."""

import math
from dataclasses import dataclass, field

from hypothesis import strategies as st

from riverhead.checking.claims.claim import Truth
from riverhead.checking.claims.find import find
from riverhead.checking.claims.recomputed import attention, rules
from riverhead.checking.claims.recomputed.tables import tables

__all__ = ["STAGES", "Worked", "checked", "false", "problems", "shift", "written"]

STAGES = ("scores", "scaled scores", "weights", "output")
NAMES = ("fox", "hen", "oak", "rye", "elm")
FORMULA = {
    True: "Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V.",
    False: "Here the scores are not divided by anything.",
}


@dataclass
class Worked:
    """Inputs, the stages as plain loops work them out, and how they are printed."""

    q: list
    k: list
    v: list
    scaled: bool
    decimals: int
    stages: dict = field(default_factory=dict)
    causal: bool = False

    def __post_init__(self):
        divisor = math.sqrt(len(self.q[0])) if self.scaled else 1.0
        scores = [[sum(a * b for a, b in zip(q, k, strict=True)) for k in self.k] for q in self.q]
        scaled = [[s / divisor for s in row] for row in scores]
        weights = []
        for i, row in enumerate(scaled):
            exps = [0.0 if self.causal and j > i else math.exp(s) for j, s in enumerate(row)]
            weights.append([e / sum(exps) for e in exps])
        output = [
            [sum(w * v[c] for w, v in zip(row, self.v, strict=True)) for c in range(len(self.v[0]))]
            for row in weights
        ]
        self.stages = dict(zip(STAGES, (scores, scaled, weights, output), strict=True))

    def printed(self, stage):
        return [[f"{x + 0.0:.{self.decimals}f}" for x in row] for row in self.stages[stage]]


DECIMALS = st.integers(2, 4)


@st.composite
def problems(draw, decimals=DECIMALS):
    """Small problems: the axes T_q, d_k and d_v are different primes; inputs as people type them."""
    t, d_k, d_v = draw(st.permutations((2, 3, 5)))
    entry = st.integers(-20, 20).map(lambda n: n / 10) if draw(st.booleans()) else st.integers(-2, 3)

    def matrix(rows, columns):
        return draw(
            st.lists(st.lists(entry, min_size=columns, max_size=columns), min_size=rows, max_size=rows)
        )

    return Worked(
        matrix(t, d_k),
        matrix(t, d_k),
        matrix(t, d_v),
        draw(st.booleans()),
        draw(decimals),
        causal=draw(st.booleans()),
    )


def written(worked, layout, stages=STAGES, prints=None):
    """The text; ``prints`` replaces what is printed of some stages."""
    prints = {stage: worked.printed(stage) for stage in stages} | (prints or {})
    inputs = [
        (name, [[str(x) for x in row] for row in rows])
        for name, rows in zip("QKV", (worked.q, worked.k, worked.v), strict=True)
    ]
    mask = "\nThe mask is causal." if worked.causal else ""
    return FORMULA[worked.scaled] + mask + "\n\n" + LAYOUTS[layout](inputs, list(prints.items()))


def _listed(rows, comma=", "):
    return "[" + comma.join("[" + comma.join(row) + "]" for row in rows) + "]"


def _brackets(inputs, prints):
    return "\n".join(f"{name} = {_listed(rows)}" for name, rows in inputs + prints) + "\n"


def _numpy(inputs, prints):
    def rows_of(rows):
        return "[" + "\n ".join("[" + " ".join(row) + "]" for row in rows) + "]"

    return "\n".join(f"{name} = {rows_of(rows)}\n" for name, rows in inputs + prints)


def _latex(inputs, prints):
    def matrix(rows):
        return r"\begin{bmatrix} " + r" \\ ".join(" & ".join(row) for row in rows) + r" \end{bmatrix}"

    return "\n".join(f"$$\\text{{{name}}} = {matrix(rows)}$$\n" for name, rows in inputs + prints)


def _vectors(inputs, prints):
    """Every token's vectors by its name, the weights and outputs of each behind them."""
    lines = [
        f"{name.lower()}_{token} = ({', '.join(row)})"
        for name, rows in inputs
        for token, row in zip(NAMES, rows, strict=False)
    ]
    lines += [
        f"{stage} of {token} = ({', '.join(row)})"
        for stage, rows in prints
        for token, row in zip(NAMES, rows, strict=False)
    ]
    return "\n".join(lines) + "\n"


def _tables(inputs, prints):
    rows_of = [rows for _, rows in inputs]
    head = "| Token | Query q | Key k | Value v |\n|---|---|---|---|\n"
    body = "".join(
        f"| {token} | " + " | ".join(f"({', '.join(rows[at])})" for rows in rows_of) + " |\n"
        for at, token in enumerate(NAMES[: len(rows_of[0])])
    )
    return head + body + "".join(_grid(stage, rows) for stage, rows in prints)


def _grid(stage, rows):
    if stage == "output":
        return "\n" + "".join(
            f"output of {token} = ({', '.join(row)})\n" for token, row in zip(NAMES, rows, strict=False)
        )
    names = NAMES[: len(rows)]
    lines = [f"| | {' | '.join(names)} |", "|" + "---|" * (len(names) + 1)]
    lines += [f"| {token} | {' | '.join(row)} |" for token, row in zip(names, rows, strict=True)]
    return f"\nThe {stage}:\n\n" + "\n".join(lines) + "\n"


LAYOUTS = {"brackets": _brackets, "numpy": _numpy, "latex": _latex, "vectors": _vectors, "tables": _tables}


def checked(text):
    """What attention and the rules find in a text."""
    bindings, given = find(text).bindings, tables(text)
    found = attention.findings(text, bindings, given)
    return found + rules.findings(text, bindings, given, found)


def false(text):
    """The stretches of a text that are found false, in order, each with its cause."""
    found = sorted((one for one in checked(text) if one.verdict is Truth.FALSE), key=lambda one: one.start)
    return [(text[one.start : one.end], one.cause) for one in found]


def shift(printed, units):
    """A printed number with ``units`` more in its last digit."""
    decimals = len(printed.partition(".")[2])
    return f"{float(printed) + units * 10.0**-decimals:.{decimals}f}"
