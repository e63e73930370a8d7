"""Heads switched off: how far the next-token odds and the text's loss move, or each token's vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from riverhead.core import AttentionMap
from riverhead.core.equation import softmax
from riverhead.cost import Config
from riverhead.errors import InputError
from riverhead.inspection.effects import Effect, Mode, NextToken, TokenEffect
from riverhead.inspection.habit import Say, silent
from riverhead.inspection.off import kl_nats, vector_changes
from riverhead.inspection.ranking import HeadEffect, Ranking
from riverhead.inspection.reference import kept, windows
from riverhead.inspection.swap import RUN_TOKENS
from riverhead.transformer import HeadName, Model, Pass, head_name, parse_head

__all__ = ["losses_nats", "mean_outputs", "rank", "rank_tokens", "without"]

LOGITS_BYTES = 128 << 20  # made at once
MEAN_WINDOW, MEAN_WINDOWS = 128, 4  # some 500 outputs of every head
N_NEXT = 5

Array = NDArray[np.float32]
Wide = NDArray[np.float64]
Ids = NDArray[np.intp]


def without(
    model: Model, text: str, heads: Sequence[HeadName], *, mode: Mode = "zero", say: Say = silent
) -> Effect:
    """Read ``text`` with ``heads`` off, all together, and with every head.

    In mode ``"zero"`` they hand over zeros (Michel et al. 2019, §3), in mode ``"mean"`` their mean output
    over the reference text, at every token (Wang et al. 2022, "Interpretability in the Wild"). ``say`` is
    told what is being measured. Raises `InputError` naming the head or the mode.
    """
    off = sorted({parse_head(head, model.config) for head in heads})
    if not off:
        raise InputError("no head is named: give at least one, such as L0.H0")
    instead = _instead(model, mode, say)
    ids = _ids(model, text)
    before = _Outcome.of(model.run([ids]), ids)
    after = _Outcome.of(model.run([ids], without=[{head: instead[head] for head in off}]), ids)
    moved = _moved(before, after)[0]
    return Effect(
        model=model.title,
        text=text,
        heads=tuple(head_name(*head) for head in off),
        mode=mode,
        kl_nats=moved.get("kl_nats"),
        loss_nats=before.loss_nats,
        loss_without_nats=after.loss_nats,
        vector_change=moved.get("vector_change"),
        next_token=_next_tokens(model, before, after),
        tokens=_tokens(model, ids, before, after),
    )


def rank(
    model: Model,
    text: str,
    *,
    mode: Mode = "zero",
    say: Say = silent,
    progress: Callable[[int, int], None] | None = None,
) -> Ranking:
    """Switch each head of ``model`` off alone as it reads ``text``; the modes are those of `without`.

    The residual stream into every block is kept, and only the blocks from a head's own on are run again, the
    heads of a layer together: `rank_tokens` says how much that is. ``progress(done, total)`` counts blocks.
    """
    n_layers, n_heads = model.config.n_layers, model.config.n_heads
    instead = _instead(model, mode, say)
    ids = _ids(model, text)
    base = model.run([ids], keep=True)
    before = _Outcome.of(base, ids)
    step = max(1, RUN_TOKENS // len(ids))
    effects: list[HeadEffect] = []
    done, total = 0, n_heads * n_layers * (n_layers + 1) // 2
    for layer in range(n_layers):
        for at in range(0, n_heads, step):
            heads = [(layer, head) for head in range(at, min(at + step, n_heads))]
            x = np.repeat(base.x[layer], len(heads), axis=0)
            run = model.run_from(layer, x, without=[{head: instead[head]} for head in heads])
            moved = _moved(before, _Outcome.of(run, ids))
            effects += [HeadEffect(head_name(*head), **of) for head, of in zip(heads, moved, strict=True)]
            done += len(heads) * (n_layers - layer)
            if progress is not None:
                progress(done, total)
    return Ranking(model.title, text, len(ids), n_layers, mode, before.loss_nats, tuple(effects))


def rank_tokens(config: Config, n_tokens: int) -> int:
    """Return how many tokens a model could read in the time `rank` takes for a text of ``n_tokens``.

    The heads of the first layer run the whole model again, those of the last one block of it. The logits of
    every token, which the loss needs, come on top.
    """
    return n_tokens * config.n_heads * (config.n_layers + 1) // 2


def losses_nats(run: Pass, ids: Ids) -> Wide:
    """Return −ln p of each token of ``ids`` (T,) but the first, given those before it, (B, T − 1)."""
    B, T, d_model = run.final.shape
    rows = Pass(run.model, run.final[:, :-1].reshape(1, -1, d_model))  # (1, B · (T − 1), d_model)
    targets, losses = np.tile(ids[1:], B), np.empty(B * (T - 1))
    step = max(1, LOGITS_BYTES // (4 * run.model.config.vocab_size))
    for at in range(0, len(losses), step):
        part = slice(at, at + step)
        logits = rows.logits(part)[0]
        logits -= logits.max(axis=-1, keepdims=True)
        losses[part] = -logits[np.arange(len(logits)), targets[part]]
        losses[part] += np.log(np.exp(logits, out=logits).sum(axis=-1, dtype=np.float64))
    return losses.reshape(B, T - 1)


def mean_outputs(model: Model, say: Say = silent) -> Array:
    """Return each head's mean output over plain text, (n_layers, H, d_v), kept beside the model or measured.

    The text is the shipped reference text, in four windows of 128 tokens.
    """
    config = model.config

    def measure() -> Array:
        T = min(MEAN_WINDOW, config.context_length)
        say(f"mean outputs: plain text in windows of {T} tokens, once for {model.name}")
        means: list[Wide] = []

        def see(layer: int, A: AttentionMap) -> None:
            means.append(A.out.mean(axis=(0, 2), dtype=np.float64))  # (H, d_v) from (B, H, T, d_v)

        model.run(windows(model, T)[:MEAN_WINDOWS], see=see)
        return np.array(means, np.float32)

    return kept(model.folder, "mean-output", (config.n_layers, config.n_heads, config.d_v), measure)


@dataclass(frozen=True, slots=True, eq=False)
class _Outcome:
    """What is compared of a text's run, of B items: the odds and the losses, or else the final vectors."""

    logits: Array | None  # (B, vocab_size), after the last token
    losses: Wide | None  # (B, T − 1)
    final: Array  # (B, T, d_model)

    @classmethod
    def of(cls, run: Pass, ids: Ids) -> _Outcome:
        if not run.model.config.predicts:
            return cls(None, None, run.final)
        return cls(run.logits(-1), losses_nats(run, ids) if len(ids) > 1 else None, run.final)

    @property
    def loss_nats(self) -> float | None:
        """The first item's, per token."""
        return None if self.losses is None else float(self.losses[0].mean())


