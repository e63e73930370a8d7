"""The engine as a model may call it: plain data in, checked as what a stranger sends, a few words out."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from riverhead.errors import InputError, RiverheadError
from riverhead.learning.tutor.arguments import MOST_TOKENS, MOST_WIDE, count, number, numbers, vectors, words
from riverhead.numbers import significant

if TYPE_CHECKING:
    from riverhead.derivation import Derivation
    from riverhead.learning.tutor.at_hand import AtHand

__all__ = ["Result", "schemas", "use"]

MOST_SCORES = 64
MOST_TEXT = 4_000  # characters that are checked
MOST_SIZE = 10**7  # of a model
MOST_LENGTH = 10**9  # tokens of a plan
WHOLE = 1e15  # below which a whole number is shown as one
DIGITS = 6
MOST_RESULT = 6_000  # characters
MOST_LAYERS = 10_000
STEPS = ("q", "k", "v", "dots", "scores", "masked", "exp", "sum", "weights", "out")
COMPONENTS = ("q", "k", "v", "out")  # of these the columns are components, of the others keys
SIZES = ("n_layers", "n_heads", "n_kv_heads", "d_model", "d_ff", "vocab_size")


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool found, in words for the model; where not ``ok``, what it has to do otherwise."""

    text: str
    ok: bool


@dataclass(frozen=True, slots=True)
class Tool:
    """A function of the engine: what it is for, its arguments as a JSON schema, and itself."""

    about: str
    arguments: Mapping[str, Any]
    needed: tuple[str, ...]
    run: Callable[[Mapping[str, Any], AtHand], Any]


def schemas() -> list[dict[str, Any]]:
    """Return the tools as the protocol describes them to a model.

    >>> [tool["function"]["name"] for tool in schemas()]
    ['derive', 'cell', 'softmax', 'plan', 'check']
    """
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": tool.about,
                "parameters": {
                    "type": "object",
                    "properties": dict(tool.arguments),
                    "required": list(tool.needed),
                    "additionalProperties": False,
                },
            },
        }
        for name, tool in TOOLS.items()
    ]


def use(name: str, arguments: str, at_hand: AtHand) -> Result:
    """Run a tool on ``arguments``, JSON that a model wrote: whatever they are, a result in words comes back.

    >>> from types import SimpleNamespace
    >>> use("softmax", '{"scores": [1, 1]}', SimpleNamespace(text="", derivation=None)).text
    '{"weights": [0.5, 0.5]}'
    """
    try:
        tool = _named(name)
        given = _object(arguments)
        _check_names(tool, given)
        found = json.dumps(tool.run(given, at_hand), ensure_ascii=False)
    except RiverheadError as wrong:
        return Result(f"error: {wrong}"[:MOST_RESULT], ok=False)
    if len(found) > MOST_RESULT:
        return Result(f"error: the result has {len(found):,} characters; ask for less", ok=False)
    return Result(found, ok=True)


# ---- arguments -----------------------------------------------------------------------------------


def _named(name: str) -> Tool:
    if name not in TOOLS:
        raise InputError(f"there is no tool {name[:40]!r}; there are {', '.join(TOOLS)}")
    return TOOLS[name]


def _object(arguments: str) -> Mapping[str, Any]:
    try:
        given = json.loads(arguments or "{}")
    except (ValueError, RecursionError) as error:
        raise InputError(f"the arguments are no JSON: {str(error)[:80]}") from error
    if not isinstance(given, dict):
        raise InputError("the arguments are no JSON object; give them by name")
    return {name: value for name, value in given.items() if value is not None}


def _check_names(tool: Tool, given: Mapping[str, Any]) -> None:
    allowed = ", ".join(tool.arguments)
    if unknown := given.keys() - tool.arguments.keys():
        raise InputError(f"{sorted(unknown)[0][:40]!r} is no argument; there are {allowed}")
    if missing := [name for name in tool.needed if name not in given]:
        raise InputError(f"{missing[0]} is missing; the arguments are {allowed}")


