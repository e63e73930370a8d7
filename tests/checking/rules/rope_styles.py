"""RoPE of complex numbers, with one mistake each, and how a function is asked."""

import numpy as np
from hypothesis import strategies as st

from riverhead.checking.rules.adapting.positions import rope as adapt
from riverhead.checking.rules.adapting.signature import Asked
from riverhead.checking.rules.draw import Draw, Sizes
from riverhead.checking.rules.running.subject import Direct
from riverhead.checking.rules.studies.rope import ROPE_STUDIES
from riverhead.checking.rules.studies.rotation import rounded
from riverhead.checking.rules.trial import Trial

sizes = st.permutations([2, 3, 4, 5]).map(lambda n: Sizes(B=n[0], H=n[1], d_k=n[2]))
seeds = st.integers(0, 10_000)


def asked(f, sizes=None, seed=0, expect=None, **arguments):
    trial = Trial(Direct(adapt(f, Asked(arguments=arguments))), Draw(sizes, seed), expect or {})
    trial.run(ROPE_STUDIES)
    return trial.report()


def agreed(report):
    return {each.aspect: each.name for each in report.conventions}


# Complex numbers, not the pipeline's sines: a pair is a + bi, and is turned by multiplying with e^(i·angle).


def speeds(d, base=10_000.0):
    return np.array([base ** (-2 * i / d) for i in range(d // 2)])


def angles(positions, d, **more):
    return np.multiply.outer(np.asarray(positions, float), speeds(d, **more))


def halves(x):
    return x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]


def neighbours(x):
    return x[..., 0::2], x[..., 1::2]


def by_halves(x, angle):
    a, b = halves(x)
    z = (a + 1j * b) * np.exp(1j * angle)
    return np.concatenate([z.real, z.imag], -1)


def by_neighbours(x, angle):
    a, b = neighbours(x)
    z = (a + 1j * b) * np.exp(1j * angle)
    return np.stack([z.real, z.imag], -1).reshape(x.shape)


def of(change, turn=by_halves):
    """A function of x and positions whose angles are changed."""
    return lambda x, positions: turn(x, change(angles(positions, x.shape[-1])))


def rows(theta):
    return np.concatenate([np.cos(theta)] * 2, -1), np.concatenate([np.sin(theta)] * 2, -1)


def matrix(first, second):
    """x turned in halves by [[cos, first·sin], [second·sin, cos]]."""

    def f(x, positions):
        a, b = halves(x)
        c, s = np.cos(angles(positions, x.shape[-1])), np.sin(angles(positions, x.shape[-1]))
        return np.concatenate([a * c + first * b * s, b * c + second * a * s], -1)

    return f


def mixed(x, positions):
    theta = np.repeat(angles(positions, x.shape[-1]), 2, -1)  # t0 t0 t1 t1
    a, b = halves(x)
    return x * np.cos(theta) + np.concatenate([-b, a], -1) * np.sin(theta)


def mixed_halves(x, positions):
    cos, sin = rows(angles(positions, x.shape[-1]))  # t0 t1 t0 t1
    a, b = neighbours(x)
    return x * cos + np.stack([-b, a], -1).reshape(x.shape) * sin


def overwritten(x, positions):
    x, theta = x.copy(), angles(positions, x.shape[-1])
    a, b = halves(x)  # views
    a[...] = a * np.cos(theta) - b * np.sin(theta)
    b[...] = b * np.cos(theta) + a * np.sin(theta)
    return x


def cosines_only(x, positions):
    return x * rows(angles(positions, x.shape[-1]))[0]


def half_turned(x, positions):
    return np.concatenate([halves(by_halves(x, angles(positions, x.shape[-1])))[0], halves(x)[1]], -1)


def added(x, positions):
    theta = angles(positions, x.shape[-1])
    return x + np.concatenate([np.sin(theta), np.cos(theta)], -1)


def in_few_bits(dtype, *what):
    """A function that keeps some of its numbers in a narrow dtype."""

    def keep(x, name):
        return rounded(x, dtype) if name in what else x

    def f(x, positions):
        slow = keep(speeds(x.shape[-1]), "speeds")
        theta = keep(np.multiply.outer(keep(np.asarray(positions, float), "positions"), slow), "angles")
        a, b = halves(x)
        c, s = keep(np.cos(theta), "table"), keep(np.sin(theta), "table")
        return np.concatenate([a * c - b * s, b * c + a * s], -1)

    return f


def of_two(of_q, of_k):
    return lambda q, k, positions: (of_q(q, positions), of_k(k, positions))


right, unturned = of(lambda t: t), lambda x, positions: x
ALL = ("positions", "speeds", "angles", "table")
WRONG = {
    "rope-mixed": mixed,
    "rope-mixed-halves": mixed_halves,
    "rope-sign": matrix(1, 1),
    "rope-sign-minus": matrix(-1, -1),
    "rope-cosines-only": cosines_only,
    "rope-half-turned": half_turned,
    "rope-overwritten": overwritten,
    "rope-added": added,
    "rope-unchanged": unturned,
    "rope-same-frequency": of(lambda t: t[..., :1] + 0 * t),
    "rope-degrees": of(lambda t: t * np.pi / 180),
    "rope-degrees-up": of(lambda t: t * 180 / np.pi),
    "rope-from-the-end": lambda x: by_halves(x, angles(range(x.shape[-2])[::-1], x.shape[-1])),
    "rope-by-length": lambda x: by_halves(x, angles(np.arange(x.shape[-2]) / x.shape[-2], x.shape[-1])),
    "rope-one-sided": of_two(right, unturned),
    "rope-one-sided-keys": of_two(unturned, right),
    "rope-opposite": of_two(right, of(lambda t: -t)),
    **{f"rope-{what}-in-{dtype}": in_few_bits(dtype, *(ALL if what == "all" else [what]))
       for dtype in ("float16", "bfloat16") for what in ("positions", "speeds", "angles", "table", "all")},
    "rope-ignores-offset": lambda x, offset: by_halves(x, angles(range(x.shape[-2]), x.shape[-1])),
}  # fmt: skip
