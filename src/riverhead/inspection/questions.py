"""The most telling heads of a text: those whose weight neither the place nor any other noun explains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from riverhead.errors import InputError
from riverhead.inspection.findings import Findings
from riverhead.inspection.habit import Say, silent
from riverhead.inspection.judge import Head, Judged
from riverhead.inspection.labels import labels_of
from riverhead.inspection.off import if_off_nats, if_off_vector_change
from riverhead.inspection.swap import N_NOUNS
from riverhead.inspection.tables import function_words
from riverhead.inspection.trial import Trial
from riverhead.inspection.words import tokens_back
from riverhead.transformer import HeadName, Model, head_name, parse_head

__all__ = ["control", "telling", "whole_layer"]

N_NEXT = 5
NATS = "if off = nats the next-token odds move without the head"
VECTORS = "vectors = how far the tokens' final vectors move if the head is off, the mean of ‖x′ − x‖ / ‖x‖"


def telling(
    model: Model,
    text: str,
    *,
    focus: str | None = None,
    head: HeadName | None = None,
    n: int = 5,
    progress: Say | None = None,
) -> Findings:
    """Put the three questions to the heads of ``model`` as they read ``text``, and keep ``n`` to show.

    The words looked at are the pair with the largest weight − max(habit, mean swap); ``focus`` fixes the one
    that asks (``bank#1`` for the first of several), ``head`` adds a head and makes it the one to derive.
    ``progress`` is told what is being measured. Raises `InputError` naming the word or the head.
    """
    if n < 1:
        raise InputError(f"n is {n}; at least one head is shown")
    asked = None if head is None else parse_head(head, model.config)
    trial = Trial(model, text, focus, progress or silent)
    pair = trial.pair()
    judged = _judge(trial, *pair)
    heads = judged.select(n)
    notes = [_about_choice(n, bool(judged.nouns))]
    if trial.cut:
        notes.append("The text is long: the search for the two words was cut, and not every pair was tried")
    if asked is not None and asked not in heads:
        heads.append(asked)
        notes.append(f"{head_name(*asked)} is here because it was asked for")
    return _findings(trial, pair, judged, heads, asked or heads[0], notes)


def whole_layer(
    model: Model, text: str, layer: int, *, focus: str | None = None, progress: Say | None = None
) -> Findings:
    """Put the three questions to every head of one layer, about the words that `telling` would choose.

    The heads stand in their own order. Raises `InputError` naming the word or the layer.
    """
    first, _ = parse_head((layer, 0), model.config)
    heads = [(first, head) for head in range(model.config.n_heads)]
    trial = Trial(model, text, focus, progress or silent)
    pair = trial.pair()
    judged = _judge(trial, *pair)
    beyond = [judged.finding(head).score for head in heads]
    best = heads[beyond.index(max(beyond))]
    return _findings(trial, pair, judged, heads, best, [f"Shown: every head of layer {layer}"])


def control(model: Model, text: str, findings: Findings, *, progress: Say | None = None) -> Findings:
    """Put the three questions to the same heads in a second sentence that has the same asking word.

    They look at the same word where the asking one sees it, the nearest if it stands there several times, and
    otherwise at the word as many tokens back, or ahead, as it was. Raises `InputError` when the sentence has
    neither.
    """
    trial = Trial(model, text, findings.query.text, progress or silent)
    pair, notes = _same_pair(trial, findings)
    heads = [parse_head(row.head, model.config) for row in findings.rows]
    shown = parse_head(findings.head, model.config)
    return _findings(trial, pair, _judge(trial, *pair), heads, shown, notes)


def _same_pair(trial: Trial, findings: Findings) -> tuple[tuple[int, int], list[str]]:
    wanted, query = findings.key, trial.asking[0]
    candidates = [key for key in range(len(trial.words)) if trial.allowed[0, key]]
    same = [key for key in candidates if trial.words[key].text.casefold() == wanted.text.casefold()]
    back = tokens_back(findings.query, wanted)
    if same:
        return (0, min(same, key=lambda key: _how_far(tokens_back(query, trial.words[key]), back))), []
    place = query.last - back
    there = [key for key in candidates if trial.words[key].start <= place < trial.words[key].stop]
    if not there:
        where, not_first = ("before", ", not first") if trial.model.config.causal else ("beside", "")
        raise InputError(
            f"{where} {query.text!r} the control has neither {wanted.text!r} nor a word in its place: "
            f"give a sentence with one of them{not_first}"
        )
    return (0, there[0]), [f"{trial.words[there[0]].text} stands in the place of {wanted.text}"]


def _how_far(back: int, was_back: int) -> tuple[bool, int]:
    """Sort words that stand ``back``: first those on the side where it was, then the nearest."""
    return (back > 0) != (was_back > 0), abs(back)


def _judge(trial: Trial, query: int, key: int) -> Judged:
    swap, asking, looked_at = trial.swapped(query, key), trial.asking[query], trial.words[key]
    return Judged(
        word=looked_at.text,
        distance=tokens_back(asking, looked_at),
        weight=trial.weight[..., query, key],
        habit=trial.habit[..., query, key],
        swap=swap.weights if swap else np.empty((0, *trial.weight.shape[:2]), np.float32),
        nouns=swap.nouns if swap else (),
        labels=labels_of(trial.model, trial.say),
    )


def _findings(
    trial: Trial, pair: tuple[int, int], judged: Judged, heads: Sequence[Head], shown: Head, notes: list[str]
) -> Findings:
    trial.say(f"if off: the text once more without each of {len(heads)} heads")
    moved, next_token = _if_off(trial, heads)
    return Findings(
        model=trial.model.title,
        text=trial.text,
        tokens=trial.model.tokenizer.pieces(trial.token_ids.tolist()),
        query=trial.asking[pair[0]],
        key=trial.words[pair[1]],
        head=head_name(*shown),
        rows=tuple(judged.finding(head, **of) for head, of in zip(heads, moved, strict=True)),
        next_token=next_token,
        nouns=judged.nouns,
        notes=(*notes, *_about_words(trial, *pair), *_about_numbers(judged, trial.model)),
    )


def _if_off(
    trial: Trial, heads: Sequence[Head]
) -> tuple[list[dict[str, float]], tuple[tuple[str, float], ...]]:
    """Return what moves without each head, by its name in a `Finding`, and the likeliest next tokens."""
    model, ids = trial.model, trial.token_ids
    if not model.config.predicts:
        return [{"if_off_vector_change": x} for x in if_off_vector_change(model, ids, heads).tolist()], ()
    odds, nats = if_off_nats(model, ids, heads)
    likeliest = np.argsort(-odds, kind="stable")[:N_NEXT].tolist()
    pieces = model.tokenizer.pieces(likeliest)
    next_token = tuple((piece, float(odds[i])) for piece, i in zip(pieces, likeliest, strict=True))
    return [{"if_off_nats": x} for x in nats.tolist()], next_token


def _about_choice(n: int, swapped: bool) -> str:
    best, heavy = n - n // 2, n // 2
    heads = "head" if best == 1 else f"{best} heads"
    note = f"Shown: the {heads} with most weight beyond habit{' and swap' * swapped}"
    return note + (f", and the {heavy} heaviest of those whose weight is no finding" if heavy else "")


def _about_words(trial: Trial, query: int, key: int) -> Iterator[str]:
    asking, looked_at = trial.asking[query], trial.words[key]
    for word, role, split in (
        (asking, "asking", "the last one asks"),
        (looked_at, "looked at", "the weight is the sum over them"),
    ):
        same = [other for other in trial.words if other.text == word.text]
        if len(same) > 1:
            yield f"{word.text} stands {len(same)} times; {role} is {word.text}#{same.index(word) + 1}"
        if (n_tokens := word.stop - word.start) > 1:
            yield f"{word.text}, {role}, is {n_tokens} tokens: {split}"
    if looked_at.text.casefold() in function_words():
        yield f"{looked_at.text} is a function word: that nouns get less in its place says little about it"
    if not trial.model.config.causal:
        yield "The model reads both ways: a word sees those after it too"
    elif after := [word.text for word in trial.words if word.start >= asking.stop]:
        yield f"The model is causal: {asking.text} cannot see {after[0]}"


def _about_numbers(judged: Judged, model: Model) -> Iterator[str]:
    n_nouns = len(judged.nouns)
    swap = f"swap = mean with {n_nouns} other nouns for {judged.word}; "
    if not n_nouns:
        swap = ""
        yield (
            f"None of the nouns that ship is as many tokens as {judged.word}: nothing can be swapped, and no "
            "weight told from what any word would get there"
        )
    elif n_nouns < N_NOUNS:
        yield f"Only {n_nouns} of the nouns that ship fit in the place of {judged.word}"
    off = NATS if model.config.predicts else VECTORS
    yield f"habit = mean weight at this place in plain text; {swap}{off}"
    yield f"Each finding is one about this model, {model.title}, not about language"