def _rounded(value: Any) -> Any:
    """Numbers to a few digits, however they nest; what no JSON holds in words."""
    if isinstance(value, Sequence):
        return [_rounded(item) for item in value]
    exact = float(value)
    if not math.isfinite(exact):
        return significant(exact).text
    short = float(f"{exact:.{DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) < WHOLE else short


# ---- the tools -----------------------------------------------------------------------------------


def _derive(given: Mapping[str, Any], at_hand: AtHand) -> Any:
    from riverhead.derivation import derive

    operands: dict[str, Any] = {
        name: vectors(name, given[name]) for name in ("q", "k", "v", "e") if name in given
    }
    if "scale" in given:
        operands["scale"] = number("scale", given["scale"])
    if "tokens" in given:
        if not isinstance(given["tokens"], list) or len(given["tokens"]) > MOST_TOKENS:
            raise InputError(f"tokens takes a list of up to {MOST_TOKENS} words")
        operands["tokens"] = [words(f"tokens[{n}]", word, 40) for n, word in enumerate(given["tokens"])]
    causal = given.get("causal", False)
    if not isinstance(causal, bool):
        raise InputError(f"causal is {str(causal)[:40]}; it takes true or false")
    worked = derive(**operands, causal=causal)
    return {step: _rounded(worked[step].values[0]) for step in (worked.exponents, "weights", "out")}


def _cell(given: Mapping[str, Any], at_hand: AtHand) -> Any:
    from riverhead.derivation.tokens import position

    worked = at_hand.derivation
    if worked is None:
        raise InputError("no sentence with vectors is at hand; give vectors to derive")
    step = words("step", given["step"], 20)
    if step not in STEPS or step not in worked.names:
        raise InputError(f"there is no step {step!r}; there are {', '.join(worked.names)}")
    names = worked.given.answering if step in ("k", "v") else worked.given.asking
    row = position(names, words("row", given["row"], 200), "row")
    column = _column(worked, step, given.get("column"))
    head = count("head", given.get("head", 0), MOST_SIZE, least=0)
    made = str(worked.arithmetic(step, row, column, head))
    return {"arithmetic": made, "exact": _rounded(worked[step].values[head][row][column])}


def _column(worked: Derivation, step: str, column: Any) -> int:
    """A key's word for the steps that have a column for each key, else a component, from 1."""
    from riverhead.derivation.tokens import position

    if step == "sum":
        return 0
    if column is None:
        each = "component, from 1" if step in COMPONENTS else "word"
        raise InputError(f"column is missing; {step} has one for each {each}")
    if step in COMPONENTS:
        return count("column", column, len(worked[step].values[0][0])) - 1
    return position(worked.given.answering, words("column", column, 200), "column")


def _softmax(given: Mapping[str, Any], at_hand: AtHand) -> Any:
    import numpy as np

    from riverhead.core import softmax

    scores = np.array(numbers("scores", given["scores"], MOST_SCORES))
    return {"weights": _rounded(softmax(number("scale", given.get("scale", 1)) * scores).tolist())}


def _plan(given: Mapping[str, Any], at_hand: AtHand) -> Any:
    from riverhead.cost.known import known, sized
    from riverhead.cost.overview import overview
    from riverhead.cost.plan import plan
    from riverhead.scene import Table

    sizes = {name: count(name, given[name], MOST_SIZE) for name in SIZES if name in given}
    if ("model" in given) == bool(sizes):
        raise InputError(f"give model, or sizes instead: {', '.join(SIZES)}")
    config = sized(sizes) if sizes else known(words("model", given["model"], 80)).config
    if config.n_layers > MOST_LAYERS:
        raise InputError(f"n_layers is {config.n_layers:,}; it takes up to {MOST_LAYERS:,}")
    tokens = count("tokens", given["tokens"], MOST_LENGTH) if "tokens" in given else None
    batch = count("batch", given.get("batch", 1), MOST_SIZE)
    dtype = words("dtype", given.get("dtype", "float32"), 20)
    found = plan(config, tokens, batch, dtype)
    rows = (part.rows for part in overview(found).parts if isinstance(part, Table))
    costs = {str(name): f"{said}, exactly {exactly}" for name, said, exactly in next(rows)}
    return {"tokens": found.tokens, "batch": batch, "dtype": dtype, "costs": costs}


def _check(given: Mapping[str, Any], at_hand: AtHand) -> Any:
    from riverhead.checking.claims import claims
    from riverhead.checking.claims.reports.shown import in_words

    found = claims(words("text", given["text"], MOST_TEXT), "markdown")
    if not found:
        return "no sum is found in it; write one as 2·3 + 1 = 7"
    return [
        {"sum": claim.text, "is": claim.how or claim.verdict.value}
        | ({} if claim.exact is None else {"exact": in_words(claim.exact, claim.text)})
        for claim in found
    ]


_NUMBER = {"type": "number"}
_COUNT = {"type": "integer", "minimum": 1}
_VECTORS = {
    "type": "array",
    "items": {"type": "array", "items": _NUMBER, "maxItems": MOST_WIDE},
    "maxItems": MOST_TOKENS,
}
TOOLS = {
    "derive": Tool(
        "Attention worked out from vectors: scores, weights and outputs, a row per query. "
        "Give q, k and v, or e alone for q = k = v.",
        {
            "q": _VECTORS, "k": _VECTORS, "v": _VECTORS, "e": _VECTORS,
            "tokens": {"type": "array", "items": {"type": "string"}, "maxItems": MOST_TOKENS},
            "causal": {"type": "boolean", "description": "no token sees a later one"},
            "scale": {"type": "number", "description": "multiplies the dot products; 1/√d_k unless given"},
        },
        (),
        _derive,
    ),
    "cell": Tool(
        "One number of the sentence at hand, with its arithmetic.",
        {
            "step": {"type": "string", "enum": list(STEPS)},
            "row": {"type": "string", "description": "a word: the query; for k and v the key"},
            "column": {"description": "the key's word; for q, k, v and out a component, from 1"},
            "head": {"type": "integer", "minimum": 0},
        },
        ("step", "row"),
        _cell,
    ),
    "softmax": Tool(
        "The weights of some scores.",
        {"scores": {"type": "array", "items": _NUMBER, "maxItems": MOST_SCORES}, "scale": _NUMBER},
        ("scores",),
        _softmax,
    ),
    "plan": Tool(
        "What a model costs at so many tokens: parameters, FLOPs, bytes of weights, scores and KV cache.",
        {
            "model": {"type": "string", "description": "a well-known model, as llama-3-8b"},
            **dict.fromkeys(SIZES, _COUNT),
            "tokens": _COUNT, "batch": _COUNT,
            "dtype": {"type": "string", "enum": ["float64", "float32", "float16", "bfloat16", "int8"]},
        },
        (),
        _plan,
    ),
    "check": Tool(
        "Every sum of a text, checked, with its exact value. To work a sum out, guess its result.",
        {"text": {"type": "string", "maxLength": MOST_TEXT}},
        ("text",),
        _check,
    ),
}  # fmt: skip
