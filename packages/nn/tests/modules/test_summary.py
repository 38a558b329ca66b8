"""Summaries: numbers that can be counted by hand, and networks that stay as they are."""

import pytest

import flambeau
from flambeau import nn


def by_path(result):
    return {layer.path: layer for layer in result.layers}


def test_a_convolutional_network():
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, groups=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(128, 10),
    )
    result = nn.summary(net, flambeau.zeros(2, 3, 8, 8))
    layers = by_path(result)
    pixels = 2 * 8 * 8 * 8
    assert layers["0"].input_shape == (2, 3, 8, 8)
    assert layers["0"].output_shape == (2, 8, 8, 8)
    assert layers["0"].flops == 2 * pixels * 3 * 9 + pixels
    assert layers["0"].parameters == 8 * 3 * 9 + 8
    assert layers["0"].output_bytes == 4 * pixels
    assert layers["1"].weight_bytes == 4 * 4 * 8 + 8  # the count of batches is an int64
    assert layers["2"].flops == pixels
    assert layers["3"].output_shape == (2, 8, 4, 4)
    assert layers["5"].flops == 2 * 2 * 128 * 10 + 20
    assert result.flops == sum(layer.flops for layer in result.layers)
    assert result.total_parameters == sum(p.numel() for p in net.parameters())
    tensors = (*net.parameters(), *net.buffers())
    assert result.weight_bytes == sum(t.numel() * t.element_size() for t in tensors)
    assert result.output_bytes == sum(layers[str(i)].output_bytes for i in range(6))


def test_products_of_every_kind():
    class Products(nn.Module):
        def forward(self, a, b):
            return (a @ b).sum()

    result = nn.summary(Products(), flambeau.zeros(4, 5), b=flambeau.zeros(5, 6))
    assert result.flops == 2 * 4 * 5 * 6 + 4 * 6
    assert result.layers[0].input_shape == [(4, 5), (5, 6)]
    assert result.layers[0].output_shape == ()
    lstm = nn.summary(nn.LSTM(3, 5), flambeau.zeros(7, 2, 3))
    assert lstm.flops >= 2 * 7 * 2 * (4 * 5 * 3 + 4 * 5 * 5)
    up = nn.summary(nn.ConvTranspose2d(3, 4, 2, bias=False), flambeau.zeros(1, 3, 5, 5))
    assert up.flops == 2 * 3 * 25 * 4 * 4
    grouped = nn.summary(nn.Conv1d(4, 4, 3, groups=2, bias=False), flambeau.zeros(1, 4, 5))
    assert grouped.flops == 2 * (4 * 3) * 2 * 3


def test_calls_and_sharing():
    shared = nn.Linear(3, 3)
    shared.bias.requires_grad_(False)

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = shared
            self.second = nn.Linear(3, 3, bias=False)
            self.second.weight = shared.weight
            self.unused = nn.Linear(2, 2)

        def forward(self, x):
            return self.second(self.first(self.first(x)))

    result = nn.summary(Twice(), flambeau.zeros(1, 3))
    layers = by_path(result)
    assert layers["first"].calls == 2
    assert layers["first"].flops == 2 * (2 * 9 + 3)
    assert layers["second"].parameters == 0
    assert layers["unused"].output_shape is None
    assert (result.total_parameters, result.trainable_parameters) == (12 + 6, 9 + 6)
    text = str(result)
    assert "first: Linear (2 calls)" in text
    assert "Total (15 trainable)" in text


def test_the_network_stays_as_it_is():
    net = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5), nn.Linear(3, 2))
    net[1].eval()
    before = {key: value.clone() for key, value in net.state_dict().items()}
    state = flambeau.get_rng_state()
    nn.summary(net, flambeau.ones(4, 3))
    assert flambeau.equal(flambeau.get_rng_state(), state)
    for key, value in net.state_dict().items():
        assert flambeau.equal(value, before[key])
    assert [module.training for module in net.modules()] == [True, True, False, True]
    assert all(module._hook_table is None for module in net.modules())
    with pytest.raises(RuntimeError, match="batch_norm|running|channels|3"):
        nn.summary(net, flambeau.ones(4, 5))
    assert net[0].training
    assert all(module._hook_table is None for module in net.modules())
    with pytest.raises(TypeError, match="takes a module"):
        nn.summary(flambeau.ones(2), flambeau.ones(2))


def test_without_memory():
    with flambeau.device("meta"):
        net, x = nn.TransformerEncoderLayer(4096, 32), flambeau.empty(8, 64, 4096)
    result = nn.summary(net, x)
    real = nn.summary(nn.TransformerEncoderLayer(8, 2), flambeau.zeros(2, 3, 8))
    assert result.total_parameters == sum(p.numel() for p in net.parameters())
    assert [layer.path for layer in result.layers] == [layer.path for layer in real.layers]
    assert result.flops > 1e10
    assert "GiB" in str(result) or "MiB" in str(result)


def test_sizes_that_the_call_finds():
    net = nn.Sequential(nn.LazyLinear(3), nn.ReLU())
    result = nn.summary(net, flambeau.zeros(2, 4))
    layer = by_path(result)["0"]
    assert (layer.kind, layer.parameters, layer.weight_bytes) == ("Linear", 15, 60)
    assert net[0].in_features == 4
