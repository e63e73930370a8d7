"""Positions of RoPE: after a cache, in any order, along the right axis, far into a text, in every dtype."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.call import Call, Outcome
from riverhead.checking.rules.judge import differ
from riverhead.checking.rules.pipeline import follow
from riverhead.checking.rules.report import Agreed, NotOffered
from riverhead.checking.rules.rule import Choice
from riverhead.checking.rules.studies.rope_form import PAIR, Form
from riverhead.checking.rules.studies.rotation import BITS, COUNTED, KEPT, ROPE
from riverhead.checking.rules.studies.turning import CARRIED, Turning, stacked
from riverhead.checking.rules.trial import Observed, Study, Trial

__all__ = ["FAR", "HEADS", "OFFSET", "POSITIONS", "PRECISION"]

CACHED = 5  # tokens before the ones that are turned
ORDER = (4, 0, 9, 2)  # positions, as they are given
WITHIN = 64 * CARRIED  # times the largest number


def drawn(trial: Trial, form: Form, T: int, name: str = "x") -> dict[str, NDArray[Any]]:
    """Vectors at T positions; k as q where both are taken."""
    x = trial.draw.numbers(name, *form.shape(trial, T))
    return {"x": x, "y": x} if PAIR in trial.subject.offers else {"x": x}


def taken(form: Form, arrays: dict[str, NDArray[Any]], places: Sequence[int]) -> dict[str, NDArray[Any]]:
    """The vectors at these places."""
    return {name: form.rows(x, places) for name, x in arrays.items()}


def same(found: NDArray[Any], right: NDArray[Any]) -> bool:
    """Whether two results are one."""
    return found.shape == right.shape and differ(found, right, WITHIN * np.abs(right).max()) is None


def shown(found: NDArray[Any], right: NDArray[Any], within: float | None = None) -> dict[str, Any]:
    """The first cell that differs, as a failure takes it."""
    if found.shape != right.shape:
        return {"detail": f"vectors {right.shape} come back as {found.shape}"}
    cell = differ(found, right, WITHIN * np.abs(right).max() if within is None else within)
    return {} if cell is None else {"cell": cell, "found": float(found[cell]), "right": float(right[cell])}


# ---------------------------------------------------------------- after a cache, and in any order


def offset_calls(trial: Trial) -> Sequence[Call]:
    """The same vectors at position 0 first, so that a table kept by length shows; then after a cache."""
    form: Form = trial.facts["form"]
    places = range(CACHED, CACHED + 4)
    whole = drawn(trial, form, form.length)
    few = taken(form, whole, places)
    return [Call(few, form.options), Call(few, {**form.options, "offset": CACHED}), Call(whole, form.options)]


def positions_calls(trial: Trial) -> Sequence[Call]:
    """As after a cache, but the positions are given, out of order."""
    form: Form = trial.facts["form"]
    whole = drawn(trial, form, form.length)
    few = taken(form, whole, ORDER)
    starts = [0, ORDER[0]] if "offset" in trial.subject.offers else [0]
    return [
        *(Call(few, {**form.options, "offset": start}) for start in starts),
        Call(few, {**form.options, "positions": list(ORDER)}),
        Call(whole, form.options),
    ]


IGNORES_OFFSET = Choice("rope-ignores-offset", "rope-offset",
                        "the tokens are turned as if none were in the cache")  # fmt: skip
IGNORES_POSITIONS = Choice("rope-ignores-positions", "rope-positions",
                           "the rows are turned by their own order, not by the positions given")  # fmt: skip


def placed(places: Sequence[int], way: Choice) -> Any:
    """Judge that vectors at ``places`` are turned as they are in the whole text."""

    def judge(trial: Trial, study: Study, observed: Observed) -> None:
        *counted, (call, outcome), (_, whole) = observed
        trouble = next((each.trouble for _, each in observed if each.trouble), "")
        if trouble:
            return trial.fail(way.rule, call, detail=trouble)
        form: Form = trial.facts["form"]
        found, right = np.asarray(outcome.out, float), form.rows(np.asarray(whole.out, float), places)
        if same(found, right):
            return trial.pass_(way.rule)
        known = any(same(found, np.asarray(each.out, float)) for _, each in counted)
        named = {"mistake": way.id, "did": way.says} if known else {}
        return trial.fail(way.rule, call, **named, **shown(found, right))

    return judge


OFFSET = Study("rope-offset", offset_calls, (IGNORES_OFFSET,),
               judge=placed(range(CACHED, CACHED + 4), IGNORES_OFFSET))  # fmt: skip
POSITIONS = Study("rope-positions", positions_calls, (IGNORES_POSITIONS,),
                  judge=placed(ORDER, IGNORES_POSITIONS))  # fmt: skip


# ---------------------------------------------------------------- the axis of the tokens


def heads_calls(trial: Trial) -> Sequence[Call]:
    """Heads before tokens, tokens before heads, and as many heads as tokens."""
    form: Form = trial.facts["form"]
    if form.vectors:
        trial.not_offered.append(NotOffered("rope-heads", "takes one vector"))
        return []
    fits = form.leading == ("B", "H") and not form.square
    forms = [form] if fits else [
        replace(form, leading=("B", "H"), tokens_first=first, square=square)
        for first, square in ((False, False), (True, False), (False, True))
    ]  # fmt: skip
    return [Call(drawn(trial, each, each.length), each.options) for each in forms]


BY_HEADS = Choice("rope-by-heads-axis", "rope-heads",
                  "the number of tokens is read from the axis of the heads")  # fmt: skip


def judge_heads(trial: Trial, study: Study, observed: Observed) -> None:
    """Each vector is turned by the matrix of its token, in whichever layout; a need for H = T is told."""
    R = trial.facts["R"]  # (T, d, d)

    def right(call: Call, outcome: Outcome) -> bool:
        return not outcome.trouble and same(
            np.asarray(outcome.out, float), (R @ call.arrays["x"][..., None])[..., 0]
        )

    fits = [right(*each) for each in observed]
    call, outcome = observed[0]
    if not any(fits):
        if outcome.error:
            return trial.not_offered.append(NotOffered("rope-heads", outcome.error))
        expected = (R @ call.arrays["x"][..., None])[..., 0]
        return trial.fail("rope-heads", call, **shown(np.asarray(outcome.out, float), expected))
    chosen = observed[fits.index(True)][0]
    if chosen.arrays["x"].shape[-3] == chosen.arrays["x"].shape[-2]:
        return trial.fail("rope-heads", call, mistake=BY_HEADS.id, did=BY_HEADS.says, detail=outcome.trouble)
    first = bool(chosen.options.get("tokens_first"))
    agreed = LAYOUTS[first]
    if not trial.wanted("layout", agreed.name):
        did = "positions are counted along the axis of the heads"
        named = {"mistake": BY_HEADS.id, "did": did} if first else {}
        detail = f"layout is {agreed.name}; {trial.expect['layout']} was asked for"
        return trial.fail("rope-heads", call, **named, detail=detail)
    trial.agree(agreed)
    trial.pass_("rope-heads")
    return None


LAYOUTS = (
    Agreed("layout", "BHTd", "heads stand before tokens"),
    Agreed("layout", "BTHd", "tokens stand before heads"),
)
HEADS = Study("rope-heads", heads_calls, (BY_HEADS,), LAYOUTS, judge_heads)


# ---------------------------------------------------------------- precision

# (first position, tokens): where bfloat16 and float16 lose whole numbers
RUNS = ((250, 20), (1850, 11), (2046, 8))
ROUNDINGS = 16  # of a number of the dtype, and of the cosine and sine beside it
PRECISE = ("rope-counts", "rope-angles", "rope-speeds-kept")


def precision_calls(trial: Trial) -> Sequence[Call]:
    """Far positions in every dtype that is offered; as one long text where no offset is taken."""
    if "angles" not in trial.subject.offers:
        trial.not_offered += [NotOffered(id, "is given its angles") for id in PRECISE if not trial.said(id)]
        return []
    form: Form = trial.facts["form"]
    last, n = RUNS[-1]
    runs = RUNS if "offset" in trial.subject.offers else ((0, last + n),)
    dtypes = [dtype for dtype in ("float64", "float32", *BITS) if dtype in {"float64", *trial.subject.offers}]
    return [
        Call(drawn(trial, form, T), {**form.options, "offset": first}, dtype)
        for dtype in dtypes
        for first, T in ([(0, form.length)] if form.square else runs)
    ]


def judge_precision(trial: Trial, study: Study, observed: Observed) -> None:
    """Name what is kept in too few bits, in whichever dtype that shows first."""
    asked = [id for id in PRECISE if not trial.said(id)]
    exact = [each for each in observed if each[0].dtype == "float64"]
    trouble = next((outcome.trouble for _, outcome in exact if outcome.trouble), "")
    if trouble:
        _kept(trial, observed[0][0])
        trial.not_offered += [NotOffered(id, trouble) for id in asked if not trial.broke(id)]
        return
    turning: Turning | None = trial.facts["turning"]
    named: tuple[Choice, ...] = ()
    own = {call.options["offset"]: np.asarray(outcome.out, float) for call, outcome in exact}
    for dtype in dict.fromkeys(call.dtype for call, _ in observed):
        cases = [each for each in observed if each[0].dtype == dtype and not each[1].trouble]
        wrong = next(_apart(cases, turning, ()) if turning else _unlike(cases, own), None)
        if wrong is None or (named and turning and next(_apart(cases, turning, named), None) is None):
            continue  # right, or wrong as it was in the dtype before
        call, found, right = wrong
        where = {**shown(found, right, _within(call, right)), "detail": f"in {dtype}"}
        named = ways = _rounded_ways(cases, turning) if turning else ()
        for way in ways:
            trial.fail(way.rule, call, mistake=way.id, did=way.says, **where)
        if not ways:
            trial.fail("rope-angles", call, **where)
    if not any(trial.broke(id) for id in PRECISE):
        _kept(trial, observed[0][0])
    trial.pass_(*asked)


def _kept(trial: Trial, call: Call) -> None:
    """Say what was seen near the start already."""
    for way in trial.facts["kept"]:
        trial.fail(way.rule, call, mistake=way.id, did=way.says, **trial.facts["kept-shown"])


Apart = Iterator[tuple[Call, NDArray[Any], NDArray[Any]]]


def _unlike(cases: Observed, own: dict[int, NDArray[Any]]) -> Apart:
    """Calls whose results are not the function's own in float64, where what it does is not known."""
    for call, outcome in cases:
        found, right = np.asarray(outcome.out, float), own[call.options["offset"]]
        if differ(found, right, _within(call, right)) is not None:
            yield call, found, right


