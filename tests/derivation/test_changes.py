"""Switches print only what changed; settings change one vector; two sentences have two destinations."""

from __future__ import annotations

import contextlib
import re
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spoken import page

from riverhead.derivation import (
    Derivation,
    apply_setting,
    before_and_after,
    board,
    changed,
    derive,
    destinations,
    example,
    read_vectors,
)
from riverhead.derivation.geometry import Projection, after, before, cosine, hull
from riverhead.errors import InputError, RiverheadError
from riverhead.scene import Matrix, Plane, Table


def river(**changes: object) -> Derivation:
    return example("The river bank flooded").derive(**changes)


def test_no_scale_changes_every_weight_and_no_dot() -> None:
    text = page(changed(river(), river(scale=1), focus="bank"))
    assert "q·k: ÷ √2 → × 1" in text
    assert "bank 0.065 → 0.032 0.539 → 0.644 0.266 → 0.237 0.131 → 0.087" in text
    assert "bank′ (0.604, 0.266) → (0.687, 0.237)" in text
    assert "dots" not in text
    assert not re.search("^(The|river|flooded) ", text.partition("\n")[2], re.M)
    assert (
        "river" not in text.replace("The river", "").replace("scores The river", "") or "river′" not in text
    )


def test_causal_changes_nothing_for_the_last_token() -> None:
    text = page(changed(river(), river(causal=True)))
    assert "causal: False → True" in text
    assert "bank 1.414 → −∞" in text
    assert "bank 0.065 → 0.074 0.539 → 0.620 0.266 → 0.306 0.131 → 0" in text
    assert "The 0.109 → 1.000 0.449 → 0 0.221 → 0 0.221 → 0" in text
    assert not re.search("^flooded", text, re.M)


def test_one_key_moves_one_column_of_scores_and_only_the_rows_that_feel_it() -> None:
    before = river()
    after = apply_setting(example("The river bank flooded"), "k.river=0,2").derive()
    scene = changed(before, after)
    tables = {part.columns[0] or part.columns[1]: part for part in scene.parts if isinstance(part, Table)}
    assert tables["dots"].columns == ("dots", "river")
    assert [row[0] for row in tables["dots"].rows] == [
        "The",
        "bank",
        "flooded",
    ]  # river scores 2 before and after
    assert "river (2, 0) → (0, 2)" in page(scene)
    assert "bank′ (0.604, 0.266) → (0.332, 0.449)" in page(scene)


def test_what_did_not_change_is_not_printed() -> None:
    assert page(changed(river(), river())).splitlines()[-1] == "Nothing changed."
    almost = river(temperature=1 + 1e-7)
    assert re.search(
        r"\d+ more numbers changed by less than the digits shown", page(changed(river(), almost))
    )
    assert "more numbers" not in page(changed(river(), river(temperature=1 + 1e-7), digits=15, focus="bank"))


def test_matrices_masks_and_heads_are_told_too() -> None:
    projected = example("projections")
    W_q = [[1, 0], [1, 1], [2, 9], [0, 1]]
    text = page(changed(projected.derive(), projected.derive(W_q=W_q)))
    assert "W_q 2" in text
    assert "3 1 → 9" in text
    assert "bank (2, 1) → (2, 9)" in text
    heads = example("two_heads")
    masked = heads.derive(mask=[[True] * 3 + [False]] * 4)
    text = page(changed(heads.derive(), masked))
    assert "mask: none → 4 of 16 hidden" in text
    assert "head 1" in text
    assert re.search(r"bank′ \(1.454.*\) → ", text)


def test_other_sentences_are_no_change() -> None:
    with pytest.raises(InputError, match="same tokens"):
        changed(river(), example("money bank grows").derive())


@pytest.mark.parametrize(
    ("setting", "field", "at", "vector"),
    [
        ("k.river=0,2", "k", (0, 1), (0, 2)),
        (" q.bank = (−1, .5) ", "q", (0, 2), (-1, 0.5)),
        ("v.3=1e1,-2", "v", (0, 3), (10, -2)),
        ("k.bank#1=7,7", "k", (0, 2), (7, 7)),
    ],
)
def test_a_setting_changes_one_vector(setting: str, field: str, at: tuple[int, int], vector: tuple) -> None:
    before, after = (
        example("The river bank flooded"),
        apply_setting(example("The river bank flooded"), setting),
    )
    expected = getattr(before.given, field)
    assert getattr(after.given, field)[at[0]][at[1]] == vector
    differs = [
        (h, n)
        for h, head in enumerate(expected)
        for n, row in enumerate(head)
        if getattr(after.given, field)[h][n] != row
    ]
    assert differs == [at]
    assert after.given.printed is None