def _moved(before: _Outcome, after: _Outcome) -> list[dict[str, float]]:
    """Return how far each item of ``after`` is from the one of ``before``: the fields of a `HeadEffect`."""
    moved: dict[str, Wide] = {}
    if before.logits is not None and after.logits is not None:
        moved["kl_nats"] = kl_nats(before.logits[0], after.logits)
    else:
        moved["vector_change"] = vector_changes(before.final[0], after.final).mean(axis=-1)
    if before.losses is not None and after.losses is not None:
        moved["loss_change_nats"] = (after.losses - before.losses).mean(axis=-1)
    return [{name: float(x[item]) for name, x in moved.items()} for item in range(len(after.final))]


def _tokens(model: Model, ids: Ids, before: _Outcome, after: _Outcome) -> tuple[TokenEffect, ...]:
    pieces = model.tokenizer.pieces(ids.tolist())
    if before.logits is None:
        changes = vector_changes(before.final[0], after.final[0])
        return tuple(
            TokenEffect(at, piece, vector_change=float(change))
            for at, (piece, change) in enumerate(zip(pieces, changes, strict=True))
        )
    losses = [] if before.losses is None or after.losses is None else [before.losses[0], after.losses[0]]
    pairs = [tuple(map(float, pair)) for pair in zip(*losses, strict=True)]
    return TokenEffect(0, pieces[0]), *(
        TokenEffect(at, pieces[at], *pair) for at, pair in enumerate(pairs, start=1)
    )


def _next_tokens(model: Model, before: _Outcome, after: _Outcome) -> tuple[NextToken, ...]:
    if before.logits is None or after.logits is None:
        return ()
    odds = softmax(np.stack([before.logits[0], after.logits[0]]).astype(np.float64))  # (2, vocab_size)
    likeliest = np.argsort(-odds, axis=-1, kind="stable")[:, :N_NEXT]
    chosen = list(dict.fromkeys(likeliest.ravel().tolist()))
    pieces = model.tokenizer.pieces(chosen)
    return tuple(
        NextToken(piece, float(odds[0, i]), float(odds[1, i]))
        for piece, i in zip(pieces, chosen, strict=True)
    )


def _ids(model: Model, text: str) -> Ids:
    ids = model.tokenize(text)
    if not ids:
        raise InputError("the text is empty: give at least one word")
    return np.array(ids, np.intp)


def _instead(model: Model, mode: Mode, say: Say) -> Array:
    """Return what each head hands over when it is off, (n_layers, H, d_v)."""
    if mode not in get_args(Mode):
        raise InputError(f"mode is {mode!r}; it is 'zero' or 'mean'")
    if mode == "mean":
        return mean_outputs(model, say)
    config = model.config
    return np.zeros((config.n_layers, config.n_heads, config.d_v), np.float32)
