"""Activation functions against PyTorch, against formulas in NumPy, in place, and on bad input."""

import math

import numpy as np
import pytest
from modules_kit import against_torch, check_invariants, refuses, row

import flambeau
from flambeau import nn

SHAPE = (4, 6)
ROWS = [
    row("CELU", inputs=[SHAPE]),
    row("CELU", 0.5, inputs=[SHAPE, ()]),
    row("ELU", inputs=[SHAPE]),
    row("ELU", alpha=1.5, inputs=[SHAPE]),
    row("GELU", inputs=[SHAPE, (0, 3)]),
    row("GELU", "tanh", inputs=[SHAPE]),
    row("GLU", inputs=[SHAPE]),
    row("GLU", 0, inputs=[SHAPE]),
    row("Hardshrink", inputs=[SHAPE]),
    row("Hardshrink", 0.9, inputs=[SHAPE]),
    row("Hardsigmoid", inputs=[SHAPE], scale=100),  # PyTorch rounds 1/6 to float32
    row("Hardswish", inputs=[SHAPE]),
    row("Hardtanh", inputs=[SHAPE]),
    row("Hardtanh", -0.2, 0.6, inputs=[SHAPE]),
    row("LeakyReLU", inputs=[SHAPE]),
    row("LeakyReLU", 0.3, inputs=[SHAPE]),
    row("LogSigmoid", inputs=[SHAPE]),
    row("LogSoftmax", 1, inputs=[SHAPE, (2, 3, 4)]),
    row("Mish", inputs=[SHAPE]),
    row("PReLU", inputs=[SHAPE, (), (5,)]),
    row("PReLU", 3, init=0.1, inputs=[(2, 3), (2, 3, 4), (1, 3, 2, 2)]),
    row("RReLU", 0.1, 0.4, train=False, inputs=[SHAPE]),
    row("ReLU", inputs=[SHAPE, (), (0,)]),
    row("ReLU6", inputs=[SHAPE]),
    row("SELU", inputs=[SHAPE]),
    row("SiLU", inputs=[SHAPE]),
    row("Sigmoid", inputs=[SHAPE]),
    row("Softmax", -1, inputs=[SHAPE, (2, 3, 4)]),
    row("Softmax2d", inputs=[(2, 3, 4, 5), (3, 4, 5)]),
    row("Softmin", 0, inputs=[SHAPE]),
    row("Softplus", inputs=[SHAPE]),
    row("Softplus", 2.0, 1.0, inputs=[SHAPE]),
    row("Softshrink", inputs=[SHAPE]),
    row("Softshrink", 0.1, inputs=[SHAPE]),
    row("Softsign", inputs=[SHAPE]),
    row("Tanh", inputs=[SHAPE]),
    row("Tanhshrink", inputs=[SHAPE], scale=4),
    row("Threshold", 0.1, 20.0, inputs=[SHAPE]),
]


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_against_torch(row, dtype):
    against_torch(row, dtype)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_invariants(row):
    check_invariants(row)


