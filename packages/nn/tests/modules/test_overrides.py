"""Classes that override what walks the tree of modules are asked wherever they stand."""

import copy
import pickle

import numpy as np
import pytest

import flambeau
from flambeau import nn


class Positions(nn.Module):
    """Keeps a tensor that is neither parameter nor buffer, and converts it itself."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.table = flambeau.zeros(2)

    def _apply(self, fn, recurse=True):
        super()._apply(fn)
        self.table = fn(self.table)
        return self


class Frozen(nn.BatchNorm1d):
    """Never trains its statistics."""

    def train(self, mode=True):
        return super().train(False)


def test_apply_of_a_class_below_is_asked():
    net = nn.Sequential(nn.Sequential(Positions()), nn.Linear(1, 1))
    net.double()
    assert net[0][0].table.dtype is flambeau.float64
    assert net[0][0].linear.weight.dtype is net[1].weight.dtype is flambeau.float64
    net.to(flambeau.float32)
    assert net[0][0].table.dtype is flambeau.float32
    assert net.to("meta")[0][0].table.is_meta


def test_tied_members_stay_tied_below_an_override():
    net = nn.Sequential(Positions(), Positions())
    net[1].linear.weight = net[0].linear.weight
    shared = flambeau.ones(3)
    net[0].register_buffer("shared", shared)
    net[1].register_buffer("shared", shared)
    net.double()
    assert net[1].linear.weight is net[0].linear.weight
    assert net[1].shared is net[0].shared
    assert net[0].shared.dtype is flambeau.float64


def test_train_of_a_class_below_is_asked():
    net = nn.Sequential(nn.Sequential(Frozen(2)), nn.Dropout())
    net.train()
    assert not net[0][0].training
    assert net[0].training
    assert net[1].training
    assert not net.eval()[1].training


def test_hooks_by_kind_can_be_counted_cleared_and_replaced():
    layer = nn.Identity()
    layer.register_forward_hook(lambda module, args, output: output + 1)
    layer.register_forward_pre_hook(lambda module, args: (args[0] * 10,))
    assert (len(layer._forward_hooks), len(layer._forward_pre_hooks)) == (1, 1)
    layer._forward_hooks.clear()
    assert layer(1) == 10
    layer._forward_pre_hooks = {7: lambda module, args: (args[0] * 2,)}
    assert layer(1) == 2
    del layer._forward_pre_hooks[7]
    assert layer(1) == 1
    assert layer._hook_table is None
    with pytest.raises(KeyError):
        layer._backward_hooks[7]


def test_hooks_of_states_are_one_dict_of_both_kinds():
    layer = nn.Linear(1, 1, bias=False)
    layer.register_forward_hook(lambda module, args, output: output)
    layer._register_state_dict_hook(lambda module, state, prefix, local: {"all": state})
    handle = layer.register_state_dict_post_hook(lambda module, state, prefix, local: None)
    assert len(layer._state_dict_hooks) == 2 and len(layer._forward_hooks) == 1
    made = [hook(layer, {"w": 1}, "", {}) for hook in layer._state_dict_hooks.values()]
    assert made == [{"all": {"w": 1}}, None]
    handle.remove()
    assert list(layer.state_dict()) == ["all"] and len(layer._state_dict_hooks) == 1
    layer._state_dict_hooks = {5: lambda module, state, prefix, local: {"one": 1}}
    assert layer.state_dict() == {"one": 1}
    del layer._state_dict_hooks[5]
    assert list(layer.state_dict()) == ["weight"] and len(layer._forward_hooks) == 1


def test_named_members_of_a_function_of_ones_own():
    net = nn.Sequential(nn.Linear(1, 1), nn.ReLU())
    named = net._named_members(lambda module: module._parameters.items(), prefix="net")
    assert [name for name, _ in named] == ["net.0.weight", "net.0.bias"]


def test_buffers_that_are_not_saved_are_listed():
    layer = nn.Module()
    layer.register_buffer("kept", flambeau.ones(1))
    layer.register_buffer("temporary", flambeau.ones(1), persistent=False)
    assert layer._non_persistent_buffers_set == {"temporary"}


def test_memory_format_of_a_network():
    net = nn.Sequential(nn.Conv2d(3, 4, 2), nn.BatchNorm2d(4), nn.Conv1d(4, 4, 2))
    before = net[0].weight.detach().clone()
    net[0](flambeau.ones(1, 3, 4, 4)).sum().backward()
    net.to(memory_format=flambeau.channels_last)
    for tensor in (net[0].weight, net[0].weight.grad):
        assert tensor.is_contiguous(memory_format=flambeau.channels_last)
    assert net[2].weight.is_contiguous()
    np.testing.assert_array_equal(net[0].weight.detach().numpy(), before.numpy())
    net.to(flambeau.float64, memory_format=flambeau.contiguous_format)
    assert net[0].weight.is_contiguous()
    assert net[0].weight.dtype is flambeau.float64


def test_memory_format_of_convolutions_alone():
    net = nn.Sequential(nn.Conv2d(3, 4, 2), nn.ConvTranspose2d(4, 3, 2), nn.Conv3d(3, 4, 2))
    assert nn.utils.convert_conv2d_weight_memory_format(net, flambeau.channels_last) is net
    assert net[0].weight.stride() == (12, 1, 6, 3)
    assert net[1].weight.stride() == (12, 1, 6, 3)
    assert net[2].weight.is_contiguous()
    nn.utils.convert_conv3d_weight_memory_format(net, flambeau.channels_last_3d)
    assert net[2].weight.stride() == (24, 1, 12, 6, 3)


def test_results_do_not_depend_on_the_memory_format():
    flambeau.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())
    other = copy.deepcopy(net).to(memory_format=flambeau.channels_last)
    x = flambeau.randn(2, 3, 5, 5)
    results = []
    for model, given in ((net, x), (other, x.to(memory_format=flambeau.channels_last))):
        result = model(given)
        (result**2).sum().backward()
        results.append([result.detach(), *[p.grad for p in model.parameters()]])
    for mine, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-5)


def test_compile_of_one_module():
    pytest.importorskip("flambeau.jit", reason="needs flambeau-jit")
    layer = nn.Linear(2, 3)
    x = flambeau.randn(4, 2)
    expected = layer(x).detach().numpy()
    layer.compile()
    layer.compile(dynamic=True)
    np.testing.assert_allclose(layer(x).detach().numpy(), expected, rtol=1e-6)
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert "forward" not in vars(twin)
        with flambeau.no_grad():
            twin.weight.zero_()
            twin.bias.zero_()
        assert twin(x).abs().sum().item() == 0
    np.testing.assert_allclose(layer(x).detach().numpy(), expected, rtol=1e-6)


def test_factory_arguments():
    assert nn.factory_kwargs(None) == {}
    given = {"device": "cpu", "factory_kwargs": {"dtype": flambeau.float64}}
    assert nn.factory_kwargs(given) == {"device": "cpu", "dtype": flambeau.float64}
    with pytest.raises(TypeError, match="'shape'"):
        nn.factory_kwargs({"shape": 1})
    with pytest.raises(TypeError, match="dtype is given twice"):
        nn.factory_kwargs({"dtype": 1, "factory_kwargs": {"dtype": 2}})
