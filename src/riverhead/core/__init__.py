"""The equation, masks, heads, positions, the cache and the gradient: attention itself, in NumPy."""

from riverhead.core import masks
from riverhead.core.cache import KVCache
from riverhead.core.equation import Attention, attention, softmax
from riverhead.core.fused import attend
from riverhead.core.gradient import AttentionGradient, attention_gradient
from riverhead.core.heads import HeadsOutput, MultiHead, kv_head_of, merge, split
from riverhead.core.inputs import Options
from riverhead.core.map import AttentionMap
from riverhead.core.merging import merge_maps
from riverhead.core.positions import alibi_bias, alibi_slopes, learned, rope, sinusoidal

__all__ = [
    "Attention",
    "AttentionGradient",
    "AttentionMap",
    "HeadsOutput",
    "KVCache",
    "MultiHead",
    "Options",
    "alibi_bias",
    "alibi_slopes",
    "attend",
    "attention",
    "attention_gradient",
    "kv_head_of",
    "learned",
    "masks",
    "merge",
    "merge_maps",
    "rope",
    "sinusoidal",
    "softmax",
    "split",
]