X = np.array([-7.0, -3.5, -1.25, -0.4, 0.0, 0.3, 0.75, 2.5, 5.0, 8.0])
SIGMOID = 1 / (1 + np.exp(-X))
SOFTPLUS = np.log1p(np.exp(X))
ERF = np.array([math.erf(x / math.sqrt(2)) for x in X])
SELU = (1.0507009873554805, 1.6732632423543772)
FORMULAS = [
    (nn.CELU(2.0), np.maximum(X, 0) + np.minimum(2 * np.expm1(X / 2), 0)),
    (nn.ELU(0.5), np.where(X > 0, X, 0.5 * np.expm1(X))),
    (nn.GELU(), X * (1 + ERF) / 2),
    (nn.GLU(), X[:5] * SIGMOID[5:]),
    (nn.Hardshrink(0.4), np.where(np.abs(X) > 0.4, X, 0)),
    (nn.Hardsigmoid(), np.clip(X / 6 + 0.5, 0, 1)),
    (nn.Hardswish(), X * np.clip(X + 3, 0, 6) / 6),
    (nn.Hardtanh(-2, 3), np.clip(X, -2, 3)),
    (nn.LeakyReLU(0.2), np.where(X > 0, X, 0.2 * X)),
    (nn.LogSigmoid(), np.log(SIGMOID)),
    (nn.LogSoftmax(0), X - np.log(np.exp(X).sum())),
    (nn.Mish(), X * np.tanh(SOFTPLUS)),
    (nn.PReLU(init=0.3, dtype=flambeau.float64), np.where(X > 0, X, 0.3 * X)),
    (nn.RReLU(0.1, 0.4).eval(), np.where(X > 0, X, 0.25 * X)),
    (nn.ReLU(), np.maximum(X, 0)),
    (nn.ReLU6(), np.clip(X, 0, 6)),
    (nn.SELU(), SELU[0] * np.where(X > 0, X, SELU[1] * np.expm1(X))),
    (nn.SiLU(), X * SIGMOID),
    (nn.Sigmoid(), SIGMOID),
    (nn.Softmax(0), np.exp(X) / np.exp(X).sum()),
    (nn.Softmin(0), np.exp(-X) / np.exp(-X).sum()),
    (nn.Softplus(2.0), np.log1p(np.exp(2 * X)) / 2),
    (nn.Softshrink(0.4), np.sign(X) * np.maximum(np.abs(X) - 0.4, 0)),
    (nn.Softsign(), X / (1 + np.abs(X))),
    (nn.Tanh(), np.tanh(X)),
    (nn.Tanhshrink(), X - np.tanh(X)),
    (nn.Threshold(0.3, -9.0), np.where(X > 0.3, X, -9)),
]


@pytest.mark.parametrize(("layer", "expected"), FORMULAS, ids=lambda value: str(value)[:12])
def test_formulas(layer, expected):
    out = layer(flambeau.tensor(X)).detach().numpy()
    np.testing.assert_allclose(out, expected, rtol=1e-9, atol=1e-12)


INPLACE = ["ReLU", "ReLU6", "SELU", "CELU", "ELU", "SiLU", "Mish", "Hardswish", "Hardsigmoid"]
INPLACE += ["Hardtanh", "LeakyReLU", "RReLU", "Threshold"]


def inplace_pair(name):
    """The layer that makes a new tensor, and the one that overwrites."""
    made = (0.5, 7.0) if name == "Threshold" else ()
    kind = getattr(nn, name)
    return kind(*made).eval(), kind(*made, inplace=True).eval()


