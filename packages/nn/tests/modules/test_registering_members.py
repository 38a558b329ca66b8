"""Programs that register members in their own way, or name them like properties."""

import copy

import pytest

import flambeau
from flambeau import nn


class Registers(nn.Module):
    """Notes what its base class registers."""

    def register_parameter(self, name, param):
        self.__dict__.setdefault("seen", []).append(name)
        super().register_parameter(name, None if param is None else nn.Parameter(param * 2))

    def register_buffer(self, name, tensor, persistent=True):
        self.__dict__.setdefault("seen", []).append((name, persistent))
        super().register_buffer(name, tensor, persistent)


def test_assignments_call_register_parameter_of_a_program():
    net = Registers()
    net.weight = nn.Parameter(flambeau.ones(1))
    net.mean = nn.Buffer(flambeau.ones(1), persistent=False)
    net.mean = flambeau.zeros(1)
    assert net.weight == 2 and net.mean == 0 and not net.state_dict().keys() - {"weight"}
    net.mean = net.weight = None
    assert net.weight is None and net.mean is None
    assert net.seen == ["weight", ("mean", False), ("mean", False), ("mean", False), "weight"]
    with pytest.raises(TypeError, match="cannot assign"):
        net.weight = flambeau.ones(1)


def test_a_register_parameter_that_is_put_into_the_base_class(monkeypatch):
    own = nn.Module.register_parameter

    def on_meta(module, name, param):
        own(module, name, param)
        if param is not None:
            module._parameters[name] = nn.Parameter(param.to("meta"), param.requires_grad)

    monkeypatch.setattr(nn.Module, "register_parameter", on_meta)
    net = nn.Sequential(nn.Linear(2, 3), nn.LSTM(2, 2), nn.Conv2d(1, 1, 1), nn.BatchNorm1d(2),
                        nn.MultiheadAttention(2, 1), nn.Embedding(2, 2), nn.PReLU())
    assert all(param.is_meta for param in net.parameters())
    monkeypatch.undo()
    assert not nn.Linear(2, 3).weight.is_meta


class Rated(nn.Module):
    """A buffer under the name of a property, which cannot be computed yet."""

    def __init__(self):
        super().__init__()
        self.register_buffer("rate", flambeau.tensor(0.5))
        self.scale = self.rate * 4

    @property
    def rate(self):
        return self.scale / 100


def test_a_property_that_cannot_be_read_yet_gives_the_member():
    net = Rated()
    assert net.scale == 2 and net.rate == 0.02 and net._buffers["rate"] == 0.5
    assert copy.deepcopy(net).rate == 0.02 and list(net.state_dict()) == ["rate"]
    with pytest.raises(KeyError, match="already exists"):
        nn.Module.register_parameter(net, "forward", None)
    with pytest.raises(AttributeError, match="has no attribute 'missing'"):
        net.missing  # noqa: B018
