"""torch functions as repositories have them are called as their authors meant, and their gradient is read."""

from __future__ import annotations

import math

import numpy as np
import pytest
from adapting_forms import D_K, D_V, LEADING, T_K, T_Q, drawn, loops, past, run, same, speckles, works
from adapting_torch_forms import (
    Narrow,
    ScaledDotProduct,
    annotated,
    eager,
    efficient,
    flash,
    from_scratch,
    gpt,
    must_have_drop,
    must_have_mask,
    must_have_numbers,
    padded,
    scripted,
    told_width,
)

from riverhead.checking.rules.adapting import Asked, adapt
from riverhead.checking.rules.call import Call
from riverhead.errors import InputError

torch = pytest.importorskip("torch")
F = torch.nn.functional
nn = torch.nn

pytestmark = pytest.mark.oracle


WIDE = {"strided", "expanded", "float32", "float16", "bfloat16", "gradient", "peak_bytes", "inputs"}


@pytest.mark.parametrize(
    ("f", "offers", "layout"),
    [
        (from_scratch, {"mask"}, "(T, d), (B, T, d), (B, H, T, d)"),
        (annotated, {"mask", "weights", "dropout"}, "(T, d), (B, T, d), (B, H, T, d)"),
        (told_width, {"mask", "dropout"}, "(B, H, T, d)"),
        (efficient, {"bias", "scale"}, "(B, T, H, d)"),
        (flash, {"causal", "scale", "window", "softcap", "grouped", "weights", "dropout"}, "(B, T, H, d)"),
        (eager, {"mask", "grouped", "weights", "scale"}, "(B, H, T, d)"),
        (padded, {"key_mask", "bias"}, "(B, H, T, d)"),
        (must_have_drop, {"mask"}, "(T, d), (B, T, d), (B, H, T, d)"),
        (scripted, {"causal"}, "(T, d), (B, T, d), (B, H, T, d)"),
        (ScaledDotProduct, {"mask", "weights"}, "(T, d), (B, T, d), (B, H, T, d)"),
        (ScaledDotProduct(D_K), {"mask", "weights"}, "(T, d), (B, T, d), (B, H, T, d)"),
        (F.scaled_dot_product_attention, {"mask", "causal", "scale", "grouped"},
         "(T, d), (B, T, d), (B, H, T, d)"),
    ],
)  # fmt: skip
def test_functions_as_repositories_have_them(f, offers, layout):
    adapter = works(f)
    choices = {"mask", "key_mask", "bias", "causal", "always_causal", "scale", "window", "softcap", "sinks",
               "grouped", "weights", "dropout"}  # fmt: skip
    assert adapter.offers & choices == offers
    assert adapter.offers >= WIDE | {"cross", "d_v"}
    assert adapter.notes[0] == "torch tensors of float64"
    assert f"layout {layout}" in adapter.notes


def test_a_model_s_own_causal_attention_is_known_to_be_causal():
    adapter = adapt(gpt)
    assert {"always_causal", "heads", "batch"} <= adapter.offers
    assert not {"causal", "cross"} & adapter.offers
    arrays = drawn(4, T_q=T_K)
    same(adapter.run(Call(arrays, {"causal": True})), loops(**arrays, seen=past(T_K, T_K)))


def test_a_function_is_called_by_its_own_name():
    assert adapt(scripted).name == "to_script"
    assert adapt(ScaledDotProduct(2)).name == adapt(ScaledDotProduct).name == "ScaledDotProduct"
    assert adapt(F.scaled_dot_product_attention).name == "scaled_dot_product_attention"


def test_a_mask_that_must_be_given_as_numbers_is():
    adapter = works(must_have_numbers)
    assert "mask" in adapter.offers
    assert "float16" not in adapter.offers
    arrays, mask = drawn(3), speckles(T_Q, T_K)
    same(adapter.run(Call({**arrays, "mask": mask}, {"mask_form": "number"})), loops(**arrays, seen=mask))


