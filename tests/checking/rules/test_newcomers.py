"""Functions as people bring them who know nothing of riverhead: none that is right is accused."""

import sys
from pathlib import Path

import numpy as np
import pytest

from riverhead.checking.rules.adapting import adapt
from riverhead.checking.rules.adapting.signature import Asked
from riverhead.checking.rules.draw import Draw
from riverhead.checking.rules.running.subject import Direct
from riverhead.checking.rules.studies import STUDIES
from riverhead.checking.rules.studies.conduct import CONDUCT, REPEAT
from riverhead.checking.rules.studies.gradient import GRADIENT
from riverhead.checking.rules.studies.masks import MASKS
from riverhead.checking.rules.studies.plain import PLAIN
from riverhead.checking.rules.studies.precision import PRECISION
from riverhead.checking.rules.studies.returned import RETURNED
from riverhead.checking.rules.studies.window import WINDOW
from riverhead.checking.rules.trial import Trial

sys.path.insert(0, str(Path(__file__).parent))
from adapted import asked, named
from by_name import scaled, soft


def of_kind(kind, thing):
    trial = Trial(Direct(adapt(thing, Asked(kind, None, {}))), Draw())
    trial.run(STUDIES[kind])
    return trial.report()


# A softmax in float32, whatever was given, as transformers has it


def in_float32(f):
    def attention(q, k, v):
        weights = soft(scaled(q, k).astype(np.float32)).astype(q.dtype)
        return f(weights) @ v, weights

    return attention


FEWER_DIGITS = (REPEAT, PLAIN, *PRECISION, *CONDUCT, *RETURNED)


def test_weights_kept_in_float32_are_a_convention_all_the_way_through():
    report = asked(in_float32(lambda weights: weights), FEWER_DIGITS)
    assert named(report) == []
    assert ("precision", "float32") in [(agreed.aspect, agreed.name) for agreed in report.conventions]
    assert {"order", "strides", "weights-returned", "weights-asked"} <= set(report.passed)


def test_weights_that_are_not_those_of_float32_are_found():
    def halved(q, k, v):
        out, weights = in_float32(lambda weights: weights)(q, k, v)
        return out, weights * 0.999

    assert named(asked(halved, FEWER_DIGITS)) == [("weights-returned", "")]


# RoPE whose table holds the tokens' own rows; position_ids is a parameter without effect, or is looked up


def turned(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + np.concatenate([-x[..., half:], x[..., :half]], axis=-1) * sin


def gathered(q, k, cos, sin, position_ids=None):
    return turned(q, cos, sin), turned(k, cos, sin)


def looked_up(q, k, cos, sin, position_ids):
    cos, sin = (table[position_ids][..., None, :, :] for table in (cos, sin))
    return turned(q, cos, sin), turned(k, cos, sin)


@pytest.mark.parametrize(("rope", "asks"), [(gathered, "rope-norm"), (looked_up, "rope-positions")])
def test_rope_of_transformers_holds_with_and_without_use_of_position_ids(rope, asks):
    report = of_kind("rope", rope)
    assert named(report) == []
    assert asks in report.passed


def test_rope_that_looks_up_the_wrong_rows_is_found():
    report = of_kind("rope", lambda q, k, cos, sin, position_ids: looked_up(q, k, cos, sin, position_ids * 0))
    assert not report.ok


# A window that must be given


def local(width):
    def attention(q, k, v, window):
        i, j = (np.arange(n) for n in (q.shape[-2], k.shape[-2]))
        behind = i[:, None] - j
        shown = (behind >= 0) & (behind < width(window))
        return soft(np.where(shown, scaled(q, k), -np.inf)) @ v

    return attention


@pytest.mark.parametrize(
    ("width", "found"), [(lambda W: W, []), (lambda W: W + 1, [("window", "window-one-more")])]
)
def test_a_window_without_a_default_is_given(width, found):
    report = asked(local(width), (REPEAT, PLAIN, *WINDOW))
    assert named(report) == found


# Causal by what it is, with a mistake that carries later tokens to earlier rows


class Causal:
    def __init__(self, d_model=24, n_heads=6):
        draw = np.random.default_rng(0)
        self.W_q, self.W_k, self.W_v, self.W_o = (draw.normal(size=(d_model, d_model)) for _ in range(4))
        self.n_heads = n_heads

    def __call__(self, x):
        T = x.shape[1]
        q, k, v = (self.split(x @ W) for W in (self.W_q, self.W_k, self.W_v))
        scores = np.where(np.tri(T, dtype=bool), scaled(q, k), -np.inf)
        return self.merged(soft(scores) @ v).reshape(x.shape) @ self.W_o

    def split(self, x):
        return x.reshape(*x.shape[:-1], self.n_heads, -1).swapaxes(1, 2)

    def merged(self, out):
        return out.swapaxes(1, 2)


class Unmerged(Causal):
    def merged(self, out):
        return out


@pytest.mark.parametrize(
    ("made", "found"), [(Causal, []), (Unmerged, [("heads-merged", "merge-without-transposing")])]
)
def test_heads_merged_wrongly_are_named_in_a_causal_module_too(made, found):
    assert named(of_kind("heads", made)) == found


# NaN everywhere


def test_nan_everywhere_is_no_mistake_that_can_be_named():
    report = asked(lambda q, k, v: np.full((*q.shape[:-1], v.shape[-1]), np.nan), (REPEAT, PLAIN))
    assert named(report) == [("definition", "")]


# A mask that hides in a way that is not known


def test_a_gradient_is_not_judged_by_a_mask_that_hides_otherwise():
    torch = pytest.importorskip("torch")

    def rolled(q, k, v, mask=None):
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask.roll(1, 0), -torch.inf)
        return scores.softmax(-1) @ v

    report = asked(rolled, (REPEAT, PLAIN, *MASKS, *GRADIENT))
    assert named(report) == [("mask", "")]
    assert "gradient" in report.passed


# Sizes that are all defaults


class Grouped(Causal):
    def __init__(self, d_model=32, n_heads=4, n_kv_heads=2):
        super().__init__(d_model, n_heads)
        half = d_model * n_kv_heads // n_heads
        self.W_k, self.W_v = self.W_k[:, :half], self.W_v[:, :half]
        self.width = d_model // n_heads

    def split(self, x):
        heads = x.reshape(*x.shape[:-1], -1, self.width).swapaxes(1, 2)
        return heads.repeat(self.n_heads // heads.shape[1], axis=1)


def test_defaults_that_fit_each_other_alone_are_kept():
    report = of_kind("heads", Grouped)
    assert named(report) == []
    assert "kv-heads" in report.passed


class InFloat32(Causal):
    def __call__(self, x):
        q, k, v = (self.split(x @ W) for W in (self.W_q, self.W_k, self.W_v))
        weights = soft(scaled(q, k).astype(np.float32)).astype(x.dtype)
        return self.merged(weights @ v).reshape(x.shape) @ self.W_o


def test_a_module_may_keep_its_softmax_in_float32():
    report = of_kind("heads", InFloat32)
    assert named(report) == []
    assert {"definition", "tokens", "samples"} <= set(report.passed)
