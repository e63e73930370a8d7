"""`attend` where numbers end: sizes, magnitudes, what nobody sees; by every way the pass can run."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measures import check, measured
from ways import attend_by, normal, ways

from riverhead.core import attend, kernel
from riverhead.errors import InputError

F = np.float32
U = np.finfo(F).eps / 2
LEAST, LARGEST = np.finfo(F).smallest_subnormal, np.finfo(F).max


def column(*numbers):
    return np.array(numbers, F)[:, None]


def hold(way, *arrays, **options):
    A = attend_by(way, *arrays, **options)
    check(A, measured(*arrays, **options), *arrays, **options)
    return A


def same(found, expected):
    """Not one bit of any statistic differs."""
    assert found.names == expected.names
    for name in found.names:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)


# ---- sizes


def repeated(*shape):
    """An array of this shape that takes four bytes."""
    return np.broadcast_to(F(0), shape)


OVERFLOWS = {
    "T_k is 2147483648; at most 2147483647 keys are told apart: split them, and merge the maps": (
        (1, 1), (2**31, 1), (2**31, 1), {},
    ),
    "an array (1, 9007199254740992, 64) has more numbers than can be addressed, 2^58": (
        (2**53, 1), (1, 1), (1, 1), {},
    ),
    "an array (1048576, 1099511627776, 64) has more numbers than can be addressed, 2^58": (
        (2**20, 2**40, 1), (1, 1, 1), (1, 1, 1), {},
    ),
    "an array (1048576, 1048576, 1, 2147483647, 1) has more numbers than can be addressed, 2^58": (
        (2**20, 1, 1, 1, 1), (2**20, 1, 2**31 - 1, 1), (2**31 - 1, 1), {},
    ),
    "an array (1, 1073741824, 1073741824) has more numbers than can be addressed, 2^58": (
        (2**30, 1), (2**30, 1), (2**30, 1), {"mask": True},
    ),
}  # fmt: skip


@pytest.mark.parametrize("message", OVERFLOWS)
def test_sizes_that_overflow_are_refused_before_memory_is_taken(message):
    *shapes, options = OVERFLOWS[message]
    with pytest.raises(InputError) as caught:
        attend(*(repeated(*shape) for shape in shapes), **options)
    assert str(caught.value) == message


@ways
@pytest.mark.parametrize(
    "shapes",
    [[(2**50, 1), (1, 1), (1, 1)], [(1, 2**57), (1, 2**57), (1, 1)], [(1, 1), (1, 1), (1, 2**57)]],
    ids=["T_q", "d_k", "d_v"],
)
def test_more_than_memory_holds_is_a_memory_error(way, shapes):
    with pytest.raises(MemoryError):
        attend_by(way, *(repeated(*shape) for shape in shapes))


@ways
def test_a_width_that_no_head_has(way):
    d = (1 << 20) + 1
    q, k = np.zeros((2, 1, d), F)
    q[0, -1], k[0, -1] = 3.0, 2.0
    assert attend_by(way, q, k, column(1), scale=0.5).lse.tolist() == [3.0]


@ways
@pytest.mark.parametrize(
    "shapes",
    [
        [(2, 3, 0, 5), (2, 1, 7, 5), (2, 1, 7, 2)],
        [(2, 3, 11, 5), (2, 1, 0, 5), (2, 1, 0, 2)],
        [(2, 3, 11, 5), (2, 1, 7, 5), (2, 1, 7, 0)],
        [(0, 3, 11, 5), (0, 1, 7, 5), (0, 1, 7, 2)],
        [(2, 3, 0, 5), (2, 1, 0, 5), (2, 1, 0, 0)],
    ],
    ids=["T_q", "T_k", "d_v", "batch", "T_q, T_k and d_v"],
)
def test_axes_without_length(way, shapes):
    (*lead, T_q, _), (*_, T_k, d_v) = shapes[0], shapes[2]
    options = {"causal": True, "sinks": np.full(3, 2.0, F)} if T_k else {}
    A = attend_by(way, *normal(*shapes), top=2, pairs=([0] * (T_q + 1), np.array([], int)), **options)
    rows = (*lead, T_q)
    assert A.shape == np.asarray(A).shape == (*rows, T_k)
    assert A.out.shape == (*rows, d_v)
    assert A.top_key.shape == A.top_weight.shape == (*rows, 2)
    assert A.received.shape == A.received_max.shape == (*lead, T_k)
    for name in ("entropy_nats", "mean_distance", "first_weight", "self_weight", "previous_weight"):
        assert getattr(A, name).shape == rows
        assert T_k or not getattr(A, name).any()
    assert T_k or np.isneginf(A.lse).all()
    assert T_k or (A.top_key == -1).all()


# ---- what is not finite


HIDES = {
    "mask": {"mask": np.arange(11) != 8},
    "bias": {"bias": np.where(np.arange(11) == 8, -np.inf, 0.5).astype(F)},
    "lengths": {"lengths": 8},
    "causal": {"causal": True, "align": "start"},
    "window": {"window": 2, "align": "start"},
}


@ways
@pytest.mark.parametrize("hide", HIDES)
@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf, LARGEST, 1e15])
def test_a_hidden_key_does_not_move_one_bit(way, hide, poison):
    q, k, v = normal((7, 13), (11, 13), (11, 5))
    clean = attend_by(way if abs(poison) < 1e30 else "numpy", q, k, v, **HIDES[hide])  # whose bits they are
    k[8], v[8] = poison, poison
    found = attend_by(way, q, k, v, **HIDES[hide])
    same(found, clean)
    assert not found.received[8]
    assert not found.received_max[8]


@ways
def test_a_hidden_infinite_bias_does_not_move_one_bit(way):
    q, k, v = normal((7, 13), (11, 13), (11, 5))
    mask, bias = np.arange(11) != 8, np.zeros(11, F)
    clean = attend_by("numpy", q, k, v, mask=mask, bias=bias)
    bias[8] = np.inf
    same(attend_by(way, q, k, v, mask=mask, bias=bias), clean)


@ways
@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["q", "k", "v", "bias"])
def test_what_is_not_finite_shows_to_the_queries_that_see_it(way, where, poison):
    given = dict(zip(("q", "k", "v", "bias"), normal((5, 3), (7, 3), (7, 2), (5, 7)), strict=True))
    given[where][2, 1] = poison
    q, k, v, bias = given.values()
    hold(way, q, k, v, bias=bias, causal=True, align="start", sinks=np.ones(1, F), top=3)


@ways
def test_a_row_that_sees_minus_infinity_alone_is_not_a_row_that_sees_nothing(way):
    A = attend_by(way, column(1, 1), column(-np.inf, 0), column(1, 2), mask=[[True, False], [False, False]])
    np.testing.assert_array_equal(A.out, [[np.nan], [0]])
    np.testing.assert_array_equal(A.lse, [np.nan, -np.inf])
    np.testing.assert_array_equal(np.asarray(A), [[np.nan, 0], [0, 0]])
    np.testing.assert_array_equal(A.received, [np.nan, 0])
    np.testing.assert_array_equal(A.received_max, [np.nan, 0])


# ---- magnitudes


@ways
def test_scores_of_1e30(way):
    q, k = column(1e15, -1e15, 1e15), column(1e15, -1e15, 5e14, 1e15)
    A = attend_by(
        way, q, k, column(1, 2, 3, 5), scale=1.0, top=2, mask=[[True] * 4] * 2 + [[False, True, True, False]]
    )
    np.testing.assert_array_equal(A.out, [[3], [2], [3]])  # (1 + 5) / 2
    np.testing.assert_array_equal(A.top_key, [[0, 3], [1, 2], [2, 1]])
    np.testing.assert_array_equal(A.top_weight, [[0.5, 0.5], [1, 0], [1, 0]])
    np.testing.assert_allclose(A.lse, [1e30, 1e30, 5e29], rtol=3 * U)
    np.testing.assert_allclose(A.entropy_nats, [np.log(2), 0, 0], rtol=2 * U)
    np.testing.assert_array_equal(A.received, [0.5, 1, 1, 0.5])


@ways
@pytest.mark.parametrize("sink", [1e30, 1e36, -1e36])
def test_a_sink_that_takes_everything_or_nothing(way, sink):
    """How far the keys lie below the sink, times the sum of their weights, may overflow before it is 0."""
    A = attend_by(way, column(1), np.ones((1000, 1), F), np.ones((1000, 1), F), sinks=np.array([sink], F))
    share = 0 if sink > 0 else 1
    np.testing.assert_allclose(A.out, [[share]], rtol=1016 * U)
    np.testing.assert_allclose(A.entropy_nats, [share * np.log(1000)], rtol=1016 * U)
    np.testing.assert_allclose(A.lse, [sink if sink > 0 else 1 + np.log(1000)], rtol=8 * U)


@ways
def test_values_near_the_largest_are_not_summed_before_they_are_weighed(way):
    for v in ([LARGEST, LARGEST / 2] * 50, [8e36, 4e36] * 50):
        A = attend_by(way, column(0), np.zeros((100, 1), F), column(*v))
        np.testing.assert_allclose(A.out, [[v[0] * 0.75]], rtol=116 * U)


@ways
def test_a_large_query_and_a_large_scale_on_a_small_key(way):
    q, k = column(1e20, 1e-20), column(1e-20, 2e-20)
    A = attend_by(way, q, k, column(1, 2), scale=1e-3)
    np.testing.assert_allclose(A.lse, np.log([np.exp(1e-3) + np.exp(2e-3), 2]), rtol=8 * U)
    big = attend_by(way, q, -k, column(1, 2), scale=1e25)  # scale · q is ∞ in float32, as in the equation
    np.testing.assert_array_equal(np.isnan(big.lse), [True, False])


@ways
@pytest.mark.parametrize("softcap", [1e-46, 1e-40, 1e-30, 1e-3, 1e20, 3e38])
def test_any_softcap(way, softcap):
    q, k, v = normal((5, 3), (7, 3), (7, 2))
    if F(softcap):  # one that is 0 in float32 makes 0 / 0 of a score of 0, as in the equation
        q[2] = 0
    hold(way, q, k, v, softcap=softcap)


@ways
def test_the_exponential_at_every_distance(way):
    """One key lies 0 to 100 below the other: small scores allow 18 units in the last place and few more."""
    hold(way, column(*np.linspace(0, 100, 2003)), column(0, -1), column(0, 1), scale=1.0, top=2)


@ways
def test_the_hyperbolic_tangent_at_every_distance(way):
    hold(way, column(*np.linspace(-8, 8, 2003)), column(0, -1), column(0, 1), scale=1.0, softcap=1.0)


@ways
def test_subnormal_numbers_count(way):
    A = attend_by(way, column(LEAST), column(0, 1), column(8 * LEAST, 8 * LEAST), scale=1.0)
    assert np.asarray(A).tolist() == [[0.5, 0.5]]
    assert A.out.tolist() == [[8 * LEAST]]
    big = attend_by(way, column(64 * LEAST), column(0, 1e36), column(0, 1), scale=1.0)
    weight = 1 / (1 + np.exp(-64 * float(LEAST) * 1e36))
    np.testing.assert_allclose(big.out, [[weight]], rtol=17 * U)


@ways
def test_weights_below_the_smallest_normal_number_may_be_0_but_are_no_less(way):
    A = attend_by(way, column(1), column(0, -80, -87, -100, -1e4), column(1, 1, 1, 1, 1), top=5)
    assert A.out.tolist() == [[1]]
    np.testing.assert_allclose(A.top_weight[0, :2], [1, np.exp(-80)], rtol=(80 * 4 + 20) * U)
    assert (A.top_weight >= 0).all()
    assert A.top_key.tolist() == [[0, 1, 2, 3, 4]]


# ---- who is seen


@ways
@pytest.mark.parametrize("T_k", [7, 1025])
def test_all_keys_equal(way, T_k):
    q, v = normal((3, 5), (T_k, 2))
    A = attend_by(way, q, np.ones((T_k, 5), F), v, top=9)
    error = (T_k + 16) * U
    np.testing.assert_allclose(A.entropy_nats, np.full(3, np.log(T_k)), rtol=error)
    np.testing.assert_allclose(np.asarray(A), np.full((3, T_k), 1 / T_k), rtol=error)
    np.testing.assert_allclose(A.received, np.full(T_k, 3 / T_k), rtol=error)
    assert (A.top_key == np.where(np.arange(9) < T_k, np.arange(9), -1)).all()


@ways
def test_one_visible_key(way):
    q, k, v = normal((3, 5), (700, 5), (700, 2))
    A = attend_by(way, q, k, v, mask=np.arange(700) == 611, pairs=([0, 1, 3, 3], [611, 0, 611]))
    np.testing.assert_array_equal(A.out, np.broadcast_to(v[611], (3, 2)))
    for name in ("max_weight", "first_weight"):
        assert getattr(A, name).tolist() == [1, 1, 1]
    assert A.pair_weight.tolist() == [1, 1, 0]
    assert A.entropy_nats.tolist() == [0, 0, 0]
    assert A.mean_distance.tolist() == [abs(611 - 697 - i) for i in range(3)]
    assert A.top_key[:, :2].tolist() == [[611, -1]] * 3
    assert np.flatnonzero(A.received).tolist() == [611]
    assert A.received[611] == 3


@ways
@pytest.mark.parametrize("step", [0.01, -0.01])
def test_the_top_of_rising_and_falling_scores(way, step):
    T_k = 2000
    A = attend_by(way, column(1, 2), column(*(step * np.arange(T_k))), column(*range(T_k)), top=64)
    keys = np.arange(64) if step < 0 else T_k - 1 - np.arange(64)
    np.testing.assert_array_equal(A.top_key, np.broadcast_to(keys, (2, 64)))
    keys, weights = A.top(1, 5)
    exact = np.exp(-0.02 * np.arange(5)) * (1 - np.exp(-0.02))  # a geometric series
    np.testing.assert_allclose(weights, exact, rtol=(2 * 17 * 40 + T_k + 16) * U)  # scores up to 40, d_k 1


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.sampled_from([1, 40]), st.integers(1, 64))
def test_keys_that_tie_stand_by_their_place(levels, times, top):
    """The score is one product, so that equal keys have equal scores."""
    levels = levels * times
    expected = sorted(range(len(levels)), key=lambda j: (-levels[j], j))[:top]
    for way in kernel.paths():
        A = attend_by(way, column(1), column(*levels), column(*levels), scale=0.7, top=top)
        assert A.top_key[0, : len(expected)].tolist() == expected, way


@ways
@pytest.mark.parametrize("hide", ["mask", "bias", "lengths", "causal", "window"])
@pytest.mark.parametrize("sink", [None, 1.5])
def test_rows_that_see_nothing(way, hide, sink):
    q, k, v = normal((2, 50, 5), (2, 130, 5), (2, 130, 3))
    options = {
        "mask": {"mask": np.zeros((50, 1), bool)},
        "bias": {"bias": np.full(130, -np.inf, F)},
        "lengths": {"lengths": 0},
        "causal": {"causal": True, "offset": -50},
        "window": {"window": 3, "offset": 200},
    }[hide]
    A = attend_by(way, q, k, v, sinks=None if sink is None else np.full(2, sink, F), **options)
    zeros = set(A.names) - {"lse", "top_key"}
    assert [name for name in zeros if getattr(A, name).any()] == []
    assert (A.top_key == -1).all()
    assert not np.asarray(A).any()
    np.testing.assert_allclose(A.lse, np.full((2, 50), -np.inf if sink is None else sink), rtol=4 * U)


@ways
def test_a_bias_of_minus_infinity_hides_as_a_mask_does(way):
    q, k, v = normal((2, 50, 5), (2, 130, 5), (2, 130, 3))
    mask = np.random.default_rng(0).random((50, 130)) < 0.4
    mask[7] = False
    same(
        attend_by(way, q, k, v, bias=np.where(mask, 0, -np.inf).astype(F)), attend_by(way, q, k, v, mask=mask)
    )
    too_low = np.where(mask, 0, -1e300)  # in float32, which holds no such number
    same(attend_by(way, q, k, v, bias=too_low), attend_by(way, q, k, v, mask=mask))
