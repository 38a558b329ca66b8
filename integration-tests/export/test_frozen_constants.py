"""Constants behind convolutions and products of frozen programs: into the weights."""

from __future__ import annotations

import math

import pytest

import flambeau
from flambeau import jit, nn

HALF, ROW = flambeau.tensor(0.5), flambeau.tensor([0.5, -2.0, 3.0, 1.0, 0.25, 7.0])
COLUMN, ONES = ROW.reshape(6, 1, 1), flambeau.full((1, 1, 1, 1), 3.0)


def ops(program):
    inner = [node.body.nodes if node.body else [node] for node in program.graph.nodes]
    return [node.op for nodes in inner for node in nodes]


class Behind(nn.Module):
    """A layer, and a function of its results."""

    def __init__(self, layer, function):
        super().__init__()
        self.layer, self.function = layer, function

    def forward(self, x):
        return self.function(self.layer(x))


def frozen(layer, function, x):
    """The frozen program of a function of a layer's results; how far off it is, at most."""
    model = Behind(layer, function).eval()
    program = jit.freeze(jit.trace(model, x, dynamic=False))
    with flambeau.no_grad():
        wanted = model(x)
    found = program(x)
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    exact = jit.freeze(jit.trace(model, x, dynamic=False), optimize_numerics=False)
    assert flambeau.equal(exact(x), wanted)
    return program, (found - wanted).abs().max() / wanted.abs().max()


FUNCTIONS = {
    "numbers": lambda y: (y * 2 + 1) / 3 - 0.25, "elements": lambda y: (y * HALF - ONES) / HALF,
    "columns": lambda y: COLUMN * y + COLUMN, "from a constant": lambda y: COLUMN - 3 * y,
    "multiples": lambda y: flambeau.add(COLUMN, y, alpha=-2), "integers": lambda y: y * 3 - 2,
    "multiples of constants": lambda y: flambeau.sub(y, COLUMN, alpha=2),
    "one and one": lambda y: flambeau.add(y, 1, alpha=0.5)}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("layer", [
    nn.Conv2d(4, 6, 3), nn.Conv2d(4, 6, 3, groups=2, bias=False),
    nn.ConvTranspose2d(4, 6, 3, groups=2)], ids=str)
def test_constants_become_part_of_the_weights(layer, function):
    flambeau.manual_seed(0)
    program, apart = frozen(layer, function, flambeau.randn(2, 4, 7, 6))
    assert apart < 1e-6
    assert ops(program) in (["conv2d"], ["conv2d_input_grad", "add"])


def test_rows_of_linear_layers_and_float64():
    x = flambeau.randn(5, 4)
    program, apart = frozen(nn.Linear(4, 6, bias=False), lambda y: (y + ROW) * ROW, x)
    assert ops(program) == ["linear"] and apart < 1e-6
    layer = nn.Conv2d(4, 6, 1).double()
    program, apart = frozen(layer, lambda y: y * COLUMN.double() / 7, x.double()[..., None, None])
    assert ops(program) == ["conv2d"] and apart < 1e-15


def swish(y):
    return y * (y + 3).clamp(0, 6) / 6


STAYS = {
    "read twice": (swish, ["add", "clamp_both", "mul", "div"]),
    "zero": (lambda y: y / 0, ["div"]), "of a number": (lambda y: 2 / y, ["div"]),
    "overflow": (lambda y: (y * 1e38) * 1e38, None), "nan": (lambda y: y * math.nan, ["mul"]),
    "rows": (lambda y: y + flambeau.arange(4.0), ["add"]), "itself": (lambda y: y * y, ["mul"]),
    "more": (lambda y: y + flambeau.ones(3, 1, 6, 1, 1), ["add"]),
    "wider": (lambda y: y + COLUMN.double()[:1].expand(6, 1, 1), None)}


@pytest.mark.parametrize(("function", "behind"), STAYS.values(), ids=STAYS)
def test_what_stays(function, behind):
    flambeau.manual_seed(0)
    layer, x = nn.Conv2d(4, 6, 3), flambeau.randn(2, 4, 7, 6)
    model = Behind(layer, function).eval()
    with flambeau.no_grad():
        program = jit.freeze(jit.trace(model, x, dynamic=False))
        wanted = model(x)
    assert flambeau.allclose(program(x), wanted, rtol=1e-5, equal_nan=True)
    assert behind is None or ops(program) == ["conv2d", *behind]


def test_sequences_have_no_channels():
    program, apart = frozen(nn.Linear(4, 6), lambda y: y * 2 + ROW, flambeau.randn(2, 6, 4))
    assert apart < 1e-6 and ops(program) == ["linear", "mul", "add"]


def test_results_that_are_shown_stay():
    layer = nn.Conv2d(4, 6, 1)
    x = flambeau.randn(2, 4, 3, 3)
    model = Behind(layer, lambda y: (y, y * 2, y.relu() * 2 + 1)).eval()
    with flambeau.no_grad():
        program = jit.freeze(jit.trace(model, x))
        for found, wanted in zip(program(x), model(x), strict=True):
            assert flambeau.equal(found, wanted)


MATRIX, BIAS = flambeau.arange(24.0).reshape(4, 6).sin(), flambeau.arange(6.0).cos()


@pytest.mark.parametrize("function", [
    lambda x: x @ MATRIX + BIAS, lambda x: BIAS + x @ MATRIX, lambda x: x @ MATRIX + BIAS[None],
    lambda x: (x @ MATRIX + BIAS).relu(), lambda x: x.relu() @ MATRIX.t().contiguous().t() + BIAS])
@pytest.mark.parametrize("shape", [(5, 4), (2, 3, 4), (1, 4)])
def test_products_with_rows_become_linear_layers(function, shape):
    flambeau.manual_seed(0)
    x = flambeau.randn(shape)
    program = jit.freeze(jit.trace(function, x, dynamic=False))
    assert "linear" in ops(program) and "matmul" not in ops(program)
    assert flambeau.allclose(program(x), function(x), rtol=1e-6, atol=1e-6)
    assert jit.freeze(program)(x).equal(program(x))


@pytest.mark.parametrize("function", [
    lambda x: x @ MATRIX + BIAS[:1], lambda x: x[0] @ MATRIX + BIAS, lambda x: x @ MATRIX[:, 0] + 1,
    lambda x: x @ MATRIX + BIAS.reshape(1, 1, 6), lambda x: x @ MATRIX + x[:, :1] * BIAS,
    lambda x: flambeau.add(x @ MATRIX, BIAS, alpha=2), lambda x: x @ x.t() @ x @ MATRIX - BIAS,
    lambda x: (x @ MATRIX + BIAS) * (x @ MATRIX), lambda x: x @ MATRIX + BIAS.double()])
def test_products_that_stay(function):
    flambeau.manual_seed(0)
    x = flambeau.randn(5, 4)
    program = jit.freeze(jit.trace(function, x, dynamic=False))
    assert "linear" not in ops(program)
    assert flambeau.allclose(program(x), function(x), rtol=1e-6, atol=1e-6)
