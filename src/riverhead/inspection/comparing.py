"""One word in two texts: which heads change with the words, where its vector splits, what comes next."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from riverhead.core.equation import softmax
from riverhead.inspection.comparison import Comparison, LayerCosine, Odds, Side
from riverhead.inspection.findings import quoted
from riverhead.inspection.habit import Say, silent, window_of
from riverhead.inspection.head_changes import LaidOver, lay_over
from riverhead.inspection.off import kl_nats
from riverhead.inspection.one_word import OneWord, chosen, read_word
from riverhead.inspection.tables import first_that_holds, rules
from riverhead.inspection.words import words_read
from riverhead.transformer import Model

__all__ = ["N_NEXT", "compare", "layer_cosines", "next_odds"]

N_NEXT = 5
TINY = 1e-12  # other words may all point where the word does

Wide = NDArray[np.float64]


def compare(
    model: Model, text_a: str, text_b: str, *, word: str | None = None, progress: Say | None = None
) -> Comparison:
    """Follow a word that two texts share through ``model``, head by head and layer by layer.

    A head's two rows of weights are laid over each other by place: the first token on the first token, every
    other key by its distance from the word; `HeadChange` says how far they differ. Without ``word`` it is the
    last content word that both have; ``bank#1`` is the first of several. Raises `InputError` where the texts
    share no word, or where nothing stands before it.
    """
    texts = (text_a, text_b)
    ids = [model.tokenize(text) for text in texts]
    words = [words_read(model.tokenizer, text, i) for text, i in zip(texts, ids, strict=True)]
    followed = chosen((model, model), texts, words, word)
    a, b = (
        read_word(model, *each, progress or silent) for each in zip(texts, ids, words, followed, strict=True)
    )
    laid = lay_over(a, b)
    listed = laid.listed()
    return Comparison(
        model=model.title,
        word=a.word.text,
        sides=(Side(a.text, a.tokens, a.word), Side(b.text, b.tokens, b.word)),
        places=tuple(map(laid.place, listed)),
        heads=laid.heads(listed),
        layers=layer_cosines(a, b),
        odds=next_odds(model, a.logits, b.logits),
        notes=tuple(_notes(model, laid, len(listed))),
    )


def layer_cosines(a: OneWord, b: OneWord) -> tuple[LayerCosine, ...]:
    """Return the cosine of the word's two vectors before the first block and after each."""
    cosines = np.clip((a.directions * b.directions).sum(axis=-1), -1, 1)  # (n_layers + 1,)
    drops = -np.diff(cosines, prepend=cosines[0])
    with_others = [
        (x.directions * y.others).sum(axis=-1) for x, y in ((a, b), (b, a)) if y.others is not None
    ]
    others = np.mean(with_others, axis=0).tolist() if with_others else [None] * len(cosines)
    found = []
    for n, (cosine, drop, other) in enumerate(zip(cosines.tolist(), drops.tolist(), others, strict=True)):
        share = (1 - cosine) / max(1 - (other or 0.0), TINY)
        rule = first_that_holds(rules("split"), {"cosine": cosine, "share": share})
        layer = n - 1 if n else None
        found.append(LayerCosine(layer, cosine, drop, other, share, rule.words, rule.finding))
    return tuple(found)


def next_odds(model: Model, logits_a: Wide | None, logits_b: Wide | None) -> Odds | None:
    """Return the five likeliest next tokens of either side; None where one of them predicts none."""
    if logits_a is None or logits_b is None:
        return None
    p, q = softmax(logits_a), softmax(logits_b)
    best = {int(i): None for odds in (p, q) for i in np.argsort(-odds, kind="stable")[:N_NEXT]}
    ids = sorted(best, key=lambda i: -max(p[i], q[i]))
    rows = tuple(zip(model.tokenizer.pieces(ids), p[ids].tolist(), q[ids].tolist(), strict=True))
    return Odds(rows, (float(kl_nats(logits_a, logits_b)), float(kl_nats(logits_b, logits_a))))


def _notes(model: Model, laid: LaidOver, n_listed: int) -> Iterator[str]:
    word, title = laid.both[0].word.text, model.title
    yield from _about_word(model, *laid.both)
    yield from _about_places(laid, n_listed)
    yield (
        "change = ½ Σ|A − B| of a head's weights, place by place; habit = mean weight at this place in plain "
        "text, the first token and the word itself apart; from_habit = ½ Σ|weight − habit|"
    )
    yield "share = (1 − cosine) / (1 − others): 0 for one vector, 1 for one no nearer than other words are"
    longest = max(len(x.tokens) for x in laid.both)
    if (window := window_of(model, longest)) < longest:
        yield f"Habit is measured in windows of {window} tokens: what lies farther away counts as farthest"
    if not model.config.predicts:
        yield f"{model.title} predicts no next token: there are no odds to compare"
    yield (
        f"A change between two texts does not prove that a head reads what {word} means: riverhead show "
        "tries 24 other nouns, riverhead look without switches a head off"
    )
    yield f"Each finding is one about this model, {title}, not about language"


def _about_word(model: Model, a: OneWord, b: OneWord) -> Iterator[str]:
    before = [x.tokens[: x.word.stop] for x in (a, b)]
    spelled = [quoted(tokens[-1]) for tokens in before]
    if model.config.causal and before[0] == before[1]:
        yield (
            f"Up to {a.word.text} both texts are the same, and the model is causal: only the next token can "
            "differ"
        )
    elif spelled[0] != spelled[1]:
        yield f"{a.word.text} ends in {spelled[0]} in A and in {spelled[1]} in B: two vectors from the start"
    for name, x in (("A", a), ("B", b)):
        same = [other for other in x.words if other.text == x.word.text]
        if len(same) > 1:
            yield f"{x.word.text} stands {len(same)} times in {name}; followed is #{same.index(x.word) + 1}"
        if (n := x.word.stop - x.word.start) > 1:
            yield f"{x.word.text} is {n} tokens in {name}: the last one asks"
        if model.config.causal and not any(other.stop <= x.word.start for other in x.words):
            yield f"No word stands before {x.word.text} in {name}, and the model is causal"


def _about_places(laid: LaidOver, n_listed: int) -> Iterator[str]:
    a, b = laid.both
    first_a, first_b = (quoted(x.tokens[0]) for x in laid.both)
    if first_a != first_b and min(a.word.start, b.word.start) > 0:
        yield (
            f"{first_a} and {first_b} are first tokens, on which many heads put what they need nowhere else: "
            "the same word before both, as The, tells more"
        )
    none = [name for name, off in zip("AB", laid.from_habit, strict=True) if np.isnan(off).all()]
    if none:
        yield (
            f"In {' and '.join(none)} {a.word.text} sees itself and the first token alone, which have no "
            "habit: no head can be said to follow positions"
        )
    alone = [int(((of >= 0) & (other < 0)).sum()) for of, other in (laid.keys, laid.keys[::-1])]
    for name, n in zip("AB", alone, strict=True):
        if n:
            yield f"Places that {name} alone has: {n}; change is measured without them"
    if (left_out := len(laid.distance) - n_listed) > 0:
        yield f"{left_out} places of less weight are not listed; what is measured is measured on all"
