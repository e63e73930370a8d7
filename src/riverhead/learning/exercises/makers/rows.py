"""One step for one query: dot products, scaling, softmax, weighted values."""

from __future__ import annotations

from riverhead.checking.answers import dot_sheet, scale_sheet, softmax_sheet, values_sheet
from riverhead.learning.exercises import clean
from riverhead.learning.exercises.catalogue import Made
from riverhead.learning.exercises.draw import Draw
from riverhead.learning.exercises.showing import quoted, row, say, vectors
from riverhead.learning.exercises.words import sentence
from riverhead.scene import Root, Sub, Symbol

__all__ = ["MAKERS"]

D_K = Sub(Symbol("d"), Symbol("k"))


def dots(draw: Draw) -> Made | None:
    """One query with two to four keys, of two to four whole numbers."""
    tokens, d = sentence(draw, draw.integer(2, 4)), draw.integer(2, 4)
    asking = draw.choice(tokens)
    q, k = clean.vectors(draw, 1, d), clean.vectors(draw, len(tokens), d)
    sheet = dot_sheet(q, k, asking=[asking], answering=tokens)
    task = (
        say(f"In {quoted(tokens)}, {quoted([asking])} asks:"),
        vectors([asking], q=q),
        say("and every token answers:"),
        vectors(tokens, k=k),
        say(f"How far does each key agree with {quoted([asking])}? Work out the dot products."),
    )
    return Made(task, sheet) if clean.sees_apart(sheet) else None


def scaling(draw: Draw) -> Made | None:
    """Dot products of long vectors, divided by a whole √d_k."""
    root = draw.choice([2, 3, 4, 5, 8, 10])
    tokens = sentence(draw, draw.integer(2, 4))
    asking = draw.choice(tokens)
    drawn = [float(draw.integer(-3 * root, 4 * root)) for _ in tokens]
    sheet = scale_sheet([drawn], root**2, asking=[asking], answering=tokens)
    task = (
        say(
            f"The dot products of {quoted([asking])} in {quoted(tokens)}; vectors have {root**2} components:"
        ),
        row("q·k", tokens, drawn),
        say("Make them scores: divide each by ", Root(D_K), "."),
    )
    return Made(task, sheet) if clean.sees_apart(sheet) else None


def softmax(draw: Draw) -> Made | None:
    """A row of two to five scores, in halves."""
    tokens = sentence(draw, draw.integer(2, 5))
    asking, scores = tokens[-1], [draw.integer(-4, 6) / 2 for _ in tokens]
    if not clean.tells(scores, own=-1):
        return None
    sheet = softmax_sheet([scores], asking=[asking], answering=tokens)
    task = (
        say(f"The scores of {quoted([asking])} in {quoted(tokens)}, already divided by ", Root(D_K), ":"),
        row("score", tokens, scores),
        say("Make them weights: the exponential of each, their sum, then each exponential over the sum."),
    )
    return Made(task, sheet) if clean.sees_apart(sheet) else None


def values(draw: Draw) -> Made | None:
    """Weights in tenths, and values of two or three whole numbers."""
    tokens = sentence(draw, draw.integer(2, 4))
    asking, parts = tokens[0], [draw.integer(1, 8) for _ in tokens]
    if sum(parts) != 10 or max(parts) == parts[0]:
        return None
    weights, v = [part / 10 for part in parts], clean.vectors(draw, len(tokens), draw.integer(2, 3))
    sheet = values_sheet([weights], v, asking=[asking])
    task = (
        say(f"In {quoted(tokens)}, {quoted([asking])} weighs every token; each hands over a value:"),
        vectors(tokens, weight=[[weight] for weight in weights], v=v),
        say(f"What does {quoted([asking])} take away? Mix the values by their weights."),
    )
    return Made(task, sheet) if clean.sees_apart(sheet) else None


MAKERS = {"dots": dots, "scaling": scaling, "softmax": softmax, "values": values}
