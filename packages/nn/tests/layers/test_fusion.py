"""A batch norm folded into the layer before it gives the same outputs."""

import numpy as np
import pytest
from modules_kit import close, give, ours

import flambeau
from flambeau import nn
from flambeau.nn.utils import fuse_conv_bn_eval, fuse_linear_bn_eval

PAIRS = {
    "conv1d": (lambda n: n.Conv1d(4, 6, 3), lambda n: n.BatchNorm1d(6), (2, 4, 7)),
    "conv2d": (lambda n: n.Conv2d(4, 6, 3, bias=False), lambda n: n.BatchNorm2d(6), (2, 4, 7, 7)),
    "groups": (lambda n: n.Conv2d(4, 6, 3, groups=2), lambda n: n.BatchNorm2d(6), (2, 4, 7, 7)),
    "plain": (
        lambda n: n.Conv2d(4, 6, 3),
        lambda n: n.BatchNorm2d(6, affine=False),
        (2, 4, 7, 7),
    ),
    "conv3d": (lambda n: n.Conv3d(4, 6, 2), lambda n: n.BatchNorm3d(6), (2, 4, 3, 3, 3)),
    "transposed": (lambda n: n.ConvTranspose2d(4, 6, 3), lambda n: n.BatchNorm2d(6), (2, 4, 5, 5)),
    "linear": (lambda n: n.Linear(4, 6), lambda n: n.BatchNorm1d(6), (5, 4)),
}


def ready(layer, norm, package, shape):
    """Both with statistics and weights that are not the initial ones, evaluating."""
    both = layer(package.nn), norm(package.nn)
    with package.no_grad():
        for p in both[1].parameters():
            p.uniform_(0.5, 1.5)
        for _ in range(3):
            both[1](both[0](package.randn(shape) * 2 + 1))
    return both[0].eval(), both[1].eval()


def fuse(layer, norm, package=flambeau):
    if isinstance(layer, package.nn.Linear):
        return package.nn.utils.fuse_linear_bn_eval(layer, norm)
    return package.nn.utils.fuse_conv_bn_eval(layer, norm, layer.transposed)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_fused_equals_both(pair, dtype):
    layer, norm = ready(*PAIRS[pair][:2], flambeau, PAIRS[pair][2])
    layer, norm = layer.to(getattr(flambeau, dtype)), norm.to(getattr(flambeau, dtype))
    x = flambeau.randn(PAIRS[pair][2]).to(getattr(flambeau, dtype))
    fused = fuse(layer, norm)
    assert type(fused) is type(layer)
    assert fused.weight is not layer.weight
    np.testing.assert_allclose(give(fused(x)), give(norm(layer(x))), rtol=1e-5, atol=1e-5)


def test_groups_of_transposed_convolutions():
    layer, norm = ready(
        lambda n: n.ConvTranspose1d(4, 6, 3, groups=2),
        lambda n: n.BatchNorm1d(6),
        flambeau,
        (2, 4, 5),
    )
    x = flambeau.randn(2, 4, 5)
    np.testing.assert_allclose(give(fuse(layer, norm)(x)), give(norm(layer(x))), atol=1e-5)


def test_one_feature_for_all_outputs():
    linear, norm = nn.Linear(3, 4, bias=False).eval(), nn.BatchNorm1d(1).eval()
    norm.running_mean.fill_(2)
    fused = fuse_linear_bn_eval(linear, norm)
    assert fused.bias.shape == (4,)
    x = flambeau.randn(5, 3)
    expected = norm(linear(x).reshape(20, 1)).reshape(5, 4)
    np.testing.assert_allclose(give(fused(x)), give(expected), atol=1e-5)


@pytest.mark.oracle
@pytest.mark.parametrize("pair", PAIRS)
def test_against_torch(pair):
    torch = pytest.importorskip("torch")
    theirs = ready(*PAIRS[pair][:2], torch, PAIRS[pair][2])
    mine = [make(nn).eval() for make in PAIRS[pair][:2]]
    for a, b in zip(mine, theirs, strict=True):
        a.load_state_dict({key: ours(value) for key, value in b.state_dict().items()})
    fused, expected = fuse(*mine), fuse(*theirs, torch)
    for a, b in zip(fused.parameters(), expected.parameters(), strict=True):
        assert a.requires_grad == b.requires_grad
        close(a, b)


@pytest.mark.parametrize(
    ("layer", "norm", "text"),
    [
        (nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2).eval(), r"call eval\(\) on both"),
        (nn.Conv2d(1, 2, 3).eval(), nn.BatchNorm2d(2), r"call eval\(\) on both"),
        (
            nn.Conv2d(1, 2, 3).eval(),
            nn.BatchNorm2d(2, track_running_stats=False).eval(),
            "no running statistics",
        ),
        (nn.Conv2d(1, 2, 3).eval(), nn.BatchNorm2d(3).eval(), "3 features are normalized, 2 are"),
        (nn.ConvTranspose2d(1, 2, 3).eval(), nn.BatchNorm2d(2).eval(), "transpose=True"),
    ],
)
def test_what_cannot_be_fused(layer, norm, text):
    with pytest.raises(ValueError, match=text):
        fuse_conv_bn_eval(layer, norm)
