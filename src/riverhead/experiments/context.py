"""One word in two sentences: attention without parameters against attention that learns what to look for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from riverhead.core.border import Floats
from riverhead.experiments.context_scene import parts
from riverhead.experiments.experiment import Experiment, Prediction, Progress, Result
from riverhead.experiments.one_query import last_token_asks
from riverhead.experiments.sentences import LENGTH, Sentences, sentences
from riverhead.experiments.training import Adam, Parameters, cross_entropy, train

__all__ = ["SETUPS", "Run", "Setup", "Split", "measure", "predict", "prepare", "run"]

LEARNING_RATE = 0.03
ENOUGH = 0.95  # of the held-out sentences
SLACK = 1e-9  # relative: a mean of some hundred terms rounds by far less
PROJECTIONS = ("W_q", "W_k", "W_v")

QUESTION = "does a word need W_q, W_k and W_v to take its meaning from a sentence?"
ARGUMENT = """\
Without parameters attention is y = softmax(x xᵀ / √d) x: a word looks at what is like itself. It has \
nothing to learn; what reads y, the readout, has.

The task: “{one}” says {one_sense}, “{two}” says {two_sense}. The same words: what “{word}” means hangs on \
which noun is the subject. A token is the vector of its word plus the vector of its place, all at right \
angles and of length {length:g}.

No readout of y can tell the two apart. “{word}” is at right angles to both nouns and to both their places, \
so in either sentence both nouns have the dot 0 and the same weight w, and y = w·(subject + its place) + \
w·(other + its place) + the rest, which is the same. Swap the nouns and y is the same sum. One y for two \
meanings: any readout, of whatever kind, says the same of both, is right on one of the two, and loses at \
least ln 2 a sentence.

What it takes is a learned match, by which “{word}” finds what is not like itself: the subject's place. In \
x xᵀ likeness alone counts, and a word is most like itself. W_q apart from W_k is one way, and lets what a \
word looks for differ from what it is found by. One matrix shared by both would do here as well, if it takes \
the word and that place to one direction: the scores are then symmetric, and learned. W_v sets both apart \
from what is handed over. Here all three start as the identity, so that training starts from attention \
without parameters."""


@dataclass(frozen=True, slots=True)
class Setup:
    """How much is measured."""

    n_seeds: int = 5
    n_steps: int = 80
    during: int = 5  # the step between before and after at which weights are shown
    n_held_out: int = 16  # pairs of nouns that no training sees in either order


