"""A KV cache: what is held is what came, in its order; a step gives the row of the full pass."""

from __future__ import annotations

from collections.abc import Sequence

from riverhead.checking.rules.call import Call, Outcome
from riverhead.checking.rules.judge import explain
from riverhead.checking.rules.report import Agreed, NotOffered
from riverhead.checking.rules.studies.cache_beside import BESIDE
from riverhead.checking.rules.studies.cache_module import judge_module, module_calls
from riverhead.checking.rules.studies.cache_sessions import (
    LAYOUTS,
    LOOSE,
    STORE,
    begun,
    case,
    room_of,
    session,
    shown,
    whole_room,
)
from riverhead.checking.rules.studies.memory_steps import CACHE, SHARED, STEP_WAYS, STORE_WAYS, UNWRITTEN
from riverhead.checking.rules.trial import Observed, Study, Trial

__all__ = ["CACHE_STUDIES"]

SINGLY, PROMPT, PIECES = (1, 1, 1, 1, 1), (3, 1, 1), (2, 3, 1)  # tokens that come at once
WORDS = {"BHTd": "heads stand before tokens", "BTHd": "tokens stand before heads",
         "Td": "one head: keys are (T, d)", "d": "one head: a key is a vector"}  # fmt: skip
USUAL = (
    *(Agreed("layout", name, says) for name, says in WORDS.items()),
    Agreed("room", "whole", "all slots come back: those not yet written must be masked"),
    Agreed("room", "cut", "only slots that were written come back"),
)


def calls(trial: Trial) -> Sequence[Call]:
    """A prompt and single tokens, single tokens alone, pieces; in the first layout that is taken."""
    if "module" in trial.subject.offers:
        return module_calls(trial)
    best, chosen = -1, LAYOUTS[0]
    for layout in LAYOUTS:
        trial.facts["layout"] = layout
        call = session(trial, SINGLY[:3])
        worth = _worth(trial, call, trial.subject.call(call))
        if worth > best:
            best, chosen = worth, layout
        if worth == 2:
            break
    trial.facts["layout"] = chosen
    singly = "vectors" in chosen[2]
    return [session(trial, chunks) for chunks in ((SINGLY,) if singly else (SINGLY, PROMPT, PIECES))]


def _worth(trial: Trial, call: Call, outcome: Outcome) -> int:
    """2: right; 1: it runs; 0: it does not."""
    if outcome.trouble:
        return 0
    given, got = case(trial, call, outcome)
    return 1 if explain([(given, got)], [LOOSE, *room_of(whole_room(given, got))], (), CACHE) is None else 2


def judge(trial: Trial, study: Study, observed: Observed) -> None:
    """Name what is held instead; pieces that are refused are not judged."""
    asked = [rule.id for rule in trial.rules_of(study) if not trial.said(rule.id)]
    if "module" in trial.subject.offers:
        return judge_module(trial, asked, observed)
    cases = [case(trial, *each) for each in observed]
    ran = [each for each in cases if not each[1].trouble]
    first = observed[0][0]
    if not ran:
        trial.fail(asked[0], first, detail=observed[0][1].trouble)
        trial.not_judged += [NotOffered(id, f"follows from {asked[0]}") for id in asked[1:]]
        return
    store, room = STORE in trial.subject.offers, whole_room(*ran[0])
    known = [LOOSE, *room_of(room)]
    found = explain(ran, known, STORE_WAYS if store else STEP_WAYS, CACHE)
    if found is None and not store:
        found = explain(ran, known, UNWRITTEN, CACHE)
    _conventions(trial, first, room)
    if found is None and store and explain([begun(*each) for each in ran], known, [SHARED], CACHE):
        found = (SHARED,)
    if found is None:
        trial.fail(asked[0], first, **shown(ran, known))
        why = f"follows from {asked[0]}: what was found is wrong in a way that is not known"
        trial.not_judged += [NotOffered(id, why) for id in asked[1:]]
        return
    for way in found:
        trial.fail(way.rule, first, mistake=way.id, did=way.says, **shown(ran, known))
    refused = next((outcome.trouble for _, outcome in observed if outcome.trouble), "")
    if store or refused or len(cases) == 1:
        why = (
            "hands keys and values back: who attends to them masks"
            if store
            else refused or "takes one token at a time"
        )
        trial.not_offered.append(NotOffered("cache-pieces", why))
    trial.known += found
    trial.facts["room"] = room_of(room)
    trial.pass_(*asked)


def _conventions(trial: Trial, call: Call, room: int) -> None:
    """Say which layout was taken, and whether the whole room comes back; or that another was asked for."""
    name = trial.facts["layout"][0]
    if trial.wanted("layout", name):
        trial.agree(Agreed("layout", name, WORDS[name]))
    else:
        heads = {"mistake": "cache-concat-heads", "did": "tokens are joined along the axis of the heads"}
        trial.fail("cache-axis", call, **(heads if name == "BTHd" else {}),
                   detail=f"layout is {name}; {trial.expect['layout']} was asked for")  # fmt: skip
    if not room:
        return
    if trial.wanted("room", "whole"):
        trial.agree(
            Agreed("room", "whole", f"all {room} slots come back: those not yet written must be masked")
        )
    else:
        trial.fail("cache-slots", call, mistake="cache-unwritten-read", did=f"all {room} slots come back",
                   detail="room is whole; cut was asked for")  # fmt: skip


CACHE_STUDIES = (Study("cache", calls, (*STEP_WAYS, *UNWRITTEN), USUAL, judge), *BESIDE)
