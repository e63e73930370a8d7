"""riverhead.watch on plain torch: a nanoGPT block, nn.MultiheadAttention, and torch's encoder layers."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from watched import EPS, agree, agree_on_own, bound, measures

import riverhead
from riverhead.errors import ModelError
from riverhead.inspection.watching import check

torch = pytest.importorskip("torch", reason="riverhead.watch needs the [oracle] extra")
pytestmark = [
    pytest.mark.oracle,
    pytest.mark.filterwarnings("ignore:enable_nested_tensor", "ignore:The PyTorch API of nested tensors"),
]
nn, F = torch.nn, torch.nn.functional


class CausalSelfAttention(nn.Module):
    """As nanoGPT has it."""

    def __init__(self, n_embd=15, n_head=3):
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)
        self.n_head = n_head

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = (
            y.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
            for y in self.c_attn(x).split(C, dim=2)
        )
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=None, dropout_p=0, is_causal=True)
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))

    def weights(self, x):
        q, k, _ = (y.unflatten(-1, (self.n_head, -1)).transpose(1, 2) for y in self.c_attn(x).chunk(3, -1))
        hidden = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        return (
            (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(hidden, -torch.inf).softmax(-1).detach().numpy()
        )


class Calls(nn.Module):
    """A module that hands what it is given to torch's function."""

    def forward(self, *args, **kwargs):
        return F.scaled_dot_product_attention(*args, **kwargs)