@pytest.mark.parametrize("name", INPLACE)
def test_inplace(name):
    plain, overwriting = inplace_pair(name)
    x = flambeau.tensor(X)
    expected = plain(x)
    assert x.tolist() == X.tolist()
    assert overwriting(x) is x
    assert x.tolist() == expected.tolist()
    leaf = flambeau.tensor(X, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        overwriting(leaf)
    overwriting(leaf * 1).sum().backward()
    slopes = flambeau.tensor(X, requires_grad=True)
    plain(slopes).sum().backward()
    np.testing.assert_allclose(leaf.grad.numpy(), slopes.grad.numpy(), rtol=1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize("name", INPLACE)
def test_inplace_prints(name):
    torch = pytest.importorskip("torch")
    made = (0.5, 7.0) if name == "Threshold" else ()
    theirs = getattr(torch.nn, name)(*made, inplace=True)
    assert repr(getattr(nn, name)(*made, inplace=True)) == repr(theirs)


def test_random_slopes():
    layer = nn.RReLU(0.1, 0.4)
    x = flambeau.full((2000,), -2.0).requires_grad_()
    slopes = layer(x) / -2
    assert 0.1 <= slopes.min().item() < 0.11
    assert 0.39 < slopes.max().item() <= 0.4
    assert slopes.mean().item() == pytest.approx(0.25, abs=0.01)
    out = layer(x)
    out.sum().backward()
    np.testing.assert_allclose((x.grad * x).detach().numpy(), out.detach().numpy(), rtol=1e-6)
    y = flambeau.full((9,), -2.0)
    assert nn.RReLU(0.1, 0.4, inplace=True)(y) is y
    assert ((y >= -0.8) & (y <= -0.2)).all()


def test_infinities_and_nan():
    x = flambeau.tensor([-math.inf, math.inf, math.nan])
    assert nn.GELU()(x).isnan().tolist()[2]
    for layer, expected in (
        (nn.Sigmoid(), [0.0, 1.0]),
        (nn.ReLU(), [0.0, math.inf]),
        (nn.Softplus(), [0.0, math.inf]),
        (nn.LogSigmoid(), [-math.inf, 0.0]),
        (nn.ELU(), [-1.0, math.inf]),
        (nn.Tanh(), [-1.0, 1.0]),
        (nn.Hardtanh(), [-1.0, 1.0]),
    ):
        out = layer(x).tolist()
        assert out[:2] == expected, layer
        assert math.isnan(out[2]), layer


def test_the_weight_of_prelu():
    layer = nn.PReLU(2, init=0.5)
    with flambeau.no_grad():
        layer.weight.fill_(3.0)
    layer.reset_parameters()
    assert layer.weight.tolist() == [0.5, 0.5]
    x = flambeau.tensor([[-1.0, -2.0], [-3.0, 4.0]])
    layer(x).sum().backward()
    assert layer.weight.grad.tolist() == [-4.0, -2.0]
    with pytest.raises(RuntimeError, match="parameter"):
        layer(flambeau.zeros(2, 3))


def test_old_names_of_hardtanh():
    with pytest.warns(FutureWarning, match="min_val=-3"):
        layer = nn.Hardtanh(min_value=-3)
    with pytest.warns(FutureWarning, match="max_val=5"):
        layer = nn.Hardtanh(min_val=layer.min_val, max_value=5)
    assert (layer.min_val, layer.max_val) == (-3, 5)


def test_a_dimension_left_out():
    for kind in (nn.Softmax, nn.LogSoftmax, nn.Softmin):
        with pytest.warns(UserWarning, match="dim=1") as caught:
            out = kind()(flambeau.ones(2, 3))
        assert caught[0].filename == __file__
        assert tuple(out.shape) == (2, 3)


def test_errors():
    with pytest.raises(ValueError, match="min_val < max_val"):
        nn.Hardtanh(1.0, 1.0)
    with pytest.raises(ValueError, match=r"\(N, C, H, W\) or \(C, H, W\), not \(2, 3\)"):
        nn.Softmax2d()(flambeau.zeros(2, 3))
    with pytest.raises(RuntimeError, match=r"5"):
        nn.GLU()(flambeau.zeros(5))
    with pytest.raises(RuntimeError, match="lambd"):
        nn.Softshrink(-1.0)(flambeau.zeros(2))
    with pytest.raises((RuntimeError, ValueError), match="[Ll]ower"):
        nn.RReLU(0.5, 0.1)(flambeau.zeros(2))
    with pytest.raises((RuntimeError, ZeroDivisionError), match="alpha"):
        nn.CELU(0.0)(flambeau.zeros(2))
    with pytest.raises((RuntimeError, ValueError), match="approximate"):
        nn.GELU("erf")(flambeau.zeros(2))
    with pytest.raises(TypeError, match="Tanh.__init__.. takes no arguments but 1"):
        nn.Tanh(1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'dim'"):
        nn.Sigmoid(dim=1)


@pytest.mark.oracle
def test_errors_of_the_same_type():
    def zeros(package):
        return package.zeros(5)

    refuses(lambda p: p.nn.GLU()(zeros(p)), RuntimeError, "even|half|halves|5")
    refuses(lambda p: p.nn.Softmax2d()(zeros(p)), ValueError, "Softmax2d")
    refuses(lambda p: p.nn.Softshrink(-1.0)(zeros(p)), RuntimeError, "lambd")
    refuses(lambda p: p.nn.Tanh(1), TypeError, "Tanh")
    refuses(lambda p: p.nn.PReLU(2)(p.zeros(2, 3)), RuntimeError, "parameter")
