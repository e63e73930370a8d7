"""Rotary positions in NumPy with one mistake each."""

from __future__ import annotations

import numpy as np

from implementations.tables import Table

WRONG = Table()


def angles(positions, d, base=10000.0):
    speeds = base ** (-np.arange(0, d, 2) / d)
    return np.asarray(positions, float)[:, None] * speeds  # (T, d/2)


def turned(x, theta):
    """Pairs i and i + d/2, each turned by its angle."""
    one, two = np.split(x, 2, axis=-1)
    cos, sin = np.cos(theta), np.sin(theta)
    return np.concatenate([one * cos - two * sin, two * cos + one * sin], axis=-1).astype(x.dtype)


@WRONG.of("rope-mixed", kind="rope")
def rope_mixed(x, positions):
    theta = np.repeat(angles(positions, x.shape[-1]), 2, axis=-1)  # for neighbours
    one, two = np.split(x, 2, axis=-1)
    return x * np.cos(theta) + np.concatenate([-two, one], axis=-1) * np.sin(theta)  # for halves


@WRONG.of("rope-mixed-halves", kind="rope")
def rope_mixed_halves(x, positions):
    theta = np.tile(angles(positions, x.shape[-1]), 2)  # for halves
    other = np.stack([-x[..., 1::2], x[..., ::2]], axis=-1).reshape(x.shape)  # for neighbours
    return x * np.cos(theta) + other * np.sin(theta)


@WRONG.of("rope-sign", kind="rope")
def rope_sign(x, positions):
    theta = angles(positions, x.shape[-1])
    one, two = np.split(x, 2, axis=-1)
    cos, sin = np.cos(theta), np.sin(theta)
    return np.concatenate([one * cos + two * sin, two * cos + one * sin], axis=-1)


@WRONG.of("rope-sign-minus", kind="rope")
def rope_sign_minus(x, positions):
    theta = angles(positions, x.shape[-1])
    one, two = np.split(x, 2, axis=-1)
    cos, sin = np.cos(theta), np.sin(theta)
    return np.concatenate([one * cos - two * sin, two * cos - one * sin], axis=-1)


@WRONG.of("rope-cosines-only", kind="rope")
def rope_cosines_only(x, positions):
    return x * np.cos(np.tile(angles(positions, x.shape[-1]), 2))


@WRONG.of("rope-overwritten", kind="rope")
def rope_overwritten(x, positions):
    out = x.copy()
    half = x.shape[-1] // 2
    theta = angles(positions, x.shape[-1])
    out[..., :half] = out[..., :half] * np.cos(theta) - out[..., half:] * np.sin(theta)
    out[..., half:] = out[..., half:] * np.cos(theta) + out[..., :half] * np.sin(theta)
    return out


@WRONG.of("rope-added", kind="rope")
def rope_added(x, positions):
    theta = angles(positions, x.shape[-1])
    return x + np.concatenate([np.sin(theta), np.cos(theta)], axis=-1)


@WRONG.of("rope-unchanged", kind="rope")
def rope_unchanged(x, positions):
    turned(x, angles(positions, x.shape[-1]))
    return x


@WRONG.of("rope-same-frequency", kind="rope")
def rope_same_frequency(x, positions):
    theta = np.asarray(positions, float)[:, None] * np.ones(x.shape[-1] // 2)
    return turned(x, theta)


@WRONG.of("rope-degrees", kind="rope")
def rope_degrees(x, positions):
    return turned(x, np.radians(angles(positions, x.shape[-1])))


@WRONG.of("rope-degrees-up", kind="rope")
def rope_degrees_up(x, positions):
    return turned(x, np.degrees(angles(positions, x.shape[-1])))


@WRONG.of("rope-from-the-end", kind="rope")
def rope_from_the_end(x):
    return turned(x, angles(np.arange(x.shape[-2])[::-1], x.shape[-1]))


@WRONG.of("rope-by-length", kind="rope")
def rope_by_length(x):
    return turned(x, angles(np.arange(x.shape[-2]) / x.shape[-2], x.shape[-1]))


@WRONG.of("rope-one-sided", kind="rope")
def rope_one_sided(q, k, positions):
    return turned(q, angles(positions, q.shape[-1])), k


@WRONG.of("rope-one-sided-keys", kind="rope")
def rope_one_sided_keys(q, k, positions):
    return q, turned(k, angles(positions, k.shape[-1]))


@WRONG.of("rope-opposite", kind="rope")
def rope_opposite(q, k, positions):
    theta = angles(positions, q.shape[-1])
    return turned(q, theta), turned(k, -theta)


@WRONG.of("rope-positions-in-float16", kind="rope")
def rope_positions_in_float16(x, positions):
    return turned(x, angles(np.asarray(positions).astype(np.float16), x.shape[-1]))


@WRONG.of("rope-angles-in-float16", kind="rope")
def rope_angles_in_float16(x, positions):
    return turned(x, angles(positions, x.shape[-1]).astype(np.float16).astype(float))


@WRONG.of("rope-speeds-in-float16", kind="rope")
def rope_speeds_in_float16(x, positions):
    speeds = (10000.0 ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])).astype(np.float16)
    return turned(x, np.asarray(positions, float)[:, None] * speeds.astype(float))


@WRONG.of("rope-ignores-offset", kind="rope")
def rope_ignores_offset(x, offset=0):
    return turned(x, angles(np.arange(x.shape[-2]), x.shape[-1]))


@WRONG.of("rope-ignores-positions", kind="rope")
def rope_ignores_positions(x, positions):
    first = np.asarray(positions)[0]
    return turned(x, angles(first + np.arange(x.shape[-2]), x.shape[-1]))


@WRONG.of("rope-agreed", kind="rope", expect={"rope": "half"})
def rope_interleaved(x, positions):
    theta = angles(positions, x.shape[-1])
    even, odd = x[..., ::2], x[..., 1::2]
    pairs = [even * np.cos(theta) - odd * np.sin(theta), odd * np.cos(theta) + even * np.sin(theta)]
    return np.stack(pairs, axis=-1).reshape(x.shape)


@WRONG.of("rope-by-heads-axis", kind="rope")
def rope_by_heads_axis(x):
    T = x.shape[1] if x.ndim == 4 else x.shape[-2]  # of (B, T, H, d), but (B, H, T, d) comes
    return turned(x, angles(np.arange(T), x.shape[-1]))


@WRONG.of("rope-far", kind="rope")
def rope_table_too_short(x, offset=0):
    positions = np.minimum(offset + np.arange(x.shape[-2]), 4095)  # clipped to the table
    return turned(x, angles(positions, x.shape[-1]))
