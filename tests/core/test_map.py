"""The map against the matrix it stands for: every index, every picture, and what an array-like has to do."""

import copy
import pickle
import tracemalloc

import numpy as np
import pytest
from bounds import weights_bound
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import primes, problems
from ways import normal

from riverhead.core import AttentionMap, attend, attention, tiles
from riverhead.errors import InputError

Q, K, V = (x.astype(np.float32) for x in primes())
A = attend(Q, K, V, causal=True, top=3)  # (2, 15, 7, 11)
DENSE = attention(*primes(), causal=True).weights
BOUND = weights_bound(DENSE, *primes()[:2], dtype=np.float32)
FEW = {"all axes": (A, DENSE, BOUND), "one head": (A[1, 4], DENSE[1, 4], BOUND[1, 4])}


def part(size):
    """What an index may ask of one axis."""
    place = st.integers(-size, size - 1)
    lists = st.lists(place, max_size=4) | st.lists(place, min_size=4, max_size=4).map(
        lambda x: [x[:2], x[2:]]
    )
    return (
        place
        | place.map(np.int16)
        | st.slices(size)
        | lists
        | lists.map(lambda x: np.array(x, np.int64))
        | st.lists(st.booleans(), min_size=size, max_size=size)
    )


@st.composite
def indices(draw, shape):
    """Parts for the first axes and for the last, with or without an ellipsis between them."""
    n = draw(st.integers(0, len(shape)))
    m = draw(st.integers(0, len(shape) - n))
    first = [draw(part(size)) for size in shape[:n]]
    if not m and draw(st.booleans()):
        return first[0] if n == 1 and draw(st.booleans()) else tuple(first)
    return (*first, ..., *(draw(part(size)) for size in shape[len(shape) - m :]))


def by_numpy(x, index):
    """NumPy's own answer; an empty list is to it a list of floats."""
    given = index if isinstance(index, tuple) else (index,)
    return x[tuple(np.array(p, int) if isinstance(p, list) and not p else p for p in given)]


@settings(max_examples=600, deadline=None)
@given(st.data())
def test_is_indexed_as_numpy_indexes_the_matrix(data):
    found, dense, bound = FEW[data.draw(st.sampled_from(sorted(FEW)))]
    index = data.draw(indices(dense.shape))
    try:
        exact = by_numpy(dense, index)
    except IndexError:  # lists of different lengths
        with pytest.raises(InputError):
            found[index]
        return
    got = found[index]
    assert got.shape == exact.shape
    assert got.dtype == np.float32
    assert (np.abs(np.asarray(got) - exact) <= by_numpy(bound, index)).all()


@settings(max_examples=100, deadline=None)
@given(problems(), st.data())
def test_equals_the_matrix_whatever_the_options(problem, data):
    q, k, v, options = problem
    exact = [x.astype(np.float64) for x in (q, k, v)]
    dense = attention(*exact, **options).weights
    bound = 2 * weights_bound(dense, *exact[:2], dtype=q.dtype, **options)  # the lse is off as the score is
    index = data.draw(indices(dense.shape))
    try:
        dense, bound = by_numpy(dense, index), by_numpy(bound, index)
    except IndexError:
        return
    assert (np.abs(np.asarray(attend(q, k, v, **options)[index]) - dense) <= bound).all()


def test_leading_indices_give_a_smaller_map_with_its_statistics():
    for index in (1, (0, 4), (slice(None), [14, 2]), ..., (-1, ...), (0, A.received[0, :, 0] > 1)):
        smaller = A[index]
        assert isinstance(smaller, AttentionMap)
        lead = index if isinstance(index, tuple) else (index,)
        assert smaller.shape == DENSE[lead].shape
        for name in A.names:
            np.testing.assert_array_equal(getattr(smaller, name), getattr(A, name)[lead], err_msg=name)


def test_a_cell_is_a_number_and_rows_come_one_by_one():
    one = A[1, 4]
    assert isinstance(one[3, 2], np.float32)
    assert len(A) == 2
    assert len(one) == 7
    assert [row.shape for row in one] == [(11,)] * 7
    assert [head.shape for item in A for head in item] == [(7, 11)] * 30


