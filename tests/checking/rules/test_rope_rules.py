"""RoPE: the laws hold for every right form; each wrong way is named as itself; public faults are told."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverhead.checking.rules import implementation
from riverhead.checking.rules.adapting.positions import rope as adapt
from riverhead.checking.rules.adapting.signature import Asked
from riverhead.checking.rules.draw import Draw, Sizes
from riverhead.checking.rules.running.subject import Direct
from riverhead.checking.rules.studies.rope import ROPE_STUDIES
from riverhead.checking.rules.studies.rotation import COUNTED, WAYS, rounded
from riverhead.checking.rules.trial import Trial
from riverhead.core import rope

sizes = st.permutations([2, 3, 4, 5]).map(lambda n: Sizes(B=n[0], H=n[1], d_k=n[2]))
seeds = st.integers(0, 10_000)


def asked(f, sizes=None, seed=0, expect=None, **arguments):
    trial = Trial(Direct(adapt(f, Asked(arguments=arguments))), Draw(sizes, seed), expect or {})
    trial.run(ROPE_STUDIES)
    return trial.report()


def agreed(report):
    return {each.aspect: each.name for each in report.conventions}


# Complex numbers, not the pipeline's sines: a pair is a + bi, and is turned by multiplying with e^(i·angle).


def speeds(d, base=10_000.0):
    return np.array([base ** (-2 * i / d) for i in range(d // 2)])


def angles(positions, d, **more):
    return np.multiply.outer(np.asarray(positions, float), speeds(d, **more))


def halves(x):
    return x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]


def neighbours(x):
    return x[..., 0::2], x[..., 1::2]


def by_halves(x, angle):
    a, b = halves(x)
    z = (a + 1j * b) * np.exp(1j * angle)
    return np.concatenate([z.real, z.imag], -1)


def by_neighbours(x, angle):
    a, b = neighbours(x)
    z = (a + 1j * b) * np.exp(1j * angle)
    return np.stack([z.real, z.imag], -1).reshape(x.shape)


def of(change, turn=by_halves):
    """A function of x and positions whose angles are changed."""
    return lambda x, positions: turn(x, change(angles(positions, x.shape[-1])))


def rows(theta):
    return np.concatenate([np.cos(theta)] * 2, -1), np.concatenate([np.sin(theta)] * 2, -1)


def matrix(first, second):
    """x turned in halves by [[cos, first·sin], [second·sin, cos]]."""

    def f(x, positions):
        a, b = halves(x)
        c, s = np.cos(angles(positions, x.shape[-1])), np.sin(angles(positions, x.shape[-1]))
        return np.concatenate([a * c + first * b * s, b * c + second * a * s], -1)

    return f


def mixed(x, positions):
    theta = np.repeat(angles(positions, x.shape[-1]), 2, -1)  # t0 t0 t1 t1
    a, b = halves(x)
    return x * np.cos(theta) + np.concatenate([-b, a], -1) * np.sin(theta)


def mixed_halves(x, positions):
    cos, sin = rows(angles(positions, x.shape[-1]))  # t0 t1 t0 t1
    a, b = neighbours(x)
    return x * cos + np.stack([-b, a], -1).reshape(x.shape) * sin


def overwritten(x, positions):
    x, theta = x.copy(), angles(positions, x.shape[-1])
    a, b = halves(x)  # views
    a[...] = a * np.cos(theta) - b * np.sin(theta)
    b[...] = b * np.cos(theta) + a * np.sin(theta)
    return x


def cosines_only(x, positions):
    return x * rows(angles(positions, x.shape[-1]))[0]


def half_turned(x, positions):
    return np.concatenate([halves(by_halves(x, angles(positions, x.shape[-1])))[0], halves(x)[1]], -1)


def added(x, positions):
    theta = angles(positions, x.shape[-1])
    return x + np.concatenate([np.sin(theta), np.cos(theta)], -1)


def in_few_bits(dtype, *what):
    """A function that keeps some of its numbers in a narrow dtype."""

    def keep(x, name):
        return rounded(x, dtype) if name in what else x

    def f(x, positions):
        slow = keep(speeds(x.shape[-1]), "speeds")
        theta = keep(np.multiply.outer(keep(np.asarray(positions, float), "positions"), slow), "angles")
        a, b = halves(x)
        c, s = keep(np.cos(theta), "table"), keep(np.sin(theta), "table")
        return np.concatenate([a * c - b * s, b * c + a * s], -1)

    return f


def of_two(of_q, of_k):
    return lambda q, k, positions: (of_q(q, positions), of_k(k, positions))


right, unturned = of(lambda t: t), lambda x, positions: x
ALL = ("positions", "speeds", "angles", "table")
WRONG = {
    "rope-mixed": mixed,
    "rope-mixed-halves": mixed_halves,
    "rope-sign": matrix(1, 1),
    "rope-sign-minus": matrix(-1, -1),
    "rope-cosines-only": cosines_only,
    "rope-half-turned": half_turned,
    "rope-overwritten": overwritten,
    "rope-added": added,
    "rope-unchanged": unturned,
    "rope-same-frequency": of(lambda t: t[..., :1] + 0 * t),
    "rope-degrees": of(lambda t: t * np.pi / 180),
    "rope-degrees-up": of(lambda t: t * 180 / np.pi),
    "rope-from-the-end": lambda x: by_halves(x, angles(range(x.shape[-2])[::-1], x.shape[-1])),
    "rope-by-length": lambda x: by_halves(x, angles(np.arange(x.shape[-2]) / x.shape[-2], x.shape[-1])),
    "rope-one-sided": of_two(right, unturned),
    "rope-one-sided-keys": of_two(unturned, right),
    "rope-opposite": of_two(right, of(lambda t: -t)),
    **{f"rope-{what}-in-{dtype}": in_few_bits(dtype, *(ALL if what == "all" else [what]))
       for dtype in ("float16", "bfloat16") for what in ("positions", "speeds", "angles", "table", "all")},
    "rope-ignores-offset": lambda x, offset: by_halves(x, angles(range(x.shape[-2]), x.shape[-1])),
}  # fmt: skip


def test_every_way_that_can_be_named_has_a_function_here():
    named = {way.id for way in (*WAYS[True], *COUNTED) if not way.agreed}
    assert named == set(WRONG) - {"rope-ignores-offset"}


@pytest.mark.parametrize("name", WRONG)
@given(sizes=sizes, seed=seeds)
@settings(max_examples=2, deadline=None)
def test_each_wrong_way_is_named_and_nothing_else(name, sizes, seed):
    report = asked(WRONG[name], sizes, seed)
    assert report.mistakes == (name,)
    assert len(report.failed) == 1  # what follows from it is listed apart, not said again


@pytest.mark.parametrize("base", [10_000.0, 500_000.0, 100.0, 31.25])
@pytest.mark.parametrize(("turn", "pairs"), [(by_halves, "half"), (by_neighbours, "interleaved")])
def test_whatever_makes_a_pair_and_whatever_the_base_passes_and_is_reported(turn, pairs, base):
    report = asked(
        lambda x, offset=0: turn(x, angles(np.arange(offset, offset + x.shape[-2]), x.shape[-1], base=base))
    )
    assert not report.failed
    assert agreed(report) == {"rope": pairs, "rope-base": f"{base:g}", "layout": "BHTd"}
    assert {"rope-relative", "rope-offset", "rope-far", "rope-angles"} <= set(report.passed)


FREE = {
    ("rope-direction", "backwards"): of(lambda t: -t),
    ("rope-start", "1"): lambda x, positions: right(x, np.asarray(positions) + 1),
    ("rope-start", "quarter-turn"): of(lambda t: np.pi / 2 - t),
    ("rope-order", "slowest-first"): of(lambda t: t[..., ::-1]),
    ("rope-scaling", "0.25"): of(lambda t: t / 4),
    ("rope-factor", "1.277"): lambda x, positions: (
        (0.1 * np.log(16) + 1) * right(x, positions)
    ),  # YaRN's, ROPE-9
    ("rope-width", "4"): lambda x, positions: np.concatenate([right(x[..., :4], positions), x[..., 4:]], -1),
    ("rope-base", "none"): of(lambda t: t / np.array([1, 1.5, 4, 8])),  # as a model that was stretched
}


@pytest.mark.parametrize("convention", FREE, ids=" ".join)
def test_what_may_be_chosen_is_reported_and_never_called_wrong(convention):
    report = asked(FREE[convention])
    assert not report.failed
    assert convention in agreed(report).items()


def test_pairs_of_any_components_keep_the_laws():
    order = np.array([3, 0, 6, 2, 7, 5, 1, 4])
    report = asked(lambda x, positions: right(x[..., order], positions)[..., np.argsort(order)])
    assert not report.failed
    assert agreed(report)["rope"] == "other"


def test_a_rotation_that_breaks_a_law_in_no_known_way_is_told_by_the_law():
    report = asked(lambda x, positions: right(x, np.asarray(positions) ** 2))
    assert [(failure.rule, failure.mistake) for failure in report.failed] == [("rope-relative", "")]
    report = asked(lambda x, positions: 1.01 ** np.asarray(positions)[:, None] * right(x, positions))
    assert [failure.rule for failure in report.failed] == ["rope-norm", "rope-relative"]
    report = asked(lambda x, positions: right(x, positions) + x.mean(axis=-2, keepdims=True))
    assert report.failed[0].rule == "rope-turn"


def test_q_k_of_a_mixed_table_is_that_of_the_public_report():  # ROPE-2
    q, k = np.array([1.0, 2, 3, 4]), np.array([2.0, 0, 1, 1])

    def dot(f, m, n):
        return f(q[None], [m])[0] @ f(k[None], [n])[0]

    neighbours_turned = of(lambda t: t, by_neighbours)
    assert [dot(neighbours_turned, *at) for at in ((3, 1), (8, 6))] == pytest.approx([2.509118] * 2)
    assert [dot(mixed, *at) for at in ((3, 1), (8, 6))] == pytest.approx([8.95016768, -0.463597014])
    (failure,) = asked(mixed).failed
    assert (failure.rule, failure.array) == ("rope-relative", "q·k")
    x = Draw().numbers("x", 11, 8)
    assert failure.found == pytest.approx(mixed(x[:1], [8])[0] @ mixed(x[1:2], [6])[0])
    assert failure.right == pytest.approx(mixed(x[:1], [3])[0] @ mixed(x[1:2], [1])[0])


def test_the_right_number_of_a_cell_comes_with_its_arithmetic():
    (failure,) = asked(WRONG["rope-degrees"]).failed
    x, cell = Draw().numbers("x", 11, 8), failure.cell
    assert failure.found == pytest.approx(WRONG["rope-degrees"](x, range(11))[cell])
    assert failure.right == pytest.approx(right(x, range(11))[cell])
    a, b = x[1, 0], x[1, 4]
    assert failure.arithmetic == f"({a:.4g})·cos 1 − ({b:.4g})·sin 1 = {failure.right:.4g}".replace("-", "−")


def test_whole_numbers_collapse_as_in_the_public_report():  # ROPE-7, ROPE-8
    assert rounded(np.arange(255.0, 260.0), "bfloat16").tolist() == [255, 256, 256, 258, 260]
    slow = speeds(32)[1:2]
    assert 1857 * slow == pytest.approx(1044.26782)
    assert rounded(1857 * rounded(slow, "float16"), "float16") == [1045]
    (failure,) = asked(WRONG["rope-positions-in-bfloat16"]).failed
    assert failure.rule == "rope-counts"


def test_a_table_kept_by_its_length_is_told():  # ROPE-5
    kept = {}

    def f(x, offset=0):
        T = x.shape[-2]
        if T not in kept:
            kept[T] = angles(np.arange(offset, offset + T), x.shape[-1])
        return by_halves(x, kept[T])

    assert asked(f).mistakes == ("rope-ignores-offset",)


def test_positions_out_of_order_are_the_ones_given():
    def f(x, positions):
        return by_halves(x, angles(min(positions) + np.arange(len(positions)), x.shape[-1]))

    assert asked(f).mistakes == ("rope-ignores-positions",)


def test_the_length_is_not_read_from_the_axis_of_heads():  # ROPE-10
    def by_axis_1(x):
        """What is right for (B, T, d) only."""
        return by_halves(x, angles(range(x.shape[1]), x.shape[-1]))

    (failure,) = asked(by_axis_1).failed
    assert (failure.rule, failure.mistake) == ("rope-heads", "rope-by-heads-axis")

    def along_axis_1(x):
        """Right where tokens stand before heads."""
        theta = angles(range(x.shape[1]), x.shape[-1])
        return by_halves(x, theta[:, None] if x.ndim == 4 else theta)

    report = asked(along_axis_1)
    assert not report.failed
    assert agreed(report)["layout"] == "BTHd"
    (failure,) = asked(along_axis_1, expect={"layout": "BHTd"}).failed
    assert (failure.rule, failure.mistake) == ("rope-heads", "rope-by-heads-axis")


def test_a_convention_that_is_asked_for_must_be_kept():
    assert not asked(rope, expect={"rope": "half", "rope-base": "10000"}).failed
    (failure,) = asked(rope, expect={"rope": "interleaved"}).failed
    assert failure.rule == "rope-agreed"
    assert "rope is half; interleaved was asked for" in failure.detail


def test_what_is_not_taken_is_not_asked():
    report = asked(lambda x: right(x, range(x.shape[-2])))
    assert {each.rule for each in report.not_offered} == {
        "rope-both",
        "rope-offset",
        "rope-positions",
        "rope-far",
    }


def test_riverheads_own_passes_from_outside():
    report = implementation(rope, isolated=False)
    assert (report.kind, report.failed) == ("rope", ())


def test_a_function_that_raises_is_told_with_what_it_raised():
    def f(x, positions):
        if x.shape[-2] == 4:
            raise RuntimeError("four are too few")
        return right(x, positions)

    (failure,) = asked(f).failed
    assert (failure.rule, failure.mistake) == ("rope-turn", "")
    assert "four are too few" in failure.detail


# ---------------------------------------------------------------- torch, and forms people write


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def llama(torch):
    """As Llama's reference has it: a table of complex numbers, made elsewhere."""

    def precompute(dim, end, theta=10_000.0):
        freqs = 1.0 / (theta ** (torch.arange(0, dim, 2).float() / dim))
        angle = torch.outer(torch.arange(end).float(), freqs)
        return torch.polar(torch.ones_like(angle), angle)

    def apply_rotary_emb(xq, xk, freqs_cis):
        def turned(x):
            z = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
            table = freqs_cis.view(1, x.shape[1], *[1] * (x.ndim - 3), -1)
            return torch.view_as_real(z * table).flatten(-2).type_as(x)

        return turned(xq), turned(xk)

    return apply_rotary_emb, precompute