SETUPS = {False: Setup(), True: Setup(n_seeds=20, n_steps=300)}  # by thorough


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Sentences to train on, and those of the held-out pairs: each pair's two orders one after the other."""

    train_x: Floats  # (n, T, d_model)
    train_sense: NDArray[np.int64]  # (n,)
    held_out: tuple[tuple[str, str], ...]  # (subject, other)
    held_out_x: Floats
    held_out_sense: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One model, with W_q, W_k and W_v ``learned`` or left as the identity."""

    learned: bool
    start: int
    losses: tuple[float, ...]  # before each step, nats a sentence
    accuracy: float  # on the held-out sentences
    subject_weight: float  # mean over them, after training
    steps: tuple[int, ...]  # when the weights were taken
    weights: tuple[
        tuple[tuple[float, ...], ...], ...
    ]  # (n steps, 2 sentences, T), of the first held-out pair
    held_out: tuple[tuple[str, str], ...]  # its two sentences: (subject, other)


def prepare(thorough: bool = False) -> Experiment:
    """Return the question, the argument and what is predicted; nothing is measured.

    >>> [prediction.bound for prediction in prepare().predictions]
    ['exactly 0', 'at least 0.3199', 'exactly 0.5000', '0.9500 to 1']
    """
    return predict(SETUPS[thorough])


def measure(experiment: Experiment, seed: int, thorough: bool, progress: Progress) -> Result:
    """Train both ways from the same starts, and put what came out beside ``experiment``."""
    return run(experiment, SETUPS[thorough], seed, progress)


def predict(setup: Setup) -> Experiment:
    """Return the predictions for ``setup``; the bounds follow from its sizes."""
    known = sentences()
    n_train = len(known.all) - 2 * setup.n_held_out
    n_twins = 2 * (len(known.pairs) - setup.n_held_out)
    return Experiment(
        "context",
        QUESTION,
        _argument(known),
        (
            Prediction(
                "difference of twins",
                "Without parameters two sentences of different meaning give one output, to the last bit.",
                0,
                0,
                f"both nouns weigh the same; every dot and sum of vectors of length {LENGTH:g} is exact",
            ),
            Prediction(
                "loss without parameters",
                f"Its readout cannot but guess on them, in the best of {setup.n_seeds} seeds too.",
                n_twins / n_train * math.log(2) * (1 - SLACK),
                math.inf,
                f"ln 2 on {n_twins} of the {n_train} sentences it trains on, which have such a twin",
            ),
            Prediction(
                "accuracy without parameters",
                "On held-out pairs it is right on one sentence of the two, in the best seed too.",
                0.5,
                0.5,
                "one answer for both sentences of a pair, one of them right",
            ),
            Prediction(
                "accuracy learned",
                "With W_q, W_k and W_v learned it is right on them, in the worst seed too.",
                ENOUGH,
                1,
                "a W_q that turns the word into the subject's place is right on all; training is left 5 %",
            ),
        ),
    )


def _argument(known: Sentences) -> str:
    one, two = known.pairs[0]
    return ARGUMENT.format(
        one=" ".join(known.words(one, two)),
        two=" ".join(known.words(two, one)),
        one_sense=known.senses[known.sense(one)],
        two_sense=known.senses[known.sense(two)],
        word=known.frame[-1],
        length=LENGTH,
    )


def run(experiment: Experiment, setup: Setup, seed: int, progress: Progress) -> Result:
    """Train what ``setup`` says and put what came out beside the predictions."""
    known = sentences()
    runs = tuple(_runs(known, setup, seed, progress))
    free, learned = ([each for each in runs if each.learned is wanted] for wanted in (False, True))
    claims = experiment.claims(
        {
            "difference of twins": _difference_of_twins(known),
            "loss without parameters": min(min(each.losses) for each in free),
            "accuracy without parameters": max(each.accuracy for each in free),
            "accuracy learned": min(each.accuracy for each in learned),
        }
    )
    notes = (
        "Both ways have the same readout from the same start, the same optimizer and as many steps; only "
        "whether W_q, W_k and W_v learn differs. Accuracies are on pairs of nouns that no training has seen.",
        "With vectors that are not at right angles the outputs of two twins differ by the accident of their "
        "dots, and a readout may use it; attention without parameters still cannot learn where to look.",
    )
    floor = experiment.predictions[1].low
    data = {"floor": floor, "runs": [asdict(each) for each in runs]}
    return Result(experiment, seed, claims, parts(known, free, learned, floor), data, notes)


def _runs(known: Sentences, setup: Setup, seed: int, progress: Progress) -> Iterator[Run]:
    """Both ways from every start."""
    every = list(product(range(setup.n_seeds), (False, True)))
    for done, (start, learned) in enumerate(every):
        doing = f"{'learning' if learned else 'no parameters'}, seed {start + 1} of {setup.n_seeds}"

        def tell(part: float, done: int = done, doing: str = doing) -> None:
            progress((done + part) / len(every), doing)

        rng = np.random.default_rng([seed, start])
        yield _trained(known, learned, start, setup, rng, tell)


def _trained(
    known: Sentences,
    learned: bool,
    start: int,
    setup: Setup,
    rng: np.random.Generator,
    tell: Callable[[float], None],
) -> Run:
    split = _split(known, setup.n_held_out, rng)
    W: Parameters = {name: np.eye(known.d_model) for name in PROJECTIONS}
    W["W_o"] = rng.normal(0, known.d_model**-0.5, (known.d_model, len(known.senses)))
    trained = (*PROJECTIONS, "W_o") if learned else ("W_o",)

    def loss(W: Parameters, step: int) -> tuple[float, Parameters]:
        asked, back = last_token_asks(split.train_x, W)
        off, d_y = cross_entropy(asked.y, split.train_sense)
        d = back(d_y)
        return off, {name: d[name] for name in trained}

    steps = (0, min(setup.during, setup.n_steps), setup.n_steps)
    optimizer, losses, weights = Adam(LEARNING_RATE), [], [_weights(split, W)]
    for begin, end in pairwise(steps):
        losses += train(W, loss, optimizer, end - begin).tolist()
        weights.append(_weights(split, W))
        tell(end / setup.n_steps)
    found, _ = last_token_asks(split.held_out_x, W)
    return Run(
        learned,
        start,
        tuple(losses),
        float((found.y.argmax(axis=-1) == split.held_out_sense).mean()),
        float(found.weights[:, 0, known.subject_place].mean()),
        steps,
        tuple(weights),
        split.held_out[:2],
    )


def _split(known: Sentences, n_held_out: int, rng: np.random.Generator) -> Split:
    """Hold out some pairs of nouns, in both orders, and train on every other sentence."""
    chosen = rng.permutation(len(known.pairs))[:n_held_out]
    held_out = [order for i in chosen for order in (known.pairs[i], known.pairs[i][::-1])]
    rest = [filled for filled in known.all if filled not in set(held_out)]
    return Split(*_arrays(known, rest), tuple(held_out), *_arrays(known, held_out))


def _arrays(known: Sentences, filled: Sequence[tuple[str, str]]) -> tuple[Floats, NDArray[np.int64]]:
    """Return the sentences' vectors (n, T, d_model) and the sense of each (n,)."""
    x = np.array([known.vectors(*nouns) for nouns in filled])
    return x, np.array([known.sense(subject) for subject, _ in filled])


def _weights(split: Split, W: Parameters) -> tuple[tuple[float, ...], ...]:
    """The last word's weights in the two sentences of the first held-out pair: (2, T)."""
    asked, _ = last_token_asks(split.held_out_x[:2], W)
    return tuple(map(tuple, asked.weights[:, 0].tolist()))


def _difference_of_twins(known: Sentences) -> float:
    """The largest difference between the outputs, without parameters, of any pair in its two orders."""
    W: Parameters = dict.fromkeys((*PROJECTIONS, "W_o"), np.eye(known.d_model))
    one, two = (
        last_token_asks(_arrays(known, pairs)[0], W)[0].y
        for pairs in (known.pairs, [pair[::-1] for pair in known.pairs])
    )
    return float(np.abs(one - two).max())