WRONG = {
    "past the end": ((0, 15), "H is indexed by 15; it has 15"),
    "before the start": ((0, 0, -8), "T_q is indexed by -8; it has 7"),
    "in a list": ((..., [3, 11]), "T_k is indexed by 11; it has 11"),
    "past the batch": (2, "axis 0 is indexed by 2; it has 2"),
    "a new axis": ((None, 0), "axis 0 is indexed by None; give a whole number"),
    "a fraction": ((0, 0, 1.5), "T_q is indexed by 1.5; give a whole number"),
    "a word": ("out", "axis 0 is indexed by 'out'"),
    "a number that no array holds": ((0, 0, 10**30), "T_q is indexed by 10{30}; give"),
    "a ragged list": ((0, 0, [[1], [1, 2]]), "T_q is indexed by"),
    "too few booleans": ((0, 0, [True, False]), "or 7 booleans"),
    "booleans for two axes": ((np.ones((2, 15), bool),), "axis 0 is indexed by"),
    "one boolean": (True, "axis 0 is indexed by True"),
    "a step of nothing": ((0, 0, slice(None, None, 0)), "T_q is indexed by .*step cannot be zero"),
    "five axes": ((0, 0, 0, 0, 0), r"the map has 4 axes, \(axis 0, H, T_q, T_k\); .* asks for more"),
    "two ellipses": ((..., 0, ...), "the map has 4 axes"),
    "lists that do not go together": (
        (0, 0, [0, 1], [0, 1, 2]),
        r"lists of shapes \(2,\), \(3,\) do not broadcast",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_index_that_cannot_be_is_named_with_its_axis(case):
    index, says = WRONG[case]
    with pytest.raises(InputError, match=says):
        A[index]


# ---- what it knows


def test_statistics_by_name():
    assert set(A.names) == {
        "out", "lse", "entropy_nats", "mean_distance", "max_weight", "first_weight", "self_weight",
        "previous_weight", "top_weight", "top_key", "received", "received_max",
    }  # fmt: skip
    assert set(A.names) <= set(dir(A))
    assert "pair_weight" in attend(Q, K, V, pairs=(np.zeros(8, int), np.zeros(0, int))).names
    with pytest.raises(AttributeError, match=r"AttentionMap has no 'entropy'; its statistics are in names"):
        A.entropy  # noqa: B018


def test_top_of_one_query():
    keys, weights = A.top(-1, 2)
    assert keys.shape == weights.shape == (2, 15, 2)
    np.testing.assert_array_equal(keys, np.argsort(-DENSE[..., -1, :], axis=-1)[..., :2])
    np.testing.assert_array_equal(weights, A.top_weight[..., 6, :2])
    assert A.top(0)[0].shape == (2, 15, 3)
    assert A[0, 0].top(0, 0)[0].shape == (0,)
    assert attend(Q, K[..., :2, :], V[..., :2, :]).top(0)[0].shape == (2, 15, 2)
    with pytest.raises(InputError, match=r"n is 4, 3 were kept: attend\(..., top=4\)"):
        A.top(0, 4)
    for i, says in ((7, "T_q is indexed by 7; it has 7"), ([0, 1], "it must be a whole number")):
        with pytest.raises(InputError, match=says):
            A.top(i)


# ---- pictures


def pooled(dense, rows, cols, how, every):
    """The picture by plain loops."""
    dense = dense[..., ::every, :]
    T_q, T_k = dense.shape[-2:]
    rows, cols = min(rows, T_q), min(cols, T_k)
    edges = [[n * T // count for n in range(count + 1)] for T, count in ((T_q, rows), (T_k, cols))]
    picture = np.empty((*dense.shape[:-2], rows, cols))
    for i in range(rows):
        for j in range(cols):
            cell = dense[..., edges[0][i] : edges[0][i + 1], edges[1][j] : edges[1][j + 1]]
            picture[..., i, j] = getattr(np, how)(cell, axis=(-2, -1))
    return picture


@pytest.mark.parametrize("tile", [(1, 1), (2, 3), (3, 2), (512, 4096)])
@settings(max_examples=60, deadline=None)
@given(
    problems(),
    st.integers(1, 6),
    st.integers(1, 9),
    st.sampled_from(["max", "mean", "sum"]),
    st.integers(1, 3),
)
def test_a_picture_of_any_size(tile, problem, rows, cols, how, every):
    q, k, v, options = problem
    found = attend(q, k, v, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles, "ROWS", tile[0])
        patch.setattr(tiles, "KEYS", tile[1])
        picture = found.pooled(rows, cols, how, every=every)
    exact = [x.astype(np.float64) for x in (q, k, v)]
    dense = attention(*exact, **options).weights
    bound = 2 * weights_bound(dense, *exact[:2], dtype=q.dtype, **options)
    u = np.finfo(q.dtype).eps / 2
    room = pooled(bound + (dense.shape[-1] + dense.shape[-2] + 4) * u * dense, rows, cols, how, every)
    assert picture.dtype == found.dtype
    assert picture.shape == room.shape
    assert (np.abs(picture - pooled(dense, rows, cols, how, every)) <= room).all()


def test_a_picture_shows_nan_where_it_is_seen():
    k = K[0, 0].copy()
    k[3, 5] = np.nan
    one = attend(Q[0, 0], k, V[0, 0], causal=True, align="start")
    np.testing.assert_array_equal(np.isnan(one.pooled(7, 11)), np.isnan(np.asarray(one)))
    assert np.isnan(one.pooled(2, 2)).tolist() == [[False, False], [True, True]]  # rows 3 to 6 see key 3


def test_what_no_query_can_see_is_not_read(monkeypatch):
    """A window of one key at T = 3,001: the tiles that are made lie along the diagonal."""
    q, k, v = normal((3001, 2), (3001, 2), (3001, 2))
    one = attend(q, k, v, causal=True, window=1)
    made, logs = [], tiles.logs
    monkeypatch.setattr(tiles, "ROWS", 100)
    monkeypatch.setattr(tiles, "logs", lambda *of: made.append(of[-1]) or logs(*of))
    np.testing.assert_allclose(one.pooled(1, 3001, "sum")[0], np.ones(3001), rtol=1e-6)
    assert sum(keys.stop - keys.start for keys in made) == 3001


def test_any_number_of_threads_draws_the_same_picture(monkeypatch):
    """40 blocks of rows share each row of the picture; their sums are added in their order."""
    q, k, v = normal((401, 5), (401, 5), (401, 2))
    one = attend(q, k, v)
    monkeypatch.setattr(tiles, "ROWS", 10)
    for how in ("max", "sum"):
        drawn = []
        for threads in ("1", "2", "7"):
            monkeypatch.setenv("RIVERHEAD_NUM_THREADS", threads)
            drawn.append(one.pooled(1, 401, how))
        np.testing.assert_array_equal(drawn[1], drawn[0])
        np.testing.assert_array_equal(drawn[2], drawn[0])


def test_a_picture_that_cannot_be_is_refused():
    for asked, says in (
        ((0, 3), "rows is 0; it must be a whole number, at least 1"),
        ((3, 2.0), "cols is 2.0; it must be a whole number"),
        ((3, 3, "median"), "how is 'median'; it is 'max', 'mean' or 'sum'"),
    ):
        with pytest.raises(InputError, match=says):
            A.pooled(*asked)
    with pytest.raises(InputError, match="every is 0"):
        A.pooled(3, 3, every=0)
    with pytest.raises(InputError, match="there is nothing to pool"):
        attend(Q[:, :, :0], K, V).pooled(3, 3)


# ---- an array that is not there


@pytest.fixture(scope="module")
def long():
    """T = 100,000 in a moment: each query sees itself and the key before."""
    q, k, v = normal((100_000, 3), (100_000, 3), (100_000, 2))
    return attend(q, k, v, causal=True, window=2, top=1)


def test_what_would_not_fit_is_refused_with_its_size(long):
    assert long.shape == (100_000, 100_000)
    assert long.dense_nbytes == 40_000_000_000
    assert long.nbytes == sum(getattr(long, name).nbytes for name in long.names) < 6_000_000
    tracemalloc.start()
    for what in (
        lambda: np.asarray(long),
        lambda: long[:, :],
        lambda: long[1000:],
        lambda: long + 1,
        lambda: long.pooled(10_000, 10_000),
    ):
        with pytest.raises(InputError, match=r"would take (40|39.6|0.4) GB; at most 256 MB are made at once"):
            what()
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_any_tile_of_a_long_text(long):
    tile = long[-256:, -256:]
    np.testing.assert_allclose(tile.sum(axis=1)[1:], 1, rtol=1e-6)
    np.testing.assert_array_equal(np.count_nonzero(tile[1:], axis=1), np.full(255, 2))
    np.testing.assert_allclose(np.diagonal(tile), long.self_weight[-256:], rtol=1e-6)
    np.testing.assert_array_equal(long[99_999].nonzero()[0], [99_998, 99_999])
    np.testing.assert_array_equal(long[:, 7].nonzero()[0], [7, 8])
    assert long[[5, 99_999], [4, 0]].tolist() == [long[5, 4], 0.0]


def test_memory_of_a_tile_is_that_of_the_tile(long):
    tracemalloc.start()
    long[50_000:50_100, [3, 50_050]]
    assert tracemalloc.get_traced_memory()[1] < 100_000
    tracemalloc.stop()


def test_in_arithmetic_it_is_the_matrix():
    whole = np.asarray(A)
    assert whole.dtype == np.float32
    assert (np.abs(whole - DENSE) <= BOUND).all()
    assert np.asarray(A, np.float64).dtype == np.float64
    np.testing.assert_array_equal(A == A, np.ones(A.shape, bool))
    np.testing.assert_array_equal(A > 0.5, whole > 0.5)
    np.testing.assert_array_equal(0.5 - A, 0.5 - whole)
    np.testing.assert_array_equal(np.log1p(A), np.log1p(whole))
    np.testing.assert_array_equal(A @ np.ones((11, 2), np.float32), whole @ np.ones((11, 2), np.float32))
    np.testing.assert_array_equal(np.mean(A), np.mean(whole))
    with pytest.raises(ValueError, match="copy cannot be False"):
        np.asarray(A, copy=False)


def test_repr_says_what_it_is_and_makes_nothing(monkeypatch):
    monkeypatch.setattr(tiles, "logs", None)
    assert repr(attend(np.eye(4), np.eye(4), np.eye(4), top=2)) == (
        "<AttentionMap (4, 4) float64: 512 bytes of statistics, 128 if it were dense>"
    )


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])  # noqa: S301
def test_a_copy_is_the_same_map(copied):
    sinks, lengths = np.linspace(-1, 1, 15), [11, 4]
    pairs = np.arange(8), np.arange(7)
    one = attend(Q, K, V, mask=np.arange(11) != 4, sinks=sinks, lengths=lengths, pairs=pairs)
    other = copied(one)
    np.testing.assert_array_equal(np.asarray(other), np.asarray(one))
    for name in one.names:
        np.testing.assert_array_equal(getattr(other, name), getattr(one, name))


def test_a_pickle_holds_nothing_twice():
    """One k for 1,000 batch items, and a mask that all share: kept once, not a thousand times."""
    q, k, v = normal((1000, 1, 2, 3), (1, 50, 3), (1, 50, 3))
    one = attend(q, k, v, mask=np.arange(50) < 40, top=0)
    assert len(pickle.dumps(one)) < 2 * (q.nbytes + one.nbytes)


@pytest.mark.parametrize("dtype", ["float16", pytest.param("bfloat16", marks=pytest.mark.oracle)])
def test_narrow_numbers_count_as_what_they_hold(dtype):
    arrays = [x[0, 0] for x in (Q, K, V)]
    if dtype == "float16":
        narrow = [x.astype(np.float16) for x in arrays]
        wide = [x.astype(np.float32) for x in narrow]
    else:
        torch = pytest.importorskip("torch", reason="bfloat16 tensors need the [oracle] extra")
        narrow = [torch.tensor(x).bfloat16() for x in arrays]
        wide = [x.float().numpy() for x in narrow]
    one, other = attend(*narrow, causal=True), attend(*wide, causal=True)
    np.testing.assert_allclose(one[2:5, [1, 4]], other[2:5, [1, 4]], rtol=1e-5)
    np.testing.assert_allclose(one.pooled(3, 2, "mean"), other.pooled(3, 2, "mean"), rtol=1e-5)
    assert one.dtype == np.float32
