"""Positions, against complex numbers, the paper's formulas in plain Python, and transformers."""

import cmath
import math

import numpy as np
import pytest

from riverhead.core import alibi_bias, alibi_slopes, attention, learned, rope, sinusoidal
from riverhead.errors import DtypeError, InputError, ShapeError

LAYOUTS = {  # which components make the complex numbers
    "half": lambda d: [(i, i + d // 2) for i in range(d // 2)],
    "interleaved": lambda d: [(2 * i, 2 * i + 1) for i in range(d // 2)],
}


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(np.float32, 8e-7), (np.float64, 2e-15)]
)  # 4 roundings, |x| < 3
@pytest.mark.parametrize("pairs", LAYOUTS)
def test_rope_turns_complex_numbers(pairs, dtype, tolerance):
    x = np.random.default_rng(0).standard_normal((2, 3, 5, 14)).clip(-3, 3).astype(dtype)
    found = rope(x, pairs=pairs, offset=11, base=100_000.0)
    assert found.dtype == dtype
    for at in np.ndindex(2, 3, 5):
        for i, (a, b) in enumerate(LAYOUTS[pairs](14)):
            turned = complex(x[at][a], x[at][b]) * cmath.exp(1j * (11 + at[2]) / 100_000 ** (2 * i / 14))
            np.testing.assert_allclose(
                [found[at][a], found[at][b]], [turned.real, turned.imag], atol=3 * tolerance
            )


@pytest.mark.parametrize("pairs", LAYOUTS)
def test_divisors_slow_each_pair_down(pairs):
    x, divisors = np.random.default_rng(6).standard_normal((5, 6)), [1.0, 2.5, 8.0]
    found = rope(x, pairs=pairs, offset=3, base=19.0, divisors=divisors)
    for t in range(5):
        for i, (a, b) in enumerate(LAYOUTS[pairs](6)):
            angle = (3 + t) / 19.0 ** (2 * i / 6) / divisors[i]
            turned = complex(x[t, a], x[t, b]) * cmath.exp(1j * angle)
            np.testing.assert_allclose([found[t, a], found[t, b]], [turned.real, turned.imag], atol=1e-14)
    np.testing.assert_array_equal(rope(x, pairs=pairs, divisors=np.ones(3, np.float32)), rope(x, pairs=pairs))


@pytest.mark.parametrize("pairs", LAYOUTS)
def test_scores_after_rope_depend_on_the_distance_alone(pairs):
    q, k = np.random.default_rng(1).standard_normal((2, 1, 10))

    def score(i, j):
        return (rope(q, pairs=pairs, offset=i) @ rope(k, pairs=pairs, offset=j).T).item()

    near, far = score(3, 1), score(1003, 1001)
    assert near == pytest.approx(far, abs=1e-11)  # angles of 1000 rad are known to 1000·u = 1e-13
    assert near != pytest.approx(score(3, 2), abs=1e-3)
    np.testing.assert_allclose(np.linalg.norm(rope(q, pairs=pairs, offset=7)), np.linalg.norm(q), rtol=1e-14)


def test_the_layouts_are_one_rotation_in_two_orders():
    x = np.random.default_rng(2).standard_normal((5, 6))
    order = [0, 2, 4, 1, 3, 5]  # from interleaved to half
    np.testing.assert_array_equal(rope(x, pairs="interleaved")[:, order], rope(x[:, order], pairs="half"))
    assert not np.allclose(rope(x, pairs="interleaved"), rope(x, pairs="half"))


def test_rope_at_an_offset_is_the_end_of_the_whole():
    x = np.random.default_rng(3).standard_normal((2, 7, 4)).astype(np.float32)
    np.testing.assert_array_equal(rope(x[:, 5:], offset=5), rope(x)[:, 5:])
    assert not np.array_equal(rope(x[:, 5:]), rope(x)[:, 5:])


def test_angles_are_exact_far_out():
    """Position 1857, pair 1 of 32 components: 1857 / 10000^(1/16) = 1044.268 radians, in float32 too."""
    angle = 1857 * 10**-0.25
    x = np.zeros((1, 32), np.float32)
    x[0, 1] = 1
    found = rope(x, offset=1857)
    np.testing.assert_allclose(found[0, [1, 17]], [math.cos(angle), math.sin(angle)], atol=1e-7)


def test_position_0_is_left_alone_and_the_given_array_too():
    x = np.ones((1, 4))
    assert rope(x).tolist() == x.tolist()
    turned = rope(np.ones((3, 4)), offset=1)
    assert turned.base is None
    assert rope(np.ones((0, 4))).shape == (0, 4)


def test_sinusoidal_as_the_paper_writes_it():
    found = sinusoidal(7, 10, offset=3)
    assert found.shape == (7, 10)
    for t in range(7):
        for i in range(5):
            angle = (3 + t) / 10_000 ** (2 * i / 10)
            np.testing.assert_allclose(
                found[t, 2 * i : 2 * i + 2], [math.sin(angle), math.cos(angle)], atol=1e-14
            )


def test_learned_positions_are_rows_and_end_with_the_table():
    table = np.arange(10.0).reshape(5, 2)
    assert learned(table, 3).tolist() == table[:3].tolist()
    assert learned(table, 2, offset=3).tolist() == table[3:].tolist()
    with pytest.raises(InputError) as caught:
        learned(table, 2, offset=4)
    assert str(caught.value) == (
        "positions 4 to 5 are asked for, the table has 5: 0 to 4; "
        "shorten the text or take positions that are computed"
    )


@pytest.mark.parametrize(
    ("n_heads", "slopes"),
    [
        (1, [2**-8]),
        (2, [2**-4, 2**-8]),
        (6, [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8]),
        (8, [2**-i for i in range(1, 9)]),
        (12, [*(2**-i for i in range(1, 9)), 2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]),
    ],
)
def test_alibi_slopes(n_heads, slopes):
    np.testing.assert_allclose(alibi_slopes(n_heads), slopes, rtol=1e-15)


def test_alibi_falls_with_distance_on_both_sides_and_stands_at_the_end():
    bias = alibi_bias(2, 2, 3)
    assert (bias * 256).tolist() == [[[-16, 0, -16], [-32, -16, 0]], [[-1, 0, -1], [-2, -1, 0]]]
    assert (alibi_bias(1, 2, 3, align="start") * 256).tolist() == [[[0, -1, -2], [-1, 0, -1]]]
    found = attention(np.zeros((2, 3, 1)), np.zeros((2, 3, 1)), np.zeros((2, 3, 1)), bias=alibi_bias(2, 3, 3))
    np.testing.assert_array_equal(found.scores, alibi_bias(2, 3, 3))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: rope(np.ones((3, 5))),
            ShapeError,
            "d_k is 5; it must be even, since components turn in pairs",
        ),
        (lambda: rope(np.ones(4)), ShapeError, "x has 1 axis (4,), it needs at least 2: (..., T, d_k)"),
        (lambda: rope(np.ones((3, 4)), pairs="both"), InputError, "pairs is 'both'; it is \"half\""),
        (
            lambda: rope(np.ones((3, 4)), offset=-1),
            InputError,
            "offset is -1; it must be a whole number, at least 0",
        ),
        (
            lambda: rope(np.ones((3, 4)), base=0),
            InputError,
            "base is 0; it must be a finite number greater than 0",
        ),
        (
            lambda: rope(np.ones((3, 4)), divisors=np.ones(3)),
            ShapeError,
            "divisors is (3,); it has one number a pair of components, (2,)",
        ),
        (
            lambda: rope(np.ones((3, 4)), divisors=[1.0, 0.0]),
            InputError,
            "divisors run from 0.0 to 1.0; each must be finite and above 0",
        ),
        (
            lambda: rope(np.ones((3, 4)), divisors=[1.0, np.inf]),
            InputError,
            "divisors run from 1.0 to inf; each must be finite and above 0",
        ),
        (lambda: rope(np.ones((3, 4), int)), DtypeError, "x is int64"),
        (lambda: sinusoidal(3, 5), ShapeError, "d_model is 5; it must be even"),
        (lambda: alibi_slopes(0), InputError, "n_heads is 0; it must be a whole number, at least 1"),
    ],
)
def test_refusals(make, error, message):
    with pytest.raises(error) as caught:
        make()
    assert message in str(caught.value)


@pytest.mark.oracle
def test_half_is_what_transformers_does():
    torch = pytest.importorskip("torch", reason="comparing with transformers needs the [oracle] extra")
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    x = np.random.default_rng(4).standard_normal((1, 3, 13, 8))
    angles = torch.arange(13.0, dtype=torch.float64)[:, None] / 10_000 ** (torch.arange(0, 8, 2) / 8.0)
    angles = torch.cat([angles, angles], dim=-1)[None]
    turned, _ = llama.apply_rotary_pos_emb(*[torch.from_numpy(x)] * 2, angles.cos(), angles.sin())
    np.testing.assert_allclose(rope(x), turned, atol=1e-6)  # torch takes the base's power in float32
