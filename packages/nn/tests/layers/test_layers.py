"""Layers against closed forms: values written out, or computed by plain loops in NumPy."""

import math

import numpy as np
import pytest

import flambeau
from flambeau import nn
from flambeau.nn import functional as F

TOLERANCE = {"rtol": 1e-5, "atol": 1e-6}


def array(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def give(tensor):
    return tensor.detach().numpy()


def close(tensor, expected):
    assert tuple(tensor.shape) == np.shape(expected)
    np.testing.assert_allclose(give(tensor), expected, **TOLERANCE)


def load(layer, **arrays):
    layer.load_state_dict({k: flambeau.tensor(v) for k, v in arrays.items()}, strict=False)
    return layer


def test_linear():
    x, w, b = array(2, 5, 3), array(4, 3, seed=1), array(4, seed=2)
    layer = load(nn.Linear(3, 4), weight=w, bias=b)
    close(layer(flambeau.tensor(x)), x @ w.T + b)
    bare = load(nn.Linear(3, 4, bias=False), weight=w)
    close(bare(flambeau.tensor(x)), x @ w.T)
    assert bare.bias is None


def test_identity():
    marker = object()
    assert nn.Identity(3, flag=True)(marker) is marker


def correlate(x, w, b, stride, padding, dilation, groups):
    """Cross-correlation by loops over the output."""
    n, _, height, width = x.shape
    out_channels, per_group, kh, kw = w.shape
    x = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
    rows = (height + 2 * padding[0] - dilation[0] * (kh - 1) - 1) // stride[0] + 1
    columns = (width + 2 * padding[1] - dilation[1] * (kw - 1) - 1) // stride[1] + 1
    out = np.zeros((n, out_channels, rows, columns), np.float64)
    for k in range(out_channels):
        first = k // (out_channels // groups) * per_group
        for i in range(rows):
            for j in range(columns):
                top, left = i * stride[0], j * stride[1]
                window = x[
                    :,
                    first : first + per_group,
                    top : top + dilation[0] * (kh - 1) + 1 : dilation[0],
                    left : left + dilation[1] * (kw - 1) + 1 : dilation[1],
                ]
                out[:, k, i, j] = (window * w[k]).sum((1, 2, 3)) + b[k]
    return out


@pytest.mark.parametrize(
    ("options", "stride", "padding", "dilation", "groups"),
    [
        ({}, (1, 1), (0, 0), (1, 1), 1),
        ({"stride": 2, "padding": 1}, (2, 2), (1, 1), (1, 1), 1),
        ({"padding": (2, 1), "dilation": (2, 1)}, (1, 1), (2, 1), (2, 1), 1),
        ({"groups": 2}, (1, 1), (0, 0), (1, 1), 2),
        ({"padding": "same"}, (1, 1), (1, 1), (1, 1), 1),
        ({"padding": "valid"}, (1, 1), (0, 0), (1, 1), 1),
    ],
)
def test_conv2d(options, stride, padding, dilation, groups):
    x = array(2, 4, 7, 6)
    w, b = array(6, 4 // groups, 3, 3, seed=1), array(6, seed=2)
    layer = load(nn.Conv2d(4, 6, 3, **options), weight=w, bias=b)
    expected = correlate(x, w, b, stride, padding, dilation, groups)
    out = layer(flambeau.tensor(x))
    assert tuple(out.shape) == expected.shape
    np.testing.assert_allclose(give(out), expected, rtol=1e-4, atol=1e-4)


def test_conv2d_takes_one_image():
    layer = nn.Conv2d(1, 2, 3)
    x = flambeau.randn(1, 5, 5)
    close(layer(x), give(layer(x.unsqueeze(0)))[0])


def test_same_padding_of_even_kernels_has_one_zero_more_behind():
    layer = nn.Conv2d(1, 2, (2, 4), padding="same")
    x = flambeau.randn(1, 1, 5, 6)
    padded = nn.functional.pad(x, (1, 2, 0, 1))
    close(layer(x), give(nn.functional.conv2d(padded, layer.weight, layer.bias)))


@pytest.mark.parametrize(
    ("mode", "name"), [("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")]
)
@pytest.mark.parametrize("padding", [(2, 1), "same"])
def test_conv2d_with_other_margins_than_zeros(mode, name, padding):
    x, w, b = array(2, 2, 5, 6), array(3, 2, 4, 3, seed=1), array(3, seed=2)
    layer = load(nn.Conv2d(2, 3, (4, 3), padding=padding, padding_mode=mode), weight=w, bias=b)
    rows = (1, 2) if padding == "same" else (2, 2)
    wide = np.pad(x, ((0, 0), (0, 0), rows, (1, 1)), name)
    expected = correlate(wide, w, b, (1, 1), (0, 0), (1, 1), 1)
    np.testing.assert_allclose(give(layer(flambeau.tensor(x))), expected, rtol=1e-4, atol=1e-4)
    assert layer.extra_repr().endswith(f"padding_mode={mode}")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"groups": 3}, r"in_channels \(4\) must be divisible by groups \(3\)"),
        ({"groups": 0}, "groups is at least 1"),
        ({"padding": "some"}, '"same" or "valid"'),
        ({"padding": "same", "stride": 2}, "stride 1"),
        ({"padding_mode": "mirror"}, "'zeros', 'reflect', 'replicate', 'circular', not 'mirror'"),
        ({"stride": (1, 2, 3)}, "stride is one number or 2"),
    ],
)
def test_conv2d_refuses(options, text):
    with pytest.raises(ValueError, match=text):
        nn.Conv2d(4, 4, **{"kernel_size": 3, **options})


