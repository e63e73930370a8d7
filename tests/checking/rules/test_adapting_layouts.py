"""The layout of somebody's function is found by shapes, and converted both ways; so is its kind of arrays."""

from __future__ import annotations

import math

import numpy as np
import pytest
from adapting_forms import T_K, T_Q, attend, bthd, drawn, loops, run, same, speckles, with_t, works

from riverhead.checking.rules.adapting import Asked, adapt
from riverhead.checking.rules.adapting.probing import DRAW, SIZES
from riverhead.checking.rules.call import Call
from riverhead.errors import InputError


def bthd_in_place_of_q(q, k, v):
    B, T, H, _ = q.shape
    assert k.shape[:3] == (B, T, H)
    return bthd(q, k, v)


def bhtd_of_one_length(q, k, v):
    B, H, T, _ = q.shape
    assert k.shape[:3] == (B, H, T)
    return attend(q, k, v)[0]


def bhtd_to_bthd(q, k, v):
    _B, _H, _T, _d = q.shape
    return attend(q, k, v)[0].transpose(0, 2, 1, 3)


def bhtd_merged(q, k, v):
    B, _H, T, _d = q.shape
    return attend(q, k, v)[0].transpose(0, 2, 1, 3).reshape(B, T, -1)


def side_by_side(q, k, v, n_heads):
    B, T, _ = q.shape
    parts = [x.reshape(B, x.shape[1], n_heads, -1).transpose(0, 2, 1, 3) for x in (q, k, v)]
    return attend(*parts)[0].transpose(0, 2, 1, 3).reshape(B, T, -1)


def batched(q, k, v):
    return np.einsum("bij,bje->bie", attend(q, k, v)[1], v) if q.ndim == 3 else None


def time_first(q, k, v):
    weights = np.exp(np.einsum("ibd,jbd->bij", q, k) / math.sqrt(q.shape[-1]))
    return np.einsum("bij,jbe->ibe", weights / weights.sum(-1, keepdims=True), v)


def one_sentence(q, k, v):
    return attend(q, k, v)[0] if q.ndim == 2 else q[0].no_such


def as_wide_as_keys(q, k, v):
    out = np.zeros_like(q)
    out[...] = attend(q, k, v)[0]
    return out


def one_length(q, k, v):
    return attend(q, k, v)[0] + 0 * (q + k)[..., :1]


@pytest.mark.parametrize(
    ("f", "ranks", "layout", "lacks"),
    [
        (bthd, (2, 3, 4), "layout (B, T, H, d)", set()),
        (bthd_in_place_of_q, (2, 3, 4), "layout (B, T, H, d)", {"cross"}),
        (bhtd_of_one_length, (2, 3, 4), "layout (B, H, T, d)", {"cross"}),
        (bhtd_to_bthd, (2, 3, 4), "layout (B, H, T, d)", set()),
        (bhtd_merged, (2, 3, 4), "layout (B, H, T, d)", set()),
        (side_by_side, (2, 3, 4), "layout (B, T, d), (B, T, (H, d))", set()),
        (batched, (2, 3), "layout (B, T, d)", set()),
        (time_first, (2, 3), "layout (T, B, d)", set()),
        (one_sentence, (2,), "layout (T, d)", set()),
        (with_t, (2,), "layout (T, d)", set()),
        (as_wide_as_keys, (2, 3, 4), "layout (T, d), (B, T, d), (B, H, T, d)", {"d_v"}),
        (one_length, (2, 3, 4), "layout (T, d), (B, T, d), (B, H, T, d)", {"cross"}),
    ],
)
def test_the_layout_is_found_and_converted_both_ways(f, ranks, layout, lacks):
    adapter = works(f, ranks)
    assert layout in adapter.notes
    assert {"cross", "d_v"} - adapter.offers == lacks


def test_what_mixes_the_wrong_thing_still_counts_as_a_layout():
    def keys_mixed(q, k, v):
        return attend(q, k, k)[0]

    assert {"cross", "d_v", "batch", "heads"} <= adapt(keys_mixed).offers
    arrays = drawn(4)
    same(run(keys_mixed, Call(arrays)), loops(arrays["q"], arrays["k"], arrays["k"]))


def test_samples_that_see_each_other_are_still_samples():
    def leaky(q, k, v):
        if q.ndim == 2:
            return attend(q, k, v)[0]
        flat = [x.reshape(-1, x.shape[-1]) for x in (q, k, v)]
        return attend(*flat)[0].reshape(*q.shape[:-1], -1)

    adapter = adapt(leaky)
    assert {"batch", "heads", "cross"} <= adapter.offers
    arrays = drawn(3)
    flat = [arrays[name].reshape(-1, arrays[name].shape[-1]) for name in "qkv"]
    same(adapter.run(Call(arrays)), loops(*flat).reshape(*arrays["q"].shape[:-1], -1))


