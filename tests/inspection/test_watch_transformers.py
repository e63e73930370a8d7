"""riverhead.watch on transformers models: against the weights their eager attention returns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from watched import agree, agree_on_own, ids, model_of

import riverhead
from riverhead.errors import ModelError
from riverhead.inspection.watching import through_transformers

torch = pytest.importorskip("torch", reason="riverhead.watch needs the [oracle] extra")
transformers = pytest.importorskip("transformers", reason="the models are transformers' own")
pytestmark = pytest.mark.oracle
transformers.logging.set_verbosity_error()

KINDS = ["llama", "mistral", "qwen3", "gemma2", "gpt_oss", "gpt2", "bert"]
EAGER = ("gemma2", "gpt_oss")  # the only way these run on a CPU
WAYS = [(kind, way) for kind in KINDS for way in ("sdpa", "eager") if way == "eager" or kind not in EAGER]
T = 11


@pytest.fixture(autouse=True)
def no_gradient():
    with torch.no_grad():
        yield


def padded(*sides: tuple[int, int]):
    """1 for each token; a sequence has so many of padding before it and behind."""
    mask = torch.ones(len(sides), T, dtype=torch.long)
    for row, (before, behind) in zip(mask, sides, strict=True):
        row[:before], row[T - behind :] = 0, 0
    return mask


def weights_of(model, **inputs):
    """The weights of each layer, from transformers' own eager attention."""
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    found = model(**inputs, output_attentions=True)
    model.set_attn_implementation(before)
    return found


@pytest.mark.parametrize(("kind", "way"), WAYS)
def test_every_statistic_is_that_of_the_eager_weights_and_the_output_is_untouched(kind, way):
    model, inputs = model_of(kind, way), {"input_ids": ids(2, T)}
    alone = model(**inputs)[0]
    with riverhead.watch(model) as seen:
        watched = model(**inputs)[0]
    assert torch.equal(alone, watched)
    assert seen.layers == (0, 1)
    for call, weights in zip(seen, weights_of(model, **inputs).attentions, strict=True):
        assert call.shape == tuple(weights.shape)
        agree(call, weights)
        np.testing.assert_allclose(call.row_sum, weights.sum(-1), atol=1e-5)


@pytest.mark.parametrize(("kind", "way"), WAYS)
def test_a_padded_batch_is_seen_sequence_by_sequence(kind, way):
    model = model_of(kind, way)
    inputs = {"input_ids": ids(3, T), "attention_mask": padded((0, 0), (4, 0), (0, 3))}
    alone = model(**inputs)[0]
    with riverhead.watch(model) as seen:
        watched = model(**inputs)[0]
    assert torch.equal(alone, watched)
    for call, weights in zip(seen, weights_of(model, **inputs).attentions, strict=True):
        assert call.spans == ((0, T), (4, T), (0, T - 3))
        agree_on_own(call, weights)
    assert any("padding" in note for note in seen.notes)


def test_a_sequence_in_a_left_padded_batch_is_what_it_is_alone():
    model, x = model_of("llama"), ids(1, 7)
    batch = torch.cat([ids(1, T, seed=5), torch.nn.functional.pad(x, (T - 7, 0))])
    with riverhead.watch(model) as alone:
        model(x)
    with riverhead.watch(model) as seen:
        model(batch, attention_mask=padded((0, 0), (T - 7, 0)))
    for one, both in zip(
        alone, seen, strict=True
    ):  # the rotations differ by a shift, the scores by roundings
        np.testing.assert_allclose(both.max_weight[1, :, T - 7 :], one.max_weight[0], atol=1e-4)
        np.testing.assert_allclose(both.first_weight[1, :, T - 7 :], one.first_weight[0], atol=1e-4)
        np.testing.assert_allclose(both.mean_distance[1, :, T - 7 :], one.mean_distance[0], atol=1e-3)


def test_under_a_name_without_a_mask_padding_moves_the_logits_and_under_watch_it_does_not():
    model = model_of("gpt2", "sdpa")
    inputs = {"input_ids": ids(2, T), "attention_mask": padded((0, 0), (4, 0))}
    right = model(**inputs).logits
    transformers.AttentionInterface.register("without_a_mask", transformers.AttentionInterface()["sdpa"])
    try:
        model.set_attn_implementation("without_a_mask")
        wrong = model(**inputs).logits
    finally:
        del transformers.AttentionInterface._global_mapping["without_a_mask"]
        model.set_attn_implementation("sdpa")
    assert (wrong - right)[1, 4:].abs().max() > 0.1
    with riverhead.watch(model):
        assert torch.equal(model(**inputs).logits, right)


def test_packed_sequences_do_not_see_each_other():
    model = model_of("llama")
    places = torch.tensor([[*range(5), *range(6)]])
    inputs = {"input_ids": ids(1, T), "position_ids": places}
    with riverhead.watch(model) as seen:
        model(**inputs, use_cache=False)
    own = torch.block_diag(torch.ones(5, 5), torch.ones(6, 6)).tril()
    for call, weights in zip(seen, weights_of(model, **inputs, use_cache=False).attentions, strict=True):
        assert not weights[..., own == 0].any()
        agree(call, weights)
        assert np.all(call.first_weight[..., 5] == 1)  # the first key that it sees, not the first there is


