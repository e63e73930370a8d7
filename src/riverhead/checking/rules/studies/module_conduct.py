"""What no single value of a module shows: samples and padding apart, dropout, weights, its gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.call import Call, Outcome
from riverhead.checking.rules.judge import differ, dtype_of, loosest, tolerance
from riverhead.checking.rules.pipeline import follow
from riverhead.checking.rules.report import NotOffered
from riverhead.checking.rules.studies.hidden import HUGE, moved
from riverhead.checking.rules.studies.hiding import form_of, lost
from riverhead.checking.rules.studies.module_values import call_of, described
from riverhead.checking.rules.studies.returned import WAYS as WEIGHTS_WAYS
from riverhead.checking.rules.trial import Observed, Study, Trial, cell_of

__all__ = ["BATCH", "CONDUCT", "REPEAT"]

Array = NDArray[Any]
Property = Callable[[Sequence[Outcome]], dict[str, Any]]  # where it does not hold: what a `Failure` takes
RATE = 0.5  # of a dropout
AGAIN = 3  # times that the same call is made


def _cell(found: Array, right: Array, within: float = 0.0) -> dict[str, Any]:
    """What a `Failure` takes where two results differ; nothing where they do not."""
    if found.shape != right.shape:
        return {"detail": f"out has the shape {found.shape}, not {right.shape}"}
    cell = differ(found, right, within)
    return {} if cell is None else {"cell": cell, "found": float(found[cell]), "right": float(right[cell])}


def _near(outcome: Outcome, loose: float) -> float:
    """How far results may lie apart that are made of the same numbers in another order."""
    return tolerance(outcome.out, dtype_of(outcome), loose)


# The same call again


def repeat_calls(trial: Trial) -> Sequence[Call]:
    """A call, one of another length between, and the first again."""
    s = trial.draw.sizes
    first = call_of(trial, s.T_k)
    return [first, call_of(trial, s.T_q), *[first] * AGAIN]


def repeat_judge(trial: Trial, study: Study, observed: Observed) -> None:
    """Whether it runs, and gives the same bits each time."""
    troubled = next(((call, outcome) for call, outcome in observed if outcome.trouble), None)
    if troubled is not None:
        trial.fail("runs", troubled[0], detail=troubled[1].trouble)
        trial.lost = "runs"
        lost(trial, study)
        return
    trial.pass_("runs")
    (call, first), _, *more = observed
    found = next((cell for _, later in more if (cell := _cell(later.out, first.out))), None)
    if found:
        did = "numbers are dropped at random, or made up, in a call that trains nothing"
        trial.fail("dropout", call, mistake="dropout-in-evaluation", did=did, **found)
        trial.lost = "dropout"
        lost(trial, study)
    trial.pass_("dropout", "repeatable")


# What must not move


def unmoved(trial: Trial, id: str, observed: Observed, property: Property, **named: str) -> None:
    """Say that a rule is broken where a property does not hold, unless what is known breaks it already."""
    if trial.said(id):
        return
    if trial.lost and trial.lost != "definition":
        trial.not_judged.append(NotOffered(id, f"follows from {trial.lost}"))
        return
    outs = [outcome for _, outcome in observed]
    found = {} if outs[0].trouble else property(outs)
    if not found:
        trial.pass_(id)
    elif broken := _broken_as_known(trial, observed, property):
        trial.not_judged.append(NotOffered(id, f"follows from {broken}"))
    else:
        trial.fail(id, observed[-1][0], **named, **found)


def _broken_as_known(trial: Trial, observed: Observed, property: Property) -> str:
    """The rules of what is known already, if that alone breaks a property; empty if not."""
    mistakes = [choice.rule for choice in trial.known if trial.broke(choice.rule)]
    try:
        outs = [
            Outcome({"out": np.asarray(follow(call, trial.known, trial.steps).out)}) for call, _ in observed
        ]
        broken = bool(property(outs))
    except ValueError:
        broken = True
    return ", ".join(dict.fromkeys(mistakes)) if broken else ""


def batch_calls(trial: Trial) -> Sequence[Call]:
    """All samples together, in the reverse order, and one alone."""
    if "batch" not in trial.offers:
        return []
    together = call_of(trial, trial.draw.sizes.T_k)
    x = together.arrays["x"]
    return [replace(together, arrays={**together.arrays, "x": each}) for each in (x, x[::-1], x[:1])]


def alone(outs: Sequence[Outcome], loose: float) -> dict[str, Any]:
    """Where a sample gives something else in other company."""
    together, *others = outs
    for outcome, order in zip(others, (slice(None, None, -1), slice(0, 1)), strict=True):
        if outcome.trouble:
            return {"detail": outcome.trouble}
        if found := _cell(outcome.out, together.out[order], _near(together, loose)):
            return found
    return {}


def batch_judge(trial: Trial, study: Study, observed: Observed) -> None:
    """Whether each sample gives what it gives elsewhere."""
    did = "a sample's output is another one in other company"
    unmoved(
        trial,
        "samples",
        observed,
        partial(alone, loose=loosest(trial.known)),
        mistake="samples-see-each-other",
        did=did,
    )


def order_calls(trial: Trial) -> Sequence[Call]:
    """Tokens, and the same in the reverse order."""
    if trial.always_causal:
        return []
    call = call_of(trial, trial.draw.sizes.T_k)
    return [call, replace(call, arrays={**call.arrays, "x": call.arrays["x"][..., ::-1, :].copy()})]


def turned_with_tokens(outs: Sequence[Outcome], loose: float) -> dict[str, Any]:
    """Where an output does not go with its token."""
    first, other = outs
    return (
        {"detail": other.trouble}
        if other.trouble
        else _cell(other.out, first.out[..., ::-1, :], _near(first, loose))
    )


def order_judge(trial: Trial, study: Study, observed: Observed) -> None:
    """Whether outputs follow their tokens; a module that adds positions is agreed to do otherwise."""
    positions = {agreed.name for agreed in trial.conventions if agreed.aspect == "positions"} - {"none"}
    if positions and not any(outcome.trouble for _, outcome in observed):
        return
    unmoved(
        trial,
        study.name,
        observed,
        partial(turned_with_tokens, loose=loosest(trial.known)),
        did="tokens in another order give other outputs",
    )


def future_calls(trial: Trial) -> Sequence[Call]:
    """A text, and the same with other tokens from the middle on."""
    call = call_of(trial, trial.draw.sizes.T_k, options={"causal": True})
    x = call.arrays["x"]
    other = trial.draw.numbers("later", *x.shape)
    later = np.arange(x.shape[-2]) >= x.shape[-2] // 2
    return [call, replace(call, arrays={**call.arrays, "x": np.where(later[:, None], other, x)})]


def future_judge(trial: Trial, study: Study, observed: Observed) -> None:
    """What comes later moves no earlier row."""
    rows = slice(observed[0][0].arrays["x"].shape[-2] // 2)
    unmoved(trial, study.name, observed, lambda outs: moved(outs[0], outs[1], rows), mistake="future-leaks",
            did="other tokens later on move earlier rows")  # fmt: skip


# Padded tokens

CHANGES = (  # what padded tokens hold, and the rules that say it does not matter
    (None, ("hidden-values", "hidden-keys"), "hidden-leaks", "a hidden token moves the outputs of others"),
    (HUGE, ("hidden-huge-keys",), "hidden-huge-key", "a huge hidden token moves the outputs of others"),
    (np.nan, ("hidden-nan",), "hidden-nan", "NaN in a hidden token moves the outputs of others"),
)  # fmt: skip
PADDING = 2  # tokens


def hidden_calls(trial: Trial) -> Sequence[Call]:
    """The last tokens are hidden; then they hold something else."""
    T = trial.draw.sizes.T_k
    seen = np.arange(T) < T - PADDING
    by = "key_mask" if "key_mask" in trial.offers else "mask"
    base = call_of(trial, T, options=form_of(trial, by))
    x = base.arrays["x"]
    mask = np.broadcast_to(seen, (T, T) if by == "mask" else (*x.shape[:-2], T)).copy()
    given = [x]
    for number, *_ in CHANGES:
        other = trial.draw.numbers("padding", *x.shape) if number is None else np.full_like(x, number)
        given.append(np.where(seen[:, None], x, other))
    return [replace(base, arrays={**base.arrays, by: mask, "x": each}) for each in given]


def hidden_judge(trial: Trial, study: Study, observed: Observed) -> None:
    """Compare the tokens that are seen with what they gave before."""
    base, *others = observed
    if base[1].trouble:
        trial.not_offered += [NotOffered(rule.id, base[1].trouble) for rule in trial.rules_of(study)]
        return
    rows = slice(base[0].arrays["x"].shape[-2] - PADDING)
    for (_, ids, mistake, did), other in zip(CHANGES, others, strict=True):
        for id in ids:
            unmoved(
                trial, id, [base, other], lambda outs: moved(outs[0], outs[1], rows), mistake=mistake, did=did
            )


# Dropout


def dropout_calls(trial: Trial) -> Sequence[Call]:
    """Trained, used, and trained again, with a dropout; and used without."""
    call = call_of(trial, trial.draw.sizes.T_k)
    modes = {"dropout": RATE, "modes": ["train", "eval", "train", "eval"]}
    return [call, replace(call, options={**call.options, **modes})]


def evaluated(trial: Trial, study: Study, observed: Observed) -> None:
    """Nothing is dropped in evaluation."""
    (_, without), (call, outcome) = observed
    if without.trouble or outcome.trouble:
        trial.not_offered.append(NotOffered(study.name, without.trouble or outcome.trouble))
        return
    for name in ("out_1", "out_3"):
        found = _cell(outcome.arrays[name], without.out, _near(without, loosest(trial.known)))
        if found and differ(outcome.arrays["out_0"], without.out, _near(without, loosest(trial.known))):
            did = f"a dropout of {RATE:g} drops in evaluation, too"
            trial.fail(study.name, call, mistake="dropout-in-evaluation", did=did, **found)
    trial.pass_(study.name)


def trained(trial: Trial, study: Study, observed: Observed) -> None:
    """What was evaluated drops again when it is trained."""
    (_, without), (call, outcome) = observed
    if without.trouble or outcome.trouble:
        trial.not_offered.append(NotOffered(study.name, without.trouble or outcome.trouble))
        return
    drops = {
        name: differ(outcome.arrays[name], without.out, _near(without, loosest(trial.known))) is not None
        for name in ("out_0", "out_2")
    }
    if not drops["out_0"]:
        trial.not_offered.append(NotOffered(study.name, "its dropout changes nothing in training"))
        return
    if not drops["out_2"]:
        did = "after an evaluation nothing is dropped any more"
        trial.fail(study.name, call, mistake="dropout-off-for-good", did=did)
    trial.pass_(study.name)


# Weights


def weights_calls(trial: Trial) -> Sequence[Call]:
    """A call that asks for the weights."""
    return [call_of(trial, trial.draw.sizes.T_k, want=("weights",))]


def weights_judge(trial: Trial, study: Study, observed: Observed) -> None:
    """Which step of attention the weights are that came back."""
    if lost(trial, study):
        return
    ((call, outcome),) = observed
    outcome = with_heads(call, outcome)
    steps = {**trial.steps, "returned": lambda p: p.weights}
    found = outcome.arrays.get("weights")

    def fits(*ways: Any) -> bool:
        right = np.asarray(follow(call, [*trial.known, *ways], steps).returned)
        if found is None or found.shape != right.shape:
            return False
        return differ(found, right, tolerance(right, dtype_of(outcome), loosest(trial.known))) is None

    way = None if fits() else next((way for way in WEIGHTS_WAYS if fits(way)), None)
    cell = {"detail": outcome.trouble or "no weights came back"}
    if found is not None and not fits():
        cell = cell_of(trial, call, outcome, array="weights")
    if way is not None:
        trial.fail(way.rule, call, mistake=way.id, did=way.says, **cell)
    elif not fits():
        trial.fail("weights-returned", call, **cell)
    trial.pass_("weights-returned", "weights-per-head")


def with_heads(call: Call, outcome: Outcome) -> Outcome:
    """Give the weights of a module of one head, (B, T_q, T_k), the axis that it has no need of."""
    found = outcome.arrays.get("weights")
    if found is None or call.options.get("n_heads") != 1 or found.ndim != call.arrays["x"].ndim:
        return outcome
    return replace(outcome, arrays={**outcome.arrays, "weights": found[..., None, :, :]})


def asked_calls(trial: Trial) -> Sequence[Call]:
    """A text, and one that is padding throughout, each with and without its weights."""
    T, offers = trial.draw.sizes.T_k, trial.offers
    calls = [call_of(trial, T)]
    if "key_mask" in offers:
        hidden = {"key_mask": np.zeros((*calls[0].arrays["x"].shape[:-2], T), bool)}
        calls.append(call_of(trial, T, arrays=hidden, options=form_of(trial, "key_mask")))
    return [replace(call, want=want) for call in calls for want in ((), ("weights",))]


def asked_judge(trial: Trial, study: Study, observed: Observed) -> None:
    """Whether asking for the weights leaves the output as it is."""
    for (_, plain), (call, outcome) in zip(observed[::2], observed[1::2], strict=True):
        if plain.trouble:
            continue
        found = (
            {"detail": outcome.trouble}
            if outcome.trouble
            else _cell(outcome.out, plain.out, _near(plain, loosest(trial.known)))
        )
        if found:
            where = " where a text is padding throughout" if "key_mask" in call.arrays else ""
            did = f"asking for the weights changes the output{where}"
            trial.fail(study.name, call, mistake="weights-change-output", did=did, **found)
    trial.pass_(study.name)


# The gradient


def gradient_calls(trial: Trial) -> Sequence[Call]:
    """The gradient of the output times a probe."""
    call = call_of(trial, trial.draw.sizes.T_k, want=("gradient",))
    out = np.asarray(follow(call, trial.known, trial.steps).out)
    return [replace(call, arrays={**call.arrays, "probe": trial.draw.numbers("probe", *out.shape)})]


def gradient_judge(trial: Trial, study: Study, observed: Observed) -> None:
    """Each parameter moves the output, and the gradient says so; b_k alone moves nothing: it shifts rows."""
    ((call, outcome),) = observed
    if outcome.trouble:
        trial.not_offered.append(NotOffered(study.name, outcome.trouble))
        return
    described(trial)
    for name in trial.facts["parameters"]:
        gradient = outcome.arrays[f"d{name}"]
        if name != "b_k" and not np.abs(gradient).max() > _near(outcome, loosest(trial.known)):
            did = f"no gradient reaches {name}: it is never learned"
            trial.fail(study.name, call, mistake="no-gradient", did=did)
        elif not np.isfinite(gradient).all():
            trial.fail(study.name, call, did=f"the gradient of {name} is not finite")
    trial.pass_(study.name)


REPEAT = Study("repeat", repeat_calls, judge=repeat_judge)
BATCH = Study("batch", batch_calls, judge=batch_judge)
CONDUCT = (
    Study("tokens", order_calls, judge=order_judge),
    Study("future", future_calls, judge=future_judge),
    Study("hidden", hidden_calls, judge=hidden_judge),
    Study("dropout-option", dropout_calls, judge=evaluated),
    Study("dropout-again", dropout_calls, judge=trained),
    Study("weights-returned", weights_calls, judge=weights_judge, optional=True),
    Study("weights-asked", asked_calls, judge=asked_judge),
    Study("gradient-reaches", gradient_calls, judge=gradient_judge),
)
