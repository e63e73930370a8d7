"""The worked examples' exact numbers, to six digits, and plain loops to compare derivations with."""

from __future__ import annotations

import math

RIVER_BANK_FLOODED = {
    "dots": [[0, 2, 1, 1], [1, 2, 2, 1], [1, 4, 3, 2], [1, 0, 1, 0]],
    "weights": [
        [0.109057, 0.448581, 0.221181, 0.221181],
        [0.165119, 0.334881, 0.334881, 0.165119],
        [0.064585, 0.538776, 0.265654, 0.130985],
        [0.334881, 0.165119, 0.334881, 0.165119],
    ],
    "out": [[0.559171, 0.221181], [0.41744, 0.334881], [0.604269, 0.265654], [0.247679, 0.334881]],
}
BANK = {
    "scores": [0.707107, 2.828427, 2.12132, 1.414214],
    "exp": [2.028115, 16.918829, 8.342145, 4.11325],
    "sum": [31.402339],
    "weights": [0.064585, 0.538776, 0.265654, 0.130985],
}
BANK_UNSCALED = [0.032059, 0.643914, 0.236883, 0.087144]
BANK_SECOND_HEAD = [0.050204, 0.050204, 0.050204, 0.849389]
CAUSAL = {
    "weights": [
        [1, 0, 0, 0],
        [0.330238, 0.669762, 0, 0],
        [0.07432, 0.619985, 0.305695, 0],
        [0.334881, 0.165119, 0.334881, 0.165119],
    ],
    "out": [[0, 0], [0.669762, 0], [0.619985, 0.305695], [0.247679, 0.334881]],
}
MONEY_BANK_GROWS = {
    "dots": [[2, 1, 1], [1, 2, 1], [1, 1, 3]],
    "weights": [
        [0.451863, 0.274069, 0.274069],
        [0.274069, 0.451863, 0.274069],
        [0.211942, 0.211942, 0.576117],
    ],
    "out": [
        [0.725931, 0.548137, 0.725931, 0.274069],
        [0.725931, 0.725931, 0.548137, 0.274069],
        [0.423883, 0.788058, 0.788058, 0.576117],
    ],
}
RIVER_BANK_FLOWS = {
    "weights": [
        [0.451863, 0.274069, 0.274069],
        [0.307196, 0.50648, 0.186324],
        [0.307196, 0.186324, 0.50648],
    ],
    "out": [
        [0.274069, 0.725931, 0.274069, 0.725931],
        [0.50648, 0.813676, 0.186324, 0.49352],
        [0.186324, 0.49352, 0.50648, 0.813676],
    ],
}
HALF = 0.5e-6 + 1e-12  # numbers printed with six decimals, and float64's own error


def loops(q, k, v, scale, hidden=lambda i, j: False):
    """Attention of one head by its definition: (weights, out)."""
    weights, out = [], []
    for i, query in enumerate(q):
        e = [
            0.0
            if hidden(i, j)
            else math.exp(scale * math.fsum(a * b for a, b in zip(query, key, strict=True)))
            for j, key in enumerate(k)
        ]
        total = math.fsum(e) or 1.0
        weights.append([x / total for x in e])
        out.append(
            [math.fsum(w * row[c] for w, row in zip(weights[-1], v, strict=True)) for c in range(len(v[0]))]
        )
    return weights, out
