"""Maps over ranges of keys, merged: any split, any order, merged again, they are the map over all keys."""

import itertools

import numpy as np
import pytest
from bounds import scores_bound
from hypothesis import given, settings
from hypothesis import strategies as st
from ways import calls, normal

from riverhead.core import attend, merge_maps
from riverhead.errors import InputError


def part(q, k, v, a, b, *, offset=None, align="end", lengths=None, pairs=None, sinks=None, **options):
    """The map over the keys from a to b; ``sinks`` are for the merge."""
    T_q, T_k = q.shape[-2], k.shape[-2]
    if offset is None:
        offset = T_k - T_q if align == "end" else 0
    for name in ("mask", "bias"):
        if name in options and options[name].shape[-1] == T_k:
            options[name] = options[name][..., a:b]
    if lengths is not None:
        options["lengths"] = np.clip(lengths, a, b) - a
    if pairs is not None:
        inside = (pairs[1] >= a) & (pairs[1] < b)
        start = np.concatenate([[0], np.cumsum(inside)])[pairs[0]]
        options["pairs"] = start, pairs[1][inside] - a
    return attend(q, k[..., a:b, :], v[..., a:b, :], offset=offset - a, **options)


@st.composite
def splits(draw, **kinds):
    """A call, cut into parts over ranges of keys that may be empty, and merged by a random tree."""
    q, k, v, options = draw(calls(**kinds))
    for x in (q, k):
        x[np.isinf(x)] = np.nan  # a part that sees −∞ alone is NaN, where the whole may see more
    T_k = k.shape[-2]
    cuts = sorted(draw(st.lists(st.integers(0, T_k), max_size=4)))
    parts = [part(q, k, v, a, b, **options) for a, b in itertools.pairwise([0, *cuts, T_k])]
    while len(parts) > 2 and draw(st.booleans()):  # neighbours become one
        at = draw(st.integers(0, len(parts) - 2))
        parts[at : at + 2] = [merge_maps(draw(st.permutations(parts[at : at + 2])))]
    return q, k, v, options, merge_maps(draw(st.permutations(parts)), sinks=options.get("sinks"))


def hold(whole, merged, q, k, options):
    """Every number within 1e-5 of the whole's, relative to the largest of its kind.

    Where scores are large their own rounding, δ of `scores_bound`, is larger than that: it enters with the
    weights of the part, its lse, the merged lse, and once more on the side of the whole.
    """
    kept = {name: options[name] for name in ("scale", "softcap", "sinks", "bias") if name in options}
    if options.get("alibi") is not None:
        kept["bias"] = np.nan_to_num(kept.get("bias", 0), neginf=0) + abs(options["alibi"]).max() * 32
    room = 1e-5 + 8 * scores_bound(q, k, **kept, dtype=whole.dtype).max()
    assert merged.names == whole.names
    for name in (name for name in whole.names if name != "top_key"):
        one, other = getattr(whole, name), getattr(merged, name)
        assert one.dtype == other.dtype, name
        finite = np.isfinite(one)
        np.testing.assert_array_equal(other[~finite], one[~finite], err_msg=name)
        largest = np.abs(one[finite]).max(initial=1)
        np.testing.assert_allclose(other[finite], one[finite], rtol=0, atol=room * largest, err_msg=name)
    np.testing.assert_allclose(np.asarray(merged), np.asarray(whole), rtol=0, atol=room)
    there = whole.top_key >= 0
    np.testing.assert_array_equal(merged.top_key >= 0, there)
    chosen = np.take_along_axis(np.asarray(whole), np.where(there, merged.top_key, 0), axis=-1)
    np.testing.assert_allclose(chosen[there], whole.top_weight[there], rtol=0, atol=2 * room)


@settings(max_examples=200, deadline=None)
@given(splits())
def test_any_split_in_any_order_equals_the_whole(split):
    q, k, v, options, merged = split
    hold(attend(q, k, v, **options), merged, q, k, options)


@settings(max_examples=100, deadline=None)
@given(splits(poison=True))
def test_nan_and_infinity_stand_where_they_stand_in_the_whole(split):
    q, k, v, options, merged = split
    hold(attend(q, k, v, **options), merged, q, k, options)


