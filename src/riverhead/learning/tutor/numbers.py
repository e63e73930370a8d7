"""Questions about numbers, answered by the engine: which cell, its arithmetic, what would change it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from riverhead.derivation import Derivation, changed
from riverhead.errors import RiverheadError
from riverhead.learning.tutor.arithmetic import worked_out
from riverhead.learning.tutor.asking import Asked, asked
from riverhead.learning.tutor.at_hand import AtHand
from riverhead.learning.tutor.cells import (
    BY_KEY,
    Spot,
    chain,
    exactly,
    focus_of,
    name,
    value,
    which,
    without_number,
)
from riverhead.learning.tutor.sensitive import sensitive
from riverhead.learning.tutor.what_if import applied, with_score
from riverhead.learning.tutor.wholes import (
    adding_up,
    both_alike,
    heads_of,
    here,
    largest,
    row,
    row_of,
    vector_of,
    whose,
)
from riverhead.numbers import Verdict
from riverhead.scene import Part, Text

__all__ = ["answer"]

FIT = {
    Verdict.EXACT: "{Name} is {exact}.",
    Verdict.ROUNDED: "{printed} is {name}: {exact}, rounded.",
    Verdict.CARRIED: "{printed} is {name}, worked from rounded numbers; exactly it is {exact}.",
}
SLIPS = (  # what else a number may have come from
    ("without dividing by √d_k", {"scale": 1.0}),
    ("with the later words hidden", {"causal": True}),
    ("without the mask", {"causal": False, "mask": None}),
)
OF_A_TOKEN = ("q", "k", "v", "e", "out")  # steps that have a vector for each word


def answer(question: str, at_hand: AtHand) -> tuple[Part, ...]:
    """Return what the engine can say to ``question``; nothing where it asks for no number that is known.

    A printed number is looked for in every step of the sentence at hand; words name a step and tokens. What
    needs no sentence (e^2.12, the softmax of 2 and 1) is worked out as it stands.
    """
    read = asked(question, at_hand)
    if not read.named and not read.change and (parts := worked_out(question, read.foreign)):
        return parts
    if at_hand.derivation is None:
        return ()
    if said := _absent(read, at_hand, at_hand.derivation):
        return (Text((said,)),)
    n_heads = at_hand.derivation.given.n_heads
    if read.head is not None and not 0 <= read.head < n_heads:
        there = f"heads 0 to {n_heads - 1}" if n_heads > 1 else "one head, head 0"
        said = f"There is no head {read.head} in the sentence at hand; it has {there}."
        return (Text((said,)),) if read.named and read.step and read.foreign <= 0 else ()
    parts = tuple(_answered(read, at_hand, at_hand.derivation))
    if read.lone and len(read.numbers) == 1 and read.numbers[0].decimals and not parts:
        return (Text((f"No number of the sentence at hand is {read.numbers[0].text}.",)),)
    return (*parts, *at_hand.beside) if parts else ()


def _absent(read: Asked, at_hand: AtHand, worked: Derivation) -> str:
    """What is said of a word that has no row or no column here; nothing where there is none."""
    in_text = read.strange in _words(at_hand)
    if read.elsewhere and read.foreign <= 1 and not (read.either or read.change):
        return _no_row(read.elsewhere, at_hand, worked)
    if read.strange and read.step is not None and (read.named or in_text) and read.foreign <= 1:
        return _unknown(read, at_hand, worked)
    return ""


def _words(at_hand: AtHand) -> list[str]:
    return [word.strip(".,;:?!'\"") for word in at_hand.text.casefold().split()]


def _no_row(word: str, at_hand: AtHand, worked: Derivation) -> str:
    asking = worked.given.asking
    if len(asking) > 1:
        return f"{word!r} asks nothing here: the words that ask are {' '.join(asking)}."
    more = f" --focus {word} gives that of {word}." if at_hand.beside else ""
    return f"The row at hand is that of {asking[0]}, not of {word}.{more}"


def _unknown(read: Asked, at_hand: AtHand, worked: Derivation) -> str:
    word, words, text = read.strange, " ".join(worked.given.answering), _words(at_hand)
    asking, seen = worked.given.asking[0], worked.given.answering
    after = text[text.index(asking.casefold()) :] if asking.casefold() in text else []
    if asking == seen[-1] and word in after:
        weight = ": its weight is exactly 0" if read.step == "weights" else ""
        return f"{word} comes after {asking}. The model is causal, so {asking} cannot see it{weight}."
    if word in text:
        return f"{word!r} is not seen here: the words that are looked at are {words}."
    return f"{word!r} is no word of the sentence at hand: {words}."


def _answered(read: Asked, at_hand: AtHand, worked: Derivation) -> Iterator[Part]:
    """Try the ways to answer, the most particular first."""
    if read.change or read.change.claimed:
        if read.named or read.change.token or read.change.hidden or read.begins:
            yield from _otherwise(worked, at_hand, read)
    elif read.what_if:
        return  # of a change that is not known
    elif whole := _whole(worked, at_hand, read):
        yield from whole
    elif spots := which(read, at_hand):
        long = len(spots) == 1
        for spot in spots:
            yield from _explained(worked, spot, long)


def _whole(worked: Derivation, at_hand: AtHand, read: Asked) -> Sequence[Part]:
    """A row, a vector, the largest of a row, or what it adds up to, if that is asked for."""
    if read.foreign > 0:
        return ()
    i = focus_of(at_hand) if read.query is None else read.query
    if read.here and read.divided and not read.named:
        return tuple(here(worked))
    if read.alike and read.query is not None and read.key is not None:
        return tuple(both_alike(worked, read.query, read.key))
    if read.adds_up and read.step == "weights" and _of_weights(read):
        return tuple(adding_up(worked, i, read))
    if len(read.vectors) == 1 and read.step in ("q", "k", "v") and not read.named and not read.numbers:
        return tuple(whose(worked, read.step, read.vectors[0]))
    if read.numbers:
        return ()
    if read.extreme and read.step in BY_KEY and (read.named or read.which):
        return tuple(largest(worked, str(read.step), read, i))
    one = (read.query is None) != (not read.keys)
    if read.step in OF_A_TOKEN and one and read.component is None:
        return tuple(_vector(worked, read))
    if read.step in BY_KEY and read.query is not None and not read.keys:
        return tuple(row(worked, str(read.step), i, read))
    return ()


def _of_weights(read: Asked) -> bool:
    """Whether the weights of one row are meant: a word is named, or a sum that is not 1 but near it."""
    near = [number for number in read.numbers if number.decimals and abs(number.value - 1) < NEAR]
    return (read.named and all(number.value == 1 for number in read.numbers)) or bool(near)


NEAR = 0.02  # to 1, for a sum of rounded weights


def _vector(worked: Derivation, read: Asked) -> Iterator[Part]:
    step = str(read.step)
    if step == "e" and worked.given.e is None:
        return
    place = read.query if read.query is not None else read.key
    if step in ("k", "v") and read.key is not None:
        place = read.key
    if place is not None and (step == "e" or place < len(worked[step].values[0])):
        yield from vector_of(worked, step, place, read)


def _explained(worked: Derivation, spot: Spot, long: bool) -> Iterator[Part]:
    """The number in a sentence, how it is made, what would change it."""
    exact, called = exactly(value(worked, spot)), name(worked, spot)
    if spot.printed and spot.fits is None:
        yield Text((f"It is not {spot.printed}: {called} is {exact}.",))
        yield from _slipped(worked, spot)
    else:
        words = FIT[spot.fits or Verdict.EXACT]
        yield Text((words.format(name=called, Name=_capital(called), exact=exact, printed=spot.printed),))
    yield from chain(worked, spot)
    if long and (table := sensitive(worked, spot)):
        yield Text(("What would change it",), "heading")
        yield table


def _slipped(worked: Derivation, spot: Spot) -> Iterator[Part]:
    """Where else the printed number comes from: the pair turned round, or a step forgotten."""
    given = worked.given
    if spot.step in BY_KEY and given.tokens_k is None and spot.i != spot.j:
        for step in ("dots", "scores") if spot.step == "scores" else (spot.step,):
            turned = Spot(step, spot.j, spot.i, spot.head)
            if worked.judge(step, turned.i, turned.j, spot.printed, spot.head) is not Verdict.FALSE:
                yield Text((f"{spot.printed} is {name(worked, turned)}, the other way round.",))
                return
    for said, options in SLIPS:
        after = worked.but(**options)
        if value(after, spot) == value(worked, spot):
            continue
        if after.judge(spot.step, spot.i, spot.j, spot.printed, spot.head) is not Verdict.FALSE:
            yield Text((f"{spot.printed} is what it would be {said}.",))
            return


def _otherwise(worked: Derivation, at_hand: AtHand, read: Asked) -> Iterator[Part]:
    """The number, or the row, before and after a change, and all else that changes in its row."""
    if read.foreign > 0:
        return
    try:
        after = applied(worked, read.change)
    except RiverheadError as wrong:
        yield Text((f"{_capital(str(wrong))}.",))
        return
    if read.change.claimed:
        yield from _claimed(worked, after, read)
        return
    if read.change.score is not None:
        yield from _scored(worked, at_hand, read, read.change.score)
        return
    if any(number.decimals for number in read.numbers):
        for spot in which(read, replace(at_hand, derivation=after)):
            yield from _explained(after, spot, long=True)
        return
    spots = without_number(read, at_hand) if read.step and (read.keys or read.step not in BY_KEY) else ()
    i = spots[0].i if spots else _row_meant(worked, at_hand, read)
    for spot in spots[:1]:
        was, now = value(worked, spot), value(after, spot)
        yield Text((f"{_capital(name(worked, spot))} is {exactly(was)}; then it is {exactly(now)}.",))
        yield from chain(after, spot)
    if not spots or read.step not in BY_KEY:
        token = after.given.asking[i]
        yield Text((f"Then this is the row of {token}.",))
        if read.step == "out":
            yield from vector_of(after, "out", i, read)
        else:
            yield from (row_of(after, i, head) for head in heads_of(after, "weights", read))
    yield Text(("What changes in this row" if not spots else "What else changes in this row",), "heading")
    yield from changed(worked, after, focus=i).parts


def _row_meant(worked: Derivation, at_hand: AtHand, read: Asked) -> int:
    """The row that a change is shown in: of the word named, of the query that changed, or in focus."""
    if read.query is not None:
        return read.query
    token = read.change.token
    if read.change.vector.startswith("q") and token in worked.given.asking:
        return worked.given.asking.index(token)
    return focus_of(at_hand)


def _claimed(worked: Derivation, claim: Derivation, read: Asked) -> Iterator[Part]:
    """A vector that is said to be so: whether it is."""
    step, _, token = read.change.vector.partition("=")[0].partition(".")
    step = step.partition("[")[0]
    names = worked.given.answering if step in ("k", "v") else worked.given.asking
    same = getattr(claim.given, step) == getattr(worked.given, step)
    yield Text(("It is." if same else f"It is not ({read.change.vector.partition('=')[2]}).",))
    yield from vector_of(worked, step, names.index(token), read)


def _scored(worked: Derivation, at_hand: AtHand, read: Asked, dot: float) -> Iterator[Part]:
    """One score replaced, and its row worked out again."""
    i = focus_of(at_hand) if read.query is None else read.query
    if read.key is None:
        return
    head = read.head or 0
    after = with_score(worked, head, i, read.key, dot)
    spot = Spot("weights", i, read.key, head)
    now = exactly(after["weights"].values[0][0][read.key])
    called, was = _capital(name(worked, spot)), exactly(value(worked, spot))
    yield Text((f"{called} is {was}; with the dot product {exactly(dot)} it is {now}.",))
    yield row_of(after, 0, 0)


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
