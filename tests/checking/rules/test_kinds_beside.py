"""RoPE, ALiBi and caches are told from attention by what they must be given; the unknown is asked for."""

import numpy as np
import pytest

from riverhead.checking.rules import implementation
from riverhead.checking.rules.adapting import Asked, adapt
from riverhead.checking.rules.adapting.looks import looks_like
from riverhead.core import KVCache, alibi_bias, alibi_slopes, attention, rope
from riverhead.errors import InputError


def turned(x, positions):
    return x * np.cos(positions[:, None])


def step(q, k, v, cache):
    return q, cache


LOOK = {
    "rope": [rope, turned, lambda q, k, cos, sin: (q, k), lambda xq, xk, freqs_cis: 0, lambda x, offset: x],
    "alibi": [alibi_slopes, alibi_bias, lambda num_heads, seq_len: 0],
    "cache": [KVCache, KVCache(), step, lambda past, k, v: (k, v)],
    None: [
        attention,
        lambda q, k, v, mask=None, cache=None: q,
        lambda x, W_q, W_k, W_v: x,
        lambda x, mask: x,
        lambda q, k, v: q,
        lambda x, n_heads: x,
        lambda h: h,
        dict,
    ],
}  # fmt: skip


@pytest.mark.parametrize(("kind", "thing"), [(kind, thing) for kind in LOOK for thing in LOOK[kind]])
def test_a_kind_is_seen_by_what_must_be_given(kind, thing):
    assert looks_like(thing) == kind


@pytest.mark.oracle
def test_a_module_of_torch_without_a_forward_is_a_cache():
    torch = pytest.importorskip("torch")

    class Room(torch.nn.Module):
        """As gpt-fast has it: slots made beforehand, written at the positions given, all handed back."""

        def __init__(self, max_batch_size, max_seq_length, n_heads, head_dim, dtype=torch.float64):
            super().__init__()
            for name in ("k_cache", "v_cache"):
                room = torch.zeros(max_batch_size, n_heads, max_seq_length, head_dim, dtype=dtype)
                self.register_buffer(name, room)

        def update(self, input_pos, k_val, v_val):
            self.k_cache[:, :, input_pos], self.v_cache[:, :, input_pos] = k_val, v_val
            return self.k_cache, self.v_cache

    report = implementation(Room, isolated=False)
    assert (report.kind, report.failed) == ("cache", ())
    assert {each.aspect: each.name for each in report.conventions} == {"layout": "BHTd", "room": "whole"}


def test_what_is_adapted_is_of_the_kind_that_was_seen():
    assert [adapt(thing).kind for thing in (rope, alibi_bias, KVCache, KVCache())] == [
        "rope", "alibi", "cache", "cache"]  # fmt: skip


@pytest.mark.parametrize("kind", ["rope", "alibi", "cache"])
def test_a_parameter_that_is_not_known_is_asked_for(kind):
    def f(x, n_heads, k, v, wobble):
        return x

    with pytest.raises(InputError, match=r"f must be given '\w+', and what that is for is not known"):
        adapt(f, Asked(kind))


def test_an_argument_that_is_given_is_handed_over_in_every_call():
    def f(x, positions, wobble):
        return turned(x, positions) * wobble

    found = adapt(f, Asked("rope", arguments={"wobble": 2.0}))
    from riverhead.checking.rules.call import Call

    x = np.ones((3, 4))
    np.testing.assert_allclose(found.run(Call({"x": x}, {"offset": 1})).out, 2 * turned(x, np.arange(1, 4)))


def test_what_cannot_be_called_is_said_with_what_each_kind_of_array_gave():
    def f(x, positions):
        raise RuntimeError("no")

    with pytest.raises(
        InputError, match=r"(?s)could not be called with vectors to turn:\n  .*RuntimeError: no"
    ):
        adapt(f, Asked("rope", "numpy"))
    with pytest.raises(InputError, match="nothing of that name is defined beside"):
        adapt(lambda q, freqs_cis: q, Asked("rope", arguments={"table": "nowhere"}))
