"""Configs of every kind for Hypothesis, and one to vary; no two sizes are alike."""

from __future__ import annotations

from hypothesis import strategies as st

from riverhead.cost import Config

TINY = Config(
    architecture="llama",
    n_layers=3,
    n_heads=10,
    n_kv_heads=5,
    d_model=31,
    d_k=14,
    d_v=11,
    d_ff=17,
    vocab_size=53,
    context_length=61,
    norm_epsilon=1e-5,
    rope_base=10000.0,
)

FLAGS = (
    *("causal", "norm_after", "gated", "qkv_bias", "qk_norm", "out_bias", "feed_forward_bias"),
    *("embedding_norm", "final_norm", "pooler", "predicts", "tied_embeddings"),
)


@st.composite
def configs(draw: st.DrawFn) -> Config:
    """Any config there can be, of small sizes."""
    size = st.integers(1, 30)
    n_layers, n_kv_heads = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    names = ("d_model", "d_k", "d_v", "d_ff", "vocab_size", "context_length")
    return Config(
        architecture="any",
        n_layers=n_layers,
        n_kv_heads=n_kv_heads,
        n_heads=n_kv_heads * draw(st.integers(1, 4)),
        **{name: draw(size) for name in names},
        norm_epsilon=1e-5,
        norm=draw(st.sampled_from(("rms", "layer"))),
        activation=draw(st.sampled_from(("silu", "gelu", "gelu_tanh", "relu"))),
        rope_base=draw(st.sampled_from((None, 10000.0))),
        rope_scaling=draw(st.sampled_from((None, "linear"))),
        n_positions=draw(st.integers(0, 9)),
        n_segments=draw(st.integers(0, 3)),
        windows=draw(st.just(()) | st.tuples(*[st.integers(0, 20)] * n_layers)),
        **{flag: draw(st.booleans()) for flag in FLAGS},
    )
