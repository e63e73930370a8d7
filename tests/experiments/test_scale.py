"""why scale: default and fresh seeds agree, its formulas against others', and wrong code is found out."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from riverhead.core import attention_gradient, softmax
from riverhead.experiments import measure, prepare
from riverhead.experiments.scale import Sizes, dots, gradient, measured, predicted, spread, training
from riverhead.render import render

SMALL = Sizes(n_pairs=2_000, n_rows=2_000, n_texts=60, n_steps=12, widths=(8, 64))


def silent(*_: object) -> None:
    pass


def failed(result) -> list[str]:
    return [claim.prediction.name for claim in result.claims if not claim.holds]


@pytest.fixture(scope="module")
def usual():
    told: list[float] = []
    return measure("scale", progress=lambda fraction, _: told.append(fraction)), told


def test_the_default_seed_agrees(usual):
    assert failed(usual[0]) == []
    assert usual[0].experiment == prepare("scale")


@pytest.mark.parametrize("seed", [20261129, 7, 31])
def test_fresh_seeds_agree(seed):
    assert failed(measured(predicted(SMALL), SMALL, seed, silent)) == []


def test_it_is_plain_data_and_every_format_takes_it(usual):
    result, told = usual
    assert told == sorted(told)
    assert (told[0], told[-1]) == (0, pytest.approx(1))
    data = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert [row["d_k"] for row in data["data"]["dots"] if row["sigma2"] == 1] == [2**n for n in range(11)]
    assert {row["d_k"] for row in data["data"]["training"]} == {8, 64, 512}
    for format in ("text", "html", "svg", "markdown", "latex"):
        assert "√d_k" in str(render(result.scene(), format, width=80)) or format == "latex"


def test_the_seed_decides_every_number():
    one, same, other = (measured(predicted(SMALL), SMALL, seed, silent) for seed in (5, 5, 6))
    assert one == same
    assert one.data["dots"][0] != other.data["dots"][0]
    assert one.data["gradient"] != other.data["gradient"]
    assert one.data["training"][0]["losses"] != other.data["training"][0]["losses"]


def test_a_variance_is_as_uncertain_as_the_fourth_moment_says():
    d_k, n, times = 3, 50, 20_000
    rng = np.random.default_rng(1)
    q, k = rng.standard_normal((2, times, n, d_k))
    found = (q * k).sum(axis=-1).var(axis=-1, ddof=1) / d_k
    # the squared deviations of such a variance have a relative spread of about 3, and there are 20,000:
    # 3/√20,000 = 0.021 for their mean, half of that for its root, and five times that
    assert found.std() == pytest.approx(dots.relative_error(d_k, n), rel=0.055)


def test_the_jacobian_through_the_gradient_is_the_formula():
    scores = 3 * np.random.default_rng(2).standard_normal((7, 5))
    w = softmax(scores)
    wanted = [np.diag(row) - np.outer(row, row) for row in w]
    np.testing.assert_allclose(
        spread.jacobian(scores), wanted, rtol=0, atol=1e-15
    )  # products of numbers up to 1
    rows = spread.Softmaxes(scores)
    np.testing.assert_allclose(rows.spectral, [np.linalg.norm(J, 2) for J in wanted], atol=1e-14)
    np.testing.assert_allclose(rows.frobenius, [np.sqrt((J**2).sum()) for J in wanted], atol=1e-14)
    assert (rows.spectral <= rows.frobenius + 1e-14).all()


def test_ties_and_gaps_of_normal_scores():
    assert gradient.tie_density(2) == pytest.approx(1 / math.sqrt(math.pi), rel=1e-9)  # 2·∫ φ²
    assert gradient.tie_density(3) == pytest.approx(1.5 / math.sqrt(math.pi), rel=1e-9)  # Φ is 1/2 on average
    best = np.sort(np.random.default_rng(3).standard_normal((40_000, 5)), axis=-1)
    # half of the gaps lie below the median: 5 standard errors are 5·√(1/4/40,000)
    below = np.mean(best[:, -1] - best[:, -2] < gradient.median_gap(5))
    assert below == pytest.approx(0.5, abs=0.0125)


@pytest.mark.oracle
@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_what_reaches_the_weights_is_torchs(scale):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(4)
    n, T, d_model, d_k, d_v = 3, 5, 7, 11, 2
    x, v, d_out = (rng.standard_normal((n, T, d)) for d in (d_model, d_v, d_v))
    W_q, W_k = rng.standard_normal((2, n, d_model, d_k)) / math.sqrt(d_model)
    found = gradient._reached(gradient._send_back(x, W_q, W_k, v, d_out, scale))

    x_, v_, d_out_ = (torch.from_numpy(each) for each in (x, v, d_out))
    W = [torch.from_numpy(each.copy()).requires_grad_() for each in (W_q, W_k)]
    q, k = (x_ @ each for each in W)
    q.retain_grad()
    (torch.softmax(scale * q @ k.mT, -1) @ v_ * d_out_).sum().backward()
    squares = (q.grad**2).sum(-1).numpy()
    for mine, each in zip((found.W_q, found.W_k), W, strict=True):
        assert mine == pytest.approx(math.sqrt((each.grad**2).sum() / n), rel=1e-12)
    assert found.query == pytest.approx(math.sqrt(squares.mean()), rel=1e-12)
    assert found.median_query == pytest.approx(math.sqrt(np.median(squares)), rel=1e-12)


def test_components_that_depend_on_each_other_are_found_out():
    class Same:  # k = q: Var(q·q) is 2·d_k, and its mean is not 0
        def standard_normal(self, shape, dtype):
            q = np.random.default_rng(0).standard_normal(shape[1:], dtype)
            return np.stack([q, q])

    off = dots.measure(2_000, Same(), silent).measured
    assert all(off[f"variance, σ² = {sigma2:g}"] > dots.CLOSE for sigma2 in dots.WIDTHS)


def test_a_divisor_forgotten_or_too_large_is_found_out(monkeypatch):
    def divided_twice(*args, scale):
        return attention_gradient(*args, scale=scale**2)

    claims = {each.name: each for each in gradient.predictions(SMALL.n_texts)}
    monkeypatch.setattr(gradient, "attention_gradient", divided_twice)
    twice = gradient.measure(SMALL.n_texts, np.random.default_rng(0), silent).measured
    monkeypatch.setattr(
        gradient, "attention_gradient", lambda *args, scale: attention_gradient(*args, scale=1)
    )
    never = gradient.measure(SMALL.n_texts, np.random.default_rng(0), silent).measured
    assert twice["W_q divided"] < claims["W_q divided"].low
    assert never["W_q divided"] > claims["W_q divided"].high


def test_a_softmax_a_little_too_sharp_is_found_out(monkeypatch):
    monkeypatch.setattr(spread, "softmax", lambda scores: softmax(1.001 * scores))
    found = spread.measure(200, np.random.default_rng(0), silent).measured
    wrong = [each.name for each in spread.predictions(200) if not each.low <= found[each.name] <= each.high]
    assert {"largest weight, 8 apart", "entropy, 8 apart", "largest weight, 16 apart"} <= set(wrong)


def test_adam_does_not_descend_alike(monkeypatch):
    """Its steps do not grow with the gradient, so the claim is plain descent's alone."""
    monkeypatch.setattr(training, "SGD", training.Adam)
    assert training.measure(12, (8,), (0,), silent).measured["the same descent"] > 0.01
