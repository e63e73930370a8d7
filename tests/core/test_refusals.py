"""What attention does not take: each message names the argument or axis, what was found, what is allowed."""

import numpy as np
import pytest

from riverhead.core import attention, attention_gradient
from riverhead.errors import DtypeError, InputError, ShapeError


def arrays(*shapes):
    return [np.zeros(shape) for shape in shapes]


Q, K, V = (5, 3), (7, 3), (7, 2)
SHAPES = {
    "T_k differs: k has 7, v has 6; each key is paired with one value": (Q, K, (6, 2)),
    "d_k differs: q has 3, k has 4; each query is compared with each key": (Q, (7, 4), V),
    "q has 1 axis (3,), it needs at least 2: (..., T_q, d_k)": ((3,), K, V),
    "k has 1 axis (3,), it needs at least 2: (..., T_k, d_k)": (Q, (3,), V),
    "v has 0 axes (), it needs at least 2: (..., T_k, d_v)": (Q, K, ()),
    "d_k is 0; a query needs at least one component": ((5, 0), (7, 0), V),
    "n_heads 5 is not a multiple of n_kv_heads 2; each kv head serves the same number of query heads": (
        (5, *Q), (2, *K), (2, *V),
    ),
    "n_heads 1 is not a multiple of n_kv_heads 3; each kv head serves the same number of query heads": (
        Q, (3, *K), (3, *V),
    ),
    "n_heads 0 is not a multiple of n_kv_heads 0; each kv head serves the same number of query heads": (
        (0, *Q), (0, *K), (0, *V),
    ),
    "n_kv_heads differs: k has 3, v has 1; each kv head has its keys and its values": ((3, *Q), (3, *K), V),
    "the axes before n_heads do not broadcast: q has (2,), k has (3,), v has (1,)": (
        (2, 1, *Q), (3, 1, *K), (1, 1, *V),
    ),
}  # fmt: skip


@pytest.mark.parametrize("message", SHAPES)
def test_shapes_that_do_not_fit(message):
    with pytest.raises(ShapeError) as caught:
        attention(*arrays(*SHAPES[message]))
    assert str(caught.value) == message


OPTIONS = {
    "scale is nan; it must be a finite number": {"scale": np.nan},
    "scale is inf; it must be a finite number": {"scale": np.inf},
    "scale is 'big'; it must be a finite number": {"scale": "big"},
    "softcap is 0; it must be a finite number greater than 0": {"softcap": 0.0},
    "softcap is inf; it must be a finite number greater than 0": {"softcap": np.inf},
    "window is 0; it must be a whole number, at least 1": {"window": 0},
    "window is 2.5; it must be a whole number, at least 1": {"window": 2.5},
    "window is True; it must be a whole number, at least 1": {"window": True},
    'align is \'middle\'; it is "end" (the last query sees the last key) or "start"': {"align": "middle"},
    "T_k differs: mask has 6, the scores have 7; mask (5, 6) must broadcast to the scores (5, 7)": {
        "mask": np.ones((5, 6), bool)
    },
    "T_q differs: mask has 7, the scores have 5; mask (7, 1) must broadcast to the scores (5, 7)": {
        "mask": np.ones((7, 1), bool)
    },
    "mask has 3 axes (1, 5, 7); it must broadcast to the scores (5, 7)": {"mask": np.ones((1, 5, 7), bool)},
    "T_k differs: bias has 5, the scores have 7; bias (5,) must broadcast to the scores (5, 7)": {
        "bias": np.zeros(5)
    },
    "n_heads differs: sinks is (2,), q has 1; each head has one sink": {"sinks": np.zeros(2)},
    "n_heads differs: sinks is (), q has 1; each head has one sink": {"sinks": 0.0},
    "mask is float64; it must be boolean, True = may attend; numbers to add to the scores are bias=": {
        "mask": np.zeros((5, 7))
    },
    "bias is boolean; a boolean says who may attend: give it as mask=": {"bias": np.ones((5, 7), bool)},
    "sinks is int64; float32 and float64 are accepted: convert it, as in np.asarray(sinks, 'float64')": {
        "sinks": [1]
    },
}


