"""Rotary positions in torch with one mistake each."""

from __future__ import annotations

import torch

from implementations.tables import Table

WRONG = Table()


def speeds(d, base=10000.0, dtype=torch.float64):
    return 1.0 / base ** (torch.arange(0, d, 2, dtype=dtype) / d)


def angles(positions, d):
    return torch.outer(positions.double(), speeds(d))  # (T, d/2)


def table(theta, dtype):
    """cos and sin for pairs i and i + d/2."""
    theta = torch.cat([theta, theta], dim=-1)
    return theta.cos().to(dtype), theta.sin().to(dtype)


def rotate_half(x):
    one, two = x.chunk(2, dim=-1)
    return torch.cat((-two, one), dim=-1)


def turned(x, theta):
    cos, sin = table(theta, torch.promote_types(x.dtype, torch.float32))
    return (x * cos + rotate_half(x) * sin).to(x.dtype)


@WRONG.of("rope-mixed", kind="rope")
def rope_mixed(x, positions):
    theta = angles(positions, x.size(-1)).repeat_interleave(2, dim=-1)  # for neighbours
    return x * theta.cos() + rotate_half(x) * theta.sin()  # for halves


@WRONG.of("rope-mixed-halves", kind="rope")
def rope_mixed_halves(x, positions):
    theta = angles(positions, x.size(-1)).repeat(1, 2)  # for halves
    other = torch.stack([-x[..., 1::2], x[..., ::2]], dim=-1).flatten(-2)  # for neighbours
    return x * theta.cos() + other * theta.sin()


@WRONG.of("rope-sign", kind="rope")
def rope_sign(x, positions):
    one, two = x.chunk(2, dim=-1)
    theta = angles(positions, x.size(-1))
    return torch.cat([one * theta.cos() + two * theta.sin(), two * theta.cos() + one * theta.sin()], dim=-1)


@WRONG.of("rope-sign-minus", kind="rope")
def rope_sign_minus(x, positions):
    one, two = x.chunk(2, dim=-1)
    theta = angles(positions, x.size(-1))
    return torch.cat([one * theta.cos() - two * theta.sin(), two * theta.cos() - one * theta.sin()], dim=-1)


@WRONG.of("rope-cosines-only", kind="rope")
def rope_cosines_only(x, positions):
    return x * angles(positions, x.size(-1)).repeat(1, 2).cos()


@WRONG.of("rope-overwritten", kind="rope")
def rope_overwritten(x, positions):
    x = x.clone()
    one, two = x.chunk(2, dim=-1)  # views
    theta = angles(positions, x.size(-1))
    one.copy_(one * theta.cos() - two * theta.sin())
    two.copy_(two * theta.cos() + one * theta.sin())
    return x


@WRONG.of("rope-added", kind="rope")
def rope_added(x, positions):
    theta = angles(positions, x.size(-1))
    return x + torch.cat([theta.sin(), theta.cos()], dim=-1)


@WRONG.of("rope-unchanged", kind="rope")
def rope_unchanged(x, positions):
    turned(x, angles(positions, x.size(-1)))
    return x


@WRONG.of("rope-same-frequency", kind="rope")
def rope_same_frequency(x, positions):
    return turned(x, positions.double()[:, None].expand(-1, x.size(-1) // 2))


@WRONG.of("rope-degrees", kind="rope")
def rope_degrees(x, positions):
    return turned(x, torch.deg2rad(angles(positions, x.size(-1))))


@WRONG.of("rope-degrees-up", kind="rope")
def rope_degrees_up(x, positions):
    return turned(x, torch.rad2deg(angles(positions, x.size(-1))))


@WRONG.of("rope-from-the-end", kind="rope")
def rope_from_the_end(x):
    return turned(x, angles(torch.arange(x.size(-2)).flip(0), x.size(-1)))


@WRONG.of("rope-by-length", kind="rope")
def rope_by_length(x):
    return turned(x, angles(torch.arange(x.size(-2)) / x.size(-2), x.size(-1)))


@WRONG.of("rope-one-sided", kind="rope")
def rope_one_sided(q, k, cos, sin):
    return q * cos + rotate_half(q) * sin, k


@WRONG.of("rope-one-sided-keys", kind="rope")
def rope_one_sided_keys(q, k, cos, sin):
    return q, k * cos + rotate_half(k) * sin


@WRONG.of("rope-opposite", kind="rope")
def rope_opposite(q, k, cos, sin):
    return q * cos + rotate_half(q) * sin, k * cos - rotate_half(k) * sin


@WRONG.of("rope-positions-in-bfloat16", kind="rope")
def rope_positions_in_bfloat16(x, positions):
    return turned(x, angles(positions.to(torch.bfloat16), x.size(-1)))


@WRONG.of("rope-positions-in-float16", kind="rope")
def rope_positions_in_float16(x, positions):
    return turned(x, angles(positions.half(), x.size(-1)))


@WRONG.of("rope-angles-in-bfloat16", kind="rope")
def rope_angles_in_bfloat16(x, positions):
    return turned(x, angles(positions, x.size(-1)).bfloat16().double())


@WRONG.of("rope-angles-in-float16", kind="rope")
def rope_angles_in_float16(x, positions):
    return turned(x, angles(positions, x.size(-1)).half().double())


@WRONG.of("rope-speeds-in-bfloat16", kind="rope")
def rope_speeds_in_bfloat16(x, positions):
    return turned(x, torch.outer(positions.double(), speeds(x.size(-1)).bfloat16().double()))


@WRONG.of("rope-speeds-in-float16", kind="rope")
def rope_speeds_in_float16(x, positions):
    return turned(x, torch.outer(positions.double(), speeds(x.size(-1)).half().double()))


@WRONG.of("rope-ignores-offset", kind="rope")
def rope_ignores_offset(x, offset=0):
    return turned(x, angles(torch.arange(x.size(-2)), x.size(-1)))


@WRONG.of("rope-ignores-positions", kind="rope")
def rope_ignores_positions(x, positions):
    return turned(x, angles(positions[0] + torch.arange(x.size(-2)), x.size(-1)))


@WRONG.of("rope-agreed", kind="rope", expect={"rope": "half"})
def rope_interleaved(x, positions):
    theta = angles(positions, x.size(-1))
    even, odd = x[..., ::2], x[..., 1::2]
    pairs = [even * theta.cos() - odd * theta.sin(), odd * theta.cos() + even * theta.sin()]
    return torch.stack(pairs, dim=-1).reshape(x.shape)


@WRONG.of("rope-by-heads-axis", kind="rope")
def rope_by_heads_axis(x):
    T = x.size(1) if x.dim() == 4 else x.size(-2)  # of (B, T, H, d), but (B, H, T, d) comes
    return turned(x, angles(torch.arange(T), x.size(-1)))


@WRONG.of("rope-far", kind="rope")
def rope_table_too_short(x, offset=0):
    positions = (offset + torch.arange(x.size(-2))).clamp(max=4095)  # clipped to the table
    return turned(x, angles(positions, x.size(-1)))
