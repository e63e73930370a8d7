"""The row of steps is attention where none is changed; what a changed one gives follows on paper."""

import math
import sys
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from riverhead.checking.rules.call import Call
from riverhead.checking.rules.pipeline import follow
from riverhead.checking.rules.rule import Choice
from riverhead.core import attention

sys.path.insert(0, str(Path(__file__).parents[2] / "core"))
from bounds import close, out_bound
from problems import problems


@given(problems(dtypes=(np.float64,)), st.data())
def test_unchanged_it_is_attention(problem, data):
    if problem.options.get("align") == "start" or (problem.q.ndim > 2) != (problem.k.ndim > 2):
        return
    arrays = {"q": problem.q, "k": problem.k, "v": problem.v}
    arrays |= {name: problem.options[name] for name in ("mask", "bias", "sinks") if name in problem.options}
    options = {
        name: problem.options[name]
        for name in ("causal", "scale", "window", "softcap")
        if name in problem.options
    }
    right = attention(problem.q, problem.k, problem.v, **problem.options)
    steps = follow(Call(arrays, options))
    bound = out_bound(right.weights, problem.q, problem.k, problem.v, **options, bias=arrays.get("bias"))
    close(np.broadcast_to(steps.out, right.out.shape), right.out, bound)


def test_a_hidden_value_adds_nothing():
    arrays = {"q": np.ones((1, 2)), "k": np.ones((2, 2)), "v": np.array([[3.0], [math.nan]])}
    assert follow(Call({**arrays, "mask": np.array([[True, False]])})).out == 3.0


def test_a_step_done_otherwise_changes_all_that_follows_from_it():
    call = Call(
        {"q": np.array([[2.0, 1.0]]), "k": np.array([[1.0, 0.0], [0.0, 1.0]]), "v": np.array([[0.0], [1.0]])}
    )
    steps = follow(call, [Choice("c", "scale", "", {"factor": lambda p: 1.0})])
    assert math.isclose(steps.out.item(), math.e / (math.e**2 + math.e), rel_tol=1e-15)
