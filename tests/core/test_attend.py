"""Every number of `attend` against the definition in loops, by every way the pass can run."""

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from measures import check, measured
from problems import primes
from ways import attend_by, calls, normal, pairs, ways

from riverhead.core import attend, kernel


def hold(q, k, v, options, given=None):
    """Compare every way with the definition; ``given`` are the arrays as `attend` gets them."""
    exact = measured(q, k, v, **options)
    for way in kernel.paths():
        A = attend_by(way, *(given or (q, k, v)), **options)
        assert A.dtype == (np.float64 if q.dtype == np.float64 else np.float32), way
        check(A, exact, q, k, v, **options)


# ---- options


@settings(max_examples=200, deadline=None)
@given(calls())
def test_equals_the_definition_whatever_the_options(call):
    *arrays, options = call
    hold(*arrays, options)


@settings(max_examples=100, deadline=None)
@given(calls(poison=True))
def test_nan_and_infinity_show_where_they_are_visible_and_only_there(call):
    *arrays, options = call
    hold(*arrays, options)


RNG = np.random.default_rng(1)
OPTIONS = {
    "plain": {},
    "causal": {"causal": True},
    "causal, align start": {"causal": True, "align": "start"},
    "offset": {"causal": True, "offset": 2},
    "window": {"window": 3},
    "causal window": {"causal": True, "window": 3, "align": "start"},
    "scale and softcap": {"scale": 0.5, "softcap": 2.0},
    "mask": {"mask": RNG.random((15, 1, 11)) < 0.5},
    "bias": {"bias": RNG.standard_normal((2, 1, 7, 11)).astype(np.float32)},
    "alibi": {"alibi": 2.0 ** -np.arange(1.0, 16.0), "causal": True},
    "sinks": {"sinks": np.linspace(-2, 2, 15), "causal": True},
    "lengths": {"lengths": [0, 5]},
    "lengths of two batches": {"lengths": np.array([11, 1]), "causal": True},
    "pairs": {"pairs": pairs(RNG, 7, 11), "window": 4},
    "all of them": {
        "scale": -0.3, "softcap": 3.0, "causal": True, "offset": 5, "window": 6, "lengths": [9, 11],
        "mask": RNG.random((2, 1, 7, 11)) < 0.8, "bias": RNG.standard_normal(11), "top": 3,
        "alibi": np.linspace(0, 1, 15), "sinks": np.linspace(-1, 1, 15), "pairs": pairs(RNG, 7, 11),
    },
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
def test_each_option_with_a_prime_for_every_axis(name):
    hold(*primes(np.float32), OPTIONS[name])


# ---- sizes


WIDTHS = [1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 47, 63, 64, 65, 127, 129, 255, 257, 511, 512]


@pytest.mark.parametrize(("d_k", "d_v"), [*zip(WIDTHS, [*WIDTHS[5:], *WIDTHS[:5]], strict=True)])
def test_any_width(d_k, d_v):
    hold(*normal((7, d_k), (11, d_k), (11, d_v)), {"causal": True, "top": 3})


EDGES = [
    (47, 49),
    (48, 48),
    (49, 47),
    (5, 511),
    (3, 512),
    (2, 513),
    (48, 1025),
    (511, 5),
    (513, 2),
    (97, 130),
]
SIGHTS = {
    "full": {},
    "causal": {"causal": True},
    "causal, align start": {"causal": True, "align": "start"},
    "window": {"window": 31},
    "causal window": {"causal": True, "window": 61},
    "causal window, mask, pairs": {"causal": True, "window": 301, "mask": True, "pairs": True, "top": 17},
}


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize(("T_q", "T_k"), EDGES)
def test_lengths_around_the_edges_of_blocks(T_q, T_k, sight):
    options, rng = dict(SIGHTS[sight]), np.random.default_rng(T_q)
    if "mask" in options:
        options |= {"mask": rng.random((T_q, T_k)) < 0.3, "pairs": pairs(rng, T_q, T_k)}
    hold(*normal((T_q, 3), (T_k, 3), (T_k, 5)), options)


@pytest.mark.parametrize("T_k", [63, 64, 65, 600])
@pytest.mark.parametrize("top", [1, 63, 64])
def test_any_top(T_k, top):
    hold(*normal((3, 5), (T_k, 5), (T_k, 2)), {"top": top, "causal": True})


@pytest.mark.parametrize("G", [1, 3, 15])
def test_query_heads_share_kv_heads(G):
    hold(*normal((2, 15, 7, 13), (2, G, 11, 13), (2, G, 11, 5)), {"causal": True})


@pytest.mark.parametrize(
    ("of_q", "of_k", "of_v"), [((2,), (), (3, 1)), ((3, 1), (1, 2), (1,)), ((1,), (5,), ())]
)
def test_leading_axes_broadcast(of_q, of_k, of_v):
    hold(*normal((*of_q, 2, 7, 13), (*of_k, 1, 11, 13), (*of_v, 1, 11, 5)), {"window": 4})


# ---- dtypes and layouts


def test_float16_counts_as_the_numbers_it_holds():
    arrays = normal((2, 6, 7, 13), (2, 3, 11, 13), (2, 3, 11, 5), dtype=np.float16)
    arrays[0][0, 0, 0, :4] = 6e-8, -6e-8, 6.1e-5, -0.0  # subnormal, and the smallest normal
    hold(*arrays, {"causal": True, "scale": 30.0})


@pytest.mark.oracle
def test_bfloat16_tensors_count_as_the_numbers_they_hold():
    torch = pytest.importorskip("torch", reason="bfloat16 tensors need the [oracle] extra")
    given = [torch.from_numpy(x).bfloat16() for x in normal((6, 7, 13), (3, 11, 13), (3, 11, 5))]
    read = [x.float().numpy() for x in given]
    hold(*read, {"causal": True}, given=given)
    turned = [x.mT.contiguous().mT for x in given]
    hold(*read, {"causal": True}, given=turned)
    hold(*read, {"causal": True}, given=[given[0], turned[1], torch.from_numpy(read[2])])


def test_float64_is_float64():
    hold(*primes(np.float64), OPTIONS["all of them"])


@pytest.mark.parametrize("dtypes", [*itertools.permutations([np.float16, np.float32, np.float64])])
def test_the_widest_dtype_wins(dtypes):
    arrays = [x.astype(dtype) for x, dtype in zip(primes(), dtypes, strict=True)]
    exact = measured(*arrays)
    A = attend(*arrays)
    assert A.dtype == A.out.dtype == A.lse.dtype == np.float64
    check(A, exact, *arrays)


def unaligned(x):
    """The same numbers one byte off, as in a packed record."""
    record = np.zeros(x.shape, [("flag", "u1"), ("x", x.dtype)])
    record["x"] = x
    return record["x"]


LAYOUTS = {
    "time before heads": lambda x: np.ascontiguousarray(x.swapaxes(-3, -2)).swapaxes(-3, -2),
    "columns first": lambda x: np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2),
    "Fortran order": np.asfortranarray,
    "backwards": lambda x: np.flip(np.ascontiguousarray(np.flip(x))),
    "every second": lambda x: np.repeat(np.repeat(x, 2, -1), 3, -2)[..., ::3, ::2],
    "another byte order": lambda x: x.astype(x.dtype.newbyteorder()),
    "read-only": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
    "unaligned": unaligned,
}


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layout_does_not_matter(layout, dtype):
    arrays = primes(dtype)
    bias = normal((15, 7, 11))[0]
    laid_out = [LAYOUTS[layout](x) for x in (*arrays, bias)]
    for way in kernel.paths():
        plain, other = attend_by(way, *arrays, bias=bias), attend_by(way, *laid_out[:3], bias=laid_out[3])
        for name in plain.names:
            np.testing.assert_array_equal(getattr(other, name), getattr(plain, name), f"{way}: {name}")


@ways
def test_what_repeats_is_not_expanded(way):
    """Over 64 heads the mask would take 67 MB, the bias 268 MB; row blocks hold 8 MB of scores at a time."""
    T, H = 1024, 64
    q, k, v = (np.broadcast_to(x, (1, H, T, 2)) for x in normal((T, 2), (T, 2), (T, 2)))
    mask, bias = np.ones((1, 1, 1, T), bool), np.zeros((T, 1), np.float32)
    tracemalloc.start()
    try:
        attend_by(way, q, k, v, mask=mask, bias=bias, top=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < (60e6 if way == "numpy" else 10e6)
