"""What layers refuse: the error's type is PyTorch's, the text says what was given."""

import pytest

import flambeau
from flambeau import nn


def making(name, *args, **options):
    return lambda package: getattr(package.nn, name)(*args, **options)


def calling(name, *args, shape, call=(), **options):
    def act(package):
        return getattr(package.nn, name)(*args, **options)(package.zeros(shape), *call)

    return act


REFUSALS = {
    "groups": (making("Conv1d", 4, 4, 3, groups=3), ValueError, r"in_channels \(4\) must be div"),
    "out groups": (making("Conv3d", 4, 6, 3, groups=4), ValueError, r"out_channels \(6\) must"),
    "no groups": (making("Conv2d", 4, 4, 3, groups=0), ValueError, "groups is at least 1, not 0"),
    "name": (making("Conv2d", 1, 1, 3, padding="full"), ValueError, "'full'"),
    "strided": (making("Conv2d", 1, 1, 3, 2, padding="same"), ValueError, r"stride 1, not \(2, 2"),
    "mode": (making("Conv1d", 1, 1, 3, padding_mode="mirror"), ValueError, "not 'mirror'"),
    "transposed mode": (
        making("ConvTranspose2d", 1, 1, 3, padding_mode="reflect"),
        ValueError,
        "ConvTranspose2d has padding_mode=\"zeros\" alone, not 'reflect'",
    ),
    "channels": (calling("Conv2d", 3, 4, 3, shape=(1, 2, 5, 5)), RuntimeError, r"\[1, 2, 5, 5\]"),
    "channels 1d": (calling("Conv1d", 3, 4, 3, shape=(1, 2, 5)), RuntimeError, "conv"),
    "rank": (calling("Conv2d", 3, 4, 3, shape=(5, 5)), RuntimeError, r"\[5, 5\]"),
    "too small": (calling("Conv2d", 1, 1, 5, shape=(1, 1, 3, 3)), RuntimeError, "5"),
    "dtype": (
        lambda p: p.nn.Conv2d(1, 1, 3)(p.zeros(1, 1, 5, 5, dtype=p.float64)),
        RuntimeError,
        "float64.*float32|float32.*float64",
    ),
    "output padding": (
        calling("ConvTranspose1d", 1, 1, 3, output_padding=1, shape=(1, 1, 5)),
        RuntimeError,
        "output padding must be smaller than either stride or dilation",
    ),
    "output size": (
        calling("ConvTranspose1d", 1, 1, 3, 2, shape=(1, 1, 5), call=((20,),)),
        ValueError,
        r"output_size \(20,\) is not between \(11,\) and \(12,\)",
    ),
    "output rank": (
        calling("ConvTranspose2d", 1, 1, 3, 2, shape=(1, 1, 5, 5), call=((11,),)),
        ValueError,
        "output_size has 2 or 4 numbers",
    ),
    "pool rank": (calling("MaxPool2d", 2, shape=(4, 4)), RuntimeError, r"\[4, 4\]"),
    "pool padding": (
        calling("MaxPool2d", 2, padding=2, shape=(1, 1, 4, 4)),
        RuntimeError,
        "pad",
    ),
    "pool size": (calling("AvgPool1d", 5, shape=(1, 1, 3)), RuntimeError, "3"),
    "pool empty": (calling("MaxPool3d", 2, shape=(1, 0, 4, 4, 4)), RuntimeError, "0"),
    "adaptive": (
        calling("AdaptiveAvgPool2d", (1, 2, 3), shape=(1, 1, 4, 4)),
        RuntimeError,
        r"output_size is \(1, 2, 3\)",
    ),
    "fraction none": (making("FractionalMaxPool2d", 2), ValueError, "neither"),
    "fraction both": (making("FractionalMaxPool3d", 2, 3, 0.5), ValueError, "both"),
    "fraction ratio": (
        making("FractionalMaxPool2d", 2, output_ratio=1.5),
        ValueError,
        r"between 0 and 1, not \(1.5, 1.5\)",
    ),
    "fraction kernel": (making("FractionalMaxPool3d", 0, 3), ValueError, "kernel_size is positive"),
    "unpool size": (
        lambda p: p.nn.MaxUnpool1d(2)(p.zeros(1, 1, 2), p.zeros(1, 1, 2).long(), [9]),
        ValueError,
        r"output_size \[9\]",
    ),
    "unpool index": (
        lambda p: p.nn.MaxUnpool1d(2)(p.zeros(1, 1, 2), p.full((1, 1, 2), 7).long()),
        RuntimeError,
        "7",
    ),
    "circular": (calling("CircularPad2d", 1, shape=(2, 3)), ValueError, r"not of shape \(2, 3\)"),
    "circular far": (calling("CircularPad1d", 4, shape=(1, 1, 3)), RuntimeError, "4"),
    "reflection far": (calling("ReflectionPad1d", 3, shape=(1, 1, 3)), RuntimeError, "3"),
    "batch norm 1d": (calling("BatchNorm1d", 3, shape=(2, 3, 4, 4)), ValueError, r"\(N, C, L\)"),
    "batch norm 2d": (calling("BatchNorm2d", 3, shape=(3, 4, 4)), ValueError, r"unsqueeze\(0\)"),
    "batch norm 3d": (calling("BatchNorm3d", 3, shape=(2, 3)), ValueError, r"not \(2, 3\)"),
    "batch norm channels": (calling("BatchNorm1d", 3, shape=(2, 4)), RuntimeError, "3"),
    "batch norm one": (calling("BatchNorm1d", 3, shape=(1, 3)), ValueError, "more than 1 value"),
    "sync norm": (calling("SyncBatchNorm", 3, shape=(3,)), ValueError, r"\(N, C, \*\)"),
    "instance norm": (calling("InstanceNorm2d", 3, shape=(3, 4)), ValueError, r"\(C, H, W\) or"),
    "instance channels": (
        calling("InstanceNorm1d", 3, affine=True, shape=(2, 4, 5)),
        ValueError,
        "num_features=3, but dimension 1",
    ),
    "instance one": (calling("InstanceNorm1d", 3, shape=(2, 3, 1)), ValueError, "more than 1"),
    "group norm": (making("GroupNorm", 3, 4), ValueError, r"num_channels \(4\) must be divisible"),
    "group channels": (calling("GroupNorm", 2, 4, shape=(2, 6, 3)), RuntimeError, "6"),
    "group of one": (calling("GroupNorm", 4, 4, shape=(1, 4, 1)), ValueError, "more than 1 value"),
    "layer norm": (calling("LayerNorm", (4, 5), shape=(2, 5, 4)), RuntimeError, "5, 4"),
    "rms norm": (calling("RMSNorm", 4, shape=(2, 5)), RuntimeError, "5"),
    "response norm": (calling("LocalResponseNorm", 2, shape=(2, 3)), ValueError, "3D or higher"),
    "map norm": (calling("CrossMapLRN2d", 3, shape=(2, 3, 4)), ValueError, r"not \(2, 3, 4\)"),
    "dropout": (making("Dropout2d", 1.5), ValueError, "between 0 and 1, not 1.5"),
    "dropout 1d": (calling("Dropout1d", shape=(1, 2, 3, 4)), RuntimeError, "2D or 3D"),
    "shuffle": (calling("PixelShuffle", 2, shape=(1, 3, 2, 2)), RuntimeError, "divisible"),
    "unshuffle": (calling("PixelUnshuffle", 2, shape=(1, 1, 3, 2)), RuntimeError, "divisible"),
    "channel shuffle": (calling("ChannelShuffle", 3, shape=(1, 4, 2)), RuntimeError, "divisible"),
    "fold": (calling("Fold", 4, 2, shape=(1, 4, 8)), RuntimeError, "8|9"),
    "unfold": (calling("Unfold", 5, shape=(1, 1, 3, 3)), RuntimeError, "5"),
    "upsample": (calling("Upsample", shape=(1, 1, 3)), ValueError, "size or scale_factor"),
    "unflatten": (calling("Unflatten", 1, (2, 2), shape=(1, 5)), RuntimeError, r"\[2, 2\]"),
    "unflatten names": (making("Unflatten", 1, "ab"), TypeError, "ab"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusal(case):
    act, error, text = REFUSALS[case]
    with pytest.raises(error, match=text):
        act(flambeau)


@pytest.mark.oracle
@pytest.mark.parametrize("case", REFUSALS)
def test_torch_raises_the_same_type(case):
    torch = pytest.importorskip("torch")
    act, error, _ = REFUSALS[case]
    with pytest.raises(error):
        act(torch)


@pytest.mark.parametrize("name", ["Conv2d", "ConvTranspose2d", "MaxUnpool2d", "ZeroPad2d"])
def test_sizes_of_another_number_of_dimensions(name):
    args = (1, 1) if "Conv" in name else ()
    with pytest.raises(
        ValueError, match=r"(kernel_size|padding) is one number or [24], not \(3,\)"
    ):
        getattr(nn, name)(*args, (3,))


@pytest.mark.parametrize("kind", [nn.Conv2d, nn.ConvTranspose2d])
def test_one_number_in_a_list_is_one_number(kind):
    x = flambeau.randn(1, 1, 5, 5)
    layer = kind(1, 1, 3, stride=[2], padding=(1,), dilation=[2])
    same = kind(1, 1, 3, stride=2, padding=1, dilation=2)
    same.load_state_dict(layer.state_dict())
    assert flambeau.equal(layer(x), same(x)) and layer.stride == (2, 2)


def test_sizes_that_are_no_numbers():
    for bad in (2.5, "3", None):
        with pytest.raises((TypeError, ValueError)):
            nn.Conv2d(1, 1, bad)
    for negative in (-1, 0):
        with pytest.raises((RuntimeError, ValueError)):
            nn.Conv2d(1, 1, negative)(flambeau.zeros(1, 1, 4, 4))


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
@pytest.mark.parametrize("shape", [(0, 3), (2, 0, 4)])
def test_padding_of_nothing(mode, shape):
    with pytest.raises(RuntimeError, match="only the batch may be empty"):
        nn.functional.pad(flambeau.ones(shape), (1, 1), mode=mode)


def test_affine_grid_of_one_row_is_warned_of():
    with pytest.warns(UserWarning, match="See the documentation of affine_grid"):
        nn.functional.affine_grid(flambeau.eye(2, 3)[None], (1, 1, 2, 1), align_corners=True)