def test_a_key_that_is_nan_spoils_the_rows_that_see_it():
    """Row 0 sees the first key alone; row 1 also the second, which is NaN and lies in another part."""
    q, v = normal((2, 5), (3, 2))
    k = np.array([[1.0], [np.nan], [0.5]], np.float32) * np.ones(5, np.float32)
    merged = merge_maps([part(q, k, v, a, a + 1, causal=True, align="start", top=2) for a in (2, 1, 0)])
    np.testing.assert_array_equal(np.asarray(merged), [[1, 0, 0], [np.nan, np.nan, 0]])
    np.testing.assert_array_equal(merged.top_key, [[0, -1], [-1, -1]])
    np.testing.assert_array_equal(merged.top_weight, [[1, 0], [np.nan, np.nan]])
    np.testing.assert_array_equal(merged.received, [np.nan, np.nan, 0])
    np.testing.assert_array_equal(merged.self_weight, [1, np.nan])


def test_on_paper():
    """Scores 0, ln 2, ln 3 and ln 4: the weights are tenths, whichever keys stand together."""
    q, k = np.ones((1, 1)), np.log([[1.0], [2.0], [3.0], [4.0]])
    v = np.array([[10.0], [20.0], [30.0], [40.0]])
    parts = [
        part(q, k, v, a, b, scale=1, pairs=([0, 2], np.array([1, 2]))) for a, b in ((3, 4), (0, 2), (2, 3))
    ]
    merged = merge_maps(parts)
    np.testing.assert_allclose(merged[0], [0.1, 0.2, 0.3, 0.4], rtol=1e-14)
    np.testing.assert_allclose(merged.out, [[30.0]], rtol=1e-14)
    np.testing.assert_allclose(merged.lse, [np.log(10)], rtol=1e-14)
    np.testing.assert_allclose(merged.first_weight, [0.1], rtol=1e-14)
    np.testing.assert_allclose(merged.previous_weight, [0.3], rtol=1e-14)
    np.testing.assert_allclose(merged.pair_weight, [0.5], rtol=1e-14)
    np.testing.assert_allclose(merged.received, [0.1, 0.2, 0.3, 0.4], rtol=1e-14)
    np.testing.assert_array_equal(merged.top_key[0, :4], [3, 2, 1, 0])
    tenths = np.array([1, 2, 3, 4]) / 10
    np.testing.assert_allclose(merged.entropy_nats, [-(tenths * np.log(tenths)).sum()], rtol=1e-14)


def test_a_sink_takes_its_weight_once():
    """Two keys and a sink of the same score: a third each."""
    q, k, v = np.ones((1, 1)), np.zeros((2, 1)), np.array([[3.0], [6.0]])
    parts = [part(q, k, v, n, n + 1) for n in range(2)]
    merged = merge_maps(parts, sinks=[0.0])
    np.testing.assert_allclose(merged[0], [1 / 3, 1 / 3], rtol=1e-15)
    np.testing.assert_allclose(merged.out, [[3.0]], rtol=1e-15)
    np.testing.assert_allclose(merged.max_weight, [1 / 3], rtol=1e-15)


def test_equal_weights_stay_in_the_order_of_their_keys():
    """All keys are the same, and lie in parts of different weight: rounding must not put one first."""
    q, k, v = normal((7, 13), (1, 13), (11, 3))
    k = np.repeat(k, 11, axis=0)
    merged = merge_maps([part(q, k, v, a, b, top=5) for a, b in ((8, 11), (0, 1), (1, 8))])
    np.testing.assert_array_equal(merged.top_key, np.tile(np.arange(5), (7, 1)))


def test_the_first_key_seen_lies_in_the_first_part_that_shows_one():
    q, k, v = normal((3, 5), (6, 5), (6, 2))
    mask = np.array([[0, 0, 0, 1, 1, 0], [0, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0]], bool)
    merged = merge_maps([part(q, k, v, a, a + 2, mask=mask) for a in (4, 2, 0)])
    np.testing.assert_allclose(merged.first_weight, [merged[0, 3], merged[1, 1], 0], rtol=1e-5)


def test_a_part_without_mask_bias_or_lengths_hides_nothing():
    q, k, v = normal((2, 15, 7, 13), (2, 3, 11, 13), (2, 3, 11, 17))
    mask, bias = np.random.default_rng(1).random((2, 1, 7, 4)) < 0.5, normal((15, 1, 7))[0]
    parts = [
        part(q, k, v, 0, 4, mask=mask),
        attend(q, k[..., 4:, :], v[..., 4:, :], offset=0, bias=bias, lengths=[7, 3]),
    ]
    whole = attend(
        q, k, v,
        mask=np.concatenate([mask, np.ones((2, 1, 7, 7), bool)], axis=-1),
        bias=np.concatenate([np.zeros((15, 1, 4), np.float32), bias], axis=-1),
        lengths=[11, 7],
    )  # fmt: skip
    hold(whole, merge_maps(parts), q, k, {"bias": np.concatenate([np.zeros((15, 1, 4)), bias], axis=-1)})