@pytest.mark.parametrize("way", ["sdpa", "eager"])
@pytest.mark.parametrize("kind", ["t5", "bart"])
def test_encoder_decoder_and_the_attention_between_them(kind, way):
    model = model_of(kind, way)
    inputs = {
        "input_ids": ids(2, T),
        "attention_mask": padded((0, 0), (0, 3)),
        "decoder_input_ids": ids(2, 7),
    }
    alone = model(**inputs).logits
    with riverhead.watch(model) as seen:
        watched = model(**inputs).logits
    assert torch.equal(alone, watched)
    expected = weights_of(model, **inputs)
    for call, weights in zip(seen.calls[:2], expected.encoder_attentions, strict=True):
        agree_on_own(call, weights)
    for call, weights in zip(seen.calls[2::2], expected.decoder_attentions, strict=True):
        agree(call, weights)
    for call, weights in zip(seen.calls[3::2], expected.cross_attentions, strict=True):
        agree(call, weights, offset=T - 7)
    assert [call.layer for call in seen] == list(range(6))


@pytest.mark.parametrize("cache", ["dynamic", "static"])
@pytest.mark.parametrize(("kind", "way"), [("llama", "sdpa"), ("llama", "eager"), ("mistral", "sdpa")])
def test_generation_with_a_cache_from_a_left_padded_batch(kind, way, cache):
    model = model_of(kind, way)
    asked = {"attention_mask": padded((0, 0), (4, 0)), "max_new_tokens": 3, "do_sample": False}
    asked["cache_implementation"] = cache
    alone = model.generate(ids(2, T), **asked)
    with riverhead.watch(model) as seen:
        assert torch.equal(model.generate(ids(2, T), **asked), alone)
    model.set_attn_implementation("eager")
    steps = model.generate(
        ids(2, T), **asked, output_attentions=True, return_dict_in_generate=True
    ).attentions
    weights = [layer.numpy() for step in steps for layer in step]
    assert len(seen) == len(weights) == 3 * 2
    for call, w in zip(seen.calls[2:], weights[2:], strict=True):  # one query at a time
        last = np.flatnonzero(w.sum(axis=(0, 1, 2)))[-1]
        agree(call, w, offset=last)


@pytest.mark.parametrize(("kind", "lost"), [("gemma2", "softcap"), ("gpt_oss", "sinks"), ("t5", "bias")])
def test_a_reading_that_misses_something_is_refused(kind, lost, monkeypatch):
    read = through_transformers._read

    def forgetful(*args):
        call, mask = read(*args)
        return replace(call, **{lost: None}), mask

    monkeypatch.setattr(through_transformers, "_read", forgetful)
    model = model_of(kind, "eager")
    inputs = {"input_ids": ids(2, T)} | ({"decoder_input_ids": ids(2, 7)} if kind == "t5" else {})
    with pytest.raises(ModelError, match="eager computes something else"), riverhead.watch(model):
        model(**inputs)


def test_an_attention_function_that_computes_something_else_is_refused_by_name():
    def warmer(module, query, key, value, mask, scaling=None, **kwargs):
        sdpa = transformers.AttentionInterface()["sdpa"]
        return sdpa(module, query, key, value, mask, scaling=1.1 * query.shape[-1] ** -0.5, **kwargs)

    transformers.AttentionInterface.register("warmer", warmer)
    transformers.AttentionMaskInterface.register("warmer", transformers.AttentionMaskInterface()["sdpa"])
    try:
        model = model_of("llama", "warmer")
        by_name = r"L0 \(model.layers.0.self_attn, LlamaAttention\): transformers warmer computes"
        with pytest.raises(ModelError, match=by_name), riverhead.watch(model):
            model(ids(2, T))
    finally:
        for interface in (transformers.AttentionInterface, transformers.AttentionMaskInterface):
            del interface._global_mapping["warmer"]


def test_a_block_mask_of_flex_attention_is_read_as_who_may_attend():
    from torch.nn.attention.flex_attention import create_block_mask

    q, k = torch.ones(2, 3, 5, 7), torch.ones(2, 3, 5, 7)
    blocks = create_block_mask(lambda b, h, i, j: (j <= i) & (j >= b), 2, None, 5, 5, device="cpu")
    dense = through_transformers._dense(blocks, q, k)
    assert torch.equal(dense[1, 0], torch.ones(5, 5, dtype=torch.bool).tril() & (torch.arange(5) >= 1))


def test_in_bfloat16_the_statistics_are_those_of_the_numbers_as_they_are():
    model = model_of("llama").bfloat16()
    with riverhead.watch(model) as seen:
        model(ids(2, T))
    wide = model.float()  # the same weights, whose roundings on the way differ: eight bits of each number
    for call, weights in zip(seen, weights_of(wide, input_ids=ids(2, T)).attentions, strict=True):
        assert call.statistics["lse"].dtype == np.float32
        np.testing.assert_allclose(call.received.sum(-1), T, rtol=1e-4)
        assert abs(call.received - weights.sum(-2).numpy()).mean() < 0.05


def test_dropout_while_training_is_reported():
    model = model_of("gpt2").train()
    with riverhead.watch(model) as seen:
        model(ids(2, T))
    assert any("dropout 0.1 was on" in note for note in seen.notes)
    np.testing.assert_allclose(seen[0].received.sum(-1), T, rtol=1e-5)  # the weights before it sum to 1