def _within(call: Call, right: NDArray[Any]) -> float:
    """How far a right result may lie, for its dtype and how far into the text it is."""
    last = call.options["offset"] + right.shape[-2]
    return float(np.abs(right).max() * (ROUNDINGS * 2.0 ** -BITS.get(call.dtype, 24) + CARRIED * last))


def _rounded_ways(cases: Observed, turning: Turning) -> tuple[Choice, ...]:
    """The fewest numbers kept in one narrow dtype that give what was found; none where nothing does."""
    ways = (*COUNTED, *KEPT)
    sets = [some for n in (1, 2, 3) for dtype in BITS
            for some in combinations([way for way in ways if way.id.endswith(f"-{dtype}")], n)]  # fmt: skip
    return next((some for some in sets if next(_apart(cases, turning, some), None) is None), ())


def _apart(cases: Observed, turning: Turning, ways: Sequence[Choice]) -> Apart:
    """Calls whose results are not what these ways give, with both."""
    for call, outcome in cases:
        given, got = stacked(call, outcome)
        right = follow(turning.call(given), [*turning.ways, *ways], ROPE).out
        if differ(got.out, right, _within(call, right)) is not None:
            yield call, np.asarray(got.out, float), right


PRECISION = Study("rope-precision", precision_calls, tuple(COUNTED), judge=judge_precision)


