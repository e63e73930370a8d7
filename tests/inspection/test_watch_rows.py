"""The statistics in torch, which tensors on other devices get: against `attend`, and in a whole watch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from watched import EPS, ids, model_of

import riverhead

torch = pytest.importorskip("torch", reason="riverhead.watch needs the [oracle] extra")
pytestmark = pytest.mark.oracle


@st.composite
def problems(draw):
    """The arguments of attend, float64: G, group, T_q, T_k, d_k and B each of their own size."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    B, G, group, T_q, T_k, d_k = (draw(st.integers(1, n)) for n in (2, 3, 3, 7, 11, 5))
    H = G * group
    layouts = st.sampled_from(
        [(B, H, T_q, T_k), (B, 1, T_q, T_k), (B, 1, 1, T_k), (T_q, T_k), (1, H, T_q, 1)]
    )
    options = {
        "scale": draw(st.sampled_from([1.0, -0.5, 8.0])),
        "causal": draw(st.booleans()),
        "offset": draw(st.integers(-2, T_k)),
        "window": draw(st.none() | st.integers(1, T_k)),
        "softcap": draw(st.sampled_from([None, 0.5])),
        "mask": rng.random(draw(layouts)) < 0.7 if draw(st.booleans()) else None,
        "bias": rng.standard_normal(draw(layouts)) if draw(st.booleans()) else None,
        "sinks": rng.standard_normal(H) if draw(st.booleans()) else None,
    }
    if options["bias"] is not None and draw(st.booleans()):
        options["bias"][rng.random(options["bias"].shape) < 0.2] = -np.inf
    q, k = rng.standard_normal((B, H, T_q, d_k)), rng.standard_normal((B, G, T_k, d_k))
    return q, k, options, draw(st.integers(0, 13))


@settings(deadline=None, max_examples=60)
@given(problem=problems(), block=st.sampled_from([1, 64 << 20]))
def test_every_statistic_in_torch_is_that_of_attend(problem, block):
    from riverhead.inspection.watching import rows
    from riverhead.inspection.watching.given import Given

    q, k, options, top = problem
    tensors = {name: torch.from_numpy(x) if isinstance(x, np.ndarray) else x for name, x in options.items()}
    call = Given(torch.from_numpy(q), torch.from_numpy(k), torch.from_numpy(k), **tensors)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "BLOCK_BYTES", block)  # one row at a time, or all
        found = rows.statistics(call, top)
    A = riverhead.attend(q, k, k, top=top, **options)
    assert found.keys() == set(A.names) - {"out"}
    for name in A.names[1:]:
        expected, x = getattr(A, name), found[name].numpy()
        if name == "top_key":  # weights a rounding apart may change places
            assert ((x < 0) == (expected < 0)).all()
            on_them = np.take_along_axis(np.asarray(A), np.maximum(x, 0), -1)
            np.testing.assert_allclose(np.where(x < 0, 0, on_them), A.top_weight, rtol=1e-9, atol=1e-10)
        else:  # two orders of a few sums of at most 11, of scores of at most 8 · 5 · 3²: float64 twice
            np.testing.assert_allclose(x, expected, rtol=1e-9, atol=1e-10, err_msg=name)


def test_of_equal_weights_the_lower_key_comes_first():
    from riverhead.inspection.watching import rows
    from riverhead.inspection.watching.given import Given

    ones = torch.ones(1, 2, 5, 3)
    found = rows.statistics(Given(ones, ones, ones, scale=1.0, causal=True), top=3)
    assert found["top_key"][0, 1].tolist() == [[0, -1, -1], [0, 1, -1], [0, 1, 2], [0, 1, 2], [0, 1, 2]]


@pytest.mark.parametrize("keep", ["statistics", "map"])
def test_a_whole_watch_gives_the_same_off_the_cpu(keep, monkeypatch):
    pytest.importorskip("transformers", reason="the models are transformers' own")
    from riverhead.inspection.watching import measure

    model, mask = model_of("mistral"), torch.ones(2, 11, dtype=torch.long)
    mask[1, :4] = 0
    asked = {"top": 3, "keep": keep, "say": str, "heads": ["L0.H3", "L1.H0", "L1.H7"]}
    with torch.no_grad(), riverhead.watch(model, **asked) as here:
        model(ids(2, 11), attention_mask=mask)
    monkeypatch.setattr(measure, "_on_cpu", lambda given: False)
    with torch.no_grad(), riverhead.watch(model, **asked) as there:
        model(ids(2, 11), attention_mask=mask)
    for one, other in zip(here, there, strict=True):
        assert one.statistics.keys() == other.statistics.keys()
        for name, x in one.statistics.items():  # float32 twice, scores of at most 16, distances of at most 11
            assert other.statistics[name].dtype == x.dtype
            np.testing.assert_allclose(other.statistics[name], x, atol=8 * 16 * 11 * EPS, err_msg=name)
        if keep == "map":
            np.testing.assert_allclose(np.asarray(other.map), np.asarray(one.map), atol=8 * 16 * EPS)