def pool(x, size, stride, padding, fill, reduce):
    x = np.pad(x, ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2), constant_values=fill)
    rows = (x.shape[2] - size) // stride + 1
    columns = (x.shape[3] - size) // stride + 1
    out = np.empty((*x.shape[:2], rows, columns), np.float64)
    for i in range(rows):
        for j in range(columns):
            window = x[:, :, i * stride : i * stride + size, j * stride : j * stride + size]
            out[:, :, i, j] = reduce(window, axis=(2, 3))
    return out


@pytest.mark.parametrize(("size", "stride", "padding"), [(2, None, 0), (3, 2, 1), (3, 1, 0)])
def test_pools(size, stride, padding):
    x = array(2, 3, 7, 8)
    step = stride or size
    biggest = nn.MaxPool2d(size, stride, padding)(flambeau.tensor(x))
    close(biggest, pool(x, size, step, padding, -np.inf, np.max))
    mean = nn.AvgPool2d(size, stride, padding)(flambeau.tensor(x))
    close(mean, pool(x, size, step, padding, 0, np.mean))


def test_max_pool_indices():
    x = flambeau.tensor([[[[1.0, 5.0], [3.0, 2.0]]]])
    values, indices = nn.MaxPool2d(2, return_indices=True)(x)
    assert values.item() == 5.0
    assert indices.item() == 1


@pytest.mark.parametrize("size", [1, (2, 3), 5])
def test_adaptive_average(size):
    x = array(2, 3, 7, 8)
    rows, columns = size if isinstance(size, tuple) else (size, size)
    expected = np.empty((2, 3, rows, columns))
    for i in range(rows):
        for j in range(columns):
            top, bottom = math.floor(i * 7 / rows), math.ceil((i + 1) * 7 / rows)
            left, right = math.floor(j * 8 / columns), math.ceil((j + 1) * 8 / columns)
            expected[:, :, i, j] = x[:, :, top:bottom, left:right].mean((2, 3))
    close(nn.AdaptiveAvgPool2d(size)(flambeau.tensor(x)), expected)


