"""Masks are handed over in the shape and form that a function takes; options are off unless asked for."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from adapting_forms import (
    LEADING,
    T_K,
    T_Q,
    attend,
    bthd,
    drawn,
    loops,
    past,
    run,
    same,
    speckles,
    strangers,
    upper,
    with_t,
    works,
)

from riverhead.checking.rules.adapting import adapt
from riverhead.checking.rules.call import Call
from riverhead.errors import InputError


def shaped(*allowed):
    """A function that takes a mask of some numbers of axes alone."""

    def f(q, k, v, mask=None):
        assert mask is None or mask.ndim in allowed
        return attend(q, k, v, mask)[0]

    return f


def for_each_sample(q, k, v, mask=None):
    B, _H, T, _ = q.shape
    if mask is not None:
        assert mask.shape == (B, T, k.shape[-2])
    return attend(q, k, v, None if mask is None else mask[:, None])[0]


@pytest.mark.parametrize("f", [upper, bthd, shaped(2), shaped(4), shaped(2, 3), for_each_sample])
@pytest.mark.parametrize("rank", [2, 3, 4])
def test_one_mask_for_all_is_taken_at_every_rank(f, rank):
    adapter = adapt(f)
    assert "mask" in adapter.offers
    arrays, mask = drawn(rank), speckles(T_Q, T_K)
    same(adapter.run(Call({**arrays, "mask": mask})), loops(**arrays, seen=mask))


@pytest.mark.parametrize("f", [upper, bthd, shaped(4), for_each_sample])
def test_a_mask_for_each_sample_is_taken_where_the_function_can(f):
    B, _H = LEADING[4]
    arrays, mask = drawn(4), speckles(B, 1, T_Q, T_K)
    same(run(f, Call({**arrays, "mask": mask})), loops(**arrays, seen=mask))
    same(run(f, Call({**drawn(3), "mask": mask[:, 0]})), loops(**drawn(3), seen=mask[:, 0]))
    with pytest.raises(InputError, match=r"takes a mask of \(T, S\).*cannot say this one"):
        run(shaped(2), Call({**arrays, "mask": mask}))


def test_a_mask_for_each_head_is_taken_where_the_function_can():
    arrays, mask = drawn(4), speckles(LEADING[4][1], T_Q, T_K)
    same(run(upper, Call({**arrays, "mask": mask})), loops(**arrays, seen=mask))
    with pytest.raises(InputError, match=r"takes a mask of \(B, T, S\).*cannot say this one"):
        run(for_each_sample, Call({**arrays, "mask": mask}))


def added(q, k, v, mask=None):
    return attend(q, k, v, None, None, 0.0 if mask is None else mask)[0]


def ones(q, k, v, mask=None):
    return attend(q, k, v, None if mask is None else mask == 1)[0]


def ones_alone(q, k, v, mask=None):
    assert mask is None or mask.dtype.kind == "i"
    return attend(q, k, v, None if mask is None else mask == 1)[0]


def drop(q, k, v, mask=None):
    return attend(q, k, v, None if mask is None else ~mask)[0]


def floats_alone(q, k, v, mask=None):
    assert mask is None or mask.dtype.kind == "f"
    return attend(q, k, v, None, None, 0.0 if mask is None else mask)[0]


@pytest.mark.parametrize(
    ("f", "form"),
    [
        (upper, "boolean"),
        (ones, "number"),
        (ones_alone, "number"),
        (added, "added"),
        (floats_alone, "added"),
        (drop, "drop"),
    ],
)
def test_a_mask_is_handed_over_in_the_form_that_was_asked_for(f, form):
    arrays, mask = drawn(4), speckles(T_Q, T_K)
    adapter = adapt(f)
    assert "mask" in adapter.offers
    same(adapter.run(Call({**arrays, "mask": mask}, {"mask_form": form})), loops(**arrays, seen=mask))


def test_a_form_that_is_none_is_refused():
    with pytest.raises(InputError, match=r"mask_form is one of boolean, number, added, drop; 'x' was given"):
        run(upper, Call({**drawn(2), "mask": speckles(T_Q, T_K)}, {"mask_form": "x"}))


@pytest.mark.parametrize("form", ["boolean", "number", "added", "drop"])
def test_where_a_mask_must_be_given_one_that_hides_nothing_is(form):
    def f(q, k, v, mask):
        assert mask.dtype.kind == {"number": "i", "added": "f"}.get(form, "b")
        if form == "added":
            return attend(q, k, v, None, None, mask)[0]
        return attend(q, k, v, ~mask if form == "drop" else mask.astype(bool))[0]

    adapter = works(f)
    assert any(note.startswith("a mask must be given") for note in adapter.notes)
    arrays, mask = drawn(3), speckles(T_Q, T_K)
    same(adapter.run(Call({**arrays, "mask": mask}, {"mask_form": form})), loops(**arrays, seen=mask))


def keys_hidden(q, k, v, key_padding_mask=None):
    if key_padding_mask is not None:
        assert key_padding_mask.shape == (q.shape[0], k.shape[-2])
        key_padding_mask = key_padding_mask.reshape(q.shape[0], *(1 for _ in q.shape[1:-1]), -1)
    return attend(q, k, v, key_padding_mask)[0]


def keys_called_mask(q, k, v, mask=None):
    return keys_hidden(q, k, v, mask)


@pytest.mark.parametrize("f", [keys_hidden, keys_called_mask])
@pytest.mark.parametrize("rank", [3, 4])
def test_a_mask_of_keys_is_told_from_one_of_queries_and_keys(f, rank):
    adapter = adapt(f)
    assert "key_mask" in adapter.offers
    assert "mask" not in adapter.offers
    arrays, mask = drawn(rank), speckles(LEADING[rank][0], T_K)
    seen = mask.reshape(-1, *(1 for _ in LEADING[rank]), T_K)
    same(adapter.run(Call({**arrays, "key_mask": mask})), loops(**arrays, seen=seen))


def test_a_mask_of_another_length_is_handed_over_as_it_is():
    lengths = []

    def f(q, k, v, mask=None):
        lengths.append(None if mask is None else mask.shape)
        return attend(q, k, v)[0]

    run(f, Call({**drawn(2), "mask": speckles(T_Q, T_K + 1)}))
    assert lengths[-1] == (T_Q, T_K + 1)


# Options


def options(q, k, v, causal=True, scale=None, window=None, softcap=None, bias=None):
    assert window in (None, 2)
    assert softcap is None or softcap > 1
    seen = past(q.shape[-2], k.shape[-2]) if causal else None
    return attend(q, k, v, seen, scale, bias)[0]


def test_options_are_off_unless_they_are_asked_for():
    adapter = works(options)
    assert {"causal", "scale", "window", "softcap", "bias"} <= adapter.offers
    arrays = drawn(3)
    same(adapter.run(Call(arrays, {"causal": True})), loops(**arrays, seen=past(T_Q, T_K)))
    same(adapter.run(Call(arrays, {"scale": 0.7, "softcap": 1.25})), loops(**arrays, scale=0.7))
    bias = np.random.default_rng(2).normal(size=(T_Q, T_K))
    same(adapter.run(Call({**arrays, "bias": bias})), loops(**arrays, bias=bias))


def test_what_a_function_does_not_take_is_refused_not_left_out():
    arrays = drawn(2)
    for strange in ({"scale": 0.5}, {"window": 2}, {"softcap": 1.0}, {"dropout": 0.5}):
        with pytest.raises(InputError, match=f"takes no {next(iter(strange))}"):
            run(strangers, Call(arrays, strange))
    for name in ("mask", "key_mask", "bias", "sinks"):
        with pytest.raises(InputError, match=f"takes no {name}"):
            run(strangers, Call({**arrays, name: np.ones((T_Q, T_K))}))
    with pytest.raises(InputError, match=r"takes no q of 3 axes; it takes \[2\]"):
        run(with_t, Call(drawn(3)))


def test_a_mask_that_is_a_flag_is_causality_and_a_scale_that_is_a_flag_is_no_number():
    def f(q, k, v, mask=False, scale=True):
        assert mask in (True, False)
        assert scale
        return attend(q, k, v, past(q.shape[-2], k.shape[-2]) if mask else None)[0]

    adapter = works(f)
    assert "causal" in adapter.offers
    assert not {"mask", "scale"} & adapter.offers
    arrays = drawn(2)
    same(adapter.run(Call(arrays, {"causal": True})), loops(**arrays, seen=past(T_Q, T_K)))


def test_of_two_parameters_for_one_thing_the_first_is_used():
    def f(q, k, v, scale=None, softmax_scale=None):
        assert softmax_scale is None
        return attend(q, k, v, None, scale)[0]

    same(run(f, Call(drawn(2), {"scale": 0.3})), loops(**drawn(2), scale=0.3))


def test_a_window_is_a_number_or_a_pair():
    met = []

    def number(q, k, v, sliding_window=None):
        met.append(sliding_window if sliding_window is None else sliding_window + 0)
        return attend(q, k, v)[0]

    def pair(q, k, v, causal=False, window_size=(-1, -1)):
        before, after = window_size
        met.append((before, after))
        return attend(q, k, v)[0]

    run(number, Call(drawn(2), {"window": 3}))
    assert met[-1] == 3
    run(pair, Call(drawn(2), {"window": 3}))
    assert met[-1] == (2, 2)
    run(pair, Call(drawn(2), {"window": 3, "causal": True}))
    assert met[-1] == (2, 0)


def test_a_dropout_is_offered_where_there_is_a_mode_of_evaluation():
    met = []

    def both(q, k, v, dropout=0.0, training=True):
        met.append((dropout, training))
        return attend(q, k, v)[0]

    def rate_alone(q, k, v, dropout_p=0.0):
        met.append(dropout_p)
        return attend(q, k, v)[0]

    def reversed_(q, k, v, dropout=0.0, deterministic=True):
        met.append((dropout, deterministic))
        return attend(q, k, v)[0]

    run(reversed_, Call(drawn(2), {"dropout": 0.5}))
    assert met[-1] == (0.5, True)
    run(reversed_, Call(drawn(2), {"dropout": 0.5, "training": True}))
    assert met[-1] == (0.5, False)
    assert "dropout" in adapt(both).offers
    assert "dropout" not in adapt(rate_alone).offers
    run(both, Call(drawn(2), {"dropout": 0.5}))
    assert met[-1] == (0.5, False)
    run(both, Call(drawn(2), {"dropout": 0.5, "training": True}))
    assert met[-1] == (0.5, True)


def test_sinks_and_grouped_heads():
    def f(q, k, v, sinks=None, enable_gqa=False, n_rep=1):
        _B, H, _T, _d = q.shape
        assert enable_gqa == (k.shape[1] != H)
        assert n_rep == H // k.shape[1]
        k, v = np.repeat(k, n_rep, axis=1), np.repeat(v, n_rep, axis=1)
        assert sinks is None or sinks.shape == (H,)
        return attend(q, k, v)[0]

    adapter = works(f)
    assert {"sinks", "grouped"} <= adapter.offers
    G = 1
    arrays = drawn(4, G=G)
    k, v = (np.repeat(arrays[name], LEADING[4][1], axis=1) for name in "kv")
    same(adapter.run(Call(arrays)), loops(arrays["q"], k, v))


def test_what_is_always_causal_is_found_however_wrong_its_triangle_is():
    def triangle(q, k, v, *, k_diagonal):
        n, m = q.shape[-2], k.shape[-2]
        return attend(q, k, v, np.tril(np.ones((n, m), bool), m - n + k_diagonal))[0]

    def future(q, k, v):
        return attend(q, k, v, np.triu(np.ones((q.shape[-2], k.shape[-2]), bool)))[0]

    for diagonal in (-1, 0, 1):
        with np.errstate(invalid="ignore"):
            assert "always_causal" in adapt(partial(triangle, k_diagonal=diagonal)).offers
    assert "always_causal" in adapt(future).offers
    assert "always_causal" not in adapt(strangers).offers
    assert (
        "always_causal" not in adapt(lambda q, k, v, causal=True: future(q, k, v)).offers
    )  # it has an option