@pytest.mark.oracle
def test_a_table_is_made_by_the_function_that_is_named(torch):
    apply, table = llama(torch)
    without, beside = asked(apply), asked(apply, table=table)
    assert not without.failed + beside.failed
    assert agreed(beside) == {"rope": "interleaved", "rope-base": "10000", "layout": "BTHd"}
    assert {"rope-speeds", "rope-angles"} <= set(beside.passed) - set(without.passed)


@pytest.mark.oracle
def test_a_module_made_for_one_width_is_asked_at_that_width(torch):
    class Rotary(torch.nn.Module):
        """Tokens before heads, as torchtune has it."""

        def __init__(self, dim, max_seq_len=4096, base=10_000):
            super().__init__()
            theta = torch.outer(torch.arange(max_seq_len).float(), torch.tensor(speeds(dim, base)).float())
            self.register_buffer("cache", torch.stack([theta.cos(), theta.sin()], -1))

        def forward(self, x, *, input_pos=None):
            table = self.cache[: x.size(1)] if input_pos is None else self.cache[input_pos]
            x_, table = x.float().unflatten(-1, (-1, 2)), table.view(-1, x.size(1), 1, x.size(3) // 2, 2)
            a, b, c, s = x_[..., 0], x_[..., 1], table[..., 0], table[..., 1]
            return torch.stack([a * c - b * s, b * c + a * s], -1).flatten(-2).type_as(x)

    for thing in (Rotary, Rotary(16)):
        report = asked(thing)
        assert not report.failed
        assert agreed(report) == {"rope": "interleaved", "rope-base": "10000", "layout": "BTHd"}


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_positions_in_the_dtype_of_the_vectors_are_told_though_float64_is_right(torch, dtype):
    def f(x, offset=0):
        places = torch.arange(offset, offset + x.size(-2), dtype=x.dtype)
        theta = torch.outer(places.double(), torch.tensor(speeds(x.size(-1))))
        cos, sin = torch.cat([theta.cos()] * 2, -1), torch.cat([theta.sin()] * 2, -1)
        a, b = x.chunk(2, -1)
        return (x * cos + torch.cat([-b, a], -1) * sin).to(x.dtype)

    report = asked(f)
    assert report.mistakes[0] == "rope-positions-in-float16"
    assert [failure.rule for failure in report.failed] == ["rope-counts"]
