"""RoPE: the laws hold for every right form; each wrong way is named as itself; public faults are told."""

import numpy as np
import pytest
from hypothesis import given, settings
from rope_styles import (
    WRONG,
    agreed,
    angles,
    asked,
    by_halves,
    by_neighbours,
    mixed,
    of,
    right,
    seeds,
    sizes,
    speeds,
)

from riverhead.checking.rules import implementation
from riverhead.checking.rules.draw import Draw, Sizes
from riverhead.checking.rules.studies.rotation import COUNTED, WAYS, rounded
from riverhead.core import rope


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


def test_a_function_of_one_vector_is_called_for_each():
    def one(x, m):
        """As a textbook has it: x is (d,), m a number."""
        turned = [
            complex(*x[i : i + 2]) * np.exp(1j * m * 10_000.0 ** (-i / len(x))) for i in range(0, len(x), 2)
        ]
        return [part for z in turned for part in (z.real, z.imag)]

    report = asked(one)
    assert not report.failed
    assert agreed(report) == {"rope": "interleaved", "rope-base": "10000"}
    assert {"rope-positions", "rope-far"} <= set(report.passed)
    assert asked(lambda x, m: one(x, -abs(m - 2))).failed[0].rule == "rope-relative"


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

    (failure,) = asked(lambda x: by_axis_1(x) if x.ndim == 4 else None).failed  # four axes or none
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


def test_speeds_that_are_one_are_told_whatever_they_are():
    assert asked(of(lambda t: t[..., :1] / 2 + 0 * t)).mistakes == ("rope-same-frequency",)
    (failure,) = asked(of(lambda t: t[..., [0, 1, 1, 2]])).failed
    assert (failure.rule, failure.detail) == ("rope-speeds", "two pairs turn by 0.1 radians a token")


def test_a_turn_that_depends_on_the_length_in_no_known_way_is_told():
    def f(x):
        return right(x, np.arange(x.shape[-2]) / (2 if x.shape[-2] > 8 else 1))

    (failure,) = asked(f).failed
    assert (failure.rule, failure.mistake) == ("rope-place", "")


def test_neighbours_far_into_a_text_are_told_apart():
    def f(x, positions):
        return right(x, [m if m < 50_000 else m // 2 * 2 for m in positions])

    (failure,) = asked(f).failed
    assert (failure.rule, failure.level) == ("rope-far", "should")


def test_two_numbers_in_few_bits_beside_other_pairs_are_both_named():
    def f(x, positions):
        slow = rounded(speeds(x.shape[-1]), "float16")
        return by_neighbours(x, rounded(np.multiply.outer(np.asarray(positions, float), slow), "float16"))

    assert set(asked(f).mistakes) == {"rope-speeds-in-float16", "rope-angles-in-float16"}


def test_what_one_dtype_shows_already_is_not_named_again_in_another():
    slow = Sizes(B=3, H=4, d_k=2)  # 1 and 0.01 radians: float16 and bfloat16 results look alike
    assert asked(WRONG["rope-angles-in-float16"], slow).mistakes == ("rope-angles-in-float16",)


def test_what_is_broken_is_not_said_to_be_not_offered():
    report = asked(lambda q, k, cos, sin: (q, k))
    assert report.mistakes == ("rope-unchanged",)
    assert "rope-speeds" not in {each.rule for each in report.not_offered}


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
