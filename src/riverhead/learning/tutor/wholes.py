"""Answers that are no single number: a row, a vector, the largest of a row, what a row adds up to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from riverhead.derivation import Derivation
from riverhead.derivation.geometry import after, before, cosine
from riverhead.derivation.notation import Digits, maths, of, prose, vector
from riverhead.derivation.sections import Sheet, divided_label, merge, recipe, result, spend
from riverhead.learning.tutor.asking import Asked
from riverhead.learning.tutor.cells import BY_KEY, exactly
from riverhead.numbers import Verdict, fixed, plain
from riverhead.scene import Part, Text

__all__ = ["adding_up", "both_alike", "heads_of", "here", "largest", "row", "row_of", "vector_of", "whose"]

NOUNS = {  # of a step: one, and how it is tied to a key
    "dots": ("dot product", "with"),
    "scores": ("score", "on"),
    "masked": ("masked score", "on"),
    "exp": ("e^score", "on"),
    "weights": ("weight", "on"),
}
VECTORS = {"q": "query", "k": "key", "v": "value", "e": "vector"}
MOST_KEYS = 6  # columns a line has room for
MOST_COMPONENTS = 4  # whose arithmetic is written out
MOST_HEADS = 4


def heads_of(worked: Derivation, step: str, asked: Asked) -> range:
    """Return the heads that are meant: the one named, or the first few."""
    n = len(worked[step].values)
    if asked.head is not None and n > 1:
        return range(asked.head, min(asked.head + 1, n))
    return range(min(n, MOST_HEADS))


def row(worked: Derivation, step: str, i: int, asked: Asked) -> Iterator[Part]:
    """Say a whole row of a step that has a number for each key, and how it becomes a recipe."""
    for head in heads_of(worked, step, asked):
        yield Text((_row_said(worked, step, i, head),))
        if step in ("dots", "scores"):
            yield from (Text((worked.arithmetic("dots", i, j, head),)) for j in _shown(worked, i, head))
        yield row_of(worked, i, head)


def row_of(worked: Derivation, i: int, head: int) -> Part:
    """Return a query's row from dot products to weights."""
    return recipe(_sheet(worked, i), head, _shown(worked, i, head))


def _sheet(worked: Derivation, i: int) -> Sheet:
    return Sheet(worked, i, Digits.of(None))


def _shown(worked: Derivation, i: int, head: int) -> list[int]:
    """The keys a row is shown with: all, or those with the largest weights."""
    weights = worked["weights"].values[head][i]
    if len(weights) <= MOST_KEYS:
        return list(range(len(weights)))
    return sorted(sorted(range(len(weights)), key=lambda j: (-weights[j], j))[:MOST_KEYS])


def _row_said(worked: Derivation, step: str, i: int, head: int) -> str:
    given, (noun, tie) = worked.given, NOUNS[step]
    numbers, shown = worked[step].values[head][i], _shown(worked, i, head)
    show = Digits.of(None).show
    items = [f"{show(step, numbers[j])} {tie} {given.answering[j]}" for j in shown]
    few = "" if len(shown) == len(numbers) else "largest "
    adds = {
        "weights": "; they add up to 1" if math.fsum(numbers) else "",
        "exp": f"; they add up to {show('sum', worked['sum'].values[head][i][0])}",
    }.get(step, "") * (not few)
    which = f" in head {head}" if given.n_heads > 1 else ""
    return f"The {few}{noun}s of {given.asking[i]}{which} are {_listed(items)}{adds}."