def random(*shape, seed=0, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def test_a_nanogpt_block_is_watched_as_it_is():
    torch.manual_seed(0)
    model, x = nn.Sequential(CausalSelfAttention(), CausalSelfAttention()), random(2, 7, 15)
    alone = model(x)
    with riverhead.watch(model, top=3) as seen:
        watched = model(x)
        watched.sum().backward()
    assert torch.equal(alone, watched)
    assert model[0].c_attn.weight.grad is not None
    assert [call.module for call in seen] == ["0", "1"]
    for call, block, given in zip(seen, model, (x, model[0](x)), strict=True):
        w = block.weights(given)
        agree(call, w)
        np.testing.assert_allclose(call.top_weight, -np.sort(-w, axis=-1)[..., :3], atol=1e-6)
        assert (call.top_key[..., 0, 1:] == -1).all()


MASKS = {
    "none": None,
    "boolean": random(5, 7) > -0.5,
    "added": random(5, 7),
    "per head": random(2, 6, 5, 7),
    "filled": torch.where(random(2, 1, 5, 7) > -0.5, 0.0, torch.finfo(torch.float32).min),
    "-10000": torch.where(random(2, 1, 5, 7) > -0.5, 0.0, -10_000.0),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("mask", MASKS)
def test_masks_as_torch_takes_them(mask, dtype):
    of = getattr(torch, dtype)
    q, k, v = (
        random(2, 6, 5, 3, dtype=of),
        random(2, 2, 7, 3, seed=1, dtype=of),
        random(2, 2, 7, 4, seed=2, dtype=of),
    )
    given = MASKS[mask]
    if given is not None and given.dtype != torch.bool:
        given = given.double().clamp_min(torch.finfo(of).min).to(of)
    with riverhead.watch(model := Calls(), keep="map", say=str) as seen:
        model(q, k, v, attn_mask=given, scale=0.7, enable_gqa=True)
    scores = 0.7 * q.double() @ k.double().repeat_interleave(3, dim=1).mT
    if given is not None:
        scores = (
            scores.masked_fill(~given, -torch.inf) if given.dtype == torch.bool else scores + given.double()
        )
    w = scores.softmax(-1).numpy()
    agree(seen[0], w, offset=2)
    np.testing.assert_allclose(np.asarray(seen[0].map), w, atol=bound(w) / 7)  # one weight, not a sum of 7
    statistics = sum(x.nbytes for x in seen[0].statistics.values())
    assert seen[0].n_bytes == q.nbytes + k.nbytes + statistics


def test_a_query_whose_keys_are_all_filled_sees_none():
    added = torch.zeros(5, 7)
    added[2] = torch.finfo(torch.float32).min
    with riverhead.watch(model := Calls()) as seen:
        model(random(2, 3, 5, 3), random(2, 3, 7, 3), random(2, 3, 7, 3), attn_mask=added)
    assert (seen[0].lse[..., 2] == -np.inf).all()
    np.testing.assert_array_equal(seen[0].row_sum, np.broadcast_to([1, 1, 0, 1, 1], (2, 3, 5)))


@pytest.mark.parametrize("shape", [(5, 5), (2, 1, 5, 5)])
def test_where_no_query_sees_a_key_nothing_is_attended_to(shape):
    x = random(2, 3, 5, 7)
    with riverhead.watch(model := Calls(), top=2) as seen:
        model(x, x, x, attn_mask=torch.zeros(shape, dtype=torch.bool))
    agree(seen[0], np.zeros((2, 3, 5, 5)))
    assert (seen[0].lse == -np.inf).all()
    assert (seen[0].top_key == -1).all()
    assert math.isnan(seen.means()[2].entropy_nats)


def test_queries_that_see_others_and_not_themselves_are_no_padding():
    x, before = random(2, 3, 5, 7), torch.ones(5, 5, dtype=torch.bool).tril(-1)
    with riverhead.watch(model := Calls()) as seen:
        model(x, x, x, attn_mask=before.expand(2, 1, 5, 5))
    assert seen[0].spans is None
    agree(seen[0], (x @ x.mT / 7**0.5).masked_fill(~before, -torch.inf).softmax(-1).nan_to_num())


@pytest.mark.parametrize("scale", [1.0, -1.0])
def test_beside_large_scores_an_added_10000_hides_nothing(scale):
    x = 100 * random(2, 3, 5, 7, dtype=torch.float64)
    added = torch.zeros(5, 5, dtype=torch.float64)
    added[:, 3] = -10_000
    with riverhead.watch(model := Calls()) as seen:
        model(x, x, x, attn_mask=added, scale=scale)
    w = (scale * x @ x.mT + added).softmax(-1)
    assert w[..., 3].max() == 1
    np.testing.assert_allclose(seen[0].received, w.sum(-2), atol=1e-9)  # float64, scores below 10⁶


@pytest.mark.parametrize("inference", [True, False])
def test_a_mask_that_was_changed_in_place_or_turned_is_read_anew(inference):
    asked = {"keep": "map", "say": str}
    with torch.inference_mode(inference), riverhead.watch(model := Calls(), **asked) as seen:
        x, mask = random(2, 3, 5, 7), torch.ones(5, 5, dtype=torch.bool)
        model(x, x, x, attn_mask=mask)
        mask[:, 2] = False
        model(x, x, x, attn_mask=mask)
        mask[1, :2] = False
        model(x, x, x, attn_mask=mask)
        model(x, x, x, attn_mask=mask.mT)
    every, column, corner = torch.ones(3, 5, 5, dtype=torch.bool)
    column[:, 2] = corner[:, 2] = corner[1, :2] = False
    for call, mask in zip(seen, (every, column, corner, corner.mT), strict=True):
        np.testing.assert_array_equal(np.asarray(call.map) > 0, mask.expand(2, 3, 5, 5))


def test_is_causal_lets_the_first_query_see_the_first_key():
    q, k = random(1, 1, 3, 5), random(1, 1, 7, 5, seed=1)
    with riverhead.watch(model := Calls()) as seen:
        model(q, k, k, is_causal=True)
    w = (q @ k.mT / 5**0.5).masked_fill(~torch.ones(3, 7, dtype=torch.bool).tril(), -torch.inf).softmax(-1)
    agree(seen[0], w.numpy())


def test_a_batch_without_heads_has_one():
    x = random(3, 5, 7)
    with riverhead.watch(model := Calls()) as seen:
        model(x, x, x)
    agree(seen[0], (x @ x.mT / 7**0.5).softmax(-1)[:, None].numpy())


def attention_module(batch_first, **options):
    torch.manual_seed(0)
    return nn.MultiheadAttention(12, 4, batch_first=batch_first, **options).eval()


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("grad", [True, False])  # without, torch takes its fast path
@pytest.mark.parametrize("batch_first", [True, False])
def test_multihead_attention_and_its_fast_path(batch_first, grad, need_weights):
    mha, x = attention_module(batch_first), random(2, 7, 12)
    x = x if batch_first else x.transpose(0, 1)
    late = torch.ones(7, 7, dtype=torch.bool).triu(1)
    padding = torch.arange(7) >= torch.tensor([[7], [5]])
    for kind in ({}, {"attn_mask": late}, {"key_padding_mask": padding}, {"attn_mask": random(8, 7, 7)}):
        with torch.set_grad_enabled(grad):
            alone, _ = mha(x, x, x, need_weights=need_weights, **kind)
            with riverhead.watch(mha) as seen:
                watched, _ = mha(x, x, x, need_weights=need_weights, **kind)
            _, w = mha(x, x, x, average_attn_weights=False, **kind)
        assert torch.equal(alone, watched)
        if "key_padding_mask" in kind:
            assert seen[0].spans == ((0, 7), (0, 5))
            agree_on_own(seen[0], w.detach())
        else:
            agree(seen[0], w.detach())


@pytest.mark.parametrize(
    "options", [{"add_bias_kv": True, "add_zero_attn": True}, {"kdim": 11, "vdim": 13, "bias": False}]
)
def test_multihead_attention_with_keys_of_its_own_and_widths_of_theirs(options):
    mha = attention_module(True, **options)
    q, k, v = random(2, 5, 12), random(2, 7, options.get("kdim", 12)), random(2, 7, options.get("vdim", 12))
    hidden = random(5, 7) > 1
    with riverhead.watch(mha) as seen:
        _, w = mha(q, k, v, attn_mask=hidden, average_attn_weights=False)
    agree(seen[0], w.detach(), offset=w.shape[-1] - 5)
    with riverhead.watch(mha) as one:  # without a batch
        mha(q[0], k[0], v[0], attn_mask=hidden)
    np.testing.assert_allclose(one[0].received[0], seen[0].received[0], atol=1e-5)


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("norm_first", [True, False])
def test_encoder_layers_and_their_fast_path_with_nested_sequences(norm_first, grad):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(12, 4, 17, batch_first=True, norm_first=norm_first)
    model, x = nn.TransformerEncoder(layer, 2).eval(), random(2, 7, 12)
    padding = torch.arange(7) >= torch.tensor([[7], [5]])
    late = torch.ones(7, 7, dtype=torch.bool).triu(1)
    for pads, mask in itertools.product((None, padding), (None, late)):
        asked = {"src_key_padding_mask": pads, "mask": mask}
        with torch.set_grad_enabled(grad):
            alone = model(x, **asked)
            with riverhead.watch(model) as seen:
                watched = model(x, **asked)
            first = model.layers[0]
            y = first.norm1(x) if norm_first else x
            _, w = first.self_attn(y, y, y, key_padding_mask=pads, attn_mask=mask, average_attn_weights=False)
        assert torch.equal(alone, watched)
        assert [call.module for call in seen] == ["layers.0.self_attn", "layers.1.self_attn"]
        assert ("fast path" in seen[0].function) is not grad
        if pads is None:
            agree(seen[0], w.detach())
        else:
            agree_on_own(seen[0], w.detach())


def test_a_decoder_looks_at_itself_and_at_the_memory():
    torch.manual_seed(0)
    model = nn.Transformer(12, 4, 1, 1, 17, batch_first=True).eval()
    with torch.no_grad(), riverhead.watch(model) as seen:
        model(random(2, 7, 12), random(2, 5, 12))
    assert [call.shape[-2:] for call in seen] == [(7, 7), (5, 5), (5, 7)]
    assert not seen.unseen


def test_the_function_behind_multihead_attention_called_by_itself():
    class Pool(nn.Module):
        def __init__(self):
            super().__init__()
            self.mha = attention_module(False)

        def forward(self, x):
            m = self.mha
            return F.multi_head_attention_forward(
                x, x, x, 12, 4, m.in_proj_weight, m.in_proj_bias, None, None, False, 0.0, m.out_proj.weight,
                m.out_proj.bias, training=False, need_weights=False,
            )[0]  # fmt: skip

    model, x = Pool(), random(5, 2, 12)
    with riverhead.watch(model) as seen:
        model(x)
    _, w = model.mha(x, x, x, average_attn_weights=False)
    agree(seen[0], w.detach())


def test_under_autocast_the_numbers_are_those_the_function_computed_with():
    q, k = random(2, 3, 5, 7), random(2, 3, 11, 7, seed=1)
    with torch.autocast("cpu", dtype=torch.bfloat16), riverhead.watch(model := Calls()) as seen:
        model(q, k, k)
    narrow_q, narrow_k = (x.bfloat16().float() for x in (q, k))
    agree(seen[0], (narrow_q @ narrow_k.mT / 7**0.5).softmax(-1), offset=6)


def test_dropout_is_reported_and_the_weights_are_those_before_it():
    x = random(2, 3, 5, 7)
    with riverhead.watch(model := Calls()) as seen:
        model(x, x, x, dropout_p=0.5)
    assert "dropout 0.5 was on" in seen.notes[0]
    agree(seen[0], (x @ x.mT / 7**0.5).softmax(-1))


def test_an_output_that_is_no_number_agrees_with_nothing():
    x = random(2, 3, 5, 7)
    v = x.clone()
    v[0, 1, 4, 2] = torch.nan
    with pytest.raises(ModelError, match="differ by 1 of their length"), riverhead.watch(model := Calls()):
        model(x, x, v)


def test_rows_are_apart_by_a_fraction_of_their_length_and_of_zeros_by_their_own():
    ours, sees = random(2, 3, 5), torch.ones(2, 3, dtype=torch.bool)
    assert check.compared(ours, ours / 2, sees) == pytest.approx(1, rel=4 * EPS)  # two norms and a ratio
    assert check.compared(ours, 0 * ours, sees) == pytest.approx(ours.norm().item(), rel=4 * EPS)


def test_attention_by_hand_is_an_error_that_says_what_to_do():
    class ByHandAttention(nn.Module):
        def forward(self, x):
            return (x @ x.mT).softmax(-1) @ x

    model = nn.Sequential(ByHandAttention())
    what = r"no attention was seen.*0 \(ByHandAttention\).*F\.scaled_dot_product"
    with pytest.raises(ModelError, match=what), riverhead.watch(model):
        model(random(2, 5, 7))

    class ByHandAttn(ByHandAttention):
        pass

    both = nn.Sequential(ByHandAttn(), CausalSelfAttention())
    with riverhead.watch(both) as seen:
        both(random(2, 5, 15))
    assert "not seen" in seen.notes[0]
    assert "0 (ByHandAttn)" in seen.notes[0]


def test_a_compiled_model_called_in_the_block_of_its_original_is_an_error_that_says_so():
    from torch._dynamo.exc import Unsupported

    model = CausalSelfAttention()
    with pytest.raises(ModelError, match="call the model itself"), riverhead.watch(model):
        raise Unsupported("as torch.compile does when it meets what it cannot trace")


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (lambda x: torch.nested.nested_tensor([x[0, :, :2], x[0]]), "nested"),
        (lambda x: x[:0], "nothing in them"),
    ],
)
def test_what_holds_no_numbers_is_refused_by_name(wrong, why):
    x = wrong(random(2, 3, 5, 7))
    with pytest.raises(ModelError, match=why), riverhead.watch(model := Calls()):
        model(x, x, x)


@pytest.mark.filterwarnings("ignore:.torch.jit.script")
def test_what_was_compiled_or_scripted_is_refused():
    model = nn.Sequential(CausalSelfAttention())
    with pytest.raises(ModelError, match=r"compiled.*model\._orig_mod"):
        riverhead.watch(torch.compile(model, backend="eager"))
    with pytest.raises(ModelError, match=r"0 .*TorchScript"):
        riverhead.watch(nn.Sequential(torch.jit.script(nn.Linear(3, 3))))


def test_measures_of_the_oracle_are_those_on_paper():
    found = measures([[1.0, 0.0], [0.25, 0.75]])
    np.testing.assert_allclose(found["entropy_nats"], [0, -0.25 * math.log(0.25) - 0.75 * math.log(0.75)])
    np.testing.assert_allclose(found["mean_distance"], [0, 0.25])
    np.testing.assert_allclose([found[name][1] for name in ("first_weight", "previous_weight")], 0.25)
    np.testing.assert_allclose(found["received"], [1.25, 0.75])