@pytest.mark.parametrize(
    ("layer", "shape", "axes"),
    [
        (nn.BatchNorm1d, (6, 3), (0,)),
        (nn.BatchNorm1d, (4, 3, 5), (0, 2)),
        (nn.BatchNorm2d, (4, 3, 5, 2), (0, 2, 3)),
    ],
)
def test_batch_norm(layer, shape, axes):
    x, w, b = array(*shape) * 2 + 1, array(3, seed=1), array(3, seed=2)
    norm = load(layer(3, momentum=0.3), weight=w, bias=b)
    column = (1, 3) + (1,) * (len(shape) - 2)
    mean, var = x.mean(axes), x.var(axes)
    scale = (w / np.sqrt(var + 1e-5)).reshape(column)
    expected = (x - mean.reshape(column)) * scale + b.reshape(column)
    close(norm(flambeau.tensor(x)), expected)
    count = x.size // 3
    running = 0.3 * mean, 0.7 + 0.3 * var * count / (count - 1)
    close(norm.running_mean, running[0])
    close(norm.running_var, running[1])
    assert norm.num_batches_tracked.item() == 1
    norm.eval()
    scale = (w / np.sqrt(running[1] + 1e-5)).reshape(column)
    close(norm(flambeau.tensor(x)), (x - running[0].reshape(column)) * scale + b.reshape(column))
    assert norm.num_batches_tracked.item() == 1


def test_batch_norm_plain_average():
    norm = nn.BatchNorm1d(1, momentum=None)
    for value in (1.0, 3.0, 8.0):
        norm(flambeau.tensor([[value - 1], [value + 1]]))
    close(norm.running_mean, [4.0])


def test_batch_norm_without_statistics_or_affine():
    norm = nn.BatchNorm1d(2, affine=False, track_running_stats=False)
    assert list(norm.state_dict()) == []
    x = flambeau.tensor([[0.0, 1.0], [2.0, 5.0]])
    expected = [[-0.999995, -0.99999875], [0.999995, 0.99999875]]
    close(norm(x), expected)
    close(norm.eval()(x), expected)


def test_batch_norm_without_bias():
    norm = nn.BatchNorm2d(2, bias=False, track_running_stats=False)
    assert list(norm.state_dict()) == ["weight"]


def test_batch_norm_shapes():
    with pytest.raises(ValueError, match=r"\(N, C\) or \(N, C, L\), not \(2, 3, 4, 5\)"):
        nn.BatchNorm1d(3)(flambeau.zeros(2, 3, 4, 5))
    with pytest.raises(ValueError, match=r"input\.unsqueeze\(0\)"):
        nn.BatchNorm2d(3)(flambeau.zeros(3, 4, 5))


@pytest.mark.parametrize("shape", [(5,), (4, 5)])
def test_layer_norm(shape):
    x, w, b = array(3, 4, 5), array(*shape, seed=1), array(*shape, seed=2)
    norm = load(nn.LayerNorm(shape), weight=w, bias=b)
    axes = tuple(range(3 - len(shape), 3))
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    close(norm(flambeau.tensor(x)), (x - mean) / np.sqrt(var + 1e-5) * w + b)


def test_layer_norm_options():
    assert list(nn.LayerNorm(3, bias=False).state_dict()) == ["weight"]
    assert list(nn.LayerNorm(3, elementwise_affine=False).state_dict()) == []


def test_embedding():
    table = array(5, 3)
    layer = load(nn.Embedding(5, 3), weight=table)
    index = np.array([[0, 4], [2, 2]])
    close(layer(flambeau.tensor(index)), table[index])


def test_embedding_padding_gets_no_gradient():
    layer = nn.Embedding(4, 2, padding_idx=-1)
    assert layer.padding_idx == 3
    assert layer.weight[3].tolist() == [0.0, 0.0]
    layer(flambeau.tensor([0, 3, 0])).sum().backward()
    assert layer.weight.grad.tolist() == [[2, 2], [0, 0], [0, 0], [0, 0]]
    with pytest.raises(AssertionError, match="padding_idx 4 is not a row of a table of 4 rows"):
        nn.Embedding(4, 2, padding_idx=4)


def test_embedding_from_a_table():
    table = flambeau.ones(2, 3)
    assert not nn.Embedding.from_pretrained(table).weight.requires_grad
    assert nn.Embedding.from_pretrained(table, freeze=False).weight.requires_grad
    with pytest.raises(ValueError, match="two dimensions"):
        nn.Embedding.from_pretrained(flambeau.ones(2))
    with pytest.raises(ValueError, match="num_embeddings"):
        nn.Embedding(3, 3, _weight=table)