def test_what_repeats_is_not_written_out():
    """One set of keys for 5 batch items, and one mask: merging copies k once."""
    q, k, v = normal((5, 3, 7, 13), (3, 11, 13), (3, 11, 17))
    mask = np.arange(11) != 4
    merged = merge_maps([part(q, k, v, a, b, mask=mask) for a, b in ((0, 6), (6, 11))])
    assert merged._job.k.strides[0] == 0
    assert merged._job.mask.strides[:-1] == (0, 0, 0)
    hold(attend(q, k, v, mask=mask), merged, q, k, {})


def test_heads_that_were_chosen_merge_too():
    q, k, v = normal((2, 15, 7, 13), (2, 3, 11, 13), (2, 3, 11, 17))
    sinks = np.linspace(-1, 1, 15)
    parts = [part(q, k, v, a, b)[1, [4, 14]] for a, b in ((0, 6), (6, 11))]
    whole = attend(q, k, v, sinks=sinks)[1, [4, 14]]
    hold(whole, merge_maps(parts, sinks=sinks), q, k, {"sinks": sinks})


q, k, v = normal((7, 13), (11, 13), (11, 17))
left, right = (part(q, k, v, a, b) for a, b in ((0, 5), (5, 11)))
REFUSED = {
    "no part": ([], "one or more AttentionMaps"),
    "an array": ([np.eye(3)], "one or more AttentionMaps"),
    "the same keys twice": ([left, left], "5 keys are in both part 0 and part 1"),
    "an overlap": ([part(q, k, v, 3, 9), left], "2 keys are in both part 1 and part 0"),
    "a gap": ([right, part(q, k, v, 0, 2)], "3 keys are missing between part 1 and part 0"),
    "parts that do not say where they stand": (
        [attend(q, k[:5], v[:5]), attend(q, k[5:], v[5:])],
        "part 1 and part 0; a part from key a on is made with offset=offset - a",
    ),
    "other queries": ([left, part(q + 1, k, v, 5, 11)], "q of part 1 is not that of part 0"),
    "fewer queries": ([left, part(q[1:], k, v, 5, 11, offset=5)], "q of part 1 is not that of part 0"),
    "another scale": ([left, part(q, k, v, 5, 11, scale=1)], "scale differs: 0.277.* in part 0, 1.0 in"),
    "another dtype": ([left, part(q.astype(float), k, v, 5, 11)], "dtype differs: float32 in part 0, float"),
    "another top": ([left, part(q, k, v, 5, 11, top=3)], "top differs: 8 in part 0, 3 in part 1"),
    "another window": ([left, part(q, k, v, 5, 11, window=3)], "window differs: None in part 0, 3 in part 1"),
    "another d_v": ([left, part(q, k, v[:, 1:], 5, 11)], "d_v differs: 17 in part 0, 16 in part 1"),
    "an alibi of its own": ([left, part(q, k, v, 5, 11, alibi=[0.5])], "alibi of part 1 is not that"),
    "pairs in one part": (
        [left, part(q, k, v, 5, 11, pairs=(np.zeros(8, int), np.zeros(0, int)))],
        "pairs differs: False in part 0, True in part 1",
    ),
    "sinks in a part": (
        [left, attend(q, k[5:], v[5:], offset=-1, sinks=[0.0])],
        "part 1 was made with sinks.*give them to merge_maps",
    ),
    "keys seen after hidden ones": (
        [part(q, k, v, 0, 5, lengths=3), right],
        "lengths hide keys before key 5, and show some from there on",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refuses(case):
    parts, says = REFUSED[case]
    with pytest.raises(InputError, match=says):
        merge_maps(parts)


def test_refuses_sinks_of_another_number():
    with pytest.raises(InputError, match="sinks"):
        merge_maps([left, right], sinks=[0.0, 1.0])


def test_other_heads_do_not_merge():
    q, k, v = normal((3, 7, 13), (3, 11, 13), (3, 11, 17))
    with pytest.raises(InputError, match=r"the choice of heads differs: 0 in part 0, 1 in part 1"):
        merge_maps([part(q, k, v, 0, 5)[0], part(q, k, v, 5, 11)[1]])
