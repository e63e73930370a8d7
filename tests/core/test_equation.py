"""The equation against the definition in loops, numbers done on paper, and torch."""

import dataclasses

import numpy as np
import pytest
from bounds import close, out_bound, weights_bound
from hypothesis import given, settings
from problems import primes, problems

from riverhead.core import Attention, attention, definition, softmax
from riverhead.core.inputs import arrange


def defined(q, k, v, options):
    """The definition's arrays, in float64."""
    lists = {name: x.tolist() if isinstance(x, np.ndarray) else x for name, x in options.items()}
    return Attention(*map(np.array, definition.attention(q.tolist(), k.tolist(), v.tolist(), **lists)))


def check(q, k, v, options):
    found, exact = attention(q, k, v, **options), defined(q, k, v, options)
    assert found.out.dtype == found.weights.dtype == found.scores.dtype == np.result_type(q, k, v)
    dtype = found.out.dtype
    np.testing.assert_array_equal(np.isneginf(found.scores), np.isneginf(exact.scores))
    close(
        found.weights,
        exact.weights,
        weights_bound(np.nan_to_num(exact.weights), q, k, dtype=dtype, **options),
    )
    close(found.out, exact.out, out_bound(np.nan_to_num(exact.weights), q, k, v, dtype=dtype, **options))


# ---- the oracle: the definition in loops


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"causal": True},
        {"causal": True, "align": "start"},
        {"window": 3},
        {"causal": True, "window": 3, "align": "start"},
        {"scale": 0.5, "softcap": 2.0},
        {"mask": np.random.default_rng(1).random((15, 1, 11)) < 0.5},
        {"bias": np.random.default_rng(2).standard_normal((2, 1, 7, 11))},
        {"sinks": np.linspace(-2, 2, 15), "causal": True},
    ],
    ids=lambda options: "+".join(options) or "plain",
)
def test_equals_the_definition_with_a_prime_for_every_axis(options, dtype):
    check(*primes(dtype), options)


@settings(max_examples=150, deadline=None)
@given(problems())
def test_equals_the_definition_whatever_the_options(problem):
    check(*problem)


@settings(max_examples=150, deadline=None)
@given(problems(dtypes=(np.float64,), poison=True))
def test_nan_and_infinity_show_where_they_are_visible_and_only_there(problem):
    check(*problem)


# ---- numbers done on paper


def test_scores_0_and_ln_3_weigh_a_quarter_and_three_quarters():
    found = attention([[1.0]], [[0.0], [np.log(3)]], [[0.0], [4.0]], scale=1)
    np.testing.assert_allclose(found.scores, [[0, np.log(3)]], rtol=1e-15)  # one product, one rounding
    np.testing.assert_allclose(found.weights, [[0.25, 0.75]], rtol=1e-15)
    np.testing.assert_allclose(found.out, [[3.0]], rtol=1e-15)


