"""What `attend` does not take: each message names the argument or axis, what was found, what is allowed."""

import numpy as np
import pytest
from test_refusals import OPTIONS as OF_ATTENTION
from test_refusals import SHAPES

from riverhead.core import attend
from riverhead.errors import DtypeError, InputError, ShapeError

Q, K, V = (np.zeros(shape) for shape in ((5, 3), (7, 3), (7, 2)))
START = [0, 1, 1, 3, 3, 3]
PAIRS_START = "it must hold T_q + 1, from 0 up to the 3 keys, never falling"
OPTIONS = {
    "top is 65; 0 to 64 largest weights are kept for each query": {"top": 65},
    "top is -1; it must be a whole number, at least 0": {"top": -1},
    "threads is 0; it must be a whole number, at least 1": {"threads": 0},
    "threads is 1.5; it must be a whole number, at least 1": {"threads": 1.5},
    "offset is 1.0; it must be a whole number of keys, at most 2^40 either way": {"offset": 1.0},
    "offset is -1099511627777; it must be a whole number of keys, at most 2^40 either way": {
        "offset": -(2**40) - 1
    },
    "lengths is float64; it must hold whole numbers": {"lengths": 3.0},
    "lengths is bool; it must hold whole numbers": {"lengths": True},
    "lengths run from 8 to 8; with T_k 7 they lie in 0..7": {"lengths": 8},
    "lengths run from -1 to 3; with T_k 7 they lie in 0..7": {"lengths": [3, -1]},
    "lengths is (2,); it must broadcast to the axes before n_heads, ()": {"lengths": [3, 4]},
    "n_heads differs: alibi is (2,), q has 1; each head has its own": {"alibi": [0.5, 0.25]},
    "alibi holds nan; it must be finite": {"alibi": [np.nan]},
    "alibi holds -inf; it must be finite": {"alibi": [-np.inf]},
    "alibi is int64; float32 and float64 are accepted: convert it, as in np.asarray(alibi, 'float64')": {
        "alibi": [1]
    },
    "pairs is ndarray; it must be two arrays, (start, key)": {"pairs": np.zeros((5, 7), bool)},
    "pairs is int; it must be two arrays, (start, key)": {"pairs": 3},
    "pairs: start is float64 (6,); it must hold whole numbers along one axis": {
        "pairs": (np.zeros(6), np.zeros(0, int))
    },
    "pairs: key is int64 (1, 3); it must hold whole numbers along one axis": {"pairs": (START, [[0, 1, 2]])},
    f"pairs: start has 5 numbers, T_q is 5; {PAIRS_START}": {"pairs": ([0, 1, 1, 3, 3], [0, 1, 2])},
    f"pairs: start has 6 numbers, T_q is 5; {PAIRS_START}": {"pairs": ([0, 2, 1, 3, 3, 3], [0, 1, 2])},
    "pairs: keys run from 0 to 7; T_k is 7": {"pairs": (START, [0, 7, 2])},
    "pairs: keys run from -1 to 2; T_k is 7": {"pairs": (START, [0, -1, 2])},
}


@pytest.mark.parametrize("message", SHAPES)
def test_shapes_that_do_not_fit(message):
    with pytest.raises(ShapeError) as caught:
        attend(*(np.zeros(shape) for shape in SHAPES[message]))
    assert str(caught.value) == message


@pytest.mark.parametrize("message", OF_ATTENTION | OPTIONS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_options_that_are_not_one(message, dtype):
    with pytest.raises(InputError) as caught:
        attend(*(x.astype(dtype) for x in (Q, K, V)), **(OF_ATTENTION | OPTIONS)[message])
    assert str(caught.value) == message


@pytest.mark.parametrize("start", [[1, 1, 1, 3, 3, 3], [0, 1, 1, 3, 3, 2], [0, 0, 0, 0, 0, 2**63], []])
def test_pairs_that_do_not_count_up_to_the_keys(start):
    with pytest.raises(ShapeError, match=r"^pairs: start has \d numbers, T_q is 5; .*, never falling$"):
        attend(Q, K, V, pairs=(np.array(start, np.uint64), [0, 1, 2]))


@pytest.mark.parametrize("name", ["q", "k", "v"])
@pytest.mark.parametrize("dtype", ["int64", "bool", "complex128", "uint16", "O"])
def test_numbers_of_another_kind(name, dtype):
    given = {"q": Q, "k": K, "v": V}
    given[name] = given[name].astype(dtype)
    with pytest.raises(DtypeError) as caught:
        attend(**given)
    assert str(caught.value) == (
        f"{name} is {np.dtype(dtype)}; float32 and float64 are accepted: convert it, "
        f"as in np.asarray({name}, 'float64')"
    )


@pytest.mark.parametrize("name", ["q", "lengths", "pairs: key", "mask", "alibi"])
def test_what_is_no_array(name):
    ragged = [[1.0], [1.0, 2.0]]
    given = {"pairs": (START, ragged)} if name == "pairs: key" else {name: ragged}
    with pytest.raises(InputError, match=rf"^{name} cannot be read as an array: .*inhomogeneous"):
        attend(**({"q": Q, "k": K, "v": V} | given))
