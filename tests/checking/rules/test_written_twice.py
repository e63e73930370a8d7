"""Wrong functions are what they are meant to be: in NumPy as in torch, and right where nothing is wrong."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from implementations import right, wrong

from riverhead import attention

SHAPES = {  # leading axes of q, of k and v; T_q, T_k, d_k, d_v
    "one head": ((), (), 3, 5, 4, 7),
    "square": ((), (), 5, 5, 7, 7),
    "samples": ((2,), (2,), 3, 5, 4, 7),
    "heads": ((2, 6), (2, 6), 3, 5, 4, 7),
    "groups": ((2, 6), (2, 3), 3, 5, 4, 7),
}
COARSE = {"kept-in-float16": 1e-2, "dtype-narrowed": 1e-5}  # float16 and float32, added in another order
WHATEVER = {"causal-unasked", "kv-along-time"}  # wrong without being asked for an option
OWN = {"q", "k", "v", "block", "training", "kept"}  # parameters that ask for nothing


def drawn(shape: str) -> tuple[np.ndarray, ...]:
    q_axes, k_axes, T_q, T_k, d_k, d_v = SHAPES[shape]
    rng = np.random.default_rng(len(shape))
    shapes = (*q_axes, T_q, d_k), (*k_axes, T_k, d_k), (*k_axes, T_k, d_v)
    return tuple(rng.integers(-8, 9, each) / 4 for each in shapes)


def ran(f: Any, arrays: Any) -> np.ndarray | str:
    """The output, or that it raised."""
    try:
        out = f(*arrays)
    except (RuntimeError, ValueError, IndexError):
        return "raised"
    return np.asarray(out[0] if isinstance(out, tuple) else out, float)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_where_nothing_is_given_beside_they_are_right(shape: str) -> None:
    """A mistake in what a function does with a mask is met only where a mask is given."""
    q, k, v = drawn(shape)
    expected = attention(q, k, v).out
    asked = 0
    for name, each in wrong("numpy").items():
        if each.kind != "attention" or each.mistake in WHATEVER:
            continue
        if not set(inspect.signature(each.thing).parameters) - OWN:
            continue
        found = ran(each.thing, (q.copy(), k.copy(), v.copy()))
        if not isinstance(found, str):
            asked += 1
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12, err_msg=name)
    assert asked > (50 if shape != "groups" else 0)


@pytest.mark.oracle
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_in_torch_they_do_what_they_do_in_numpy(shape: str) -> None:
    torch = pytest.importorskip("torch", reason="needs the [oracle] extra")
    arrays = drawn(shape)
    both = [name for name in wrong("numpy") if name in wrong("torch") and name.startswith("attention")]
    assert len(both) > 120
    for name in both:
        if "dropout" in name:
            continue
        one = ran(wrong("numpy")[name].thing, [x.copy() for x in arrays])
        other = ran(wrong("torch")[name].thing, [torch.tensor(x) for x in arrays])
        if isinstance(one, str) or isinstance(other, str):
            assert shape == "groups" or isinstance(one, str) == isinstance(other, str), name
            continue
        near = COARSE.get(wrong("numpy")[name].mistake, 1e-12)
        np.testing.assert_allclose(one, other, rtol=near, atol=near, err_msg=name)


@pytest.mark.parametrize("shape", SHAPES)
def test_right_forms_are_attention(shape: str) -> None:
    q, k, v = drawn(shape)
    expected = attention(q, k, v).out
    asked = 0
    for form, each in right("numpy").items():
        if each.kind == "attention" and form != "riverhead.attention":
            found = ran(each.thing, (q, k, v))
            if not isinstance(found, str) and found.shape == expected.shape and "causal" not in form:
                asked += 1
                np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12, err_msg=form)
    assert asked > (20 if shape != "groups" else 0)
