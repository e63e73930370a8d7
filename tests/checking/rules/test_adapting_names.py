"""Somebody's function is called by the names of its parameters, whatever wraps it, however hostile it is."""

from __future__ import annotations

import math
import warnings
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from typing import Any

import pytest
from adapting_forms import T_K, T_Q, attend, drawn, loops, past, run, same, speckles, strangers, upper, works
from hypothesis import given, settings
from hypothesis import strategies as st

from riverhead.checking.rules.adapting import Asked, adapt
from riverhead.checking.rules.adapting.roles import known_names
from riverhead.checking.rules.call import Call
from riverhead.errors import InputError


def words(query, key, value, attn_mask=None, is_causal=False):
    return attend(query, key, value, attn_mask)[0]


def states(query_states, key_states, value_states, attention_mask=None, *, scaling=None, **kwargs):
    return attend(query_states, key_states, value_states, attention_mask, scaling)[0]


def by_name_alone(*, Keys_, VALUES, _queries):
    return attend(_queries, Keys_, VALUES)[0]


def by_position_alone(q, k, v, /):
    return attend(q, k, v)[0]


def optional_between(q, k, v, flag=7, mask=None, /):
    assert flag == 7
    return attend(q, k, v, mask)[0]


def swapped(v, k, q):
    return attend(q, k, v)[0]


def masked_first(mask, q, k, v):
    return attend(q, k, v, mask)[0]


def half_known(query, key, x):
    return attend(query, key, x)[0]


def told_width(q, k, v, d_k, mask=None, dropout=None):
    return attend(q, k, v, mask, 1 / math.sqrt(d_k))[0]


def told_scale(q, k, v, softmax_scale):
    return attend(q, k, v, None, softmax_scale)[0]


def told_mode(q, k, v, training, dropout_p):
    assert (training, dropout_p) == (False, 0.0)
    return attend(q, k, v)[0]


def starred(*args):
    q, k, v = args
    return attend(q, k, v)[0]


def no_mask_but_none(q, k, v, mask):
    return attend(q, k, v, mask)[0]


def dropping(q, k, v, dropout=0.1, training=True):
    assert dropout == 0
    assert training is False
    return attend(q, k, v)[0]


def deterministic(q, k, v, dropout_rate=0.3, deterministic=False):
    assert dropout_rate == 0
    assert deterministic is True
    return attend(q, k, v)[0]


@pytest.mark.parametrize(
    "f",
    [upper, words, states, by_name_alone, by_position_alone, optional_between, swapped, masked_first,
     strangers, half_known, told_width, told_scale, told_mode, starred, no_mask_but_none, dropping,
     deterministic],
)  # fmt: skip
def test_a_function_is_called_by_the_names_of_its_parameters(f):
    adapter = works(f)
    assert adapter.kind == "attention"
    assert {"cross", "d_v", "inputs", "float32", "float16", "peak_bytes"} <= adapter.offers
    assert not {"gradient", "bfloat16", "always_causal", "weights", "dropout"} & adapter.offers - {"dropout"}
    assert adapter.notes[0] == "NumPy arrays of float64"


class Whole:
    """Methods, and an object that is called."""

    def method(self, q, k, v, mask=None):
        return attend(q, k, v, mask)[0]

    @classmethod
    def of_class(cls, q, k, v):
        return attend(q, k, v)[0]

    @staticmethod
    def static(q, k, v):
        return attend(q, k, v)[0]

    def __call__(self, query, key, value):
        return attend(query, key, value)[0]


def logged(f):
    @wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs)

    return wrapper


def only_positions(f):
    @wraps(f)
    def wrapper(*args):
        return f(*args)

    return wrapper


def only_names(f):
    @wraps(f)
    def wrapper(**kwargs):
        return f(**kwargs)

    return wrapper


def general(f, q, k, v, mask=None):
    return f(q, k, v, mask)[0]


@pytest.mark.parametrize(
    "f",
    [Whole().method, Whole.of_class, Whole.static, Whole(), logged(upper), only_positions(upper),
     only_names(upper), partial(general, attend), partial(upper, mask=None), Whole,
     lambda q, k, v: attend(q, k, v)[0]],
)  # fmt: skip
def test_methods_wrappers_partials_objects_and_classes_are_called(f):
    works(f)


class Native:
    """As a function that was compiled: no signature, at most words about it."""

    __name__ = "fused"
    __signature__ = "none"

    def __init__(self, doc=None):
        self.__doc__ = doc

    def __call__(self, *args, **names):
        q, k, v = args
        return attend(q, k, v, names.get("mask"), names.get("scale"))[0]


def test_without_a_signature_the_docstring_tells_and_else_nothing_but_positions_is_known():
    told = works(Native("fused(query, key, value, mask=None, scale=None) -> array\n\nDoes it."))
    untold = works(Native())
    wrong = works(Native("fused: see elsewhere (query, key)"))
    assert {"mask", "scale"} <= told.offers
    assert not {"mask", "scale"} & (untold.offers | wrong.offers)


