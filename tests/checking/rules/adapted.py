"""Functions of any form, adapted and asked some studies in this process, for tests of the rules."""

from riverhead.checking.rules.adapting import adapt
from riverhead.checking.rules.adapting.signature import Asked
from riverhead.checking.rules.draw import Draw, Sizes
from riverhead.checking.rules.running.subject import Direct
from riverhead.checking.rules.trial import Trial

__all__ = ["WAYS_OUT", "asked", "everything", "named", "sizes_of"]

WAYS_OUT = (
    "mask",
    "key_mask",
    "causal",
    "scale",
    "softcap",
    "bias",
    "sinks",
    "grouped",
    "heads",
    "batch",
    "cross",
    "d_v",
)


def asked(f, studies, *, sizes=None, seed=0, arrays=None, **trial):
    """What is said of a function by some studies."""
    trial = Trial(Direct(adapt(f, Asked("attention", arrays, {}))), Draw(sizes, seed), **trial)
    trial.run(studies)
    return trial.report()


def named(report):
    """What was found: rule and mistake of each failure."""
    return [(failure.rule, failure.mistake) for failure in report.failed]


def sizes_of(order):
    """Sizes that all differ, from a permutation of five numbers: heads in groups of two."""
    B, G, T_k, d_k, d_v = order
    return Sizes(B=B, H=2 * G, G=G, T_q=max(1, T_k - 2), T_k=T_k, d_k=d_k, d_v=d_v)


class Everything:
    """A subject that offers all there is to ask; it is never called."""

    name, kind, notes = "f", "attention", ()
    offers = frozenset(WAYS_OUT)


def everything(sizes, seed):
    """A trial whose studies give all their calls."""
    return Trial(Everything(), Draw(sizes, seed))