@pytest.mark.parametrize("message", OPTIONS)
def test_options_that_are_not_one(message):
    with pytest.raises(InputError) as caught:
        attention(*arrays(Q, K, V), **OPTIONS[message])
    assert str(caught.value) == message


def test_a_mask_for_other_heads_or_another_batch():
    q, k, v = arrays((2, 3, *Q), (2, 1, *K), (2, 1, *V))
    with pytest.raises(ShapeError, match=r"^n_heads differs: mask has 2, the scores have 3; "):
        attention(q, k, v, mask=np.ones((2, 1, 1), bool))
    with pytest.raises(ShapeError, match=r"^batch axis 0 differs: mask has 3, the scores have 2; "):
        attention(q, k, v, mask=np.ones((3, 1, 1, 1), bool))


LONG = pytest.param(
    "longdouble",
    "float64",
    marks=pytest.mark.skipif(np.dtype("g").itemsize == 8, reason="longdouble is float64"),
)


@pytest.mark.parametrize("name", ["q", "k", "v"])
@pytest.mark.parametrize(
    ("dtype", "remedy"),
    [
        ("int64", "float64"),
        ("bool", "float64"),
        ("complex128", "float64"),
        ("float16", "float32"),
        ("O", "float64"),
        LONG,
    ],
)
def test_numbers_of_another_kind(name, dtype, remedy):
    given = dict(zip("qkv", arrays(Q, K, V), strict=True))
    given[name] = given[name].astype(dtype)
    with pytest.raises(DtypeError) as caught:
        attention(**given)
    assert str(caught.value) == (
        f"{name} is {np.dtype(dtype)}; float32 and float64 are accepted: convert it, "
        f"as in np.asarray({name}, '{remedy}')"
    )


def test_what_is_no_array():
    q, k, v = arrays(Q, K, V)
    with pytest.raises(InputError, match=r"^q cannot be read as an array: .*inhomogeneous"):
        attention([[1.0], [1.0, 2.0]], k, v)
    with pytest.raises(InputError, match=r"^k is a masked array, whose mask would be lost"):
        attention(q, np.ma.masked_equal(k, 0), v)


def test_lists_and_foreign_byte_orders_are_read_and_the_widest_dtype_wins():
    exact = attention([[1.0]], [[2.0]], [[3.0]])
    swapped = attention(np.array([[1.0]], ">f8"), np.array([[2.0]], ">f4"), np.array([[3.0]], "<f4"))
    assert swapped.out.tolist() == exact.out.tolist() == [[3]]
    assert swapped.out.dtype == np.float64
    assert attention(*(np.ones((1, 1), np.float32) for _ in "qkv"), bias=[[1.0]]).out.dtype == np.float32


def test_the_gradient_of_something_else():
    with pytest.raises(ShapeError) as caught:
        attention_gradient(np.zeros((5, 3)), *arrays(Q, K, V))
    assert str(caught.value) == "d_out is (5, 3), out is (5, 2); each number of out has its own"


@pytest.mark.oracle
def test_tensors_are_read_in_place_and_those_that_cannot_be_say_why():
    torch = pytest.importorskip("torch", reason="reading tensors needs the [oracle] extra")
    q, k, v = (torch.ones(shape) for shape in (Q, K, V))
    assert attention(q, k, v, mask=torch.ones(5, 7, dtype=torch.bool)).out.dtype == np.float32
    with pytest.raises(InputError, match=r"^q cannot be read as an array: .*requires grad"):
        attention(q.requires_grad_(), k, v)
    with pytest.raises(InputError, match=r"^k cannot be read as an array: .*BFloat16"):
        attention(q.detach(), k.bfloat16(), v)
