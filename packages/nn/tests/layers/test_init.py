"""Initial values: bounds, moments and structure."""

import math

import numpy as np
import pytest

import flambeau
from flambeau import nn
from flambeau.nn import init


def filled(function, *args, shape=(200, 300), **options):
    tensor = nn.Parameter(flambeau.empty(*shape))
    assert function(tensor, *args, **options) is tensor
    assert tensor.requires_grad
    assert tensor.grad_fn is None
    return tensor.detach().numpy()


def uniform_moments(values, bound):
    assert abs(values).max() <= bound
    assert abs(values).max() > 0.99 * bound
    assert values.std() == pytest.approx(bound / math.sqrt(3), rel=0.02)
    assert values.mean() == pytest.approx(0, abs=0.02 * bound)


def normal_moments(values, std):
    assert values.std() == pytest.approx(std, rel=0.02)
    assert values.mean() == pytest.approx(0, abs=0.02 * std)
    assert abs(values).max() > 3 * std


def test_constants():
    assert (filled(init.constant_, 0.3) == np.float32(0.3)).all()
    assert (filled(init.ones_) == 1).all()
    assert (filled(init.zeros_) == 0).all()
    assert (filled(init.eye_, shape=(3, 5)) == np.eye(3, 5)).all()
    with pytest.raises(ValueError, match="matrix"):
        init.eye_(flambeau.empty(2))


def test_uniform_and_normal():
    uniform_moments(filled(init.uniform_, -2, 2), 2)
    normal_moments(filled(init.normal_, 0, 3), 3)
    assert filled(init.normal_, 5, 1).mean() == pytest.approx(5, abs=0.02)


def test_xavier():
    bound = 2 * math.sqrt(6 / 500)
    uniform_moments(filled(init.xavier_uniform_, 2), bound)
    normal_moments(filled(init.xavier_normal_, 2), 2 * math.sqrt(2 / 500))


@pytest.mark.parametrize(("mode", "fan"), [("fan_in", 300), ("fan_out", 200)])
def test_kaiming(mode, fan):
    options = {"mode": mode, "nonlinearity": "relu"}
    uniform_moments(filled(init.kaiming_uniform_, **options), math.sqrt(6 / fan))
    normal_moments(filled(init.kaiming_normal_, **options), math.sqrt(2 / fan))


def test_fans_of_a_convolution():
    values = filled(init.kaiming_uniform_, a=math.sqrt(5), shape=(64, 32, 3, 5))
    uniform_moments(values, 1 / math.sqrt(32 * 15))


def test_layers_start_as_in_pytorch():
    linear = nn.Linear(300, 200)
    uniform_moments(linear.weight.detach().numpy(), 1 / math.sqrt(300))
    assert abs(linear.bias.detach().numpy()).max() <= 1 / math.sqrt(300)
    conv = nn.Conv2d(64, 64, 3, groups=2)
    uniform_moments(conv.weight.detach().numpy(), 1 / math.sqrt(32 * 9))
    normal_moments(nn.Embedding(200, 300).weight.detach().numpy(), 1)


@pytest.mark.parametrize("shape", [(5, 5), (4, 9), (9, 4), (4, 3, 3)])
def test_orthogonal(shape):
    matrix = filled(init.orthogonal_, 2.0, shape=shape).reshape(shape[0], -1)
    if matrix.shape[0] > matrix.shape[1]:
        matrix = matrix.T
    np.testing.assert_allclose(matrix @ matrix.T, 4 * np.eye(len(matrix)), atol=1e-5)


def test_truncated_normal():
    values = filled(init.trunc_normal_, 0, 1, -1, 2)
    assert values.min() >= -1
    assert values.max() <= 2
    # Mean of the standard normal distribution between -1 and 2.
    density = lambda x: math.exp(-x * x / 2) / math.sqrt(2 * math.pi)  # noqa: E731
    mass = (math.erf(2 / math.sqrt(2)) + math.erf(1 / math.sqrt(2))) / 2
    assert values.mean() == pytest.approx((density(-1) - density(2)) / mass, abs=0.02)
    with pytest.raises(ValueError, match="a < b"):
        init.trunc_normal_(flambeau.empty(1), a=2, b=1)
    with pytest.raises(ValueError, match="one in a thousand"):
        init.trunc_normal_(flambeau.empty(1), a=8, b=9)


@pytest.mark.parametrize(
    ("name", "param", "gain"),
    [
        ("linear", None, 1),
        ("tanh", None, 5 / 3),
        ("relu", None, math.sqrt(2)),
        ("leaky_relu", None, math.sqrt(2 / 1.0001)),
        ("leaky_relu", 3, math.sqrt(0.2)),
        ("selu", None, 0.75),
    ],
)
def test_gain(name, param, gain):
    assert init.calculate_gain(name, param) == pytest.approx(gain)


def test_refusals():
    with pytest.raises(ValueError, match="no gain is known for 'swish'"):
        init.calculate_gain("swish")
    with pytest.raises(ValueError, match="two dimensions or more"):
        init.xavier_uniform_(flambeau.empty(3))
    with pytest.raises(ValueError, match='"fan_in" or "fan_out"'):
        init.kaiming_normal_(flambeau.empty(3, 3), mode="fan")
    with pytest.raises(ValueError, match="two dimensions"):
        init.orthogonal_(flambeau.empty(3))


