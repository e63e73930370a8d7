"""Every layer's way back against finite differences and torch; training against torch and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from riverhead.experiments.training import SGD, Adam, cross_entropy, linear, multi_head, squared_error, train

B, T, D_MODEL, D_K, D_V, H, G, D_OUT, CLASSES = 2, 5, 7, 3, 11, 4, 2, 13, 17
STEP = 1e-5
# A central difference is off by step²·f‴/6 and by roundoff u·f/step: with numbers of the order of 10 that is
# 1e-9 and 1e-10; the gradients here are of the order of 1.
TOLERANCE = 1e-7


def numeric(f, x: np.ndarray) -> np.ndarray:
    """The gradient of f() with respect to ``x``, number by number."""
    d = np.empty_like(x)
    for at in np.ndindex(x.shape):
        kept = x[at]
        x[at] = kept + STEP
        up = f()
        x[at] = kept - STEP
        d[at] = (up - f()) / (2 * STEP)
        x[at] = kept
    return d


def weights(rng: np.random.Generator) -> dict[str, np.ndarray]:
    shapes = {
        "W_q": (D_MODEL, H * D_K),
        "W_k": (D_MODEL, G * D_K),
        "W_v": (D_MODEL, G * D_V),
        "W_o": (H * D_V, D_OUT),
    }
    return {name: rng.normal(size=shape) / 2 for name, shape in shapes.items()}


def test_linear_goes_back_as_finite_differences_do():
    rng = np.random.default_rng(1)
    x, W, d_y = (
        rng.normal(size=(B, T, D_MODEL)),
        rng.normal(size=(D_MODEL, D_OUT)),
        rng.normal(size=(B, T, D_OUT)),
    )
    d_x, d_W = linear(x, W)[1](d_y)
    np.testing.assert_allclose(d_x, numeric(lambda: np.sum(x @ W * d_y), x), atol=TOLERANCE)
    np.testing.assert_allclose(d_W, numeric(lambda: np.sum(x @ W * d_y), W), atol=TOLERANCE)


@pytest.mark.parametrize("options", [{}, {"causal": True}, {"scale": 1.0, "window": 3}], ids=str)
def test_multi_head_goes_back_as_finite_differences_do(options):
    rng = np.random.default_rng(2)
    x, W, d_y = rng.normal(size=(B, T, D_MODEL)), weights(rng), rng.normal(size=(B, T, D_OUT))
    found, back = multi_head(x, W, H, G, **options)
    d_x, d_W = back(d_y)

    def total() -> float:
        return float(np.sum(multi_head(x, W, H, G, **options)[0].y * d_y))

    assert found.y.shape == (B, T, D_OUT)
    assert set(d_W) == set(W)
    np.testing.assert_allclose(d_x, numeric(total, x), atol=TOLERANCE * 10)  # sums over all T and H
    for name in W:
        np.testing.assert_allclose(d_W[name], numeric(total, W[name]), atol=TOLERANCE * 10, err_msg=name)


def test_losses_go_back_as_finite_differences_do():
    rng = np.random.default_rng(3)
    logits, y, wanted = (rng.normal(size=(B, T, CLASSES)) for _ in range(3))
    classes = rng.integers(CLASSES, size=(B, T))
    d = cross_entropy(logits, classes)[1]
    np.testing.assert_allclose(d, numeric(lambda: cross_entropy(logits, classes)[0], logits), atol=TOLERANCE)
    d = squared_error(y, wanted)[1]
    np.testing.assert_allclose(d, numeric(lambda: squared_error(y, wanted)[0], y), atol=TOLERANCE)


def test_cross_entropy_is_right_where_an_exponential_overflows():
    loss, d = cross_entropy(np.array([[1000.0, 0.0]]), np.array([1]))
    assert loss == 1000
    assert d.tolist() == [[1.0, -1.0]]


def test_cross_entropy_leaves_its_logits_alone():
    logits = np.array([[1.0, 2.0, 4.0]])
    cross_entropy(logits, np.array([2]))
    assert logits.tolist() == [[1.0, 2.0, 4.0]]


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["Adam", "SGD"])
def test_training_takes_the_steps_that_torch_takes(name):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(4)
    x, W, classes = rng.normal(size=(B, T, D_MODEL)), weights(rng), rng.integers(D_OUT, size=(B, T))
    ours = {key: value.copy() for key, value in W.items()}
    theirs = {key: torch.tensor(value, requires_grad=True) for key, value in W.items()}

    def loss(parameters, step):
        found, back = multi_head(x, parameters, H, G, causal=True)
        value, d_y = cross_entropy(found.y, classes)
        return value, back(d_y)[1]

    n_steps = 19
    losses = train(ours, loss, Adam(0.01) if name == "Adam" else SGD(0.1), n_steps)
    optimizer = getattr(torch.optim, name)(theirs.values(), lr=0.01 if name == "Adam" else 0.1)
    for step in range(n_steps):
        given = torch.tensor(x)
        q, k, v = (
            (given @ theirs[key]).view(B, T, n, -1).transpose(1, 2)
            for key, n in (("W_q", H), ("W_k", G), ("W_v", G))
        )
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        y = out.transpose(1, 2).flatten(2) @ theirs["W_o"]
        value = torch.nn.functional.cross_entropy(y.flatten(0, 1), torch.tensor(classes).flatten())
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        # float64 sums of at most 100 terms; Adam divides by the gradient's own size, so a step's relative
        # error of 1e-14 stays one, and 19 steps add them up
        assert abs(losses[step] - value.item()) < 1e-10
    for key, value in ours.items():
        np.testing.assert_allclose(value, theirs[key].detach().numpy(), atol=1e-9)


def test_adam_steps_as_algorithm_1_does_by_hand():
    gradients = [3.0, -0.5, 4.0, 1e-9, 0.0, 7.0, 7.0]
    parameters, adam = {"w": np.array([2.0])}, Adam(0.3, beta1=0.7, beta2=0.8, epsilon=0.01)
    w, m, v = 2.0, 0.0, 0.0
    for t, g in enumerate(gradients, start=1):
        adam.step(parameters, {"w": np.array([g])})
        m, v = 0.7 * m + 0.3 * g, 0.8 * v + 0.2 * g * g
        w -= 0.3 * (m / (1 - 0.7**t)) / ((v / (1 - 0.8**t)) ** 0.5 + 0.01)
        assert abs(parameters["w"][0] - w) < 1e-13  # a few dozen roundings of numbers of the order of 1


def test_training_tells_how_far_it_is_and_leaves_what_it_was_not_asked_to_train():
    told = []
    parameters = {"b": np.zeros(1), "kept": np.ones(3)}

    def loss(parameters, step):
        value, d = squared_error(parameters["b"], np.ones(1))
        return value, {"b": d}

    train(parameters, loss, Adam(), 4, told.append)
    assert told == [0.25, 0.5, 0.75, 1.0]
    assert parameters["kept"].tolist() == [1.0] * 3


def test_a_loss_that_diverges_is_reported():
    def loss(parameters, step):
        value, d = squared_error(parameters["b"], np.zeros(1))
        return value, {"b": d}

    losses = train({"b": np.ones(1)}, loss, SGD(1e200), 4)
    assert not np.isfinite(losses[-1])