def test_a_function_of_three_axes_alone_has_no_heads():
    adapter = works(must_have_mask, (2, 3))
    arrays, mask = drawn(3), speckles(LEADING[3][0], T_Q, T_K)
    same(adapter.run(Call({**arrays, "mask": mask})), loops(**arrays, seen=mask))


@pytest.mark.parametrize("f", [from_scratch, annotated, told_width, ScaledDotProduct])
@pytest.mark.parametrize("rank", [2, 3, 4])
def test_masks_of_torch(f, rank):
    arrays, mask = drawn(rank), speckles(T_Q, T_K)
    same(run(f, Call({**arrays, "mask": mask})), loops(**arrays, seen=mask))


def test_a_mask_of_keys_and_an_added_one():
    arrays = drawn(4)
    keys = speckles(LEADING[4][0], T_K)
    same(run(padded, Call({**arrays, "key_mask": keys})), loops(**arrays, seen=keys[:, None, None]))
    mask = speckles(LEADING[4][0], 1, T_Q, T_K)
    same(run(eager, Call({**arrays, "mask": mask}, {"mask_form": "added"})), loops(**arrays, seen=mask))


@pytest.mark.parametrize(
    "options", [{}, {"causal": True}, {"window": 2}, {"causal": True, "window": 2}, {"scale": 0.3}]
)
def test_options_of_a_fused_kernel(options):
    arrays = drawn(3)
    seen = past(T_Q, T_K) if options.get("causal") else np.ones((T_Q, T_K), bool)
    if "window" in options:
        apart = np.arange(T_Q)[:, None] + T_K - T_Q - np.arange(T_K)[None]
        seen = seen & (np.abs(apart) < options["window"])
    same(run(flash, Call(arrays, options)), loops(**arrays, seen=seen, scale=options.get("scale")))


@pytest.mark.parametrize("f", [flash, eager, F.scaled_dot_product_attention])
def test_grouped_heads_of_torch(f):
    B, H = LEADING[4]
    arrays = drawn(4, G=1)
    k, v = (np.broadcast_to(arrays[name], (B, H, *arrays[name].shape[2:])) for name in "kv")
    same(run(f, Call(arrays)), loops(arrays["q"], k, v))


def test_weights_of_torch():
    for f in (annotated, flash, eager, ScaledDotProduct):
        arrays = drawn(4)
        outcome = run(f, Call(arrays, want=("weights",)))
        v = np.broadcast_to(np.eye(T_K), (*LEADING[4], T_K, T_K))
        np.testing.assert_allclose(
            outcome.arrays["weights"], loops(arrays["q"], arrays["k"], v), rtol=0, atol=1e-12
        )


def test_a_dropout_that_is_a_module_does_nothing_in_evaluation():
    arrays = drawn(3)
    same(run(annotated, Call(arrays, {"dropout": 0.5})), loops(**arrays))
    trained = run(annotated, Call(arrays, {"dropout": 0.5, "training": True}, want=("weights",)))
    assert (trained.arrays["weights"] == 0).mean() > 0.2


def test_what_takes_float32_alone_gets_float32_and_says_so():
    adapter = adapt(Narrow())
    assert adapter.notes[0] == "torch tensors of float32"
    arrays = drawn(3)
    outcome = adapter.run(Call(arrays))
    assert outcome.facts["dtype"] == outcome.facts["given"] == "float32"
    same(outcome, loops(**arrays), near=16 * np.finfo("float32").eps)  # sums of 5 numbers up to 1


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_dtype_of_torch_is_told_and_read_exactly(dtype):
    outcome = run(
        lambda q, k, v: torch.softmax(0 * (q @ k.mT), -1) @ (0 * v + 1 / 3), Call(drawn(2), dtype=dtype)
    )
    assert outcome.facts["dtype"] == dtype
    third = torch.tensor(1 / 3, dtype=getattr(torch, dtype)).double().item()
    eps = torch.finfo(getattr(torch, dtype)).eps
    assert np.abs(outcome.out - third).max() <= T_K * eps  # five rounded weights of a fifth