def test_what_is_unknown_and_must_be_given_is_named_and_can_be_given():
    def tempered(q, k, v, temperature):
        return attend(q, k, v, None, 1 / temperature)[0]

    with pytest.raises(
        InputError, match=r"tempered must be given 'temperature'.*--argument temperature=VALUE"
    ):
        adapt(tempered)
    arrays = drawn(2)
    same(run(tempered, Call(arrays), arguments={"temperature": 4.0}), loops(**arrays, scale=0.25))
    with pytest.raises(InputError, match="takes no argument 'temp'; it takes q, k, v, temperature"):
        adapt(tempered, Asked(arguments={"temp": 4.0}))


def test_positions_before_one_that_is_given_keep_their_defaults():
    arrays, mask = drawn(2), speckles(T_Q, T_K)
    same(run(optional_between, Call({**arrays, "mask": mask})), loops(**arrays, seen=mask))


def test_what_has_a_name_and_does_not_work_is_said():
    def f(q, k, v, mask=None, window=None, scale=1.0):
        if window is not None:
            raise NotImplementedError("windows are to come")
        return attend(q, k, v, mask, scale / math.sqrt(q.shape[-1]))[0]

    notes = adapt(f, Asked(arguments={"scale": 2.0})).notes
    assert "every call with scale=2.0" in notes
    assert "window is not asked for: NotImplementedError: windows are to come" in notes
    assert not any(note.startswith("mask") for note in notes)


def test_an_argument_that_is_given_for_every_call_is_no_longer_an_option():
    def f(q, k, v, causal=False):
        return attend(q, k, v, past(q.shape[-2], k.shape[-2]) if causal else None)[0]

    assert "causal" in adapt(f).offers
    fixed = adapt(f, Asked(arguments={"causal": True}))
    assert "causal" not in fixed.offers
    assert "always_causal" in fixed.offers
    arrays = drawn(2)
    same(fixed.run(Call(arrays, {"causal": True})), loops(**arrays, seen=past(T_Q, T_K)))


@pytest.mark.parametrize(
    "f",
    [lambda q, k: q, lambda x: x, lambda *, a, b, c: a, lambda: 0, lambda a, b, c, d: a, 3, "f", None],
)
def test_what_is_no_function_of_three_arrays_is_refused(f):
    with pytest.raises(InputError):
        adapt(f)


names = {role: st.sampled_from(known_names()[role]) for role in ("q", "k", "v", "mask", "causal", "scale")}


@given(st.fixed_dictionaries(names), st.permutations(["q", "k", "v", "mask", "causal", "scale"]), st.data())
@settings(max_examples=15, deadline=None)
def test_any_known_names_in_any_order_are_handed_over_alike(name, order, data):
    kinds = [Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY]
    of = sorted(data.draw(st.lists(st.sampled_from(kinds), min_size=6, max_size=6)))
    order = [*(r for r in order if r in "qkv"), *(r for r in order if r not in "qkv")]  # defaults come last
    none = {"mask": None, "causal": False, "scale": None}
    signature = Signature([
        Parameter(name[role], kind, default=none.get(role, Parameter.empty))
        for role, kind in zip(order, of, strict=True)
    ])  # fmt: skip

    def f(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        x = {role: bound.arguments[name[role]] for role in order}
        seen = None if x["mask"] is None else x["mask"]
        if x["causal"]:
            seen = past(T_Q, T_K) & (True if seen is None else seen) if x["q"].shape[-2] == T_Q else None
        return attend(x["q"], x["k"], x["v"], seen, x["scale"])[0]

    f.__signature__ = signature
    adapter = adapt(f)
    assert {"mask", "causal", "scale"} <= adapter.offers
    arrays, mask = drawn(3), speckles(T_Q, T_K)
    call = Call({**arrays, "mask": mask}, {"causal": True, "scale": 0.3})
    same(adapter.run(call), loops(**arrays, seen=mask & past(T_Q, T_K), scale=0.3))
    same(adapter.run(Call(arrays)), loops(**arrays))


# Hostile


class Raises:
    """Nothing about it can be looked at."""

    @property
    def __signature__(self):
        raise RuntimeError("no")

    @property
    def __wrapped__(self):
        raise RuntimeError("no")

    @property
    def __doc__(self):
        raise RuntimeError("no")

    def __call__(self, q, k, v):
        return attend(q, k, v)[0]


class Lies:
    __signature__ = signature(upper)

    def __call__(self, a, b, c):
        return attend(a, b, c)[0]


def many(**defaults):
    signature = Signature([Parameter(f"p{n}", Parameter.KEYWORD_ONLY) for n in range(200)])

    def f(q, k, v):
        return attend(q, k, v)[0]

    f.__signature__ = signature
    return f


def test_a_hostile_signature_is_survived():
    works(Raises())
    assert "mask" not in works(Lies()).offers
    works(many())  # 200 parameters: not believed, and called by position


def test_what_warns_is_called_all_the_same():
    def warns(q, k, v, causal=False):
        warnings.warn("nobody hears it", stacklevel=1)
        return attend(q, k, v, past(q.shape[-2], k.shape[-2]) if causal else None)[0]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert {"causal", "peak_bytes"} <= adapt(warns).offers


def test_an_object_that_raises_whatever_is_asked_of_it_is_refused():
    class Nothing:
        def __getattr__(self, name):
            raise RuntimeError(name)

        def __call__(self):
            return None

    with pytest.raises(InputError):
        adapt(Nothing(), Asked(arrays="numpy"))
