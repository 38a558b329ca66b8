"""Sequential, ModuleList, ModuleDict, ParameterList."""

from collections import OrderedDict

import pytest

import flambeau
from flambeau import nn


def test_sequential_calls_in_order():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    x = flambeau.randn(4, 2)
    assert net(x).tolist() == net[2](net[0](x).relu()).tolist()


def test_sequential_by_name():
    net = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))
    assert [name for name, _ in net.named_children()] == ["a", "b"]
    assert net.a is net[0]
    assert isinstance(net[-1], nn.Tanh)
    part = net[1:]
    assert isinstance(part, nn.Sequential)
    assert part.b is net.b


def kinds(modules):
    return [type(module).__name__ for module in modules]


@pytest.mark.parametrize("make", [nn.Sequential, lambda *m: nn.ModuleList(m)])
def test_like_a_list(make):
    net = make(nn.ReLU(), nn.Tanh())
    net.append(nn.Sigmoid()).extend([nn.Identity()])
    assert kinds(net) == ["ReLU", "Tanh", "Sigmoid", "Identity"]
    net.insert(1, nn.Flatten())
    assert kinds(net) == ["ReLU", "Flatten", "Tanh", "Sigmoid", "Identity"]
    assert [name for name, _ in net.named_children()] == ["0", "1", "2", "3", "4"]
    del net[0]
    del net[-1]
    assert kinds(net) == ["Flatten", "Tanh", "Sigmoid"]
    assert [name for name, _ in net.named_children()] == ["0", "1", "2"]
    assert type(net.pop()).__name__ == "Sigmoid"
    net[0] = nn.GELU()
    assert kinds(net) == ["GELU", "Tanh"]
    assert net[1] in net
    assert nn.Tanh() not in net
    assert kinds(net + make(nn.ReLU())) == ["GELU", "Tanh", "ReLU"]
    assert kinds(net[::-1]) == ["Tanh", "GELU"]
    with pytest.raises(IndexError, match="index 2 is out of range"):
        net[2]


def test_module_list_registers_and_does_not_run():
    layers = nn.ModuleList(nn.Linear(1, 1) for _ in range(3))
    assert len(list(layers.parameters())) == 6
    layers += [nn.Linear(1, 1)]
    assert len(layers) == 4
    with pytest.raises(NotImplementedError):
        layers(1)
    with pytest.raises(TypeError, match="cannot assign int as module '4'"):
        layers.append(3)
    assert repr(nn.ModuleList()) == "ModuleList()"


def test_module_dict():
    choices = nn.ModuleDict({"a": nn.ReLU()})
    choices["b"] = nn.Linear(1, 1)
    choices.update([("c", nn.Tanh())])
    assert list(choices) == list(choices.keys()) == ["a", "b", "c"]
    assert kinds(choices.values()) == ["ReLU", "Linear", "Tanh"]
    assert dict(choices.items())["c"] is choices["c"]
    assert "a" in choices
    assert len(list(choices.parameters())) == 2
    del choices["a"]
    assert type(choices.pop("c")).__name__ == "Tanh"
    assert len(choices) == 1
    choices.clear()
    assert list(choices.parameters()) == []
    with pytest.raises(KeyError):
        choices["a"]
    with pytest.raises(KeyError, match="dot"):
        choices["a.b"] = nn.ReLU()
    with pytest.raises(TypeError, match="not int"):
        choices.update(3)


def test_parameter_list():
    values = nn.ParameterList([flambeau.ones(2), nn.Parameter(flambeau.zeros(1))])
    values += [flambeau.ones(3)]
    assert [tuple(p.shape) for p in values.parameters()] == [(2,), (1,), (3,)]
    values[1] = flambeau.ones(4)
    assert isinstance(values[-2], nn.Parameter)
    assert list(values.state_dict()) == ["0", "1", "2"]
    assert len(values[1:]) == 2
    with pytest.raises(IndexError, match="3 parameters"):
        values[3]


@pytest.mark.parametrize("made", [nn.Sequential, lambda *modules: nn.ModuleList(modules)])
@pytest.mark.parametrize("wrong", [3, [nn.ReLU()]])
def test_a_mistake_leaves_the_modules(made, wrong):
    container = made(nn.ReLU(), nn.Tanh(), nn.Identity())
    with pytest.raises((TypeError, AssertionError), match="takes a module"):
        container.insert(1, wrong)
    assert len(container) == 3


@pytest.mark.parametrize("index", [-4, 4])
def test_positions_that_a_sequence_lacks(index):
    with pytest.raises(IndexError, match="from -3 to 3"):
        nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Identity()).insert(index, nn.ReLU())
