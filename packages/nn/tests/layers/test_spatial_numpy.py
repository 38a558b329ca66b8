"""Convolutions, pooling, margins, norms and moves of pixels against plain NumPy."""

import itertools

import numpy as np
import pytest
from modules_kit import give

import flambeau
from flambeau import nn

RNG = np.random.default_rng(0)
SHAPES = {1: (2, 4, 9), 2: (2, 4, 7, 8), 3: (2, 4, 5, 4, 6)}
over_dims = pytest.mark.parametrize("dims", [1, 2, 3])


def array(*shape):
    return RNG.standard_normal(shape)


def near(tensor, expected):
    assert tuple(tensor.shape) == np.shape(expected)
    np.testing.assert_allclose(give(tensor), expected, rtol=1e-9, atol=1e-9)


def made(name, *args, **options):
    """The module in float64, with random parameters."""
    layer = getattr(nn, name)(*args, **options).double()
    with flambeau.no_grad():
        for p in layer.parameters():
            p.copy_(flambeau.tensor(array(*p.shape)))
    return layer


def windows(x, size, stride, dilation=1):
    """[batch, channels, *outputs, *window] of the last dimensions of x."""
    dims = x.ndim - 2
    axes = tuple(range(2, x.ndim))
    wide = np.lib.stride_tricks.sliding_window_view(
        x, [dilation * (n - 1) + 1 for n in size], axis=axes
    )
    steps = (slice(None, None, stride),) * dims + (slice(None, None, dilation),) * dims
    return wide[(slice(None), slice(None), *steps)]


def margins(x, width, value=0.0, mode="constant"):
    pads = [(0, 0), (0, 0), *[(width, width)] * (x.ndim - 2)]
    return np.pad(x, pads, mode, **({"constant_values": value} if mode == "constant" else {}))