# ---------------------------------------------------------------- far into a text

DISTANT = 100_000  # position of the first token
PHASE = 4 * 2.0**-24  # relative: an angle's rounding in float32, of a query's and a key's


def far_calls(trial: Trial) -> Sequence[Call]:
    """The same vectors in float32, at the start and far on."""
    form: Form = trial.facts["form"]
    few = drawn(trial, form, 4)
    return [Call(few, {**form.options, "offset": first}, "float32") for first in (0, DISTANT)]


def judge_far(trial: Trial, study: Study, observed: Observed) -> None:
    """Compare every q·k of the two."""
    (_, near), (call, far) = observed
    if far.error or near.error:
        return trial.not_offered.append(NotOffered("rope-far", far.error or near.error))
    found, right = (np.asarray(each.out, float)[..., :, :] for each in (far, near))
    dots = [x @ x.swapaxes(-1, -2) for x in (found, right)]  # (..., T, T)
    lengths = np.linalg.norm(right, axis=-1).max()
    cell = differ(dots[0], dots[1], PHASE * DISTANT * lengths**2)
    if cell is None:
        return trial.pass_("rope-far")
    numbers = {"found": float(dots[0][cell]), "right": float(dots[1][cell])}
    detail = (
        f"q at {DISTANT + cell[-2]}, k at {DISTANT + cell[-1]}; right is q·k at {cell[-2]} and {cell[-1]}"
    )
    return trial.fail("rope-far", call, cell=cell, array="q·k", **numbers, detail=detail)


FAR = Study("rope-far", far_calls, judge=judge_far)