def test_dropout():
    x = flambeau.ones(10000)
    layer = nn.Dropout(0.25)
    kept = give(layer(x))
    assert set(np.unique(kept)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs((kept > 0).mean() - 0.75) < 0.03
    assert layer.eval()(x).tolist() == x.tolist()
    with pytest.raises(ValueError, match="between 0 and 1, not 2"):
        nn.Dropout(2)
    with pytest.raises(ValueError, match="between 0 and 1, not 'half'"):
        nn.Dropout("half")


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: nn.Linear("4", 2), r"Linear\(\): in_features must be an int, not str"),
        (lambda: nn.Linear(4, 2.5), r"Linear\(\): out_features must be an int, not float"),
        (lambda: nn.Embedding(4, "2"), r"Embedding\(\): embedding_dim must be an int, not str"),
        (lambda: nn.BatchNorm1d(None), r"BatchNorm1d\(\): num_features must be an int"),
        (lambda: nn.Conv2d("3", 4, 1), r"Conv2d\(\): in_channels must be an int, not str"),
        (lambda: nn.ModuleList(3), r"ModuleList\.extend\(\) takes an iterable of modules, not int"),
    ],
)
def test_what_is_no_size_is_named(make, text):
    with pytest.raises(TypeError, match=text):
        make()


def test_flatten_and_unflatten():
    x = flambeau.arange(24.0).reshape(2, 3, 4)
    assert nn.Flatten()(x).shape == (2, 12)
    assert nn.Flatten(0, 1)(x).tolist() == give(x).reshape(6, 4).tolist()
    assert nn.Unflatten(-1, (2, -1))(x).tolist() == give(x).reshape(2, 3, 2, 2).tolist()
    with pytest.raises(TypeError, match="tuple of sizes"):
        nn.Unflatten("channels", (2, 2))


def erf(x):
    return np.vectorize(math.erf)(x)


SIGMOID = lambda x: 1 / (1 + np.exp(-x))  # noqa: E731

ACTIVATIONS = [
    (nn.ReLU(), lambda x: np.maximum(x, 0)),
    (nn.GELU(), lambda x: x * (1 + erf(x / math.sqrt(2))) / 2),
    (
        nn.GELU("tanh"),
        lambda x: x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    ),
    (nn.SiLU(), lambda x: x * SIGMOID(x)),
    (nn.Tanh(), np.tanh),
    (nn.Sigmoid(), SIGMOID),
    (nn.LeakyReLU(0.2), lambda x: np.where(x > 0, x, 0.2 * x)),
    (nn.ELU(1.5), lambda x: np.where(x > 0, x, 1.5 * np.expm1(x))),
    (nn.Softplus(2.0, 3.0), lambda x: np.where(2 * x > 3, x, np.log1p(np.exp(2 * x)) / 2)),
    (nn.Softmax(dim=1), lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True)),
    (nn.LogSoftmax(dim=0), lambda x: x - np.log(np.exp(x).sum(0))),
]


@pytest.mark.parametrize(
    ("layer", "expected"), ACTIVATIONS, ids=[repr(layer) for layer, _ in ACTIVATIONS]
)
def test_activations(layer, expected):
    x = np.linspace(-4, 4, 42, dtype=np.float64).reshape(6, 7)
    out = layer(flambeau.tensor(x))
    np.testing.assert_allclose(give(out), expected(x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", [nn.ReLU, nn.SiLU, nn.LeakyReLU, nn.ELU])
def test_in_place(kind):
    x = flambeau.tensor([-1.0, 2.0])
    expected = kind()(x).tolist()
    layer = kind(inplace=True)
    assert layer(x) is x
    assert x.tolist() == expected
    assert "inplace=True" in repr(layer)


def test_in_place_functions():
    x = flambeau.tensor([-3.0, 0.5])
    assert F.hardtanh(x).tolist() == [-1.0, 0.5]
    assert F.hardtanh(x, -2, 2, inplace=True) is x
    assert x.tolist() == [-2.0, 0.5]


def test_softmax_without_dim_warns():
    x = flambeau.zeros(2, 4)
    with pytest.warns(UserWarning, match="dim=1"):
        out = nn.Softmax()(x)
    assert out.tolist() == [[0.25] * 4] * 2
    with pytest.warns(UserWarning, match="dim=0"):
        assert F.log_softmax(flambeau.zeros(1)).tolist() == [0.0]
