"""A right cache whose every part can be replaced, attention row by row, and how both are asked."""

import numpy as np
from hypothesis import strategies as st

from riverhead.checking.rules.adapting.cache import cache as adapt
from riverhead.checking.rules.adapting.signature import Asked
from riverhead.checking.rules.draw import Draw, Sizes
from riverhead.checking.rules.running.subject import Direct
from riverhead.checking.rules.studies.cache import CACHE_STUDIES
from riverhead.checking.rules.trial import Trial

sizes = st.permutations([2, 3, 4, 5]).map(lambda n: Sizes(B=n[0], H=n[1], d_k=n[2]))
seeds = st.integers(0, 10_000)


def asked(thing, sizes=None, seed=0, expect=None, **arguments):
    trial = Trial(Direct(adapt(thing, Asked(arguments=arguments))), Draw(sizes, seed), expect or {})
    trial.run(CACHE_STUDIES)
    return trial.report()


def agreed(report):
    return {each.aspect: each.name for each in report.conventions}


def attend(q, k, v, causal=True):
    """One query after another: each sees the keys up to its own, the last query the last key."""
    out = np.zeros((*q.shape[:-1], v.shape[-1]))
    for t in range(q.shape[-2]):
        seen = k.shape[-2] - (q.shape[-2] - 1 - t if causal else 0)
        scores = (q[..., t, None, :] * k[..., :seen, :]).sum(-1) / np.sqrt(q.shape[-1])
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        out[..., t, :] = (weights[..., None] * v[..., :seen, :]).sum(-2) / weights.sum(-1)[..., None]
    return out


def join(*parts, axis=-2):
    return np.concatenate(parts, axis)


class Cache:
    """Right: grows by what comes, and gives all of it."""

    def __init__(self):
        self.k = self.v = None

    def update(self, k, v):
        first = self.k is None
        self.k, self.v = (k, v) if first else (self.more(self.k, k), self.more_v(self.v, v))
        return self.given(k, v)

    def more(self, old, new):
        return join(old, new)

    def more_v(self, old, new):
        return self.more(old, new)

    def given(self, k, v):
        return self.k, self.v


class Room:
    """Slots made beforehand; gives the ones that were written."""

    def __init__(self, batch_size, n_heads, max_len, head_dim):
        self.k, self.v = np.zeros((2, batch_size, n_heads, max_len, head_dim))
        self.n = 0

    def update(self, k, v):
        T = k.shape[-2]
        self.k[..., self.n : self.n + T, :], self.v[..., self.n : self.n + T, :] = k, v
        self.n += T
        return self.given()

    def given(self):
        return self.k[..., : self.n, :], self.v[..., : self.n, :]
