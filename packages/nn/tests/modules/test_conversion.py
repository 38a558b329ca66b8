"""Module.to and its shorthands."""

import pytest

import flambeau
from flambeau import nn


def model():
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))


def test_dtype_reaches_parameters_buffers_and_gradients_in_place():
    net = model()
    weight = net[0].weight
    net(flambeau.randn(4, 2)).sum().backward()
    assert net.to(flambeau.float64) is net
    assert net[0].weight is weight
    assert weight.dtype == flambeau.float64
    assert weight.grad.dtype == flambeau.float64
    assert net[1].running_mean.dtype == flambeau.float64
    assert net[1].num_batches_tracked.dtype == flambeau.int64
    net(flambeau.randn(4, 2, dtype=flambeau.float64)).sum().backward()


@pytest.mark.parametrize(
    ("method", "dtype"),
    [("double", "float64"), ("bfloat16", "bfloat16"), ("float", "float32")],
)
def test_shorthands(method, dtype):
    net = getattr(model().double(), method)()
    assert net[0].bias.dtype == getattr(flambeau, dtype)
    assert net[1].num_batches_tracked.dtype == flambeau.int64


def test_ways_of_asking():
    like = flambeau.zeros(1, dtype=flambeau.float64)
    assert model().to(like)[0].weight.dtype == flambeau.float64
    assert model().to("cpu", flambeau.float64)[0].weight.dtype == flambeau.float64
    assert model().to(dtype=flambeau.float64)[0].weight.dtype == flambeau.float64
    assert model().to(flambeau.device("cpu"))[0].weight.dtype == flambeau.float32
    assert model().cpu()[0].weight.device == flambeau.device("cpu")


def test_ties_survive():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    net.double()
    assert net[1].weight is net[0].weight


def test_meta_device():
    net = model().to_empty(device="meta")
    assert net[0].weight.device.type == "meta"
    assert tuple(net[0].weight.shape) == (3, 2)


def test_bad_arguments():
    with pytest.raises(TypeError, match="floating or complex dtypes, not to"):
        model().to(flambeau.int64)
    with pytest.raises(TypeError, match="no argument 'dtyp'"):
        model().to(dtyp=flambeau.float64)
    with pytest.raises(RuntimeError, match="has no argument copy"):
        model().to("cpu", copy=True)


@pytest.mark.parametrize("args", [
    ([],), ("cpu", True), (None, True), ("cpu", flambeau.float64, 1), (flambeau.float64, "cpu"),
    (flambeau.ones(1), flambeau.float64), ("cpu", flambeau.float64, True, False), (True,)])
def test_positions_have_a_meaning(args):
    with pytest.raises(TypeError, match="a device, a dtype, both in this order, or a tensor"):
        model().to(*args)
    assert model().to("cpu", flambeau.float64, True)[0].weight.dtype is flambeau.float64


@pytest.fixture
def future():
    settings = flambeau.__future__
    yield settings
    settings.set_overwrite_module_params_on_conversion(False)
    settings.set_swap_module_params_on_conversion(False)


def test_conversions_make_new_parameters_where_that_is_set(future):
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    net[0].bias.requires_grad_(False)
    net(flambeau.ones(1, 2)).sum().backward()
    weight, grad = net[0].weight, net[0].weight.grad.tolist()
    future.set_overwrite_module_params_on_conversion(True)
    assert future.get_overwrite_module_params_on_conversion()
    net.double()
    assert weight.dtype is flambeau.float32 and weight is not net[0].weight
    assert net[0].weight is net[1].weight           # tied parameters stay tied
    assert net[0].weight.dtype is flambeau.float64 and net[0].weight.grad.tolist() == grad
    assert net[0].weight.grad.dtype is flambeau.float64
    assert isinstance(net[0].weight, nn.Parameter) and not net[0].bias.requires_grad


def test_conversions_exchange_contents_where_that_is_set(future):
    net = nn.Linear(2, 1)
    weight = net.weight
    view = weight.data
    net(flambeau.ones(1, 2)).sum().backward()
    future.set_swap_module_params_on_conversion(True)
    assert future.get_swap_module_params_on_conversion()
    net.double()
    assert net.weight is weight and weight.dtype is flambeau.float64
    assert weight.grad.dtype is flambeau.float64
    with flambeau.no_grad():
        weight.zero_()
    assert view.dtype is flambeau.float32 and view.abs().sum() > 0
