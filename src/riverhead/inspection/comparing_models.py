"""One text in two models: what each does for the same word, and what each expects next."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from riverhead.core.equation import softmax
from riverhead.errors import InputError
from riverhead.inspection.comparing import N_NEXT, layer_cosines, next_odds
from riverhead.inspection.comparison import Comparison, Odds, Side
from riverhead.inspection.habit import Say, silent
from riverhead.inspection.head_changes import lay_over
from riverhead.inspection.model_comparison import Looked, ModelComparison, ModelSide, WordLooked
from riverhead.inspection.one_word import OneWord, chosen, read_word
from riverhead.inspection.words import Word, words_read
from riverhead.transformer import Model, head_name

__all__ = ["compare_models"]

Pair = tuple[OneWord, OneWord]
Models = tuple[Model, Model]


def compare_models(
    model_a: Model, model_b: Model, text: str, *, word: str | None = None, progress: Say | None = None
) -> ModelComparison:
    """Follow a word of ``text`` through two models, word by word where their tokens differ.

    Models that cut the text alike and have as many layers and heads of the same widths, such as one and its
    fine-tuned child, are compared head by head and layer by layer too. Raises `InputError` where the text has
    no such word, or a causal model sees nothing before it.
    """
    models = (model_a, model_b)
    ids = [model.tokenize(text) for model in models]
    words = [words_read(model.tokenizer, text, i) for model, i in zip(models, ids, strict=True)]
    followed = chosen(models, (text, text), words, word)
    seen = zip(models, (text, text), ids, words, followed, strict=True)
    a, b = (read_word(*each, progress or silent) for each in seen)
    same = _shape(model_a) == _shape(model_b) and ids[0] == ids[1]
    odds = _odds(models, (a, b))
    return ModelComparison(
        text=text,
        word=a.word.text,
        sides=(_side(model_a, a), _side(model_b, b)),
        words=tuple(_looked((a, b))),
        same=_head_by_head(models, (a, b)) if same else None,
        odds=odds,
        notes=tuple(_notes(models, (a, b), same, odds)),
    )


def _shape(model: Model) -> tuple[int, ...]:
    config = model.config
    return config.n_layers, config.n_heads, config.n_kv_heads, config.d_model, config.d_k


def _side(model: Model, seen: OneWord) -> ModelSide:
    cosines = (seen.directions @ seen.directions[0]).clip(-1, 1)
    return ModelSide(
        model=model.title,
        n_layers=model.config.n_layers,
        n_heads=model.config.n_heads,
        tokens=seen.tokens,
        word=seen.word,
        from_start=tuple(cosines.tolist()),
    )


def _looked(both: Pair) -> Iterator[WordLooked]:
    """The first token, each other word in the order of the text, and the word itself."""
    firsts = [Looked(float(x.weights[..., 0].mean())) for x in both]
    yield WordLooked("(first token)", (firsts[0], firsts[1]))
    places = sorted({word.place: word.text for x in both for word in x.words}.items())
    for place, text in places:
        a, b = (_at(x, next((word for word in x.words if word.place == place), None)) for x in both)
        if a or b:
            yield WordLooked(text, (a, b))


def _at(seen: OneWord, word: Word | None) -> Looked | None:
    """What the heads give a word that is neither hidden nor the first token."""
    if word is None or word.stop > seen.weights.shape[-1] or word.start == 0:
        return None
    weight = seen.weights[..., word.start : word.stop].sum(axis=-1)  # (n_layers, H)
    if word == seen.word:
        return Looked(float(weight.mean()))
    habit = seen.habit[..., word.start : word.stop].sum(axis=-1, dtype=np.float64)
    layer, head = np.unravel_index((weight - habit).argmax(), weight.shape)
    most = float(weight[layer, head]), float(habit[layer, head])
    return Looked(float(weight.mean()), head_name(int(layer), int(head)), *most)


def _head_by_head(models: Models, both: Pair) -> Comparison:
    laid = lay_over(*both)
    listed = laid.listed()
    a, b = both
    return Comparison(
        model=" and ".join(model.title for model in models),
        word=a.word.text,
        sides=(Side(a.text, a.tokens, a.word), Side(b.text, b.tokens, b.word)),
        places=tuple(map(laid.place, listed)),
        heads=laid.heads(listed),
        layers=layer_cosines(a, b),
        odds=None,
        notes=(),
    )


def _odds(models: Models, both: Pair) -> Odds | None:
    a, b = (x.logits for x in both)
    if a is None or b is None or _same_vocabulary(*models):
        return next_odds(models[0], a, b)
    found: dict[str, list[float | None]] = {}
    odds = [softmax(logits) for logits in (a, b)]
    for model, p in zip(models, odds, strict=True):
        best = np.argsort(-p, kind="stable")[:N_NEXT].tolist()
        for piece in model.tokenizer.pieces(best):
            found[piece] = [_odds_of(m, q, piece) for m, q in zip(models, odds, strict=True)]
    rows = sorted(found.items(), key=lambda row: -max(p or 0 for p in row[1]))
    return Odds(tuple((piece, p[0], p[1]) for piece, p in rows), None)


def _odds_of(model: Model, odds: np.ndarray, piece: str) -> float | None:
    try:
        return float(odds[model.tokenizer.id_of(piece)])
    except InputError:
        return None  # it is no single token of this model


def _same_vocabulary(a: Model, b: Model) -> bool:
    n = a.config.vocab_size
    return n == b.config.vocab_size and a.tokenizer.pieces(range(n)) == b.tokenizer.pieces(range(n))


def _notes(models: Models, both: Pair, same: bool, odds: Odds | None) -> Iterator[str]:
    a, b = (model.title for model in models)
    yield (
        "habit = what a model gives this place in plain text, the first token and the word itself apart; a "
        "weight beyond it may still be what any word would get"
    )
    if same:
        yield (
            "Head by head and layer by layer they can be compared if one model comes from the other; two "
            "trained apart have no head and no direction in common"
        )
    elif both[0].tokens != both[1].tokens:
        yield "The models cut the text into different tokens: a word's weight is the sum over its own"
    for model, x in zip(models, both, strict=True):
        if not model.config.predicts:
            yield f"{model.title} predicts no next token: there are no odds to compare"
        if model.config.causal and (hidden := [w.text for w in x.words if w.start >= x.word.stop]):
            yield f"{model.title} is causal: {x.word.text} cannot see {hidden[0]}"
    if odds is not None and odds.kl_nats is None:
        yield "The vocabularies differ, so no KL can be taken: — is no single token of that model"
    yield f"Each finding is one about these models, {a} and {b}, not about language"
