"""What `riverhead.watch` is asked for, what it keeps, and that it leaves nothing behind."""

from __future__ import annotations

import copy
import json
import pickle
import threading

import numpy as np
import pytest
from watched import ids, measures, model_of

import riverhead
from riverhead.errors import InputError, ModelError

torch = pytest.importorskip("torch", reason="riverhead.watch needs the [oracle] extra")
transformers = pytest.importorskip("transformers", reason="the models are transformers' own")
pytestmark = pytest.mark.oracle
transformers.logging.set_verbosity_error()
T = 11


@pytest.fixture(autouse=True)
def no_gradient():
    with torch.no_grad():
        yield


@pytest.fixture
def model():
    return model_of("llama")


def state(model):
    """All that a watch could leave changed."""
    from torch.nn.modules import module as torch_module
    from torch.overrides import _get_current_function_mode_stack

    interface = transformers.AttentionInterface
    return (
        interface.get_interface,
        dict(interface._global_mapping),
        dict(transformers.AttentionMaskInterface._global_mapping),
        [module.__dict__.get("forward") for module in model.modules()],
        model.config._attn_implementation,
        dict(torch_module._global_forward_hooks),
        dict(torch_module._global_forward_pre_hooks),
        _get_current_function_mode_stack(),
    )


def test_everything_is_as_it_was_after_the_block_and_after_an_exception(model):
    whole = torch.nn.ModuleList([model, torch.nn.MultiheadAttention(6, 2)])
    whole.config = model.config
    before = state(whole)
    with riverhead.watch(whole):
        assert state(whole) != before
        model(ids(1, T))
    assert state(whole) == before
    with pytest.raises(ZeroDivisionError), riverhead.watch(whole):
        raise ZeroDivisionError
    assert state(whole) == before
    with pytest.raises(InputError, match="H8"), riverhead.watch(model, heads="L0.H8"):
        model(ids(1, T))
    assert state(whole) == before


def test_a_module_that_others_wrapped_keeps_their_forward():
    mha, x = torch.nn.MultiheadAttention(6, 2).eval(), torch.ones(3, 6)
    plain = mha.forward
    theirs = mha.forward = lambda *args, **kwargs: plain(*args, **kwargs)
    with riverhead.watch(mha) as seen:
        mha(x, x, x)
    assert mha.forward is theirs
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("heads", "kept"),
    [
        ("L1.H6", {1: (6,)}),
        ((1, 6), {1: (6,)}),
        (["L0.H7", (0, 2), "l1.h0"], {0: (2, 7), 1: (0,)}),
        (lambda layer, head: layer == head, {0: (0,), 1: (1,)}),
    ],
)
def test_only_the_heads_asked_for_are_measured(model, heads, kept):
    with riverhead.watch(model) as every:
        model(ids(2, T))
    with riverhead.watch(model, heads=heads, top=2, keep="map", say=str) as seen:
        model(ids(2, T))
    assert {call.layer: call.heads for call in seen} == kept
    for call in seen:
        assert call.shape == (2, len(call.heads), T, T)
        whole = every[call.layer]
        for name in (*measures(np.eye(2)), "lse"):
            # the same numbers in blocks of another size: a few roundings of sums of T
            np.testing.assert_allclose(
                call.statistics[name], whole.statistics[name][:, list(call.heads)], atol=1e-5
            )
        assert call.map.shape == call.shape
        np.testing.assert_allclose(np.asarray(call.map).sum(-2), call.received, atol=1e-5)
        assert call.top_key.shape == (2, len(call.heads), T, 2)


def test_heads_that_are_not_there_are_an_error_that_says_what_is(model):
    for heads, what in (
        ("L5.H0", "L5.H0 were not met; attention was called in L0, L1"),
        ("L0.H9", "L0 has 8 heads: H0 to H7"),
        ([], "leave it out"),
        (3, "names as L3.H5"),
        ("first", "a head is written"),
        (lambda layer, head: False, "chose none of the 2 attention calls"),
    ):
        with pytest.raises(InputError, match=what), riverhead.watch(model, heads=heads):
            model(ids(1, T))