def test_the_gradient_is_that_of_a_difference():
    arrays = drawn(4)
    probe = np.random.default_rng(4).normal(size=(*LEADING[4], T_Q, arrays["v"].shape[-1]))
    step = 2.0**-20
    for f in (from_scratch, efficient, flash, eager):
        outcome = run(f, Call({**arrays, "probe": probe}, want=("gradient",)))
        same(outcome, loops(**arrays))
        for name in "qkv":
            moved = [{**arrays, name: arrays[name].copy()} for _ in range(2)]
            for sign, each in zip((1, -1), moved, strict=True):
                each[name][1, 2, 1, 1] += sign * step
            up, down = ((loops(**each)[1, 2] * probe[1, 2]).sum() for each in moved)
            # a central difference: step² of the third derivative, and rounding over the step
            assert abs(outcome.arrays[f"d{name}"][1, 2, 1, 1] - (up - down) / (2 * step)) < 1e-8
        assert outcome.facts["no_gradient"] == []


def test_the_gradient_of_shared_heads_that_lie_side_by_side():
    def side_by_side(q, k, v, n_heads, n_kv_heads):
        split = [x.unflatten(-1, (n, -1)) for x, n in ((q, n_heads), (k, n_kv_heads), (v, n_kv_heads))]
        return flash(*split).flatten(2)

    arrays = drawn(4, G=1)
    probe = np.random.default_rng(4).normal(size=(*LEADING[4], T_Q, D_V))
    call = Call({**arrays, "probe": probe}, want=("gradient",))
    merged, apart = run(side_by_side, call), run(flash, call)
    for name in ("out", "dq", "dk", "dv"):
        np.testing.assert_allclose(merged.arrays[name], apart.arrays[name], rtol=0, atol=1e-12)


def test_what_the_gradient_does_not_reach_is_named():
    outcome = run(
        lambda q, k, v: F.scaled_dot_product_attention(q.detach(), k, v),
        Call({**drawn(2), "probe": np.ones((T_Q, D_V))}, want=("gradient",)),
    )
    assert outcome.facts["no_gradient"] == ["q"]
    assert not outcome.arrays["dq"].any()
    assert outcome.arrays["dk"].any()


def test_without_autograd_no_gradient_is_offered():
    def detached(q, k, v):
        with torch.no_grad():
            return F.scaled_dot_product_attention(q, k, v)

    assert "gradient" not in adapt(detached).offers
    assert "gradient" not in adapt(lambda q, k, v: from_scratch(q, k, v).detach().numpy()).offers


def test_tensors_may_be_changed_in_place_and_that_is_seen():
    def in_place(q, k, v):
        q *= k.shape[-1] ** -0.5
        return torch.softmax(q @ k.mT, -1) @ v

    adapter = works(in_place)
    assert "gradient" in adapter.offers
    arrays = drawn(4)
    outcome = adapter.run(Call(arrays, want=("inputs",)))
    assert outcome.facts["changed"] == ["q"]
    np.testing.assert_allclose(outcome.arrays["q"], arrays["q"] / math.sqrt(D_K), rtol=1e-15)
    assert np.array_equal(outcome.arrays["k"], arrays["k"])


@pytest.mark.parametrize("how", ["strided", "expanded"])
@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_tensors_lie_as_they_were_asked_to(how, dtype):
    met = []

    def f(q, k, v):
        met.extend([q, k, v])
        return F.scaled_dot_product_attention(q, k, v)

    arrays = drawn(4)
    if how == "expanded":
        arrays = {name: np.broadcast_to(x[:1], x.shape).copy() for name, x in arrays.items()}
    run(f, Call(arrays, how=how, dtype=dtype))
    for x, given in zip(met[-3:], arrays.values(), strict=True):
        assert not x.is_contiguous()
        assert how == "strided" or x.stride(0) == 0
        assert np.array_equal(
            x.float().numpy(), given.astype("float32")
        )  # eighths up to 1: exact in bfloat16