def _listed(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def vector_of(worked: Derivation, step: str, i: int, asked: Asked) -> Iterator[Part]:
    """Say a word's query, key, value or new vector, and how it is made."""
    if step == "out":
        yield from _new_vector(worked, i, asked)
        return
    given = worked.given
    values_of = "q" if step == "e" else step
    token = worked.rows(values_of)[i]
    for head in heads_of(worked, values_of, asked):
        numbers = worked[values_of].values[head][i]
        shown = [Digits.of(None).operand(x) for x in numbers]
        which = f" in head {head}" if len(worked[values_of].values) > 1 else ""
        if asked.vectors and not asked.change.vector:
            said = f"({', '.join(plain(x).text for x in asked.vectors[0])})"
            yield Text(("It is." if asked.vectors[0] == numbers else f"It is not {said}.",))
        count = "1 number" if len(numbers) == 1 else f"{len(numbers)} numbers"
        yield Text((f"The {VECTORS[step]} of {token}{which} has {count}.",))
        yield Text((maths(of(step, token), "=", vector(shown, 2 * MOST_COMPONENTS)),))
        if given.x is not None and step != "e":
            yield from (
                Text((worked.arithmetic(step, i, j, head),))
                for j in range(min(len(numbers), MOST_COMPONENTS))
            )


def whose(worked: Derivation, step: str, asked_for: tuple[float, ...]) -> Iterator[Part]:
    """Say which words have a vector as their query, key or value."""
    shown = f"({', '.join(plain(x).text for x in asked_for)})"
    for head, grid in enumerate(worked[step].values):
        which = f" in head {head}" if len(worked[step].values) > 1 else ""
        named = [
            token for token, numbers in zip(worked.rows(step), grid, strict=True) if numbers == asked_for
        ]
        if named:
            yield Text((f"{shown} is the {VECTORS[step]} of {_listed(named)}{which}.",))
        else:
            yield Text((f"No {VECTORS[step]}{which} is {shown}.",))


def _said_to_be(worked: Derivation, i: int, head: int, claimed: tuple[float, ...]) -> Iterator[Part]:
    """Whether a new vector is what it is said to be, component by component."""
    numbers = worked["out"].values[head][i]
    if len(claimed) != len(numbers):
        return
    verdicts = [
        worked.judge("out", i, j, plain(x).text.replace("−", "-"), head) for j, x in enumerate(claimed)
    ]
    if Verdict.FALSE in verdicts:
        yield Text((f"It is not ({', '.join(plain(x).text for x in claimed)}).",))
    for j, verdict in enumerate(verdicts):
        if verdict is Verdict.CARRIED:
            words = f"worked from rounded numbers; exactly it is {exactly(numbers[j])}"
            yield Text((f"{plain(claimed[j])} is component {j + 1}, {words}.",))


def _new_vector(worked: Derivation, i: int, asked: Asked) -> Iterator[Part]:
    given, sheet = worked.given, _sheet(worked, i)
    token = given.asking[i]
    for head in heads_of(worked, "out", asked):
        width = len(worked["out"].values[head][i])
        which = f" in head {head}" if given.n_heads > 1 else ""
        if asked.vectors and not asked.change.vector:
            yield from _said_to_be(worked, i, head, asked.vectors[0])
        yield Text((f"The weights of {token}{which} are spent on the values.",))
        yield from result(sheet, head)
        if len(worked["weights"].values[head][i]) <= MOST_KEYS and width <= MOST_COMPONENTS:
            yield Text((spend(sheet, head),))
        yield from (Text((worked.arithmetic("out", i, j, head),)) for j in range(min(width, MOST_COMPONENTS)))
        yield row_of(worked, i, head)
    if asked.head is None:
        yield from merge(sheet)


def largest(worked: Derivation, step: str, asked: Asked, focus: int) -> Iterator[Part]:
    """Say the largest, or the smallest, number of a query's row, or of a key's column."""
    step = step if step in BY_KEY else "weights"
    noun, tie = NOUNS[step]
    given, superlative = worked.given, "largest" if asked.extreme > 0 else "smallest"
    for head in heads_of(worked, step, asked):
        grid = worked[step].values[head]
        which = f" in head {head}" if given.n_heads > 1 else ""
        if asked.query is None and asked.keys:
            names, numbers = given.asking, [line[asked.keys[0]] for line in grid]
            of_what, ties = f"{tie} {given.answering[asked.keys[0]]}", "that of"
        else:
            i = focus if asked.query is None else asked.query
            names, numbers = given.answering, list(grid[i])
            of_what, ties = f"of {given.asking[i]}", tie
        exact, winners = _winners(numbers, asked.extreme)
        who = _listed([f"{ties} {names[n]}" for n in winners])
        yield Text((f"The {superlative} {noun} {of_what}{which} is {exactly(exact)}, {who}.",))
        if asked.query is not None or not asked.keys:
            yield row_of(worked, i, head)


def _winners(numbers: Sequence[float], sign: int) -> tuple[float, list[int]]:
    """The extreme of what is seen, and where it stands."""
    seen = [x for x in numbers if math.isfinite(x)] or [0.0]
    best = max(seen) if sign > 0 else min(seen)
    return best, [n for n, x in enumerate(numbers) if math.isclose(x, best, rel_tol=1e-12, abs_tol=1e-15)]


def adding_up(worked: Derivation, i: int, asked: Asked) -> Iterator[Part]:
    """Say what the weights of a row add up to: exactly, and as they are printed."""
    token = worked.given.asking[i]
    for head in heads_of(worked, "weights", asked):
        weights = worked["weights"].values[head][i]
        total = worked["sum"].values[head][i][0]
        if not total:
            yield Text((f"{token} sees no key: its weights are all 0.",))
            continue
        shown = [fixed(weights[j]).text for j in _shown(worked, i, head)]
        yield Text(
            (f"The weights of {token} add up to exactly 1: each is its exponential over the sum of all.",)
        )
        if len(shown) == len(weights):
            printed = fixed(sum(round(x, 3) for x in weights)).text
            yield Text((f"{' + '.join(shown)} = {printed}",))
            if printed != "1.000":
                yield Text(("Each of these is rounded; before rounding they add up to 1.",))
        yield row_of(worked, i, head)


def both_alike(worked: Derivation, i: int, j: int) -> Iterator[Part]:
    """Say how far two words' vectors point the same way, before and after."""
    given = worked.given
    said = []
    for when, vectors in (("before", before(worked)), ("after", after(worked))):
        found = None if vectors is None else cosine(vectors[i], vectors[j])
        if found is not None:
            said.append(f"{exactly(found)} {when}")
    if said:
        yield Text(
            (f"The cosine of {given.asking[i]} and {given.answering[j]} is {' and '.join(said)} attention.",)
        )


def here(worked: Derivation) -> Iterable[Part]:
    """Say how wide a query is, and what makes a dot product a score."""
    given = worked.given
    yield Text(
        (
            f"Here a query has {given.d_k} numbers, ",
            *prose(f"d_k = {given.d_k}; a dot product becomes a score by "),
            divided_label(_sheet(worked, 0)),
            ".",
        )
    )