def test_the_map_is_kept_when_asked_for_and_says_its_bytes_first(model):
    said = []
    with riverhead.watch(model, keep="map", say=said.append) as seen:
        model(ids(2, T))
    (line,) = said
    q, k, statistics = 2 * 8 * T * 16 * 4, 2 * 2 * T * 16 * 4, 2 * 8 * T * 9 * 4
    assert f"{q + k + statistics:,} bytes" in line
    assert seen.n_bytes == 2 * (q + k + statistics)
    held = seen[0].map._job
    assert (
        held.q.nbytes + held.k.nbytes + sum(x.nbytes for x in seen[0].statistics.values()) == seen[0].n_bytes
    )
    weights = model_of("llama", "eager")(ids(2, T), output_attentions=True).attentions
    np.testing.assert_allclose(np.asarray(seen[1].map), weights[1], atol=1e-5)


def test_a_kept_map_of_a_padded_batch_hides_the_padding_both_ways(model):
    mask = torch.ones(2, T, dtype=torch.long)
    mask[1, :4] = 0
    with riverhead.watch(model, keep="map", say=str) as seen, riverhead.watch(model) as plain:
        model(ids(2, T), attention_mask=mask)
    A = np.asarray(seen[0].map)
    assert not A[1, :, :4].any()
    assert not A[1, :, :, :4].any()
    np.testing.assert_allclose(A[1, :, 4:].sum(-1), 1, atol=1e-5)
    for name, x in plain[0].statistics.items():
        np.testing.assert_allclose(seen[0].statistics[name], x, atol=1e-5, err_msg=name)


def test_q_and_k_that_the_model_changes_later_do_not_change_the_map():
    class Reuses(torch.nn.Module):
        def forward(self, q):
            out = torch.nn.functional.scaled_dot_product_attention(q, q, q)
            q.zero_()
            return out

    q = torch.randn(1, 2, 5, 3)
    w = (q @ q.mT / 3**0.5).softmax(-1)
    with riverhead.watch(reuses := Reuses(), keep="map", say=str) as seen:
        reuses(q)
    np.testing.assert_allclose(np.asarray(seen[0].map), w, atol=1e-6)


def test_without_say_the_bytes_go_to_the_log(model, caplog):
    with riverhead.watch(model, keep="map"):
        model(ids(1, T))
    assert "limit_bytes" in caplog.records[0].message


def test_more_than_limit_bytes_is_refused_before_it_is_taken(model):
    asked = riverhead.watch(model, keep="map", limit_bytes=10_000, say=str)
    with pytest.raises(InputError, match=r"limit_bytes is 10,000.*keep='statistics'"), asked:
        model(ids(2, T))


def test_limit_bytes_is_of_all_records_together(model):
    with riverhead.watch(model) as seen:
        model(ids(2, T))
    with riverhead.watch(model, limit_bytes=seen.n_bytes):
        model(ids(2, T))
    asked, said = riverhead.watch(model, limit_bytes=seen.n_bytes - 1), f"would take {seen.n_bytes:,} bytes"
    with pytest.raises(InputError, match=said), asked:
        model(ids(2, T))


def test_records_read_as_a_sequence_and_show_as_a_table(model):
    with riverhead.watch(model) as seen:
        assert len(seen) == 0
        for look in (lambda: seen.calls, lambda: seen[0], lambda: seen.layers, lambda: list(seen)):
            with pytest.raises(InputError, match="nothing has been seen yet"):
                look()
        model(ids(2, T))
    assert len(seen) == len(list(seen)) == 2
    assert seen[-1].module == "model.layers.1.self_attn"
    assert seen[1].names[3] == "L1.H3"
    with pytest.raises(InputError, match='keep="map"'):
        _ = seen[0].map
    with pytest.raises(AttributeError, match="top=8"):
        _ = seen[0].top_key
    text = str(seen)
    assert "L1.H7" in text
    assert "model.layers.1.self_attn" in seen._repr_html_()
    means = seen.means()
    assert [m.head for m in means[:2]] == ["L0.H0", "L0.H1"]
    np.testing.assert_allclose(means[9].first_weight, seen[1].first_weight[:, 1].mean(), rtol=1e-6)
    data = json.loads(json.dumps(seen.to_dict()))
    assert data["heads"][9]["head"] == "L1.H1"


