"""What a derivation takes, against loops of its own; what it refuses, and how it says so."""

from __future__ import annotations

import math
import sys
import tracemalloc

import numpy as np
import pytest
from golden import loops
from hypothesis import given
from hypothesis import strategies as st

from riverhead.derivation import Derivation, derive, example
from riverhead.errors import DtypeError, InputError, ShapeError

H, G, T_q, T_k, d_k, d_v, d_model = 6, 3, 5, 7, 11, 13, 17
BOUND = (
    1e-13  # products of 11 and 17 numbers of size 1, exponentials of scores of size 1: 100 roundings of 1e-16
)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260)


def agree(derivation: Derivation, head: int, weights: list, out: list) -> None:
    np.testing.assert_allclose(derivation["weights"].array[head], weights, rtol=0, atol=BOUND)
    np.testing.assert_allclose(derivation["out"].array[head], out, rtol=0, atol=BOUND * 10)


def test_grouped_heads_read_their_kv_head(rng: np.random.Generator) -> None:
    q, k, v = (
        rng.standard_normal((H, T_q, d_k)),
        rng.standard_normal((G, T_k, d_k)),
        rng.standard_normal((G, T_k, d_v)),
    )
    derivation = derive(q, k, v)
    for head in range(H):
        agree(derivation, head, *loops(q[head], k[head // 2], v[head // 2], 1 / math.sqrt(d_k)))
    exps = (
        derivation["exp"].array / derivation["sum"].array
    )  # the steps shown lead to the weights of the core
    np.testing.assert_allclose(exps, derivation["weights"].array, rtol=0, atol=BOUND)
    merged = derivation["merged"].array[0]
    np.testing.assert_array_equal(merged, np.concatenate(derivation["out"].array, axis=-1))


def test_projections_make_queries_keys_and_values_of_two_sequences(rng: np.random.Generator) -> None:
    x, x_k = rng.standard_normal((T_q, d_model)), rng.standard_normal((T_k, d_model))
    W_q, W_k = rng.standard_normal((d_model, H * d_k)) / 4, rng.standard_normal((d_model, G * d_k)) / 4
    W_v, W_o = rng.standard_normal((d_model, G * d_v)), rng.standard_normal((H * d_v, 19))
    given = {"x": x, "x_k": x_k, "W_q": W_q, "W_k": W_k, "W_v": W_v, "W_o": W_o}
    derivation = derive(**given, n_heads=H, n_kv_heads=G)
    outs = []
    for head in range(H):
        kv = head // 2
        q = x @ W_q[:, head * d_k : (head + 1) * d_k]
        k, v = x_k @ W_k[:, kv * d_k : (kv + 1) * d_k], x_k @ W_v[:, kv * d_v : (kv + 1) * d_v]
        weights, out = loops(q, k, v, 1 / math.sqrt(d_k))
        np.testing.assert_allclose(derivation["weights"].array[head], weights, rtol=0, atol=1e-12)
        outs.append(out)
    y = np.concatenate(outs, axis=-1) @ W_o
    np.testing.assert_allclose(derivation["y"].array[0], y, rtol=0, atol=1e-10)


def test_a_second_sequence_of_the_same_length_stays_a_second_one() -> None:
    eye = np.eye(2)
    derivation = derive(x=eye, x_k=eye, W_q=eye, W_k=eye, W_v=eye, tokens=["s", "t"])
    assert (derivation.given.tokens, derivation.given.tokens_k) == (("s", "t"), ("0", "1"))


def test_the_steps_come_in_the_order_of_the_work() -> None:
    assert example("projections").derive().names == (
        "tokens", "x", "q", "k", "v", "dots", "scores", "exp", "sum", "weights", "out", "formula",
    )  # fmt: skip
    assert example("two_heads").derive(causal=True).names == (
        "tokens", "q", "k", "v", "dots", "scores", "masked", "exp", "sum", "weights", "out", "merged", "y",
        "formula",
    )  # fmt: skip


def test_parameter_free_heads_share_the_width(rng: np.random.Generator) -> None:
    e = rng.standard_normal((T_q, 3 * d_k))
    derivation = derive(e=e, n_heads=3)
    for head in range(3):
        part = e[:, head * d_k : (head + 1) * d_k]
        agree(derivation, head, *loops(part, part, part, 1 / math.sqrt(d_k)))


@pytest.mark.parametrize(("align", "offset"), [("end", T_k - T_q), ("start", 0)])
def test_causal_queries_see_nothing_later(rng: np.random.Generator, align: str, offset: int) -> None:
    q, k, v = (
        rng.standard_normal((T_q, d_k)),
        rng.standard_normal((T_k, d_k)),
        rng.standard_normal((T_k, d_v)),
    )
    derivation = derive(q, k, v, causal=True, align=align)
    agree(derivation, 0, *loops(q, k, v, 1 / math.sqrt(d_k), lambda i, j: j > i + offset))
    hidden = derivation["masked"].array[0] == -np.inf
    assert (derivation["weights"].array[0][hidden] == 0).all()
    assert (derivation["exp"].array[0][hidden] == 0).all()


def test_a_query_that_sees_nothing_gets_zeros_and_no_nan(rng: np.random.Generator) -> None:
    q, k, v = (rng.standard_normal((3, 2)) for _ in range(3))
    mask = np.array([[True, False, True], [False, False, False], [True, True, True]])
    derivation = derive(q, k, v, mask=mask, scale=0.3)
    agree(derivation, 0, *loops(q, k, v, 0.3, lambda i, j: not mask[i, j]))
    assert derivation["out"].values[0][1] == (0.0, 0.0)
    assert "look at nothing" in derivation["weights"].says


def test_a_mask_may_differ_by_head(rng: np.random.Generator) -> None:
    q = rng.standard_normal((2, 3, 5))
    mask = rng.random((2, 3, 3)) < 0.7
    derivation = derive(q, q, q, mask=mask.tolist())
    for head in range(2):
        seen = mask[head]
        agree(
            derivation,
            head,
            *loops(q[head], q[head], q[head], 5**-0.5, lambda i, j, seen=seen: not seen[i, j]),
        )


@given(st.floats(-1e300, 1e300), st.floats(-1e5, 1e5))
def test_huge_scores_keep_their_weights(far: float, near: float) -> None:
    derivation = derive([[1.0]], [[far], [far + near]], [[0.0], [1.0]], tokens=["q"], tokens_k=["a", "b"])
    apart = (far + near) - far
    expected = 1 / (1 + math.exp(-apart)) if apart > -700 else 0.0
    assert derivation["out"].values[0][0][0] == pytest.approx(expected, abs=1e-12)
    exps = derivation["exp"].array[0][0] / derivation["sum"].array[0][0]
    np.testing.assert_allclose(exps, derivation["weights"].array[0][0], rtol=0, atol=1e-15)


def test_temperature_divides_and_scale_multiplies() -> None:
    q, k, v = [[2.0, 1.0]], [[3.0, 5.0], [7.0, 11.0]], [[1.0], [0.0]]
    derivation = derive(q, k, v, tokens=["q"], tokens_k=["a", "b"], scale=0.25, temperature=5)
    assert derivation["scores"].values[0][0] == pytest.approx([11 * 0.25 / 5, 25 * 0.25 / 5], rel=1e-15)


def test_arrays_lists_and_tensors_give_the_same(rng: np.random.Generator) -> None:
    torch = pytest.importorskip("torch", reason="tensors need the [oracle] extra")
    q, k, v = (rng.standard_normal((2, 3, 5)).astype(np.float32) for _ in range(3))
    expected = derive(q, k, v)
    assert derive(q.tolist(), k.tolist(), v.tolist()) == expected
    tensors = [torch.tensor(a, requires_grad=True)[None] for a in (q, k, v)]  # (1, H, T, d), as SDPA has it
    assert derive(*tensors) == expected
    halves = derive(*(tensor.bfloat16() for tensor in tensors))
    assert halves["q"].array == pytest.approx(q, rel=2**-8)


test_arrays_lists_and_tensors_give_the_same = pytest.mark.oracle(test_arrays_lists_and_tensors_give_the_same)


def test_a_derivation_is_frozen_plain_data() -> None:
    derivation = example("The river bank flooded").derive()
    with pytest.raises(AttributeError):
        derivation.steps = ()
    plain = {type(x) for step in derivation.steps for head in step.values for row in head for x in row}
    assert plain == {float}
    assert hash(derivation) == hash(example("The river bank flooded").derive())
    assert repr(derivation).startswith("Derivation('The river bank flooded'")


def test_without_tokens_indices_stand_for_them() -> None:
    assert derive([[1.0]] * 3, [[1.0]] * 3, [[1.0]] * 3).given.tokens == ("0", "1", "2")
    derivation = derive([[1.0]], [[1.0]] * 2, [[1.0]] * 2)
    assert (derivation.given.tokens, derivation.given.tokens_k) == (("0",), ("0", "1"))


two, three = [[1.0, 2.0]] * 3, [[1.0, 2.0, 3.0]] * 3
REFUSED = {
    "nothing": ({}, InputError, "found none of them"),
    "half of it": ({"q": two, "k": two}, InputError, "found q, k$"),
    "two kinds": ({"q": two, "k": two, "v": two, "e": two}, InputError, "found q, k, v, e"),
    "x_k alone": ({"e": two, "x_k": two}, InputError, "found e, x_k"),
    "d_k": ({"q": two, "k": three, "v": two}, ShapeError, "d_k differs: q has 2, k has 3"),
    "T_k": ({"q": two, "k": two, "v": two[:2]}, ShapeError, "T_k differs: k has 3, v has 2"),
    "tokens": ({"e": two, "tokens": ["a"]}, ShapeError, "T_q differs: tokens has 1, vectors has 3"),
    "tokens is a text": ({"e": two, "tokens": "abc"}, InputError, "tokens is 'abc'; it takes a list"),
    "token is no text": ({"e": two, "tokens": ["a", 2, "c"]}, InputError, r"tokens\[1\] is '2'"),
    "token is a book": ({"e": two, "tokens": ["a", "b" * 1001, "c"]}, InputError, r"tokens\[1\]"),
    "ragged": ({"e": [[1, 2], [1]]}, ShapeError, r"e\[1\] has 1, e\[0\] has 2"),
    "ragged deeper": ({"q": [two, two[:2]], "k": two, "v": two}, ShapeError, r"q\[1\] has 2, q\[0\] has 3"),
    "a word": ({"e": [[1, "two"]]}, InputError, r"e\[0\]\[1\] is 'two'"),
    "a truth": ({"e": [[1, True]]}, InputError, r"e\[0\]\[1\] is 'True'"),
    "none": ({"e": [[1, None]]}, InputError, r"e\[0\]\[1\] is 'None'"),
    "complex": ({"e": np.ones((2, 2), complex)}, DtypeError, "e is complex128"),
    "booleans": ({"e": np.ones((2, 2), bool)}, DtypeError, "e is bool"),
    "objects": ({"e": np.full((2, 2), None)}, DtypeError, "e is object"),
    "not finite": ({"e": [[1.0, math.nan]]}, InputError, r"e\[0\]\[1\] is nan"),
    "not finite array": ({"e": np.array([[1.0, math.inf]])}, InputError, r"e\[0, 1\] is inf"),
    "an integer beyond": ({"e": [[10**400]]}, InputError, r"e\[0\]\[0\]"),
    "empty": ({"e": []}, ShapeError, "e is empty"),
    "empty rows": ({"e": [[], []]}, ShapeError, "e is empty"),
    "one axis": ({"e": [1.0, 2.0]}, ShapeError, "e has 1 axis"),
    "a batch": ({"q": np.ones((2, 1, 3, 5)), "k": two, "v": two}, ShapeError, r"give q\[0\]"),
    "five lists deep": ({"q": [[[[[1.0]]]]], "k": two, "v": two}, ShapeError, "at most 4 axes"),
    "W_q": ({"x": two, "W_q": three, "W_k": two, "W_v": two}, ShapeError, "d_model differs"),
    "shared width": ({"e": three, "n_heads": 2}, ShapeError, "e is 3 wide, which 2 heads"),
    "heads": ({"q": [two] * 4, "k": [two] * 3, "v": [two] * 3}, ShapeError, "4 query heads"),
    "head counts": ({"q": two, "k": two, "v": two, "n_heads": 0}, InputError, "n_heads is '0'"),
    "n_heads is said": ({"q": [two], "k": [two], "v": [two], "n_heads": 2}, ShapeError, "n_heads differs"),
    "k and v heads": ({"q": [two, two], "k": [two, two], "v": [two]}, ShapeError, "k has 2, v has 1"),
    "W_o": ({"e": two, "W_o": two}, ShapeError, "H·d_v differs: heads has 2, W_o has 3"),
    "mask of numbers": ({"e": two, "mask": [[True, 0, True]] * 3}, DtypeError, r"mask\[0\]\[1\] is '0'"),
    "mask of integers": ({"e": two, "mask": np.ones((3, 3), int)}, DtypeError, "mask is int64; it takes"),
    "mask rows": ({"e": two, "mask": [[True] * 3]}, ShapeError, "T_q differs: mask has 1, q has 3"),
    "mask heads": ({"e": two, "mask": [[[True] * 3] * 3] * 2}, ShapeError, "mask has 2 heads, q has 1"),
    "scale": ({"e": two, "scale": math.inf}, InputError, "scale is inf"),
    "scale is a word": ({"e": two, "scale": "1"}, InputError, "scale is '1'"),
    "temperature": ({"e": two, "temperature": 0}, InputError, "temperature is 0"),
    "causal": ({"e": two, "causal": 1}, InputError, "causal is '1'"),
    "align": ({"e": two, "align": "middle"}, InputError, "align is 'middle'"),
    "meanings": ({"e": two, "meanings": ["a"]}, ShapeError, "T_k differs: meanings has 1"),
    "too large dots": ({"e": [[1e200]]}, InputError, "dots leaves float64"),
    "too large q": ({"x": [[1e200]], "W_q": [[1e200]], "W_k": [[1]], "W_v": [[1]]}, InputError, "q leaves"),
    "too large y": ({"e": [[1e153]], "W_o": [[1e200]]}, InputError, "y leaves float64"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused_by_name(name: str) -> None:
    given, error, says = REFUSED[name]
    with pytest.raises(error, match=says):
        derive(**given)


def test_sizes_are_checked_before_memory_is_taken() -> None:
    vast = np.broadcast_to(np.float32(1), (1 << 20, 1 << 20))  # 4 TB, if anybody copied it
    with pytest.raises(InputError, match="1,099,511,627,776 numbers"):
        derive(e=vast)
    long = np.broadcast_to(np.float32(1), (1000, 1))
    with pytest.raises(InputError, match="1000 queries × 1000 keys are 1,000,000 scores"):
        derive(e=long)
    assert len(derive(long[:1], long, long)["weights"].values[0][0]) == 1000


def test_torch_is_never_imported() -> None:
    import subprocess

    code = (
        "import riverhead.derivation, sys; sys.exit(any(m in sys.modules for m in ('torch', 'rich', 'gguf')))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize(
    ("operands", "says"),
    [
        (  # 2 × 3,000 numbers each way would make q 9 million
            {"x": [[1.0]] * 3_000, "x_k": [[1.0]], "W_q": [[1.0] * 3_000], "W_k": [[1.0] * 3_000]},
            "q has 9,000,000 numbers",
        ),
        (  # 3,000 heads share the one value
            {"q": np.ones((3_000, 1, 1)), "k": np.ones((1, 1, 1)), "v": np.ones((1, 1, 3_000))},
            "v of 3000 heads has 9,000,000 numbers",
        ),
        (
            {"e": [[1.0]] * 500, "W_o": [[1.0] * 5_000]},
            "y has 2,500,000 numbers",
        ),
    ],
)
def test_a_step_larger_than_its_operands_is_refused_before_it_is_made(
    operands: dict[str, object], says: str
) -> None:
    if "x" in operands:
        operands = operands | {"W_v": [[1.0]]}
    tracemalloc.start()
    with pytest.raises(InputError, match=says):
        derive(**operands)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000  # the step itself is 20 MB and more