@over_dims
@pytest.mark.parametrize(
    ("stride", "padding", "dilation", "groups", "mode"),
    [
        (1, 0, 1, 1, "constant"),
        (2, 1, 1, 2, "constant"),
        (1, 2, 2, 4, "constant"),
        (2, 1, 1, 1, "reflect"),
        (1, 1, 1, 1, "edge"),
        (1, 2, 1, 2, "wrap"),
    ],
)
def test_convolution(dims, stride, padding, dilation, groups, mode):
    names = {"constant": "zeros", "edge": "replicate", "wrap": "circular"}
    layer = made(
        f"Conv{dims}d",
        *(4, 8, 3, stride, padding, dilation, groups),
        padding_mode=names.get(mode, mode),
    )
    x = array(*SHAPES[dims])
    seen = windows(margins(x, padding, mode=mode), (3,) * dims, stride, dilation)
    weight, parts = give(layer.weight), []
    for g in range(groups):
        inputs = seen[:, g * (4 // groups) : (g + 1) * (4 // groups)]
        kernels = weight[g * (8 // groups) : (g + 1) * (8 // groups)]
        axes = [1, *range(2 + dims, 2 + 2 * dims)]
        parts.append(np.moveaxis(np.tensordot(inputs, kernels, (axes, range(1, 2 + dims))), -1, 1))
    expected = np.concatenate(parts, 1) + give(layer.bias).reshape(-1, *[1] * dims)
    near(layer(flambeau.tensor(x)), expected)


@over_dims
@pytest.mark.parametrize(
    ("stride", "padding", "extra", "groups", "dilation"),
    [(1, 0, 0, 1, 1), (2, 1, 1, 2, 1), (3, 0, 2, 4, 2)],
)
def test_transposed_convolution_is_the_adjoint(dims, stride, padding, extra, groups, dilation):
    """``<conv(y), x> = <y, conv_transpose(x)>`` for all x and y, without biases."""
    settings = {"stride": stride, "padding": padding, "groups": groups, "dilation": dilation}
    up = made(f"ConvTranspose{dims}d", 4, 8, 3, output_padding=extra, bias=False, **settings)
    down = made(f"Conv{dims}d", 8, 4, 3, bias=False, **settings)
    down.load_state_dict(up.state_dict())
    x = flambeau.tensor(array(*SHAPES[dims]))
    out = up(x)
    y = flambeau.tensor(array(*out.shape))
    assert down(y).shape == x.shape
    np.testing.assert_allclose((down(y) * x).sum().item(), (y * out).sum().item(), rtol=1e-9)


@over_dims
def test_output_size_chooses_among_the_possible(dims):
    up = made(f"ConvTranspose{dims}d", 4, 2, 3, stride=3)
    x = flambeau.tensor(array(*SHAPES[dims]))
    least = up(x).shape[2:]
    for extra in range(3):
        wanted = [n + extra for n in least]
        assert list(up(x, wanted).shape[2:]) == wanted
        assert list(up(x[0], output_size=wanted).shape[1:]) == wanted
    for off in (-1, 3):
        with pytest.raises(ValueError, match="is not between"):
            up(x, [n + off for n in least])
    with pytest.raises(ValueError, match=f"output_size has {dims} or {dims + 2} numbers"):
        up(x, [1] * (dims + 1))


def test_settings_changed_later_count():
    layer = made("Conv2d", 4, 4, 3, padding="same")
    x = flambeau.tensor(array(2, 4, 7, 8))
    layer.dilation, layer.padding = (2, 2), (3, 3)
    expected = nn.functional.conv2d(x, layer.weight, layer.bias, padding=3, dilation=2)
    near(layer(x), give(expected))


@over_dims
@pytest.mark.parametrize(("size", "stride", "padding"), [(2, None, 0), (3, 2, 1), (3, 1, 0)])
def test_pools(dims, size, stride, padding):
    x = array(*SHAPES[dims])
    inner = tuple(range(-dims, 0))
    seen = windows(margins(x, padding, -np.inf), (size,) * dims, stride or size)
    near(made(f"MaxPool{dims}d", size, stride, padding)(flambeau.tensor(x)), seen.max(inner))
    seen = windows(margins(x, padding), (size,) * dims, stride or size)
    near(made(f"AvgPool{dims}d", size, stride, padding)(flambeau.tensor(x)), seen.mean(inner))
    if not padding:
        norm = made(f"LPPool{dims}d", 3, size, stride)(flambeau.tensor(np.abs(x)))
        near(norm, (np.abs(seen) ** 3).sum(inner) ** (1 / 3))


def pieces(length, count):
    return [(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]


@over_dims
@pytest.mark.parametrize("size", [1, 3])
def test_adaptive_pools(dims, size):
    x = array(*SHAPES[dims])
    mean, best = (np.empty((2, 4, *[size] * dims)) for _ in range(2))
    cuts = [pieces(n, size) for n in x.shape[2:]]
    for position in itertools.product(range(size), repeat=dims):
        part = x[(..., *(slice(*cut[i]) for cut, i in zip(cuts, position, strict=True)))]
        mean[(..., *position)] = part.mean(tuple(range(2, x.ndim)))
        best[(..., *position)] = part.max(tuple(range(2, x.ndim)))
    near(made(f"AdaptiveAvgPool{dims}d", size)(flambeau.tensor(x)), mean)
    near(made(f"AdaptiveMaxPool{dims}d", size)(flambeau.tensor(x)), best)


@over_dims
def test_indices_and_unpooling(dims):
    x = array(*SHAPES[dims])
    values, indices = made(f"MaxPool{dims}d", 2, return_indices=True)(flambeau.tensor(x))
    flat = x.reshape(2, 4, -1)
    chosen = np.take_along_axis(flat, give(indices).reshape(2, 4, -1), 2)
    near(values, chosen.reshape(values.shape))
    expected = np.zeros_like(flat)
    np.put_along_axis(expected, give(indices).reshape(2, 4, -1), chosen, 2)
    unpool = made(f"MaxUnpool{dims}d", 2)
    near(unpool(values, indices, output_size=x.shape[2:]), expected.reshape(x.shape))
    near(unpool(values[0], indices[0], x.shape[2:]), expected.reshape(x.shape)[0])


@pytest.mark.parametrize("dims", [2, 3])
def test_fractional_pooling_takes_maxima_of_windows(dims):
    x = flambeau.tensor(array(*SHAPES[dims]))
    pool = made(f"FractionalMaxPool{dims}d", 2, output_size=3, return_indices=True)
    values, indices = pool(x)
    flat = give(x).reshape(2, 4, -1)
    chosen = np.take_along_axis(flat, give(indices).reshape(2, 4, -1), 2)
    near(values, chosen.reshape(2, 4, *[3] * dims))
    ratio = made(f"FractionalMaxPool{dims}d", 2, output_ratio=0.5)(x)
    assert list(ratio.shape[2:]) == [n // 2 for n in x.shape[2:]]
    samples = flambeau.full((2, 4, dims), 0.5)
    fixed = getattr(nn, f"FractionalMaxPool{dims}d")(2, 3, _random_samples=samples)
    assert fixed(x.float()).tolist() == fixed(x.float()).tolist()
    assert "_random_samples" in fixed.state_dict()


@over_dims
def test_margins(dims):
    x = array(*SHAPES[dims])
    widths = [(1, 0), (2, 1), (0, 2)][:dims]
    flat = [n for pair in reversed(widths) for n in pair]
    pads = [(0, 0), (0, 0), *widths]
    for kind, mode in (("Reflection", "reflect"), ("Replication", "edge"), ("Circular", "wrap")):
        near(made(f"{kind}Pad{dims}d", tuple(flat))(flambeau.tensor(x)), np.pad(x, pads, mode))
    near(made(f"ZeroPad{dims}d", tuple(flat))(flambeau.tensor(x)), np.pad(x, pads))
    filled = np.pad(x, pads, constant_values=0.5)
    near(made(f"ConstantPad{dims}d", tuple(flat), 0.5)(flambeau.tensor(x)), filled)


def normalized(x, axes, eps):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


@over_dims
def test_norms_over_space(dims):
    x = array(*SHAPES[dims]) * 3 + 1
    column = (1, 4, *[1] * dims)
    space = tuple(range(2, x.ndim))
    norm = made(f"InstanceNorm{dims}d", 4, affine=True, track_running_stats=True, momentum=0.25)
    scale, shift = give(norm.weight).reshape(column), give(norm.bias).reshape(column)
    near(norm(flambeau.tensor(x)), normalized(x, space, 1e-5) * scale + shift)
    near(norm.running_mean, 0.25 * x.mean((0, *space)))
    near(norm.running_var, 0.75 + 0.25 * x.var(space, ddof=1).mean(0))
    norm = made(f"BatchNorm{dims}d", 4)
    scale, shift = give(norm.weight).reshape(column), give(norm.bias).reshape(column)
    near(norm(flambeau.tensor(x)), normalized(x, (0, *space), 1e-5) * scale + shift)
    near(norm.running_var, 0.9 + 0.1 * x.var((0, *space), ddof=1))
    norm = made("GroupNorm", 2, 4)
    scale, shift = give(norm.weight).reshape(column), give(norm.bias).reshape(column)
    grouped = normalized(x.reshape(2, 2, -1), 2, 1e-5).reshape(x.shape)
    near(norm(flambeau.tensor(x)), grouped * scale + shift)


def test_root_mean_square():
    x = array(3, 4, 5)
    norm = made("RMSNorm", (4, 5), eps=1e-3)
    root = np.sqrt((x**2).mean((1, 2), keepdims=True) + 1e-3)
    near(norm(flambeau.tensor(x)), x / root * give(norm.weight))
    near(
        made("RMSNorm", 5, elementwise_affine=False)(flambeau.zeros(2, 5).double()),
        np.zeros((2, 5)),
    )


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_response_norms(size):
    x = array(2, 8, 3, 2)
    for name, before, after in (
        ("LocalResponseNorm", size // 2, (size - 1) // 2),
        ("CrossMapLRN2d", (size - 1) // 2, (size - 1) // 2),
    ):
        expected = np.empty_like(x)
        for c in range(8):
            around = x[:, max(0, c - before) : c + after + 1]
            expected[:, c] = x[:, c] / (2 + 0.5 / size * (around**2).sum(1)) ** 0.6
        near(made(name, size, 0.5, 0.6, 2.0)(flambeau.tensor(x)), expected)


def test_moves_of_pixels():
    x = array(2, 12, 3, 4)
    moved = x.reshape(2, 3, 2, 2, 3, 4).transpose(0, 1, 4, 2, 5, 3).reshape(2, 3, 6, 8)
    near(nn.PixelShuffle(2)(flambeau.tensor(x)), moved)
    near(nn.PixelUnshuffle(2)(flambeau.tensor(moved)), x)
    mixed = x.reshape(2, 3, 4, 3, 4).swapaxes(1, 2).reshape(2, 12, 3, 4)
    near(nn.ChannelShuffle(3)(flambeau.tensor(x)), mixed)
    near(nn.Upsample(scale_factor=2)(flambeau.tensor(x)), x.repeat(2, 2).repeat(2, 3))
    columns = windows(margins(x, 1), (2, 3), 1).transpose(0, 1, 4, 5, 2, 3).reshape(2, 72, -1)
    near(nn.Unfold((2, 3), padding=1)(flambeau.tensor(x)), columns)
    ones = nn.Unfold((2, 3))(flambeau.ones(1, 1, 4, 5).double())
    counts = np.outer([1, 2, 2, 1], [1, 2, 3, 2, 1])
    near(nn.Fold((4, 5), (2, 3))(ones), counts[None, None])


def test_flattening():
    x = flambeau.arange(24).reshape(2, 3, 4)
    assert nn.Flatten()(x).tolist() == x.reshape(2, 12).tolist()
    assert nn.Flatten(0, 1)(x).tolist() == x.reshape(6, 4).tolist()
    assert nn.Unflatten(2, (2, 2))(x).tolist() == x.reshape(2, 3, 2, 2).tolist()


@pytest.mark.parametrize(
    ("name", "shape", "by_channel"),
    [
        ("Dropout", (50, 40, 8), False),
        ("Dropout1d", (50, 40, 8), True),
        ("Dropout2d", (50, 40, 4, 2), True),
        ("Dropout3d", (50, 40, 2, 2, 2), True),
    ],
)
def test_dropouts(name, shape, by_channel):
    x = flambeau.ones(shape).requires_grad_()
    out = getattr(nn, name)(0.25)(x)
    values = give(out)
    assert set(np.unique(values)) == {0.0, np.float32(1 / 0.75)}
    flat = values.reshape(50, 40, -1)
    assert (flat == flat[..., :1]).all() == by_channel
    np.testing.assert_allclose((flat[..., 0] == 0).mean(), 0.25, atol=0.04)
    out.sum().backward()
    np.testing.assert_array_equal(give(x.grad), values)
    y = flambeau.ones(shape)
    assert getattr(nn, name)(0.5, inplace=True)(y) is y
    assert (give(y) == 0).any()


@pytest.mark.parametrize("name", ["AlphaDropout", "FeatureAlphaDropout"])
def test_alpha_dropouts_keep_mean_and_variance(name):
    x = flambeau.randn(200, 200, 4)
    values = give(getattr(nn, name)(0.3)(x))
    assert abs(values.mean()) < 0.05
    assert abs(values.std() - 1) < 0.05
    flat = give(getattr(nn, name)(0.3)(flambeau.ones(200, 200, 4))).reshape(-1, 4)
    assert len(np.unique(flat)) == 2
    assert (flat == flat[:, :1]).all() == (name == "FeatureAlphaDropout")


def test_converting_to_synchronized_norms():
    net = nn.Sequential(nn.BatchNorm2d(3), nn.Sequential(nn.BatchNorm1d(2, affine=False)))
    net[0].eval()
    before = net.state_dict()
    weight = net[0].weight
    same = nn.SyncBatchNorm.convert_sync_batchnorm(net, "group")
    assert same is net
    assert [type(net[0]), type(net[1][0])] == [nn.SyncBatchNorm] * 2
    assert net[0].weight is weight
    assert not net[0].training
    assert net[0].process_group == "group"
    assert list(net.state_dict()) == list(before)


def test_checkpoints_without_a_count_load():
    versioned = nn.BatchNorm1d(2).state_dict()
    del versioned["num_batches_tracked"]
    norm = nn.BatchNorm1d(2)
    norm(flambeau.randn(4, 2))
    with pytest.raises(RuntimeError, match='Missing key.*"num_batches_tracked"'):
        norm.load_state_dict(versioned)
    state = dict(versioned)
    norm.load_state_dict(state)
    assert norm.num_batches_tracked.item() == 1
    assert norm.running_mean.tolist() == [0, 0]
    del state["running_mean"]
    with pytest.raises(RuntimeError, match='Missing key.*"running_mean"'):
        norm.load_state_dict(state)


def test_statistics_switched_off_later():
    norm = nn.BatchNorm1d(2)
    norm.track_running_stats = False
    norm(flambeau.randn(4, 2) + 5)
    assert norm.num_batches_tracked.item() == 0
    assert norm.running_mean.tolist() == [0, 0]


def test_instance_norm_warns_of_channels_it_does_not_use():
    with pytest.warns(UserWarning, match="num_features=3, but dimension 1"):
        nn.InstanceNorm1d(3)(flambeau.randn(2, 4, 5))


def test_convolution_with_the_time_first():
    x, w, b = array(7, 2, 3), array(3, 3, 4), array(4)
    expected = sum(np.pad(x, [(1, 1), (0, 0), (0, 0)])[i : i + 7] @ w[i] for i in range(3)) + b
    tensors = [flambeau.tensor(each) for each in (x, w, b)]
    near(nn.functional.conv_tbc(*tensors, pad=1), expected)
    with pytest.raises(RuntimeError, match=r"conv_tbc\(\) takes an input \(time, batch"):
        nn.functional.conv_tbc(tensors[0][0], *tensors[1:])
    channels = flambeau.arange(4.0).reshape(1, 4, 1)
    assert nn.functional.native_channel_shuffle(channels, 2).flatten().tolist() == [0, 2, 1, 3]
