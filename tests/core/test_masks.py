"""Who may attend to whom."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverhead.core import masks
from riverhead.errors import DtypeError, InputError

SIZES = st.integers(0, 7)


@given(SIZES, SIZES, st.sampled_from(["end", "start"]), st.integers(1, 9))
def test_every_pair_by_its_rule(T_q, T_k, align, window):
    causal = masks.causal(T_q, T_k, align)
    both = masks.sliding_window(T_q, T_k, window, align=align)
    behind = masks.sliding_window(T_q, T_k, window, align=align, causal=True)
    assert causal.shape == both.shape == behind.shape == (T_q, T_k)
    for i in range(T_q):
        place = i + T_k - T_q if align == "end" else i
        for j in range(T_k):
            assert causal[i, j] == (j <= place)
            assert both[i, j] == (abs(place - j) < window)
            assert behind[i, j] == (place - window < j <= place)


def test_a_window_as_long_as_the_text_is_none():
    for window in (5, 10**30):
        found = masks.sliding_window(5, 5, window, causal=True)
        np.testing.assert_array_equal(found, masks.causal(5, 5))


def test_lengths_broadcast_over_heads_and_queries():
    found = masks.lengths([[3, 0], [1, 2]], 3)
    assert found.shape == (2, 2, 1, 1, 3)
    assert found.sum(axis=-1).ravel().tolist() == [3, 0, 1, 2]


def test_combine_allows_what_all_allow():
    a, b = np.array([True, True, False]), np.array([[True], [False]])
    assert masks.combine(a, None, b).tolist() == [[True, True, False], [False, False, False]]
    assert masks.combine(None, None) is None


def test_documents_packed_one_after_the_other_do_not_see_each_other():
    document = np.array([0, 0, 1, 1, 1])
    found = masks.combine(masks.causal(5, 5), document[:, None] == document)
    assert found.astype(int).tolist() == [
        [1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 1, 1, 1],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: masks.causal(3, 3, "left"), "align is 'left'"),
        (lambda: masks.causal(-1, 3), "T_q is -1; it must be a whole number, at least 0"),
        (lambda: masks.sliding_window(3, 3, 0), "window is 0; it must be a whole number, at least 1"),
        (lambda: masks.lengths([2, 4], 3), "lengths run from 2 to 4; with T_k 3 they lie in 0..3"),
        (lambda: masks.lengths([-1, 2], 3), "lengths run from -1 to 2; with T_k 3 they lie in 0..3"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(InputError) as caught:
        make()
    assert message in str(caught.value)


def test_lengths_are_counted():
    with pytest.raises(DtypeError, match=r"^lengths is float64; it must hold whole numbers$"):
        masks.lengths([1.0], 3)