def test_settings_reach_heads_e_x_and_repeated_or_odd_tokens() -> None:
    heads = apply_setting(example("two_heads"), "k[1].river=0,2")
    assert heads.derive()["k"].values[1][1] == (0, 2)
    assert apply_setting(example("money bank grows"), "e.bank=0,0,0,1").derive()["q"].values[0][1] == (
        0,
        0,
        0,
        1,
    )
    assert apply_setting(example("projections"), "x.bank=0,0,0,1").derive()["q"].values[0][2] == (0, 1)
    odd = read_vectors('{"tokens": ["a.b=c", "#", "#", "a"], "e": [[1], [2], [3], [4]]}', "json")
    assert apply_setting(odd, "e.a.b=c=9").given.e[0] == (9,)
    assert apply_setting(odd, "e.##2=9").given.e[2] == (9,)
    with pytest.raises(InputError, match="stands 2 times; say ##1 or ##2"):
        apply_setting(odd, "e.#=9")


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("", "write FIELD.TOKEN=NUMBERS, as in k.river=0,2"),
        ("k.river", "write FIELD.TOKEN=NUMBERS"),
        ("river=0,2", "write FIELD.TOKEN=NUMBERS"),
        ("w.river=0,2", "'w' cannot be set here; this example has q, k, v"),
        ("e.river=0,2", "'e' cannot be set here"),
        ("k.ocean=0,2", "'ocean' is not there; the tokens are The, river, bank, flooded"),
        ("k.river#2=0,2", "'river#2' is not there"),
        ("k.7=0,2", "'7' is not there"),
        ("k.river=0", "k.river has 2 numbers, not 1"),
        ("k.river=0,2,3", "k.river has 2 numbers, not 3"),
        ("k.river=", "not a list of finite numbers"),
        ("k.river=a,b", "not a list of finite numbers"),
        ("k.river=0,inf", "not a list of finite numbers"),
        ("k.river=0,nan", "not a list of finite numbers"),
        ("k[1].river=0,2", r"has to name one of the heads, k\[0\] to k\[0\]"),
        ("k[x].river=0,2", "has to name one of the heads"),
    ],
)
def test_a_setting_that_does_not_fit_says_what_does(setting: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        apply_setting(example("The river bank flooded"), setting)
    with pytest.raises(InputError, match="has to name one of the heads"):
        apply_setting(example("two_heads"), "k.river=0,2")


@given(st.text(max_size=30))
def test_no_setting_is_more_than_an_input_error(setting: str) -> None:
    with contextlib.suppress(RiverheadError):
        apply_setting(example("The river bank flooded"), setting)


def test_all_pairs_before_and_after_and_the_new_against_the_old() -> None:
    text = page(before_and_after(example("money bank grows").derive(), focus="bank", digits=6))
    for pair in (
        "money · bank 0.500000 → 0.977887",
        "money · grows 0.408248 → 0.928207",
        "bank · grows 0.408248 → 0.928207",
    ):
        assert pair in text
    assert re.search(r"▸ bank′ 0.753499 \d.\d+ 0.747573", text)
    assert "Every pair rises" in text


def test_a_vector_of_zeros_has_no_direction_and_not_every_pair_rises() -> None:
    text = page(before_and_after(river()))
    assert "2 of 3 pairs rise; 3 pairs have no cosine" in text
    assert "The · river → 0.956" in text


def test_each_vector_moves_inside_the_hull_of_what_it_attends_to() -> None:
    (plane,) = [
        part for part in before_and_after(river(causal=True), focus="bank").parts if isinstance(part, Plane)
    ]
    by_name = {arrow.label: arrow for arrow in plane.arrows}
    assert by_name["bank"].start == (0, 1)
    assert by_name["bank"].end == pytest.approx((0.619985, 0.305695), abs=1e-6)
    assert set(by_name["bank"].hull) == {(0, 0), (1, 0), (0, 1)}  # flooded is hidden
    assert by_name["bank"].focus
    assert not by_name["The"].focus
    assert by_name["The"].hull == ((0, 0),)


def test_one_word_two_destinations() -> None:
    scene = destinations(
        example("money bank grows").derive(), example("river bank flows").derive(), "bank", digits=6
    )
    text = page(scene)
    assert "money 0.753499 0.447788" in text
    assert "river 0.591412 0.844894" in text
    assert "before 1.000000 , after 0.914146" in text or "before 1.000000, after 0.914146" in text
    (plane,) = [part for part in scene.parts if isinstance(part, Plane)]
    a, b = plane.arrows
    assert a.start == b.start
    assert a.end != b.end


def test_destinations_need_the_word_in_both_and_one_space() -> None:
    money, river_ = example("money bank grows").derive(), example("The river bank flooded").derive()
    with pytest.raises(InputError, match="word 'money' is not there"):
        destinations(money, example("river bank flows").derive(), "money")
    with pytest.raises(InputError, match="width differs: first has 4, second has 2"):
        destinations(money, river_, "bank")
    crossed = derive([[1.0]], [[1.0]], [[1.0]], tokens=["bank"], tokens_k=["x"])
    with pytest.raises(InputError, match="two sentences"):
        destinations(crossed, money, "bank")


def test_after_w_o_the_vectors_are_compared_with_x_or_not_at_all() -> None:
    x, eye = [[1.0, 0.0], [1.0, 1.0]], np.eye(2)
    mixed = derive(x=x, W_q=eye, W_k=eye, W_v=eye, W_o=[[2.0, 0.0], [0.0, 2.0]])
    assert "0 · 1 0.707 → " in page(before_and_after(mixed))
    with pytest.raises(InputError, match="before and after cannot be compared"):
        before_and_after(example("two_heads").derive())
    with pytest.raises(InputError, match="before and after cannot be compared"):
        before_and_after(example("dot_similarity").derive())


def test_grouped_heads_are_compared_with_the_values_they_read() -> None:
    q, v = np.ones((4, 2, 1)), [[[1.0], [2.0]], [[3.0], [4.0]]]
    derivation = derive(q, np.ones((2, 2, 1)), v)  # every weight is 1/2
    assert before(derivation).tolist() == [[1, 1, 3, 3], [2, 2, 4, 4]]
    assert after(derivation).tolist() == [[1.5, 1.5, 3.5, 3.5]] * 2


def test_points_on_an_edge_are_no_corners() -> None:
    assert hull([(0, 0), (1, 0), (2, 0), (2, 2), (1, 1)]) == ((0, 0), (2, 0), (2, 2))


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=1, max_size=9))
def test_the_hull_holds_every_point_and_is_made_of_them(points: list[tuple[float, float]]) -> None:
    corners = hull(points)
    assert set(corners) <= set(points)
    if len(corners) > 2:
        for a, b in zip(corners, corners[1:] + corners[:1], strict=True):
            assert all((b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]) >= 0 for p in points)