FILLERS = {
    "uniform_": lambda t, g: init.uniform_(t, 0, 1, g),
    "normal_": lambda t, g: init.normal_(t, 0, 1, g),
    "trunc_normal_": lambda t, g: init.trunc_normal_(t, generator=g),
    "xavier_uniform_": lambda t, g: init.xavier_uniform_(t, 1, g),
    "xavier_normal_": lambda t, g: init.xavier_normal_(t, generator=g),
    "kaiming_uniform_": lambda t, g: init.kaiming_uniform_(t, generator=g),
    "kaiming_normal_": lambda t, g: init.kaiming_normal_(t, generator=g),
    "orthogonal_": lambda t, g: init.orthogonal_(t, 1, g),
    "sparse_": lambda t, g: init.sparse_(t, 0.3, 1, g),
}


@pytest.mark.parametrize("name", FILLERS)
def test_generators_repeat(name):
    def draw(seed):
        generator = flambeau.Generator()
        generator.manual_seed(seed)
        return FILLERS[name](flambeau.empty(4, 3), generator).tolist()

    assert draw(5) == draw(5)
    assert draw(5) != draw(6)
    flambeau.manual_seed(1)
    first = flambeau.rand(2).tolist()
    flambeau.manual_seed(1)
    draw(5)
    assert flambeau.rand(2).tolist() == first


@pytest.mark.parametrize("name", FILLERS)
def test_without_memory(name):
    tensor = flambeau.empty(4, 3, device="meta")
    assert FILLERS[name](tensor, None) is tensor


def test_sparse():
    values = filled(init.sparse_, 0.31, 2.0, shape=(100, 300))
    assert ((values == 0).sum(0) == 31).all()
    assert len({tuple(column) for column in (values == 0).T}) > 250
    assert values[values != 0].std() == pytest.approx(2.0, rel=0.02)
    assert (filled(init.sparse_, 1, shape=(3, 2)) == 0).all()
    with pytest.raises(ValueError, match=r"matrix, not a tensor of shape \(2, 2, 2\)"):
        init.sparse_(flambeau.empty(2, 2, 2), 0.5)
    with pytest.raises(ValueError, match="between 0 and 1, not 1.5"):
        init.sparse_(flambeau.empty(2, 2), 1.5)


@pytest.mark.parametrize("groups", [1, 2])
def test_dirac_gives_back_channels(groups):
    for dims in (1, 2, 3):
        conv = getattr(nn, f"Conv{dims}d")(4, 4, 3, padding=1, groups=groups, bias=False)
        init.dirac_(conv.weight, groups)
        x = flambeau.randn(2, 4, *(5,) * dims)
        assert flambeau.equal(conv(x), x)


def test_dirac_errors():
    with pytest.raises(ValueError, match=r"not a tensor of shape \(2, 2\)"):
        init.dirac_(flambeau.empty(2, 2))
    with pytest.raises(ValueError, match="3 output channels do not fall into 2 groups"):
        init.dirac_(flambeau.empty(3, 2, 1), 2)


def test_orthogonal_is_drawn_uniformly():
    """Each entry of a uniform orthogonal matrix has mean 0 and variance 1 / n."""
    draws = np.stack([filled(init.orthogonal_, shape=(3, 3)) for _ in range(2000)])
    np.testing.assert_allclose(draws.mean(0), 0, atol=0.06)
    np.testing.assert_allclose((draws**2).mean(0), 1 / 3, atol=0.04)


@pytest.mark.oracle
def test_every_name_of_torch():
    torch = pytest.importorskip("torch")
    names = {
        name
        for name, value in vars(torch.nn.init).items()
        if callable(value) and name[0] != "_" and value.__module__ == "torch.nn.init"
    }
    assert len(names) > 12
    assert {name for name in names if not hasattr(init, name)} == set()


@pytest.mark.oracle
@pytest.mark.parametrize("shape", [(4, 3, 3), (6, 2, 2, 5), (2, 4, 3, 1, 2)])
@pytest.mark.parametrize("groups", [1, 2])
def test_dirac_against_torch(shape, groups):
    torch = pytest.importorskip("torch")
    theirs = torch.nn.init.dirac_(torch.empty(shape), groups)
    assert init.dirac_(flambeau.empty(shape), groups).tolist() == theirs.tolist()


@pytest.mark.oracle
def test_gains_against_torch():
    torch = pytest.importorskip("torch")
    for name in ("linear", "conv2d", "conv_transpose3d", "sigmoid", "tanh", "relu", "selu"):
        assert init.calculate_gain(name) == torch.nn.init.calculate_gain(name)
    for slope in (None, 0.3, 2):
        gain = init.calculate_gain("leaky_relu", slope)
        assert gain == torch.nn.init.calculate_gain("leaky_relu", slope)


def test_the_fan_of_a_mode():
    weight = flambeau.empty(3, 4, 5, 5)
    assert init._calculate_correct_fan(weight, "fan_in") == 100
    assert init._calculate_correct_fan(weight, "FAN_OUT") == 75
    with pytest.raises(ValueError, match="fan_in"):
        init._calculate_correct_fan(weight, "fan")


def test_nothing_to_fill_is_said():
    for fill in (init.kaiming_uniform_, init.kaiming_normal_):
        with pytest.warns(UserWarning, match="zero-element tensors is a no-op"):
            fill(flambeau.empty(0, 3))


@pytest.mark.parametrize("param", [True, [1], "1"])
def test_gains_take_numbers(param):
    with pytest.raises(ValueError, match="is a number"):
        init.calculate_gain("leaky_relu", param)
