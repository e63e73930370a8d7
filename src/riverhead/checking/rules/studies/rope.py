"""RoPE: lengths stay, q·k depends on the distance alone, whatever makes a pair and whatever the base."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.call import Call, Outcome
from riverhead.checking.rules.judge import differ
from riverhead.checking.rules.report import Agreed, NotOffered
from riverhead.checking.rules.studies.rope_form import PAIR, Form, form_of
from riverhead.checking.rules.studies.rope_places import FAR, HEADS, OFFSET, POSITIONS, PRECISION
from riverhead.checking.rules.studies.rotation import BASE, KEPT, WAYS
from riverhead.checking.rules.studies.turning import CARRIED, Turning, cell_of, matrices, stacked, turning_of
from riverhead.checking.rules.trial import Observed, Study, Trial

__all__ = ["ROPE_STUDIES"]

FEWER = 4  # tokens of the shorter call
NEAR, FAR_APART = (3, 1), (8, 6)  # places of a query and a key, two apart
WITHIN = 64 * CARRIED  # of an entry of a rotation, or of a product of two
OWN_ANGLES = ("rope-speeds", "rope-place")  # asked only where the function makes its angles itself

Shown = Mapping[str, Any]


def calls(trial: Trial) -> Sequence[Call]:
    """Vectors drawn, their first few alone, and every unit vector at every position."""
    form: Form = form_of(trial)
    trial.facts["form"] = form
    names = "xy" if PAIR in trial.subject.offers else "x"
    whole = {name: trial.draw.numbers(name, *form.shape(trial, form.length)) for name in names}
    few = {name: form.rows(x, range(FEWER)) for name, x in whole.items()}
    units = [
        {name: np.broadcast_to(unit, x.shape) for name, x in whole.items()} for unit in np.eye(form.width)
    ]
    return [Call(arrays, form.options) for arrays in (whole, few, *units)]


def judge(trial: Trial, study: Study, observed: Observed) -> None:
    """Judge by the laws of a rotation; name what breaks them where a known way gives just these numbers."""
    asked = [rule.id for rule in trial.rules_of(study) if not trial.said(rule.id)]
    if "angles" not in trial.subject.offers:
        trial.not_offered += [NotOffered(id, "is given its angles") for id in asked if id in OWN_ANGLES]
        asked = [id for id in asked if id not in OWN_ANGLES]
    for call, outcome in observed:
        if trouble := _trouble(call, outcome):
            trial.fail(asked[0], call, detail=trouble)
            trial.not_judged += [NotOffered(id, f"follows from {asked[0]}") for id in asked[1:]]
            return
    both = [stacked(*each) for each in observed]
    R = matrices([outcome for _, outcome in both[2:]])  # (2?, ..., T, d, d)
    pair = PAIR in trial.subject.offers
    sides = [side[(0,) * (side.ndim - 3)] for side in (R if pair else [R])]  # (T, d, d) each
    found = turning_of(both[:2], max(sides, key=_motion), pair)
    trial.facts["R"] = sides[0]
    _known(trial, found, observed[0])
    broken = {rule: shown for rule, shown in _broken(both, R, sides, found) if rule in asked}
    _say(trial, asked, observed[:2], found, broken)


def _known(trial: Trial, found: Turning | None, case: tuple[Call, Outcome]) -> None:
    """Keep what explains the results; what is kept in too few bits shows better far on, and is said there."""
    kept = [way for way in found.ways if way in KEPT] if found else []
    rest = tuple(way for way in found.ways if way not in kept) if found else ()
    trial.facts["kept"] = kept
    trial.facts["kept-shown"] = cell_of(found, case, rest) if found and kept else {}
    trial.facts["turning"] = found and replace(found, ways=rest)


def _trouble(call: Call, outcome: Outcome) -> str:
    """Why there is nothing to judge."""
    if outcome.trouble:
        return outcome.trouble
    shape = call.arrays["x"].shape
    shapes = [outcome.arrays[out].shape for out, given in (("out", "x"), ("y", "y")) if given in call.arrays]
    return next((f"vectors {shape} come back as {other}" for other in shapes if other != shape), "")


def _motion(R: NDArray[Any]) -> float:
    return float(np.abs(R - np.eye(R.shape[-1])).max())


def _say(
    trial: Trial, asked: Sequence[str], observed: Observed, found: Turning | None, broken: Mapping[str, Shown]
) -> None:
    """Each way that is a mistake breaks its rule, with the numbers of the law that shows it."""
    call = observed[0][0]
    mistakes = [way for way in found.ways if not way.agreed and way not in KEPT] if found else []
    for way in mistakes:
        shown = broken.get(way.rule) or {}
        if found and "found" not in shown:
            shown = cell_of(found, observed[0], [way for way in found.ways if way.agreed])
        trial.fail(way.rule, call, **{**shown, "mistake": way.id, "did": way.says})
    if not mistakes and not trial.facts["kept"]:
        first = list(broken)[: 1 if "rope-turn" in broken else None]
        for rule in first:
            trial.fail(rule, call, **broken[rule])
    blamed = trial.failed[-1].rule if trial.failed else "".join(way.rule for way in trial.facts["kept"][:1])
    lost = asked if trial.broke("rope-turn") else broken
    trial.not_judged += [
        NotOffered(id, f"follows from {blamed}") for id in asked if id in lost and not trial.broke(id)
    ]
    trial.not_offered = [each for each in trial.not_offered if not trial.broke(each.rule)]
    free = _agreed(found) if found else [USUAL[1]]
    own = "angles" in trial.subject.offers
    for agreed in (*free, *(_numbers(found, call.arrays["x"].shape[-1]) if found and own else ())):
        if trial.wanted(agreed.aspect, agreed.name):
            trial.agree(agreed)
        else:
            detail = f"{agreed.aspect} is {agreed.name}; {trial.expect[agreed.aspect]} was asked for"
            trial.fail("rope-agreed", call, detail=detail)
    trial.pass_(*asked)


# ---------------------------------------------------------------- the laws, each with numbers that show it


def _broken(
    both: Observed, R: NDArray[Any], sides: Sequence[NDArray[Any]], found: Turning | None
) -> Iterator[tuple[str, Shown]]:
    (call, outcome), (_, few) = both[:2]
    x, out = call.arrays["x"], np.asarray(outcome.out, float)
    made = (R @ x[..., None])[..., 0]
    if (cell := differ(out, made, WITHIN * np.abs(x).max())) is not None:
        yield "rope-turn", {"cell": cell, "found": float(out[cell]), "right": float(made[cell]),
                            "detail": "right is made of the unit vectors turned"}  # fmt: skip
        return
    gain = found.gain if found else 1.0
    laws = {
        "rope-norm": _norm(sides, x, gain),
        "rope-relative": _relative(sides, x),
        "rope-both": _both(sides, out),
        "rope-speeds": _speeds(sides[0], found),
        "rope-place": _place(out, np.asarray(few.out, float)),
    }
    yield from ((rule, shown) for rule, shown in laws.items() if shown is not None)


def _norm(sides: Sequence[NDArray[Any]], x: NDArray[Any], gain: float) -> Shown | None:
    for R in sides:
        squares = R.swapaxes(-1, -2) @ R - gain**2 * np.eye(R.shape[-1])
        t = int(np.abs(squares).max(axis=(1, 2)).argmax())
        if np.abs(squares[t]).max() > WITHIN:
            vector = _vectors(x)[t]
            right = float(gain * np.linalg.norm(vector))
            turned = float(np.linalg.norm(R[t] @ vector))
            detail = f"the vector at position {t}, turned"
            return {"array": "length", "cell": (t,), "found": turned, "right": right, "detail": detail}
    return None


def _relative(sides: Sequence[NDArray[Any]], x: NDArray[Any]) -> Shown | None:
    of_q, of_k = sides[0], sides[-1]
    one_on = of_q[1:].swapaxes(-1, -2)[:, None] @ of_k[None, 1:]  # (T − 1, T − 1, d, d): places m + 1, n + 1
    here = of_q[:-1].swapaxes(-1, -2)[:, None] @ of_k[None, :-1]
    if np.abs(one_on - here).max() <= WITHIN:
        return None
    q, k = _vectors(x)[0], _vectors(x)[1]

    def dot(m: int, n: int) -> float:
        return float((of_q[m] @ q) @ (of_k[n] @ k))

    detail = f"two apart, as q at {NEAR[0]} and k at {NEAR[1]}, which gave what is right"
    numbers = {"found": dot(*FAR_APART), "right": dot(*NEAR)}
    return {"array": "q·k", "cell": FAR_APART, **numbers, "detail": detail}


def _both(sides: Sequence[NDArray[Any]], out: NDArray[Any]) -> Shown | None:
    if len(sides) < 2:
        return None
    apart = differ(sides[1], sides[0], WITHIN)
    if apart is None:
        return None
    t, row, column = apart
    numbers = {"found": float(sides[1][apart]), "right": float(sides[0][apart])}
    detail = f"of the matrix that turns keys at position {t}: row {row}, column {column}"
    return {"array": "k", "cell": apart, **numbers, "detail": detail}


def _speeds(R: NDArray[Any], found: Turning | None) -> Shown | None:
    speeds = np.array(found.speeds) if found else _angles(R)
    moving = np.sort(speeds[speeds > CARRIED])
    if not len(moving):
        return {"detail": "no pair turns"}
    if len(moving) > 1 and np.ptp(moving) <= WITHIN:
        return {"mistake": "rope-same-frequency", "found": float(moving[-1]), "array": "speeds",
                "did": f"every pair turns by {moving[-1]:.4g} radians a token"}  # fmt: skip
    close = np.flatnonzero(np.diff(moving) <= CARRIED * moving[1:])
    if len(close):
        return {"detail": f"two pairs turn by {moving[close[0]]:.4g} radians a token"}
    return None


def _angles(R: NDArray[Any]) -> NDArray[np.float64]:
    """By how much each pair turns in one step, whatever makes a pair."""
    turns = np.linalg.eigvals(R[1] @ np.linalg.pinv(R[0]))
    return np.asarray(np.sort(np.abs(np.angle(turns)))[::-2], float)


def _place(out: NDArray[Any], few: NDArray[Any]) -> Shown | None:
    rows = out[..., : few.shape[-3], : few.shape[-2], :] if few.ndim > 2 else out[: few.shape[-2]]
    cell = differ(few, rows, WITHIN * np.abs(out).max())
    if cell is None:
        return None
    return {"cell": cell, "found": float(few[cell]), "right": float(rows[cell]),
            "detail": f"with {few.shape[-2]} tokens; right is what {out.shape[-2]} tokens gave"}  # fmt: skip


def _vectors(x: NDArray[Any]) -> NDArray[Any]:
    """The vectors of the first head: (T, d)."""
    first: NDArray[Any] = x[(0,) * (x.ndim - 2)]
    return first


def _agreed(found: Turning) -> Iterator[Agreed]:
    """What is free to choose, as it was chosen."""
    chosen = {way.agreed: way.says for way in found.ways if way.agreed}
    if not any(aspect == "rope" for aspect, _ in chosen):
        yield USUAL[0]
    yield from (Agreed(*agreed, says) for agreed, says in chosen.items())


def _numbers(found: Turning, d: int) -> Iterator[Agreed]:
    """The numbers that were chosen."""
    if found.width < d:
        yield Agreed("rope-width", f"{found.width}", f"the first {found.width} of {d} components are turned")
    first = found.speeds[0]
    if found.base is None:
        speeds = ", ".join(f"{speed:.4g}" for speed in found.speeds)
        yield Agreed("rope-base", "none", f"pairs turn by {speeds} radians a token, no powers of one base")
    else:
        yield Agreed(
            "rope-base", f"{found.base:.6g}", f"pair i turns by {found.base:.6g}^(−2i/d) radians a token"
        )
        if abs(first - 1) > CARRIED:
            yield Agreed("rope-scaling", f"{first:.4g}", f"positions are multiplied by {first:.4g}")
    if abs(found.gain - 1) > CARRIED:
        yield Agreed("rope-factor", f"{found.gain:.4g}", f"turned vectors are {found.gain:.4g} times as long")


USUAL = (
    Agreed("rope", "half", "components i and i + d/2 make a pair"),
    Agreed("rope", "other", "the pairs, or what turns them, are none of the usual ones"),
    Agreed("rope-base", f"{BASE:g}", f"pair i turns by {BASE:g}^(−2i/d) radians a token"),
    Agreed("rope-direction", "forwards", "each pair is turned by +angle"),
    Agreed("rope-start", "0", "the first token is not turned"),
    Agreed("rope-order", "fastest-first", "the first pair is the fastest"),
    Agreed("rope-scaling", "1", "positions are taken as they are"),
    Agreed("rope-factor", "1", "turned vectors are as long as before"),
)
ROPE_STUDIES = (Study("rope", calls, WAYS[True], USUAL, judge), OFFSET, POSITIONS, HEADS, PRECISION, FAR)
