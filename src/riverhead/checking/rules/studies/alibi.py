"""ALiBi: the slope of each head, and a bias that falls with distance, however it is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.call import Call, Outcome
from riverhead.checking.rules.judge import differ, explain
from riverhead.checking.rules.pipeline import follow
from riverhead.checking.rules.report import Agreed, NotOffered
from riverhead.checking.rules.rule import Change, Choice
from riverhead.checking.rules.trial import Observed, Study, Trial

__all__ = ["ALIBI_STUDIES", "BIAS", "BIAS_WAYS", "SLOPES", "SLOPE_WAYS"]

HEADS = (8, 6, 12, 20)  # a power of two, and counts between two of them
WITHIN = 1e-5  # relative: slopes and biases may be float32's
USUAL_STEEPEST = 8.0  # the first of 2^m slopes is 2^(−8/H), the last 2^−8
HIDDEN = -1e4  # a bias below this hides a key


def powers(n: int, p: SimpleNamespace, first: int = 1) -> NDArray[Any]:
    """2^(−8/n), 2^(−16/n), …, or whatever number stands for 8."""
    found: NDArray[Any] = 2.0 ** (-p.steepest / n * np.arange(first, n + first))
    return found


def published(p: SimpleNamespace, first: int = 1) -> NDArray[Any]:  # (H,)
    """The slopes of the code published with the paper."""
    return np.concatenate([powers(p.below, p, first), powers(2 * p.below, p, first)[::2]])[: p.n_heads]


SLOPES: Mapping[str, Change] = {
    "below": lambda p: 1 << (p.n_heads.bit_length() - 1),  # the power of two
    "out": published,  # (H,)
}
SLOPE_WAYS = (
    Choice("alibi-plain-geometric", "alibi-slopes-between",
           "one geometric row is taken, 2^(−8h/H), also where H is no power of two",
           {"out": lambda p: powers(p.n_heads, p)}),
    Choice("alibi-next-power", "alibi-slopes-between",
           "the slopes of the power of two above are taken, the last ones left out",
           {"out": lambda p: powers(p.n_heads if p.n_heads == p.below else 2 * p.below, p)[: p.n_heads]}),
    Choice("alibi-other-half", "alibi-slopes-between",
           "the slopes between are the even ones of the power above: known already",
           {"out": lambda p: np.r_[powers(p.below, p), powers(2 * p.below, p)[1::2]][: p.n_heads]}),
    Choice("alibi-sorted", "alibi-slopes-between", "the slopes are sorted, so that heads get one another's",
           {"out+": lambda p: np.sort(p.out)[::-1]}),
    Choice("alibi-between-first", "alibi-slopes-between", "the slopes between come first",
           {"out": lambda p: np.r_[powers(2 * p.below, p)[::2][: p.n_heads - p.below], powers(p.below, p)]}),
    Choice("alibi-first-slope-one", "alibi-slopes", "heads are counted from 0: the first slope is 2^0 = 1",
           {"out": lambda p: published(p, 0)}),
    Choice("alibi-plain-from-one", "alibi-slopes",
           "one geometric row is taken from 2^0 = 1 on, 2^(−8h/H) with h from 0",
           {"out": lambda p: powers(p.n_heads, p, 0)}),
    Choice("alibi-halves", "alibi-slopes",
           "each slope is half of the one before, however many heads there are",
           {"out": lambda p: 2.0 ** -np.arange(1, p.n_heads + 1)}),
    Choice("alibi-base-e", "alibi-slopes", "powers of e are taken, not of 2",
           {"out+": lambda p: np.exp(np.log2(p.out))}),
    Choice("alibi-linear-slopes", "alibi-slopes", "slopes are h/H: evenly spread, not a geometric row",
           {"out": lambda p: np.arange(1, p.n_heads + 1) / p.n_heads}),
    Choice("alibi-inverse-slopes", "alibi-slopes", "slopes are 2^(8h/H): above 1",
           {"out+": lambda p: 1 / p.out}),
    Choice("alibi-reversed", "alibi-slopes", "the last head falls the steepest",
           {"out+": lambda p: p.out[::-1]}),
    Choice("alibi-heads-alike", "alibi-slopes", "every head has the slope 1",
           {"out": lambda p: np.ones(p.n_heads)}),
)  # fmt: skip


def slopes_of(outcome: Outcome) -> NDArray[Any]:
    """How much each head's bias falls from a query's own key to the one before it: (H,)."""
    out = np.asarray(outcome.out, float)
    if out.ndim == 1:
        return out
    back, ahead = np.abs(out[:, -1, -1] - out[:, -1, -2]), np.abs(out[:, 0, 1] - out[:, 0, 0])
    over = not back.any() and np.isfinite(ahead).all()  # the matrix may be turned over
    return np.asarray(ahead if over else back)


def slope_calls(trial: Trial) -> Sequence[Call]:
    """Counts of heads that are powers of two, and that are none."""
    T = trial.draw.sizes.T_k
    heads = dict.fromkeys((*HEADS, trial.draw.sizes.H))
    return [Call({}, {"n_heads": n, "T_q": T, "T_k": T, "steepest": USUAL_STEEPEST}) for n in heads]


def judge_slopes(trial: Trial, study: Study, observed: Observed) -> None:
    """Name the row that the slopes make."""
    for call, outcome in observed:
        wrong = outcome.trouble or _unfit(call, outcome)
        if wrong:
            trial.fail("alibi-slopes", call, detail=wrong)
            return trial.not_judged.append(NotOffered("alibi-slopes-between", "follows from alibi-slopes"))
    got = [(call, replace(outcome, arrays={"out": slopes_of(outcome)})) for call, outcome in observed]
    trial.facts["slopes"] = {call.options["n_heads"]: outcome.out for call, outcome in got}
    found, steepest = None, USUAL_STEEPEST
    for steepest in (USUAL_STEEPEST, *_steepest(got[0][1].out)):
        tried = [(Call({}, {**call.options, "steepest": steepest}), outcome) for call, outcome in got]
        found = explain(tried, [LOOSE], SLOPE_WAYS, SLOPES)
        if found is not None:
            break
    call, shown = next(
        ((call, cell) for call, outcome in got if (cell := _cell(call, outcome))), (got[0][0], {})
    )
    for way in found or ():
        trial.fail(way.rule, call, mistake=way.id, did=way.says, **shown)
    if found is None:
        trial.fail("alibi-slopes" if _cell(*got[0]) else "alibi-slopes-between", call, **shown)
    elif steepest != USUAL_STEEPEST:
        says = f"slopes are powers of 2^(−{steepest:g}/H), not 2^(−8/H)"
        trial.agree(Agreed("alibi-steepest", f"{steepest:g}", says))
    if trial.broke("alibi-slopes"):
        trial.not_judged.append(NotOffered("alibi-slopes-between", "follows from alibi-slopes"))
    trial.pass_("alibi-slopes", "alibi-slopes-between")
    return None


LOOSE = Choice("float32", "", "", loose=WITHIN)


def _steepest(slopes: NDArray[Any]) -> Iterator[float]:
    """What stands for 8, read from the first slope."""
    if 0 < slopes[0] < 1:
        read = float(-np.log2(slopes[0]) * len(slopes))
        if abs(read - USUAL_STEEPEST) > WITHIN:
            yield float(f"{read:.6g}")


def _unfit(call: Call, outcome: Outcome) -> str:
    """Why the shape of a result is that of no slopes and no bias."""
    n, T_q, T_k = (call.options[name] for name in ("n_heads", "T_q", "T_k"))
    if outcome.out.shape in ((n,), (n, T_q, T_k)):
        return ""
    return f"{n} heads gave {outcome.out.shape}; slopes ({n},) or a bias ({n}, {T_q}, {T_k}) were expected"


def _cell(call: Call, outcome: Outcome, ways: Sequence[Choice] = ()) -> dict[str, Any]:
    right = follow(call, ways, SLOPES).out
    cell = differ(outcome.out, right, WITHIN)
    if cell is None:
        return {}
    n = call.options["n_heads"]
    return {"cell": cell, "array": "slopes", "found": float(outcome.out[cell]), "right": float(right[cell]),
            "detail": f"{n} heads, whose slopes are {', '.join(map(_fraction, right))}"}  # fmt: skip


def _fraction(slope: float) -> str:
    """A slope as 1/n where it is one.

    >>> _fraction(0.25), _fraction(2**-0.5)
    ('1/4', '0.7071')
    """
    n = 1 / slope
    return f"1/{n:.0f}" if abs(n - round(n)) < WITHIN * n and round(n) > 1 else f"{slope:.4g}"


# ---------------------------------------------------------------- the bias


BIAS: Mapping[str, Change] = {
    "i": lambda p: (
        p.T_k - p.T_q + np.arange(p.T_q)[:, None]
    ),  # (T_q, 1): the last query stands at the last key
    "j": lambda p: np.arange(p.T_k),  # (T_k,)
    "distance": lambda p: p.i - p.j,  # (T_q, T_k)
    "bias": lambda p: -p.slopes[:, None, None] * np.broadcast_to(p.distance, (p.T_q, p.T_k)),  # (H, T_q, T_k)
    "seen": lambda p: p.j <= p.T_k - p.T_q + np.arange(p.T_q)[:, None],  # (T_q, T_k): by a causal query
    "out": lambda p: np.where(p.seen, p.bias, 0),
}
BIAS_WAYS = (
    Choice("alibi-key-position", "alibi-distance",
           "each row is slope times the key's own position: the same up to a constant",
           {"distance": lambda p: -p.j}, ("alibi-form", "key-position")),
    Choice("alibi-from-last", "alibi-distance",
           "each row counts from the last key: the same up to a constant",
           {"distance": lambda p: p.T_k - 1 - p.j}, ("alibi-form", "from-last-key")),
    Choice("alibi-sign", "alibi-distance", "the bias grows with distance: far keys get more weight",
           {"bias+": lambda p: -p.bias}),
    Choice("alibi-distance-from-start", "alibi-distance",
           "the distance is counted from the start of the text: −slope times the key's position",
           {"distance": lambda p: p.j}),
    Choice("alibi-distance-from-last-upwards", "alibi-distance",
           "a key gets slope times its distance from the last one",
           {"distance": lambda p: p.j - (p.T_k - 1)}),
    Choice("alibi-future-only", "alibi-distance",
           "only keys after the query get a bias: the matrix is turned over",
           {"bias": lambda p: np.zeros((len(p.slopes), p.T_q, p.T_k))}),
    Choice("alibi-squared", "alibi-distance", "the distance is squared",
           {"distance+": lambda p: np.sign(p.distance) * p.distance**2}),
    Choice("alibi-constant", "alibi-distance", "every key before the query gets −slope, however far it is",
           {"distance+": lambda p: np.sign(p.distance)}),
    Choice("alibi-logarithm", "alibi-distance", "the logarithm of the distance is taken",
           {"distance+": lambda p: np.sign(p.distance) * np.log1p(np.abs(p.distance)) / np.log(2)}),
)  # fmt: skip
ROW_CONSTANT = Choice("alibi-row-constant", "alibi-distance", "each row has a constant of its own added",
                      {}, ("alibi-form", "row-constant"))  # fmt: skip
FOLDS: Mapping[str, Change] = {  # what is done with keys that stand after the query
    "rising": lambda p: p.distance,
    "symmetric": lambda p: np.abs(p.distance),
    "zero": lambda p: np.maximum(p.distance, 0),
    "hidden": lambda p: np.where(p.distance < 0, np.inf, p.distance),
}
FROM_START = tuple(
    Choice("alibi-from-start", "alibi-cross", "query 0 stands at key 0, though the last ones belong together",
           {"i": lambda p: np.arange(p.T_q)[:, None], "distance+": fold}, ("alibi-align", "start"))
    for fold in FOLDS.values()
)  # fmt: skip
OF_QUERIES = Choice("alibi-of-one-length", "alibi-cross",
                    "distance is counted as if the queries were all keys there are",
                    {"distance": lambda p: np.arange(p.T_q)[:, None] - p.j})  # fmt: skip
FUTURES = {
    "hidden": "keys after the query are hidden",
    "symmetric": "keys after the query fall with distance, too",
    "zero": "keys after the query get no bias: a causal mask must hide them",
    "rising": "keys after the query get more: a causal mask must hide them",
    "other": "keys after the query get another bias: a causal mask must hide them",
}
USUAL = (
    *(Agreed("alibi-future", name, says) for name, says in FUTURES.items()),
    Agreed("alibi-form", "distance", "each row is −slope times the distance itself"),
)
AT_END = Agreed("alibi-align", "end", "the last query stands at the last key")


def bias_calls(trial: Trial) -> Sequence[Call]:
    """As many queries as keys."""
    if "bias" not in trial.subject.offers:
        trial.not_offered.append(NotOffered("alibi-distance", "gives slopes, no bias"))
        return []
    T = trial.draw.sizes.T_k
    return [
        Call({}, {"n_heads": 8, "T_q": T, "T_k": T}),
        Call({}, {"n_heads": 8, "T_q": T + 2, "T_k": T + 2}),
    ]


def cross_calls(trial: Trial) -> Sequence[Call]:
    """Fewer queries than keys."""
    if "cross" not in trial.subject.offers:
        why = "takes one length" if "bias" in trial.subject.offers else "gives slopes, no bias"
        trial.not_offered.append(NotOffered("alibi-cross", why))
        return []
    s = trial.draw.sizes
    T_q = min(s.T_q, s.T_k - 1) or 1
    return [
        Call({}, {"n_heads": 8, "T_q": T_q, "T_k": s.T_k}),
        Call({}, {"n_heads": 8, "T_q": 1, "T_k": s.T_k + 2}),
    ]


def seen_of(call: Call, outcome: Outcome, slopes: NDArray[Any]) -> tuple[Call, Outcome]:
    """What a causal query sees of a bias, and the slopes that it is made of."""
    T_q, T_k = call.options["T_q"], call.options["T_k"]
    visible = np.arange(T_k) <= T_k - T_q + np.arange(T_q)[:, None]
    out = np.where(visible, np.asarray(outcome.out, float), 0)
    return Call({"slopes": slopes}, call.options), replace(outcome, arrays={"out": out})


def judge_bias(rule: str, ways: Sequence[Choice]) -> Any:
    """Judge a bias by what it is on the keys that a causal query sees; else up to a constant in each row."""

    def judge(trial: Trial, study: Study, observed: Observed) -> None:
        for call, outcome in observed:
            if wrong := outcome.trouble or _unfit(call, outcome):
                return trial.fail(rule, call, detail=wrong)
        seen = [seen_of(call, outcome, trial.facts["slopes"][8]) for call, outcome in observed]
        found = explain(seen, [LOOSE, *trial.known], ways, BIAS)
        if found is None and all(_level(call, outcome) for call, outcome in seen):
            found = (ROW_CONSTANT,)
        cells = ((call, cell) for call, outcome in seen if (cell := _bias_cell(call, outcome)))
        call, shown = next(cells, (seen[0][0], {}))
        for way in found or ():
            if way.agreed and trial.wanted(*way.agreed):
                trial.agree(Agreed(*way.agreed, way.says))
                trial.known.append(way)
            else:
                trial.fail(rule, Call({}, call.options), mistake=way.id, did=way.says, **shown)
        if found is None:
            trial.fail(rule, Call({}, call.options), **shown)
        if rule == "alibi-cross" and found == () and not trial.known:
            trial.agree(AT_END)
        if rule == "alibi-distance" and not trial.broke(rule):
            _future(trial, *observed[0])
        return trial.pass_(rule)

    return judge


def _level(call: Call, outcome: Outcome) -> bool:
    """Whether a bias is right up to a constant in each row."""
    p = follow(call, (), BIAS)
    own = np.take_along_axis(outcome.out, np.broadcast_to(p.i, (len(p.slopes), p.T_q, 1)), axis=-1)
    return (
        differ(np.where(p.seen, outcome.out - own, 0), p.out, WITHIN * max(1.0, float(np.abs(p.out).max())))
        is None
    )


def _bias_cell(call: Call, outcome: Outcome) -> dict[str, Any]:
    p = follow(call, (), BIAS)
    cell = differ(outcome.out, p.out, WITHIN * max(1.0, float(np.abs(p.out).max())))
    if cell is None:
        return {}
    h, row, j = cell
    i = int(p.i[row, 0])
    sum_ = f"−{_fraction(p.slopes[h])}·({i} − {j}) = {p.out[cell]:.4g}".replace("-", "−")
    return {"cell": cell, "array": "bias", "found": float(outcome.out[cell]), "right": float(p.out[cell]),
            "arithmetic": sum_}  # fmt: skip


def _future(trial: Trial, call: Call, outcome: Outcome) -> None:
    """Say what stands above the diagonal."""
    out = np.asarray(outcome.out, float)
    T = out.shape[-1]
    above = np.triu(np.ones((T, T), bool), 1)
    ahead = (np.arange(T) - np.arange(T)[:, None])[above] * trial.facts["slopes"][8][:, None]  # (H, pairs)
    found = out[:, above]
    with np.errstate(invalid="ignore"):  # −∞ less −∞, where keys are hidden
        steps = np.diff(out, axis=-1)[:, above[:, 1:]]
    same = {
        "hidden": bool((found < HIDDEN).all()),
        "zero": np.allclose(found, 0, atol=WITHIN),
        "symmetric": np.allclose(found, -ahead, rtol=WITHIN, atol=WITHIN),
        "rising": bool((steps > 0).all()),
        "other": True,
    }
    name = next(name for name, holds in same.items() if holds)
    if trial.wanted("alibi-future", name):
        trial.agree(Agreed("alibi-future", name, FUTURES[name]))
    else:
        detail = f"alibi-future is {name}; {trial.expect['alibi-future']} was asked for"
        trial.fail("alibi-distance", Call({}, call.options), detail=detail)


ALIBI_STUDIES = (
    Study("alibi-slopes", slope_calls, SLOPE_WAYS, judge=judge_slopes),
    Study("alibi", bias_calls, (*BIAS_WAYS, ROW_CONSTANT), USUAL, judge_bias("alibi-distance", BIAS_WAYS)),
    Study("alibi-cross", cross_calls, (*BIAS_WAYS, *FROM_START),
          (AT_END,), judge_bias("alibi-cross", (*FROM_START, OF_QUERIES, *BIAS_WAYS))),
)  # fmt: skip