def test_a_mean_leaves_out_the_queries_of_padding(model):
    mask = torch.ones(2, T, dtype=torch.long)
    mask[1, :4] = 0
    with riverhead.watch(model) as seen:
        model(ids(2, T), attention_mask=mask)
    own = np.concatenate([seen[0].entropy_nats[0, 5], seen[0].entropy_nats[1, 5, 4:]])
    mean = seen.means()[5]
    assert mean.n_queries == len(own) == 2 * T - 4
    np.testing.assert_allclose(mean.entropy_nats, own.mean(), rtol=1e-6)


def test_the_table_says_that_its_means_leave_padding_out(model):
    with riverhead.watch(model) as seen:
        model(ids(2, T))
    assert "means over every query that sees a key, padding apart" in " ".join(str(seen).split())


def test_a_record_prints_as_a_line_without_its_arrays(model):
    with riverhead.watch(model, top=2, keep="map", say=str) as seen:
        model(ids(2, T))
    said = repr(seen[1])
    assert said.startswith(
        f"<Call of model.layers.1.self_attn (LlamaAttention): layer 1, 2 × 8 × {T} × {T}; "
    )
    assert ", ".join(seen[1].statistics) in said
    assert said.endswith(f"; map; {seen[1].n_bytes:,} bytes>")
    assert "array" not in said
    with riverhead.watch(model, heads="L0.H0") as seen:
        model(ids(2, T))
    assert "; map" not in repr(seen[0])


def test_records_can_be_copied_and_pickled(model):
    with riverhead.watch(model, keep="map", say=str) as seen:
        model(ids(1, T))
    for again in (copy.copy(seen[0]), pickle.loads(pickle.dumps(seen[0]))):  # noqa: S301  (its own)
        np.testing.assert_array_equal(again.received, seen[0].received)
        np.testing.assert_array_equal(np.asarray(again.map), np.asarray(seen[0].map))


def test_two_watches_at_once_see_what_each_would_alone(model):
    other = torch.nn.MultiheadAttention(6, 2, batch_first=True).eval()
    x = torch.ones(1, 3, 6)
    with (
        riverhead.watch(model) as one,
        riverhead.watch(model, heads="L1.H1") as two,
        riverhead.watch(other) as three,
    ):
        model(ids(2, T))
        other(x, x, x)
    assert [len(seen) for seen in (one, two, three)] == [2, 1, 1]
    np.testing.assert_array_equal(one[1].received[:, 1], two[0].received[:, 0])


def test_another_model_called_in_the_block_is_not_recorded(model):
    other = model_of("gpt2")
    with riverhead.watch(model) as seen:
        other(ids(1, T))
        model(ids(2, T))
    assert {call.kind for call in seen} == {"LlamaAttention"}


def test_a_watch_is_used_once(model):
    watching = riverhead.watch(model)
    with watching:
        model(ids(1, T))
        with pytest.raises(InputError, match="has been used"), watching:
            pass
    with pytest.raises(InputError, match="has been used"), watching:
        pass


def test_a_model_that_was_not_called_is_an_error(model):
    with (
        pytest.raises(ModelError, match="LlamaForCausalLM was not called inside the block"),
        riverhead.watch(model),
    ):
        pass


def test_a_call_from_another_thread_is_an_error_there(model):
    found = []

    def call():
        try:
            model(ids(1, T))
        except InputError as error:
            found.append(str(error))

    with riverhead.watch(model):
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
        model(ids(1, T))
    assert "another thread" in found[0]


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ({"top": 65}, "0 to 64"),
        ({"keep": "all"}, "'statistics' or 'map'"),
        ({"limit_bytes": 0}, "at least 1"),
    ],
)
def test_what_cannot_be_asked_for(model, asked, what):
    with pytest.raises(InputError, match=what):
        riverhead.watch(model, **asked)
    with pytest.raises(InputError, match=r"must be a torch\.nn\.Module"):
        riverhead.watch("gpt2")
