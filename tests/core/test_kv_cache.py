"""A step with the cache equals the last row of the full pass."""

import numpy as np
import pytest
from bounds import close, out_bound
from hypothesis import given
from hypothesis import strategies as st

from riverhead.core import KVCache, attention
from riverhead.errors import DtypeError, InputError, ShapeError


def sequence(T, dtype=np.float64):
    """q, k and v of T tokens: 2 items, 6 heads over 3."""
    rng = np.random.default_rng(T)
    return (rng.standard_normal((2, n, T, d)).astype(dtype) for n, d in ((6, 5), (3, 5), (3, 7)))


@given(
    steps=st.lists(st.integers(0, 9), min_size=1, max_size=8),
    window=st.none() | st.integers(1, 11),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_reading_in_steps_equals_reading_at_once(steps, window, dtype):
    q, k, v = sequence(sum(steps), dtype)
    full = attention(q, k, v, causal=True, window=window)
    bound = 2 * out_bound(full.weights.astype(float), q, k, v, dtype=dtype)
    cache = KVCache(window=window)
    done = 0
    for n in steps:
        rows = slice(done, done + n)
        done += n
        keys, values = cache.append(k[..., rows, :], v[..., rows, :])
        assert len(cache) == done
        assert keys.dtype == dtype
        assert keys.shape[-2] == (done if window is None else min(done, n + window - 1))
        found = attention(q[..., rows, :], keys, values, causal=True, window=window)
        close(found.out, full.out[..., rows, :], bound[..., rows, :])


def test_what_was_returned_before_stays_as_it_was():
    _, k, v = sequence(40)
    cache = KVCache()
    early, _ = cache.append(k[..., :3, :], v[..., :3, :])
    for t in range(3, 40):
        keys, values = cache.append(k[..., t : t + 1, :], v[..., t : t + 1, :])
    np.testing.assert_array_equal(early, k[..., :3, :])
    np.testing.assert_array_equal(keys, k)
    np.testing.assert_array_equal(values, v)
    with pytest.raises(ValueError, match="read-only"):
        keys[0] = 0


def test_bytes_are_those_of_the_tokens_held():
    _, k, v = sequence(13, np.float32)
    cache = KVCache()
    assert (len(cache), cache.nbytes) == (0, 0)
    cache.append(k, v)
    assert cache.nbytes == 2 * 3 * 13 * (5 + 7) * 4
    windowed = KVCache(window=4)
    for t in range(13):
        windowed.append(k[..., t : t + 1, :], v[..., t : t + 1, :])
    assert windowed.nbytes == 2 * 3 * 4 * (5 + 7) * 4


def test_a_window_does_not_grow_with_the_text():
    cache = KVCache(window=5)
    token = np.zeros((3, 1, 2))
    rooms = set()
    for _ in range(500):
        keys, _ = cache.append(token, token)
        rooms.add(keys.base.shape[-2])
    assert max(rooms) <= 16
    assert len(cache) == 500


def test_appending_one_by_one_seldom_copies():
    cache, token, rooms = KVCache(), np.zeros((3, 1, 2)), []
    for _ in range(1000):
        keys, _ = cache.append(token, token)
        rooms.append(keys.base.shape[-2])
    assert len(set(rooms)) <= 8  # 16, 34, 70, …: each at least twice the one before


def test_refusals():
    _, k, v = sequence(3)
    cache = KVCache()
    cache.append(k, v)
    with pytest.raises(
        ShapeError, match=r"^T_k differs: k has 3, v has 2; each key is paired with one value$"
    ):
        cache.append(k, v[..., :2, :])
    with pytest.raises(ShapeError) as caught:
        cache.append(k[:1], v[:1])
    assert str(caught.value) == "k is (1, 3, 3, 5), the cache holds (2, 3, 3, 5); only T_k may differ"
    with pytest.raises(ShapeError, match=r"^v is \(2, 3, 3, 6\), the cache holds \(2, 3, 3, 7\)"):
        cache.append(k, v[..., :6])
    with pytest.raises(DtypeError, match=r"^k is float32, the cache holds float64; convert one of them$"):
        cache.append(k.astype(np.float32), v)
    with pytest.raises(DtypeError, match=r"^v is int64"):
        cache.append(k, v.astype(int))
    assert len(cache) == 3
    with pytest.raises(InputError, match=r"^window is 0"):
        KVCache(window=0)