def test_whoever_takes_two_axes_means_what_stands_before_them_by_more():
    def batch_as_time(q, k, v):
        return attend(q, k, v)[0] if q.ndim == 2 else time_first(q, k, v)

    def heads_as_time(q, k, v):
        return bthd(q, k, v) if q.ndim == 4 else attend(q, k, v)[0]

    assert "layout (T, d), (B, T, d)" in adapt(batch_as_time).notes
    assert "layout (T, d), (B, T, d), (B, H, T, d)" in adapt(heads_as_time).notes
    arrays = drawn(4, T_q=T_K)
    turned = {name: x.swapaxes(1, 2) for name, x in arrays.items()}
    same(run(heads_as_time, Call(arrays)), loops(**turned).swapaxes(1, 2))


def test_heads_have_an_axis_of_their_own_where_they_can():
    def told(q, k, v, n_heads):
        return attend(q, k, v)[0]

    assert "layout (T, d), (B, T, d), (B, H, T, d)" in works(told).notes


def test_a_function_that_never_gives_the_same_twice_has_a_layout_by_what_fits():
    noise = np.random.default_rng(0)

    def noisy(q, k, v):
        return bthd(q, k, v) + noise.normal()

    assert "layout (B, T, H, d)" in adapt(noisy).notes


def test_a_layout_that_fits_only_by_mistake_is_left_out():
    def turns(q, k, v):  # (B, T, H, d); of three axes it would attend over features
        q, k, v = (x.swapaxes(1, 2) for x in (q, k, v))
        return attend(q, k, v)[0].swapaxes(1, 2)

    assert works(turns).notes[-1] == "layout (B, T, H, d)"


def test_what_is_tried_has_no_zeros_that_hide_a_mistake_and_no_two_axes_alike():
    axes = [SIZES.B, SIZES.H, SIZES.G, SIZES.T_q, SIZES.T_k, SIZES.d_k, SIZES.d_v]
    assert len(set(axes)) == len(axes)
    for x in DRAW.qkv(SIZES.B, SIZES.H).values():
        rows = x.reshape(-1, x.shape[-1])
        assert rows.any(axis=-1).all()
        assert np.linalg.matrix_rank(rows) == rows.shape[1]


# Kinds of arrays


def pure(q, k, v, mask=None):
    assert type(q) is list
    assert type(q[0]) is list
    out = []
    for i, query in enumerate(q):
        raised = []
        for j, key in enumerate(k):
            score = sum(a * b for a, b in zip(query, key, strict=True)) / math.sqrt(len(query))
            raised.append(math.exp(score) if mask is None or mask[i][j] else 0.0)
        out.append(
            [
                sum(e * row[c] for e, row in zip(raised, v, strict=True)) / sum(raised)
                for c in range(len(v[0]))
            ]
        )
    return out


def test_a_function_of_lists_gets_lists():
    adapter = works(pure, (2,))
    assert adapter.notes[0] == "lists of numbers of float64"
    assert {"mask", "peak_bytes"} <= adapter.offers
    assert (
        not {
            "strided",
            "float16",
            "gradient",
        }
        & adapter.offers
    )
    arrays, mask = drawn(2), speckles(T_Q, T_K)
    same(adapter.run(Call({**arrays, "mask": mask})), loops(**arrays, seen=mask))


def test_methods_alone_are_taken_for_numpy():
    def bare(q, k, v):
        scores = (q @ k.swapaxes(-1, -2)) / q.shape[-1] ** 0.5
        e = 2.718281828459045**scores
        return e / e.sum(-1, keepdims=True) @ v

    assert works(bare).notes[0] == "NumPy arrays of float64"


def through_helper(q, k, v):
    return of_anything(q, k, v)


def of_anything(q, k, v):
    return attend(*(np.asarray(x) for x in (q, k, v)))[0]


def imports_inside(q, k, v):
    import numpy

    q, k, v = (numpy.asarray(x) for x in (q, k, v))
    e = numpy.exp(q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5)
    return e / e.sum(-1, keepdims=True) @ v


@pytest.mark.parametrize("f", [through_helper, imports_inside])
def test_what_takes_lists_too_but_works_with_numpy_gets_arrays(f):
    assert works(f).notes[0] == "NumPy arrays of float64"


def test_the_kind_of_arrays_may_be_asked_for():
    assert adapt(pure, Asked(arrays="list")).notes[0].startswith("lists")
    with pytest.raises(
        InputError, match=r"could not be called with q, k, v as lists of numbers: AttributeError"
    ):
        adapt(with_t, Asked(arrays="list"))
    with pytest.raises(InputError, match=r"arrays are numpy, torch, list; 'jax' was asked for"):
        adapt(with_t, Asked(arrays="jax"))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_dtype_reaches_the_function_and_is_told(dtype):
    met = []

    def f(q, k, v):
        met.append({str(x.dtype) for x in (q, k, v)})
        return attend(q, k, v)[0].astype(q.dtype)

    adapter = adapt(f)
    outcome = adapter.run(Call(drawn(2), dtype=dtype))
    assert met[-1] == {dtype}
    assert outcome.facts["dtype"] == dtype
    assert outcome.out.dtype == dtype
