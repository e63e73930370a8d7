"""Why scores are divided by √d_k: the dots, the softmax, what passes back through it, and training."""

from riverhead.experiments.scale.sheet import SIZES, THOROUGH, Sizes, measure, measured, predicted, prepare

__all__ = ["SIZES", "THOROUGH", "Sizes", "measure", "measured", "predicted", "prepare"]
