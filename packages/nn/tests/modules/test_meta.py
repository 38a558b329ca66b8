"""Networks without memory: made on ``meta``, and brought to life."""

import pytest

import flambeau
from flambeau import nn


def make():
    return nn.Sequential(
        nn.Conv2d(1, 2, 3),
        nn.BatchNorm2d(2),
        nn.PReLU(),
        nn.Flatten(),
        nn.Linear(8, 4),
        nn.LayerNorm(4),
        nn.Bilinear(4, 4, 2),
        nn.Embedding(5, 4, padding_idx=1),
        nn.EmbeddingBag(5, 4),
        nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2]),
        nn.LinearCrossEntropyLoss(4, 6),
        nn.MultiheadAttention(4, 2),
    )


def devices(net):
    return {str(tensor.device) for tensor in (*net.parameters(), *net.buffers())}


def test_the_device_around():
    with flambeau.device("meta"):
        net = make()
    assert devices(net) == {"meta"}
    assert all(p.requires_grad for p in net.parameters())
    real = make()
    shapes = {key: tuple(value.shape) for key, value in real.state_dict().items()}
    assert {key: tuple(value.shape) for key, value in net.state_dict().items()} == shapes


def test_to_empty_and_back():
    with flambeau.device("meta"):
        net = make()
    ids = [id(p) for p in net.parameters()]
    assert net.to_empty(device="cpu") is net
    assert devices(net) == {"cpu"}
    assert [id(p) for p in net.parameters()] == ids
    real = make()
    net.load_state_dict(real.state_dict())
    for a, b in zip(net.parameters(), real.parameters(), strict=True):
        assert flambeau.equal(a, b)
    assert devices(net.to("meta")) == {"meta"}


def test_a_state_is_assigned():
    with flambeau.device("meta"):
        net = make()
    state = make().state_dict()
    net.load_state_dict(state, assign=True)
    assert devices(net) == {"cpu"}
    assert net[0].weight.data_ptr() == state["0.weight"].data_ptr()
    assert all(isinstance(p, nn.Parameter) and p.requires_grad for p in net.parameters())


def test_what_cannot_be():
    net = nn.Linear(2, 3, device="meta")
    with pytest.raises(RuntimeError, match=r"weight .* meta device .*assign=True.*to_empty"):
        net.load_state_dict(nn.Linear(2, 3).state_dict())
    with pytest.raises(NotImplementedError, match=r"to_empty\(device=.cpu.\)"):
        net.to("cpu")
    assert net.double().weight.dtype == flambeau.float64