def test_memory_of_torch_is_counted_to_the_byte():
    def holds(q, k, v):
        one = torch.ones(1000, 1000, dtype=torch.float64)
        two = one + 1
        del one
        three = two + 1
        return F.scaled_dot_product_attention(q, k, v) + 0 * three[0, 0]

    outcome = run(holds, Call(drawn(2), want=("peak_bytes",)))
    assert 16_000_000 <= outcome.facts["peak_bytes"] < 16_010_000  # two at once; beside them a few small ones


def test_what_torch_holds_in_numpy_counts_too():
    def through_numpy(q, k, v):
        held = np.ones((1000, 1000))
        return F.scaled_dot_product_attention(q, k, v) + 0 * float(held[0, 0])

    assert run(through_numpy, Call(drawn(2), want=("peak_bytes",))).facts["peak_bytes"] >= 8_000_000


def test_measuring_prints_nothing(capfd):
    run(from_scratch, Call(drawn(2), want=("peak_bytes",)))
    assert capfd.readouterr() == ("", "")


def test_what_each_kind_of_array_gave_is_told():
    def broken(q, k, v):
        return torch.softmax(q @ k.no_such, -1) @ v

    with pytest.raises(InputError) as refused:
        adapt(broken)
    first, *lines = str(refused.value).splitlines()
    assert first == "broken could not be called with q, k, v:"
    assert [line.split(":")[0].strip() for line in lines] == [
        "torch tensors",
        "NumPy arrays",
        "lists of numbers",
    ]
    assert "'Tensor' object has no attribute 'no_such'" in lines[0]


def test_a_plain_function_beside_torch_gets_lists():
    def pure(q, k, v):
        out = []
        for query in q:
            raised = [
                math.exp(sum(a * b for a, b in zip(query, key, strict=True)) / len(query) ** 0.5) for key in k
            ]
            out.append(
                [
                    sum(e * row[c] for e, row in zip(raised, v, strict=True)) / sum(raised)
                    for c in range(len(v[0]))
                ]
            )
        return out

    assert works(pure, (2,)).notes[0] == "lists of numbers of float64"


def test_methods_alone_are_taken_for_what_works():
    def bare(q, k, v):
        return (q @ k.transpose(-2, -1) * q.size(-1) ** -0.5).softmax(-1) @ v

    assert works(bare).notes[0] == "torch tensors of float64"


def test_a_module_is_called_in_evaluation_and_keeps_its_mode_of_training_out():
    module = ScaledDotProduct(D_K, attn_dropout=0.9).train()
    same(run(module, Call(drawn(3))), loops(**drawn(3)))


def test_what_a_class_must_be_given_to_be_made_is_named():
    class Tempered(ScaledDotProduct):
        def __init__(self, temperature):
            super().__init__(temperature**2)

    with pytest.raises(
        InputError, match=r"^Tempered must be given 'temperature'.*--argument temperature=VALUE$"
    ):
        adapt(Tempered)
    arrays = drawn(3)
    same(run(Tempered, Call(arrays), arguments={"temperature": 2.0}), loops(**arrays, scale=0.5))


def test_a_class_is_made_for_the_width_of_each_call():
    adapter = adapt(ScaledDotProduct)
    for width in (2, 6, 2):
        arrays = {name: np.resize(x, (*x.shape[:-1], width)) for name, x in drawn(3).items()}
        same(adapter.run(Call(arrays)), loops(**arrays))


def test_what_projects_first_is_a_module_of_heads():
    class Projects(nn.Module):
        def __init__(self, d_model, n_heads):
            super().__init__()
            self.q_proj, self.k_proj, self.v_proj, self.out_proj = (
                nn.Linear(d_model, d_model) for _ in range(4)
            )
            self.n_heads = n_heads

        def forward(self, query, key, value):
            q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
            q, k, v = (x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for x in (q, k, v))
            return self.out_proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))

    assert adapt(Projects).kind == adapt(Projects(8, 2)).kind == "heads"
    assert adapt(ScaledDotProduct).kind == "attention"
    assert adapt(F.scaled_dot_product_attention, Asked(kind="attention")).kind == "attention"
    with pytest.raises(InputError, match="the kind is one of attention"):
        adapt(from_scratch, Asked(kind="hats"))
