"""Functions of NumPy whose parameters have the house's names, and what is right in them."""

import inspect

import numpy as np
from hypothesis import strategies as st

from riverhead.checking.rules.call import Outcome
from riverhead.checking.rules.draw import Draw, Sizes
from riverhead.checking.rules.judge import differ
from riverhead.checking.rules.pipeline import follow
from riverhead.checking.rules.running.subject import Direct
from riverhead.checking.rules.trial import Trial

FORMS = {
    "boolean": lambda mask: mask,
    "number": lambda mask: mask.astype(int),
    "added": lambda mask: np.where(mask, 0.0, -np.inf),
    "drop": lambda mask: ~mask,
}


class ByName:
    """Hands a call over as it is; offers what the function has parameters for."""

    name, kind, notes = "f", "attention", ()

    def __init__(self, f, *offers):
        self.f = f
        self.takes = set(inspect.signature(f).parameters)
        usual = {"cross", "batch", "heads", "d_v", "float32"}
        self.offers = frozenset({*usual, *offers, *(self.takes - {"q", "k", "v"})})

    def run(self, call):
        form = FORMS[call.options.get("mask_form", "boolean")]
        given = {name: form(x) if "mask" in name else x.astype(call.dtype) for name, x in call.arrays.items()}
        options = {name: x for name, x in call.options.items() if name in self.takes}
        out = self.f(**given, **options)
        return Outcome({"out": np.asarray(out)}, {"dtype": str(np.asarray(out).dtype)})


def asked(f, studies, *offers, sizes=None, seed=0, **trial):
    """Ask a function some studies."""
    trial = Trial(Direct(ByName(f, *offers)), Draw(sizes, seed), **trial)
    trial.run(studies)
    return trial.report()


def sized(order):
    """Sizes that all differ, from a permutation of the numbers 2 to 7: enough keys to hide some."""
    long = max(order[:2]) + 1
    return Sizes(B=3, H=2, T_q=min(order[:2]), T_k=long, d_k=order[2], d_v=order[3] + 1)


sizes = st.permutations([2, 3, 4, 5, 6, 7]).map(sized).filter(lambda s: len({s.d_k, s.d_v, s.T_k}) == 3)


def told(calls, choices):
    """What these choices give for every call; None where axes do not fit."""
    found = []
    for call in calls:
        try:
            found.append(follow(call, choices).out)
        except ValueError:
            found.append(None)
    return found


def apart(one, other):
    """Whether two rows of results differ somewhere, by far more than rounding."""
    return any(_apart(a, b) for a, b in zip(one, other, strict=True))


def _apart(a, b):
    if a is None or b is None:
        return (a is None) != (b is None)
    return a.shape != b.shape or differ(a, b, 1e-11) is not None  # 1e-9 for −1e9 is to be told from 0


def scaled(q, k, scale=None):
    return q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)


def soft(x):
    """A softmax as it is: 0/0 = NaN where a row is −∞ throughout."""
    with np.errstate(all="ignore"):
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)


def hidden(scores, seen):
    """A softmax that is 0 where hidden, and in rows that see nothing."""
    scores = np.where(seen, scores, -np.inf)
    peak = scores.max(-1, keepdims=True)
    e = np.exp(scores - np.where(np.isneginf(peak), 0, peak))
    total = e.sum(-1, keepdims=True)
    return e / np.where(total == 0, 1, total)


def mix(weights, v):
    """``weights @ v`` in which what has no weight adds nothing, NaN and ∞ neither."""
    if np.isfinite(v).all():
        return weights @ v
    terms = np.where(
        weights[..., None] == 0,
        0,
        weights[..., None] * np.where(weights[..., None] == 0, 0, v[..., None, :, :]),
    )
    return terms.sum(-2)


def behind(scores, align="end"):
    T_q, T_k = scores.shape[-2:]
    start = T_k - T_q if align == "end" else 0
    return np.arange(start, start + T_q)[:, None] - np.arange(T_k)


def of_keys(key_mask, scores):
    """A padding mask (B, T_k) beside scores (B, …, T_q, T_k)."""
    return key_mask if scores.ndim < 3 else key_mask.reshape(len(key_mask), *[1] * (scores.ndim - 2), -1)


def masked(weights):
    """A function whose weights a mask (..., T_q, T_k) changes: weights(scores, mask)."""

    def f(q, k, v, mask=None):
        scores = scaled(q, k)
        return mix(soft(scores) if mask is None else weights(scores, mask), v)

    return f


def padding(weights):
    """The same with a padding mask, laid out beside the scores."""

    def f(q, k, v, key_mask=None):
        scores = scaled(q, k)
        return mix(soft(scores) if key_mask is None else weights(scores, of_keys(key_mask, scores)), v)

    return f