def test_wide_vectors_are_projected_on_the_two_directions_they_spread_most_in() -> None:
    rows = np.zeros((3, 5))
    rows[:, 3] = [0, 10, -10]
    rows[:, 1] = [2, -1, -1]
    plane = Projection(rows)
    points = np.array([plane.point(row) for row in rows])
    np.testing.assert_allclose(np.abs(points[:, 0]), [0, 10, 10], atol=1e-12)
    np.testing.assert_allclose(np.abs(points[:, 1]), [2, 1, 1], atol=1e-12)
    assert "100%" in plane.says
    assert Projection(np.ones((3, 4))).point(np.ones(4)) == (0, 0)


def test_cosines_of_vectors_near_the_ends_of_float64() -> None:
    assert cosine(np.array([1e300, 0.0]), np.array([1e300, 1e300])) == pytest.approx(2**-0.5)
    assert cosine(np.array([1e-300]), np.array([-1e-300])) == -1
    assert cosine(np.zeros(3), np.ones(3)) is None


@pytest.mark.parametrize(("T", "d"), [(2, 4_096), (1, 7), (11, 7)])
def test_the_plane_of_wide_vectors_takes_memory_for_the_vectors_not_for_their_square(T: int, d: int) -> None:
    rows = np.random.default_rng(3).standard_normal((T, d))
    tracemalloc.start()
    plane = Projection(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * (T + 3) * d * 8 + 50_000  # some copies of the rows; d × d numbers are 134 MB at 4,096
    np.testing.assert_allclose(plane.axes @ plane.axes.T, np.eye(2), atol=1e-12)  # rounding of one product
    spread = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False)
    assert plane.share == pytest.approx((spread[:2] ** 2).sum() / max((spread**2).sum(), 1e-300) or 1)


@pytest.mark.parametrize("d", [4, 13])
def test_all_pairs_of_many_tokens_stand_in_two_matrices(d: int) -> None:
    e = np.random.default_rng(11).standard_normal((10, d))
    derivation = derive(e=e, tokens=list("abcdefghij"))
    for scene in (before_and_after(derivation, focus="b"), board(derivation, focus="b", full=True)):
        grids = {str(part.name): part for part in scene.parts if isinstance(part, Matrix)}
        out = derivation["out"].array[0]
        for name, left, right in (("old · old", e, e), ("new · new", out, out), ("new · old", out, e)):
            found = [[float(str(cell).replace("−", "-")) for cell in row] for row in grids[name].cells]
            expected = [[a @ b / np.linalg.norm(a) / np.linalg.norm(b) for b in right] for a in left]
            np.testing.assert_allclose(found, expected, rtol=0, atol=0.0005 + 1e-9)  # three decimals
        assert (grids["new · new"].rows[1], grids["new · old"].focus) == ("b′", 1)


@pytest.mark.parametrize(
    ("e", "says"),
    [
        ([[0, 0], [0, 0]], "No pair has a cosine: a vector of zeros has no direction."),
        (
            [[0, 0], [1, 0], [1, 1]],
            "Every pair that has a cosine rises: averages of the same vectors",
        ),
        ([[1, 3], [1, 3]], "0 of 1 pair rises."),
        ([[1, 0], [1, 3]], "Every pair rises"),
    ],
)
def test_what_is_said_of_the_pairs_is_true_of_them(e: list[list[float]], says: str) -> None:
    assert says in page(before_and_after(derive(e=e)))
