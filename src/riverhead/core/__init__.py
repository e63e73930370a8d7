"""The equation, masks, heads, positions, the cache and the gradient: attention itself, in NumPy."""

from riverhead.core.equation import Attention, attention, softmax

__all__ = ["Attention", "attention", "softmax"]
