"""An experiment: a question, predictions with their bounds from theory, then what was measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

from riverhead.core.blas import one_blas_thread
from riverhead.display import Displayable
from riverhead.errors import InputError
from riverhead.numbers import Number, significant
from riverhead.scene import Part, Scene, Table, Text

__all__ = [
    "EXPERIMENTS",
    "SCHEMA",
    "Claim",
    "Experiment",
    "Prediction",
    "Progress",
    "Result",
    "measure",
    "prepare",
    "shown",
]

SCHEMA = "riverhead.why/1"

# name: its module, which has prepare(thorough) and measure(experiment, seed, thorough, progress)
EXPERIMENTS = {
    "scale": "riverhead.experiments.scale",
    "order": "riverhead.experiments.order",
    "heads": "riverhead.experiments.heads",
    "context": "riverhead.experiments.context",
    "cache": "riverhead.experiments.cache",
    "growth": "riverhead.experiments.growth",
}

NARROW = 0.01  # of the middle: both ends of such a bound would print alike

Progress = Callable[[float, str], object]  # told the fraction done, and what is being done


@dataclass(frozen=True, slots=True)
class Prediction:
    """What theory ``says``, before measuring: the number called ``name`` will lie from ``low`` to ``high``.

    ``why`` is where the bound comes from: its formula with the sizes put in. A side without a bound is ±∞.

    >>> Prediction("sum", "A row of weights sums to 1.", 1 - 1e-12, 1 + 1e-12, "T·u").bound
    '1 ± 1.000e-12'
    >>> Prediction("ratio", "The gradient falls.", 2.0, math.inf, "…").bound
    'at least 2'
    """

    name: str
    says: str
    low: float
    high: float
    why: str

    @property
    def bound(self) -> str:
        """The bound in words."""
        if math.isinf(self.low) and math.isinf(self.high):
            return "any number"
        if self.low == self.high:
            return f"exactly {shown(self.low)}"
        if math.isinf(self.high):
            return f"at least {shown(self.low)}"
        if math.isinf(self.low):
            return f"at most {shown(self.high)}"
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        if half < NARROW * abs(middle):
            return f"{shown(middle)} ± {shown(half)}"
        return f"{shown(self.low)} to {shown(self.high)}"


@dataclass(frozen=True, slots=True)
class Claim:
    """A prediction beside the number that was measured."""

    prediction: Prediction
    measured: float

    @property
    def holds(self) -> bool:
        """Whether the number lies within the bound; NaN lies nowhere.

        >>> Claim(Prediction("n", "There are two.", 2, 2, "1 + 1"), 2.0).holds
        True
        """
        return self.prediction.low <= self.measured <= self.prediction.high


@dataclass(frozen=True, slots=True)
class Experiment(Displayable):
    """What is asked, the ``argument`` (paragraphs apart by an empty line), and every prediction."""

    name: str
    question: str
    argument: str
    predictions: tuple[Prediction, ...]

    def claims(self, measured: Mapping[str, float]) -> tuple[Claim, ...]:
        """Put beside each prediction its number, by name.

        Raises `InputError` where a prediction has no number or a number no prediction: neither is dropped.
        """
        names = [prediction.name for prediction in self.predictions]
        if set(names) != set(measured) or len(set(names)) != len(names):
            raise InputError(f"{self.name} predicts {names}, measured were {list(measured)}: one number each")
        return tuple(Claim(each, float(measured[each.name])) for each in self.predictions)

    def scene(self) -> Scene:
        """Lay out the question, the argument and what is predicted."""
        rows = tuple((each.says, each.bound, each.why) for each in self.predictions)
        return Scene(
            f"why {self.name}: {self.question}",
            (
                *(Text((paragraph,)) for paragraph in self.argument.split("\n\n")),
                Text(("Predicted, before anything is measured",), "heading"),
                Table(("prediction", "bound", "because"), rows),
            ),
        )


@dataclass(frozen=True, slots=True)
class Result(Displayable):
    """What came out: a claim for each prediction, tables and charts in ``parts``, the numbers in ``data``.

    ``data`` is plain: dicts, lists, numbers and words. ``notes`` say what the numbers are and are not.
    """

    experiment: Experiment
    seed: int
    claims: tuple[Claim, ...]
    parts: tuple[Part, ...]
    data: dict[str, Any]
    notes: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether every prediction held."""
        return all(claim.holds for claim in self.claims)

    @property
    def verdict(self) -> str:
        """The outcome in a sentence."""
        failed = [claim.prediction.name for claim in self.claims if not claim.holds]
        if not failed:
            return f"Measured and predicted agree: {len(self.claims)} of {len(self.claims)}."
        return f"{len(failed)} of {len(self.claims)} predictions did not hold: {', '.join(failed)}."

    def measured(self) -> Scene:
        """Lay out what was measured alone, for whom has read the predictions."""
        rows = tuple(
            (
                claim.prediction.says,
                claim.prediction.bound,
                shown(claim.measured),
                "agrees" if claim.holds else "does not agree",
            )
            for claim in self.claims
        )
        return Scene(
            f"why {self.experiment.name}: measured, seed {self.seed}",
            (
                Table(("prediction", "bound", "measured", "verdict"), rows),
                Text((self.verdict,)),
                *self.parts,
                *(Text((note,), "note") for note in self.notes),
            ),
        )

    def scene(self) -> Scene:
        """Lay out everything: question, argument, predictions, what was measured."""
        asked, found = self.experiment.scene(), self.measured()
        return Scene(
            asked.title, (*asked.parts, Text((f"Measured, seed {self.seed}",), "heading"), *found.parts)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data under the schema ``riverhead.why/1``; ∞ and NaN, which JSON lacks, are None."""
        claims = [
            {
                **asdict(claim.prediction),
                "low": _finite(claim.prediction.low),
                "high": _finite(claim.prediction.high),
                "measured": _finite(claim.measured),
                "holds": claim.holds,
            }
            for claim in self.claims
        ]
        return {
            "schema": SCHEMA,
            "name": self.experiment.name,
            "question": self.experiment.question,
            "argument": self.experiment.argument,
            "seed": self.seed,
            "agrees": self.agrees,
            "claims": claims,
            "data": self.data,
            "notes": list(self.notes),
        }


def prepare(name: str, thorough: bool = False) -> Experiment:
    """Return the experiment called ``name`` with its predictions; nothing is measured.

    Raises `InputError`, naming those there are.
    """
    experiment: Experiment = _module(name).prepare(thorough)
    return experiment


def measure(name: str, seed: int = 0, thorough: bool = False, progress: Progress | None = None) -> Result:
    """Predict, then measure: the same ``seed`` gives the same numbers, times apart.

    ``progress`` is told the fraction done and what is being done. Raises `InputError` for an unknown name or
    a seed below 0.
    """
    module = _module(name)
    if seed < 0:
        raise InputError(f"the seed is {seed}; it is a whole number from 0 up")
    with one_blas_thread():  # several would wait for each other on a machine that does something else besides
        result: Result = module.measure(prepare(name, thorough), seed, thorough, progress or _silent)
    return result


def shown(value: float) -> Number:
    """Show a number: a whole one to its last digit, any other in four.

    >>> shown(7191855104).text, shown(-12345.678).text, shown(math.inf).text
    ('7,191,855,104', '−12346', '∞')
    """
    if not float(value).is_integer():
        return significant(value)
    return Number(value, f"{int(value):,}".replace("-", "−"))


def _module(name: str) -> Any:
    if name not in EXPERIMENTS:
        raise InputError(f"there is no experiment {name!r}; there are {', '.join(EXPERIMENTS)}")
    return import_module(EXPERIMENTS[name])


def _silent(fraction: float, doing: str) -> None:
    pass


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