RIVER = {
    "q": [[1.0, 0], [1, 1], [2, 1], [0, 1]],
    "k": [[0.0, 1], [2, 0], [1, 1], [1, 0]],
    "v": [[0.0, 0], [1, 0], [0, 1], [0.5, 0]],
}
MONEY = [[1.0, 0, 1, 0], [1, 1, 0, 0], [0, 1, 1, 1]]
WORKED = {  # arguments -> weights and out, printed with six decimals
    "river": (
        RIVER,
        [[0.109057, 0.448581, 0.221181, 0.221181], [0.165119, 0.334881, 0.334881, 0.165119],
         [0.064585, 0.538776, 0.265654, 0.130985], [0.334881, 0.165119, 0.334881, 0.165119]],
        [[0.559171, 0.221181], [0.417440, 0.334881], [0.604269, 0.265654], [0.247679, 0.334881]],
    ),
    "river, causal": (
        {**RIVER, "causal": True},
        [[1, 0, 0, 0], [0.330238, 0.669762, 0, 0],
         [0.074320, 0.619985, 0.305695, 0], [0.334881, 0.165119, 0.334881, 0.165119]],
        [[0, 0], [0.669762, 0], [0.619985, 0.305695], [0.247679, 0.334881]],
    ),
    "river, bank's row unscaled": (
        {**RIVER, "q": [[2.0, 1]], "scale": 1},
        [[0.032059, 0.643914, 0.236883, 0.087144]],
        [[0.687486, 0.236883]],
    ),
    "bank looks for grammar": (
        {"q": [[0.0, 2]], "k": [[0.0, 0], [0, 0], [0, 0], [0, 2]], "v": np.eye(4)},
        [[0.050204, 0.050204, 0.050204, 0.849389]],
        [[0.050204, 0.050204, 0.050204, 0.849389]],
    ),
    "money": (
        {"q": MONEY, "k": MONEY, "v": MONEY},
        [[0.451863, 0.274069, 0.274069], [0.274069, 0.451863, 0.274069], [0.211942, 0.211942, 0.576117]],
        [[0.725931, 0.548137, 0.725931, 0.274069], [0.725931, 0.725931, 0.548137, 0.274069],
         [0.423883, 0.788058, 0.788058, 0.576117]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WORKED)
def test_worked_example(case):
    arguments, weights, out = WORKED[case]
    found = attention(**arguments)
    half_a_digit = 0.5e-6 * (1 + 1e-9)
    np.testing.assert_allclose(found.weights, weights, rtol=0, atol=half_a_digit)
    np.testing.assert_allclose(
        found.out, out, rtol=0, atol=2 * half_a_digit
    )  # 0.687486 is a sum of printed ones


ONE, HALF, THIRD = 1.0, 1 / 2, 1 / 3
VISIBLE = {  # q = 0 and v = 1: the output is the set of visible keys, 1/n each
    "causal, end": ((2, 4), {"causal": True}, [[THIRD] * 3 + [0], [1 / 4] * 4]),
    "causal, start": ((2, 4), {"causal": True, "align": "start"}, [[ONE, 0, 0, 0], [HALF, HALF, 0, 0]]),
    "causal, more queries than keys": ((3, 1), {"causal": True}, [[0], [0], [ONE]]),
    "itself included": ((3, 3), {"causal": True}, [[ONE, 0, 0], [HALF, HALF, 0], [THIRD] * 3]),
    "left padding": ((2, 2), {"causal": True, "mask": [False, True]}, [[0, 0], [0, ONE]]),
    "right padding": ((3, 5), {"mask": [True, True, False, False, False]}, [[HALF, HALF, 0, 0, 0]] * 3),
    "window 2": (
        (4, 4), {"window": 2, "causal": True},
        [[ONE, 0, 0, 0], [HALF, HALF, 0, 0], [0, HALF, HALF, 0], [0, 0, HALF, HALF]],
    ),
    "window 2, both sides": ((3, 3), {"window": 2}, [[HALF, HALF, 0], [THIRD] * 3, [0, HALF, HALF]]),
    "window 1": ((3, 3), {"window": 1}, np.eye(3)),
    "window 2, decoding": ((1, 4), {"window": 2, "causal": True}, [[0, 0, HALF, HALF]]),
    "a sink takes its third": ((1, 2), {"sinks": [0.0]}, [[THIRD, THIRD]]),
    "a large sink takes all": ((1, 2), {"sinks": [1000.0]}, [[0, 0]]),
    "a sink of −∞ is none": ((1, 2), {"sinks": [-np.inf]}, [[HALF, HALF]]),
    "a sink and nothing else": ((1, 2), {"sinks": [0.0], "mask": [False, False]}, [[0, 0]]),
    "a bias of −∞ hides": ((1, 3), {"bias": [0.0, -np.inf, 0.0]}, [[HALF, 0, HALF]]),
    "a bias of −∞ everywhere": ((1, 2), {"bias": [-np.inf, -np.inf]}, [[0, 0]]),
    "cap, then hide": ((1, 2), {"softcap": 2.0, "mask": [True, False]}, [[ONE, 0]]),
}  # fmt: skip


@pytest.mark.parametrize("case", VISIBLE)
def test_the_output_is_the_set_of_visible_keys(case):
    (T_q, T_k), options, expected = VISIBLE[case]
    found = attention(np.zeros((T_q, 5)), np.zeros((T_k, 5)), np.eye(T_k), **options)
    np.testing.assert_allclose(found.out, expected, rtol=1e-15)
    np.testing.assert_array_equal(found.out, found.weights)
    np.testing.assert_array_equal(found.weights == 0, np.asarray(expected) == 0)


def test_the_divisor_is_the_root_of_d_k():
    """Score 2/√4 = 1 against 0 weighs 1/(1 + 1/e); 4, 1, √2, √3 or √5 as divisor would not."""
    v = np.zeros((2, 5))
    v[0, 0] = 1
    found = attention([[2.0, 0, 0, 0]], [[1.0, 0, 0, 0], [0, 0, 0, 0]], v)
    np.testing.assert_allclose(found.out[0, 0], 1 / (1 + np.exp(-1)), rtol=1e-15)


def test_the_cap_comes_after_the_scale_and_before_the_bias():
    found = attention([[200.0]], [[1.0]], [[1.0]], scale=0.5, softcap=50.0, bias=[[7.0]])
    np.testing.assert_allclose(found.scores, [[48.201379 + 7]], atol=5e-7)  # 50 · tanh(100/50)


def test_query_heads_that_are_neighbours_share_a_kv_head():
    """Four query heads over two kv heads: 0 and 1 read the first, 2 and 3 the second."""
    v = np.array([[[10.0]], [[20.0]]])
    found = attention(np.zeros((4, 1, 3)), np.zeros((2, 1, 3)), v)
    assert found.out.ravel().tolist() == [10, 10, 20, 20]


def test_one_head_keeps_two_axes_and_mixed_ranks_share_the_one_kv_head():
    q, k, v = primes()
    assert attention(q[0, 0], k[0, 0], v[0, 0]).scores.shape == (7, 11)
    found = attention(q[0], k[0, 0], v[0, 0])
    assert found.out.shape == (15, 7, 17)
    close(found.out[4], attention(q[0, 4], k[0, 0], v[0, 0]).out, 1e-14)


# ---- edges


def test_no_query_and_no_key():
    q, k, v = np.zeros((0, 3)), np.zeros((5, 3)), np.zeros((5, 2))
    assert attention(q, k, v, causal=True).out.shape == (0, 2)
    nothing = attention(np.ones((5, 3)), k[:0], v[:0], causal=True)
    assert nothing.out.tolist() == [[0, 0]] * 5
    assert nothing.weights.shape == nothing.scores.shape == (5, 0)
    assert attention(np.zeros((0, 2, 5, 3)), np.zeros((0, 1, 7, 3)), np.zeros((0, 1, 7, 2))).out.shape == (
        0,
        2,
        5,
        2,
    )


def test_one_key_takes_all_whatever_its_score():
    assert attention([[1.0]], [[-1e300]], [[7.0]]).out.tolist() == [[7]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_huge_scores_neither_overflow_nor_tie(dtype):
    q, k = np.array([[1e15]], dtype), np.array([[1e15], [-1e15]], dtype)
    found = attention(q, k, np.array([[1.0], [2.0]], dtype), scale=1)
    np.testing.assert_allclose(found.scores, [[1e30, -1e30]], rtol=2 * np.finfo(dtype).eps)
    assert found.weights.tolist() == [[1, 0]]
    near = attention([[1.0]], [[1000.0], [999.0]], np.eye(2))
    np.testing.assert_allclose(near.weights, [[0.731058579, 0.268941421]], rtol=0, atol=5e-10)


def test_scores_below_any_finite_stand_in_for_minus_infinity():
    found = attention([[-300.0]], [[300.0], [3e30]], [[5.0], [9.0]], scale=1, mask=[True, False])
    assert found.out.tolist() == [[5]]


def test_subnormal_numbers_count():
    least = np.finfo(np.float64).smallest_subnormal
    found = attention([[least]], [[0.0], [1.0]], [[8 * least], [8 * least]], scale=1)
    assert found.weights.tolist() == [[0.5, 0.5]]
    assert found.out.tolist() == [[8 * least]]


def test_a_bias_below_what_float32_holds_hides_there():
    q, k, v = (np.ones(shape, np.float32) for shape in ((2, 1), (3, 1), (3, 1)))
    found = attention(q, k, v, bias=np.array([[0, 0, -1e300], [-1e300] * 3]))
    assert found.weights.tolist() == [[0.5, 0.5, 0], [0, 0, 0]]


POISONS = [np.nan, np.inf, -np.inf, 1e308]


@pytest.mark.parametrize("poison", POISONS)
@pytest.mark.parametrize("where", ["k", "v", "bias", "all"])
def test_a_hidden_key_does_not_move_one_bit(where, poison):
    q, k, v = primes()
    bias = np.zeros((7, 11))
    mask = np.random.default_rng(3).random((7, 11)) < 0.6
    mask[:, 4] = False
    clean = attention(q, k, v, mask=mask, bias=bias)
    for name, x in (("k", k[..., 4, :]), ("v", v[..., 4, :]), ("bias", bias[:, 4])):
        if where in (name, "all"):
            x[...] = poison
    found = attention(q, k, v, mask=mask, bias=bias)
    for part in ("out", "weights", "scores"):
        np.testing.assert_array_equal(getattr(found, part), getattr(clean, part))


def test_a_value_hidden_from_some_shows_to_the_others():
    v = np.array([[1.0, 2.0], [np.nan, 3.0], [np.inf, 4.0]])
    mask = np.array([[True, False, False], [True, True, False], [True, False, True], [False, False, False]])
    found = attention(np.zeros((4, 1)), np.zeros((3, 1)), v, mask=mask)
    np.testing.assert_array_equal(found.out, [[1, 2], [np.nan, 2.5], [np.inf, 3], [0, 0]])


def test_a_key_hidden_from_some_shows_to_the_others():
    k = np.array([[0.0], [np.nan]])
    found = attention(np.ones((2, 1)), k, np.eye(2), causal=True)
    np.testing.assert_array_equal(found.weights, [[1, 0], [np.nan, np.nan]])
    np.testing.assert_array_equal(found.out[0], [1, 0])


def test_a_row_with_a_visible_nan_still_gives_hidden_keys_nothing():
    found = attention(np.ones((1, 1)), np.array([[np.nan], [0.0]]), np.eye(2), mask=[True, False])
    np.testing.assert_array_equal(found.weights, [[np.nan, 0]])


def test_a_visible_zero_weight_times_infinity_is_nan():
    found = attention([[1.0]], [[0.0], [-1e5]], [[1.0], [np.inf]])
    assert found.weights.tolist() == [[1, 0]]
    assert np.isnan(found.out).all()


# ---- properties


def test_the_order_of_the_keys_does_not_matter():
    q, k, v = primes()
    order = np.random.default_rng(5).permutation(11)
    mask = np.random.default_rng(6).random((7, 11)) < 0.5
    found = attention(q, k[..., order, :], v[..., order, :], mask=mask[:, order])
    exact = attention(q, k, v, mask=mask)
    close(found.out, exact.out, 2 * out_bound(exact.weights, q, k, v))
    close(found.weights, exact.weights[..., order], 2 * weights_bound(exact.weights, q, k)[..., order])


def test_the_future_does_not_move_one_bit_of_the_past():
    q, k, v = (np.random.default_rng(7).standard_normal((3, 10, 5)) for _ in range(3))
    before = attention(q, k, v, causal=True).out
    for x in (q, k, v):
        x[:, 6:] *= -3
    np.testing.assert_array_equal(attention(q, k, v, causal=True).out[:, :6], before[:, :6])


@pytest.mark.parametrize("window", [None, 3])
def test_decoding_one_query_equals_the_last_row(window):
    q, k, v = primes()
    full = attention(q, k, v, causal=True, window=window)
    step = attention(q[..., -1:, :], k, v, causal=True, window=window)
    close(step.out, full.out[..., -1:, :], 2 * out_bound(full.weights, q, k, v)[..., -1:, :])


def test_blocks_of_queries_against_the_keys_they_see_equal_the_whole():
    q, k, v = (np.random.default_rng(8).standard_normal((3, 11, 5)) for _ in range(3))
    full = attention(q, k, v, causal=True)
    for rows in (slice(0, 4), slice(4, 8), slice(8, 11)):
        part = attention(q[:, rows], k[:, : rows.stop], v[:, : rows.stop], causal=True)
        close(part.out, full.out[:, rows], 2 * out_bound(full.weights, q, k, v)[:, rows])


def test_each_item_of_a_batch_is_alone():
    q, k, v = primes()
    full = attention(q, k, v, causal=True)
    for b in range(2):
        close(
            attention(q[b], k[b], v[b], causal=True).out, full.out[b], 2 * out_bound(full.weights, q, k, v)[b]
        )


def test_memory_order_does_not_matter_and_nothing_given_is_written_to():
    q, k, v = primes()
    exact = attention(q, k, v).out
    strided = [np.ascontiguousarray(x.swapaxes(-3, -2)).swapaxes(-3, -2) for x in (q, k, v)]
    strided[1] = np.asfortranarray(strided[1])
    for x in strided:
        x.flags.writeable = False
    close(attention(*strided, bias=np.zeros(11), softcap=1e9).out, exact, 1e-13)


def test_keys_and_values_are_not_copied_for_the_heads_that_share_them():
    q, k, v = primes()
    laid_out = arrange(q, k[:1], v[:1], causal=True)
    assert np.shares_memory(laid_out.k, k)
    assert np.shares_memory(laid_out.v, v)
    assert laid_out.k.shape == (2, 3, 11, 13)


def test_softmax_alone():
    np.testing.assert_allclose(softmax(np.array([1.0, 1.2, 0.9])), [0.320, 0.391, 0.289], atol=5e-4)
    np.testing.assert_allclose(softmax(np.array([10.0, 12.0, 9.0])), [0.114, 0.844, 0.042], atol=5e-4)
    np.testing.assert_allclose(softmax(np.array([8.0, 0.0])), [0.999665, 0.000335], atol=5e-7)
    assert softmax(np.array([-np.inf, -np.inf])).tolist() == [0, 0]


def test_the_result_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        attention([[1.0]], [[1.0]], [[1.0]]).out = None
