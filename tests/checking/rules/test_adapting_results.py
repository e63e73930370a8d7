"""What comes back is found in what a function returned; what else was asked for is measured."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from adapting_forms import (
    D_V,
    LEADING,
    T_K,
    T_Q,
    attend,
    drawn,
    loops,
    run,
    same,
    speckles,
    strangers,
    with_t,
    works,
)

from riverhead.checking.rules.adapting import Asked, adapt
from riverhead.checking.rules.call import Call
from riverhead.errors import InputError


class Named(NamedTuple):
    output: Any
    attn_weights: Any


@dataclass
class Result:
    weights: Any
    out: Any


Plain = namedtuple("Plain", "attn context")


class Hostile:
    def __init__(self, out):
        self.context = out

    @property
    def out(self):
        raise RuntimeError("not here")


RESULTS = {
    "tuple": lambda out, weights: (out, weights),
    "turned": lambda out, weights: (weights, out),
    "list": lambda out, weights: [out, weights],
    "dict": lambda out, weights: {"attention": weights, "output": out},
    "named": lambda out, weights: Named(out, weights),
    "dataclass": lambda out, weights: Result(weights, out),
    "plain": lambda out, weights: Plain(weights, out),
    "three": lambda out, weights: (out, None, weights),
}


@pytest.mark.parametrize("form", RESULTS)
@pytest.mark.parametrize("asked", ["always", "if asked"])
def test_the_output_and_the_weights_are_found_in_what_comes_back(form, asked):
    def always(q, k, v):
        return RESULTS[form](*attend(q, k, v))

    def if_asked(q, k, v, return_weights=False):
        out, weights = attend(q, k, v)
        return RESULTS[form](out, weights) if return_weights else out

    adapter = works(always if asked == "always" else if_asked)
    assert "weights" in adapter.offers
    for rank in (2, 3, 4):
        arrays = drawn(rank, d_v=T_K)  # as wide as long: the two are told apart by what was found before
        outcome = adapter.run(Call(arrays, want=("weights",)))
        same(outcome, loops(**arrays))
        right = loops(arrays["q"], arrays["k"], np.broadcast_to(np.eye(T_K), (*LEADING[rank], T_K, T_K)))
        np.testing.assert_allclose(outcome.arrays["weights"], right, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "result",
    [lambda out: (out,), lambda out: [out], lambda out: {"y": out}, lambda out: (out, None), Hostile,
     lambda out: out.tolist(), lambda out: [list(row) for row in out], lambda out: tuple(map(tuple, out)),
     lambda out: list(out), lambda out: out.astype(object), lambda out: np.ma.array(out),
     lambda out: np.asfortranarray(out), lambda out: out.astype(np.longdouble)],
)  # fmt: skip
def test_an_output_may_be_wrapped_or_a_list(result):
    adapter = adapt(lambda q, k, v: result(with_t(q, k, v)))
    arrays = drawn(2)
    outcome = adapter.run(Call(arrays))
    assert type(outcome.out) is np.ndarray
    assert outcome.facts["dtype"] == "float64"
    same(outcome, loops(**arrays))


def test_weights_averaged_over_heads_come_back_as_they_are():
    def averaged(q, k, v):
        out, weights = attend(q, k, v)
        return out, weights.mean(axis=1) if q.ndim == 4 else weights

    arrays = drawn(4)
    outcome = run(averaged, Call(arrays, want=("weights",)))
    assert outcome.arrays["weights"].shape == (LEADING[4][0], T_Q, T_K)


def test_what_returns_weights_alone_has_them_for_its_output():
    adapter = adapt(lambda q, k, v: attend(q, k, v)[1])
    assert "weights" not in adapter.offers
    with pytest.raises(InputError, match="returns no weights"):
        adapter.run(Call(drawn(3), want=("weights",)))
    v = np.broadcast_to(np.eye(T_K), (*LEADING[3], T_K, T_K))
    arrays = drawn(3)
    same(adapter.run(Call(arrays)), loops(arrays["q"], arrays["k"], v))


def test_heads_that_are_summed_up_are_no_heads():
    def summed(q, k, v):
        out = attend(q, k, v)[0]
        return out.sum(axis=1) if q.ndim == 4 else out

    assert "heads" not in adapt(summed).offers


def test_two_matrices_that_may_be_the_weights_are_none():
    adapter = adapt(lambda q, k, v: (attend(q, k, v)[0], attend(q, k, v)[1], attend(q, k, v)[1]))
    assert "weights" not in adapter.offers
    same(adapter.run(Call(drawn(3))), loops(**drawn(3)))


def rows(q, k, v):
    yield from attend(q, k, v)[0]


@pytest.mark.parametrize(
    ("f", "why"),
    [
        (lambda q, k, v: None, "it returned None"),
        (rows, "it returned a generator"),
        (lambda q, k, v: "out", "it returned a str"),
        (lambda q, k, v: np.array([[None] * D_V] * len(q)), "an ndarray of shape"),
        (lambda q, k, v: np.array(["a"] * len(q)), "an ndarray of shape"),
        (lambda q, k, v: [[1.0], [2.0, 3.0]], "it returned a list of list, list"),
        (lambda q, k, v: q.sum(), "it returned a float64 of shape"),
        (lambda q, k, v: attend(q, k, v)[0][1:] * 1j, "an ndarray of shape"),
        (lambda q, k, v: attend, "it returned a function"),
        (lambda q, k, v: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda q, k, v: {}, "it returned a dict"),
    ],
)
def test_what_is_no_output_is_refused_with_what_it_was(f, why):
    with pytest.raises(InputError, match=f"could not be called with q, k, v as NumPy arrays: .*{why}"):
        adapt(f, Asked(arrays="numpy"))


def test_of_all_reasons_that_of_the_nearest_call_is_told():
    def f(q, k, v):
        if q.ndim != 3:
            raise ValueError("three axes alone")

    with pytest.raises(InputError, match="as NumPy arrays: it returned None"):
        adapt(f, Asked(arrays="numpy"))


def test_what_comes_back_otherwise_later_is_told():
    def fickle(q, k, v):
        return None if len(q) == T_Q else with_t(q, k, v)

    with pytest.raises(TypeError, match="it returned None, no array"):
        run(fickle, Call(drawn(2)))


# What else is asked for


@pytest.mark.parametrize(
    ("how", "shows"),
    [
        ("strided", lambda x: not x.flags.c_contiguous and not x.flags.f_contiguous and min(x.strides) > 0),
        ("reversed", lambda x: min(x.strides) < 0),
        ("readonly", lambda x: not x.flags.writeable),
        ("expanded", lambda x: 0 in x.strides),
    ],
)
def test_arrays_lie_as_they_were_asked_to_and_hold_the_same_numbers(how, shows):
    met = []

    def f(q, k, v):
        met.extend([q, k, v])
        return attend(q, k, v)[0]

    arrays = drawn(4)
    if how == "expanded":
        arrays = {name: np.broadcast_to(x[:1, :1], x.shape).copy() for name, x in arrays.items()}
    adapter = adapt(f)
    assert how in adapter.offers
    same(adapter.run(Call(arrays, how=how)), loops(**arrays))
    for x, given_ in zip(met[-3:], arrays.values(), strict=True):
        assert shows(x)
        assert np.array_equal(x, given_)


def test_inputs_come_back_as_they_are_after_the_call():
    def keeps(q, k, v, mask=None):
        return attend(q, k, v, mask)[0]

    def changes(q, k, v, mask=None):
        q *= 2
        if mask is not None:
            mask[...] = True
        return attend(q, k, v)[0]

    arrays = {**drawn(4), "mask": speckles(T_Q, T_K)}
    kept = run(keeps, Call(arrays, want=("inputs",)))
    assert kept.facts["changed"] == []
    assert all(np.array_equal(kept.arrays[name], x) for name, x in arrays.items())
    changed = run(changes, Call(arrays, want=("inputs",)))
    assert changed.facts["changed"] == ["q", "mask"]
    assert np.array_equal(changed.arrays["q"], 2 * arrays["q"])
    assert np.array_equal(changed.arrays["k"], arrays["k"])
    assert changed.arrays["mask"].all()


def test_what_a_function_holds_at_once_is_measured():
    def f(q, k, v):
        held = np.ones((1000, 1000))
        return attend(q, k, v)[0] + 0 * held[0, 0]

    adapter = adapt(f)
    outcome = adapter.run(Call(drawn(2), want=("peak_bytes",)))
    # 8 MB, and beside it what a few small arrays and Python's own objects take
    assert 8_000_000 <= outcome.facts["peak_bytes"] < 8_200_000
    same(outcome, loops(**drawn(2)))


def test_numpy_has_no_gradient():
    assert "gradient" not in adapt(strangers).offers
    with pytest.raises(InputError, match="NumPy arrays have no gradient"):
        run(strangers, Call(drawn(2), want=("gradient",)))


def test_each_call_gets_arrays_of_its_own():
    def spoils(q, k, v):
        out = attend(q, k, v)[0]
        for x in (q, k, v):
            x[...] = np.nan
        return out

    arrays = drawn(3)
    adapter = adapt(spoils)
    same(adapter.run(Call(arrays)), loops(**arrays))
    same(adapter.run(Call(arrays)), loops(**arrays))
