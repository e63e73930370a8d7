"""Hostile tokens, and scenes made of them."""

from hypothesis import strategies as st

from riverhead.numbers import fixed, significant
from riverhead.scene import (
    Arrow,
    Axis,
    Bar,
    Call,
    Code,
    Fold,
    Formula,
    Fraction,
    Heatmap,
    Line,
    Lines,
    Matrix,
    Operator,
    Plane,
    Power,
    Quote,
    Root,
    Row,
    Scene,
    Sub,
    Symbol,
    Table,
    Text,
    Vector,
    Word,
)

HOSTILE = [
    "",
    " ",
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "<!-- x --> ]]> &amp; &#x41;",
    "\\input{x}",
    "\\end{document}",
    "\\directlua{os.execute('x')}",
    "$x^2_3$ % # ~ {",
    "a|b",
    "`code` ``",
    "*bold* _it_ ~~no~~ # [x](y) ![z](w)",
    "[red]x[/red]",
    "\x1b[31mred\x1b]0;title\x07",
    "\x00\t\r\n\x7f\x9b",
    "a\u2028b\u2029c",
    "\u202eabc\u2066",
    "\ud800",
    "\ufffe\uffff",
    "עברית",
    "العربية 123",
    "e\u0301 \u0301",
    "日本語",
    "👩‍👩‍👧 🇩🇪 ⚠️",
    "--- '' ?` << >> ,,",
    "http://example.org www.example.org",
    "Ġriver ▁bank",
    "x" * 300,
]

tokens = st.sampled_from(HOSTILE) | st.text(max_size=12)
reals = st.floats(-1e9, 1e9) | st.sampled_from([float("nan"), float("inf"), float("-inf")])
numbers = st.builds(fixed, reals) | st.builds(significant, reals)
leaves = st.builds(Symbol, tokens) | st.builds(Word, tokens, st.integers(0, 2)) | numbers
leaves |= st.builds(Operator, st.sampled_from(["=", "≈", "·", "+", "−", "÷", "×", "→", "…", ","]))


def _nodes(inner):
    several = st.lists(inner, max_size=3).map(tuple)
    pairs = [st.builds(kind, inner, inner) for kind in (Sub, Power, Fraction)]
    return st.one_of(
        st.builds(Row, several),
        st.builds(Vector, several),
        st.builds(Root, inner),
        st.builds(Call, tokens, inner),
        *pairs,
    )


maths = st.recursive(leaves, _nodes, max_leaves=6)
cells = st.none() | tokens | numbers | st.builds(Bar, st.floats()) | maths
points = st.tuples(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))
arrows = st.builds(Arrow, tokens, points, points, st.lists(points, max_size=4).map(tuple), st.booleans())


@st.composite
def tables(draw):
    rows, columns = draw(st.integers(0, 3)), draw(st.integers(1, 6))
    row = st.tuples(*[cells] * columns)
    focus = draw(st.none() | st.integers(0, rows - 1)) if rows else None
    return Table(draw(row), draw(st.tuples(*[row] * rows)), draw(tokens), focus)


@st.composite
def matrices(draw):
    rows, columns = draw(st.integers(0, 3)), draw(st.integers(0, 7))
    names = [draw(st.tuples(*[tokens] * n)) for n in (rows, columns)]
    grid = draw(st.tuples(*[st.tuples(*[numbers | st.none()] * columns)] * rows))
    spot = (0, 0) if rows and columns else None
    return Matrix(draw(maths), *names, grid, 0 if spot else None, spot, draw(st.booleans()))


@st.composite
def heatmaps(draw):
    sizes = draw(st.integers(0, 70)), draw(st.integers(0, 90))
    number = st.floats(0, 1) | st.sampled_from([0.0, float("nan"), float("inf"), 1e-300])
    few = draw(st.lists(number, min_size=1, max_size=5))
    values = tuple(tuple(few[(i * j + i) % len(few)] for j in range(sizes[1])) for i in range(sizes[0]))
    sides = []
    for size in sizes if sizes[0] else (0, 0):  # without rows there are no columns
        some = draw(st.lists(tokens, min_size=1, max_size=4))
        labels = tuple(some[n % len(some)] for n in range(size)) if draw(st.booleans()) else ()
        sides.append(Axis(draw(tokens), labels, (draw(tokens), draw(tokens))))
    return Heatmap(values, *sides, draw(tokens))


@st.composite
def lines(draw):
    number = reals | st.sampled_from([0.0, 1e-320, 5e-7, 1.7e308])
    pairs = st.tuples(number, number)
    found = []
    for _ in range(draw(st.integers(0, 3))):
        points = draw(st.lists(pairs, max_size=4))
        size = len(points) if draw(st.booleans()) else 0
        spread = draw(st.lists(pairs, min_size=size, max_size=size))
        found.append(Line(draw(tokens), tuple(points), draw(st.booleans()), tuple(spread)))
    logs = draw(st.booleans()), draw(st.booleans())
    return Lines(
        tuple(found) * draw(st.sampled_from([1, 1, 9])), draw(tokens), draw(tokens), *logs, draw(tokens)
    )


texts = st.builds(
    Text, st.lists(tokens | maths, max_size=4).map(tuple), st.sampled_from(["heading", "prose", "note"])
)
formulas = st.builds(Formula, maths, st.lists(st.tuples(maths, tokens), max_size=2).map(tuple))
planes = st.builds(Plane, st.lists(arrows, max_size=3).map(tuple), st.tuples(tokens, tokens), tokens)
codes = st.builds(Code, tokens, tokens)
quotes = st.builds(
    Quote, tokens.map("quote of {}".format), tokens, tokens, st.integers(0, 9), st.integers(0, 400), tokens
)
parts = st.one_of(texts, formulas, tables(), matrices(), planes, heatmaps(), lines(), codes, quotes)
parts |= st.builds(Fold, tokens, st.lists(parts, max_size=2).map(tuple), st.booleans())


def scenes():
    return st.builds(Scene, tokens, st.lists(parts, max_size=4).map(tuple))
