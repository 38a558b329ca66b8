"""Layers and losses with no samples, no classes, no channels, no hidden units."""

import math

import pytest

import flambeau
from flambeau import nn
from flambeau.nn import functional

NAN = math.nan


def backward(output, *tensors):
    """The gradients of the sum."""
    output.sum().backward()
    return [tensor.grad for tensor in tensors]


@pytest.mark.parametrize("cell", [nn.RNNCell, nn.LSTMCell, nn.GRUCell])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("batch", "features"), [(2, 3), (0, 3), (2, 0)])
def test_cells_without_hidden_units(cell, bias, batch, features):
    layer = cell(features, 0, bias=bias)
    x = flambeau.ones(batch, features, requires_grad=True)
    states = layer(x) if cell is nn.LSTMCell else [layer(x)]
    assert all(tuple(state.shape) == (batch, 0) for state in states)
    (grad,) = backward(states[0], x)
    assert grad.tolist() == [[0.0] * features] * batch
    assert all(param.grad.shape == param.shape for param in layer.parameters())


# What PyTorch gives for losses of so many classes and samples; "kept" is ignore_index of another
# number than the target's, "ignored" of the same.
@pytest.mark.parametrize(
    ("classes", "samples", "kind", "smoothing", "mean", "total", "single"),
    [
        (0, 0, "kept", 0.0, NAN, 0.0, []),
        (0, 0, "kept", 0.1, NAN, NAN, []),
        (0, 2, "ignored", 0.0, NAN, 0.0, [0.0, 0.0]),
        (0, 2, "ignored", 0.1, NAN, NAN, [NAN, NAN]),
        (0, 0, "probabilities", 0.0, NAN, 0.0, []),
        (0, 2, "probabilities", 0.0, NAN, 0.0, [0.0, 0.0]),
        (0, 2, "probabilities", 0.1, NAN, 0.0, [0.0, 0.0]),
        (3, 0, "kept", 0.0, NAN, 0.0, []),
        (3, 0, "kept", 0.1, NAN, 0.0, []),
        (3, 0, "probabilities", 0.0, NAN, 0.0, []),
        (3, 0, "probabilities", 0.1, NAN, 0.0, []),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy(classes, samples, kind, smoothing, mean, total, single, weighted):
    target = flambeau.zeros(samples, dtype=flambeau.int64)
    if kind == "probabilities":
        target = flambeau.ones(samples, classes)
    weight = flambeau.ones(classes) if weighted else None
    options = {"label_smoothing": smoothing, "ignore_index": 0 if kind == "ignored" else -100}
    wanted = {"mean": mean, "sum": total, "none": single}
    for reduction, value in wanted.items():
        x = flambeau.ones(samples, classes, requires_grad=True)
        loss = functional.cross_entropy(x, target, weight, reduction=reduction, **options)
        assert loss.tolist() == pytest.approx(value, nan_ok=True)
        (grad,) = backward(loss, x)
        assert grad.shape == (samples, classes)


def test_a_class_number_where_there_is_no_class():
    with pytest.raises(IndexError):
        functional.cross_entropy(flambeau.ones(2, 0), flambeau.zeros(2, dtype=flambeau.int64))


@pytest.mark.parametrize("shape", [(2, 0, 4), (0, 0, 4), (2, 0, 0), (0, 0, 1)])
@pytest.mark.parametrize(
    "layer", [nn.BatchNorm1d(0, affine=False), nn.BatchNorm1d(0), nn.InstanceNorm1d(0)]
)
def test_normalizing_no_channels(layer, shape):
    x = flambeau.ones(shape, requires_grad=True)
    y = layer(x)
    assert y.shape == shape
    assert backward(y, x)[0].shape == shape
