"""Gradient clipping, and parameters as a vector."""

import math

import pytest

import flambeau
from flambeau import nn
from flambeau.nn import utils


def parameters():
    made = [nn.Parameter(flambeau.zeros(2)), nn.Parameter(flambeau.zeros(1, 2))]
    made[0].grad = flambeau.tensor([3.0, -4.0])
    made[1].grad = flambeau.tensor([[0.0, 12.0]])
    return [*made, nn.Parameter(flambeau.zeros(1))]


@pytest.mark.parametrize(
    ("order", "total"), [(2.0, 13.0), (1.0, 19.0), (math.inf, 12.0), (3.0, 1819 ** (1 / 3))]
)
def test_norm(order, total):
    params = parameters()
    norm = utils.clip_grad_norm_(params, total / 2, norm_type=order)
    assert norm.item() == pytest.approx(total, rel=1e-6)
    assert params[0].grad.tolist() == pytest.approx([1.5, -2.0], rel=1e-5)
    assert params[1].grad.tolist()[0] == pytest.approx([0.0, 6.0], rel=1e-5)
    assert params[2].grad is None


def test_small_gradients_stay():
    params = parameters()
    utils.clip_grad_norm_(iter(params), 100.0)
    assert params[0].grad.tolist() == [3.0, -4.0]


def test_not_finite():
    param = nn.Parameter(flambeau.zeros(1))
    param.grad = flambeau.tensor([math.inf])
    with pytest.raises(RuntimeError, match="error_if_nonfinite=False"):
        utils.clip_grad_norm_(param, 1.0, error_if_nonfinite=True)
    assert utils.clip_grad_norm_(param, 1.0).item() == math.inf


def test_no_gradients():
    assert utils.clip_grad_norm_([], 1.0).item() == 0.0


def test_values():
    params = parameters()
    utils.clip_grad_value_(params, 3.5)
    assert params[0].grad.tolist() == [3.0, -3.5]
    assert params[1].grad.tolist() == [[0.0, 3.5]]


def test_least_magnitude():
    assert utils.get_total_norm([p.grad for p in parameters()[:1]], -math.inf).item() == 3.0


def test_norm_and_scale_apart():
    params = parameters()
    total = utils.get_total_norm([p.grad for p in params[:2]])
    utils.clip_grads_with_norm_(params, 6.5, total)
    assert params[0].grad.tolist() == pytest.approx([1.5, -2.0], rel=1e-5)
    utils.clip_grads_with_norm_(params, 100.0, utils.get_total_norm(params[0].grad))
    assert params[0].grad.tolist() == pytest.approx([1.5, -2.0], rel=1e-5)


def test_gradients_of_several_dtypes():
    params = parameters()
    params[1] = nn.Parameter(flambeau.zeros(1, 2, dtype=flambeau.float64))
    params[1].grad = flambeau.tensor([[0.0, 12.0]], dtype=flambeau.float64)
    assert utils.clip_grad_norm_(params, 6.5).item() == pytest.approx(13.0)
    assert params[1].grad.dtype == flambeau.float64
    assert params[1].grad.tolist()[0] == pytest.approx([0.0, 6.0], rel=1e-5)


def test_a_generator_that_was_used_before():
    params = iter(p for p in parameters())
    utils.clip_grad_value_(params, 1.0)
    with pytest.warns(UserWarning, match=r"call parameters\(\) again"):
        utils.clip_grad_norm_(params, 1.0)


def test_vector_and_back():
    net = nn.Linear(2, 2)
    vector = utils.parameters_to_vector(net.parameters())
    assert tuple(vector.shape) == (6,)
    weight, vector = net.weight, flambeau.arange(6.0)
    utils.vector_to_parameters(vector, net.parameters())
    assert net.weight is weight and weight.requires_grad and weight.is_leaf
    assert net.weight.tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert net.bias.tolist() == [4.0, 5.0]
    vector.mul_(2)
    assert net.bias.tolist() == [8.0, 10.0]
    utils.vector_to_parameters(flambeau.arange(12.0, requires_grad=True)[::2], net.parameters())
    assert net.weight.tolist() == [[0.0, 2.0], [4.0, 6.0]] and net.weight.grad_fn is None
    with pytest.raises(ValueError, match="5 elements, the parameters have 6"):
        utils.vector_to_parameters(flambeau.zeros(5), net.parameters())
    with pytest.raises(TypeError, match="not list"):
        utils.vector_to_parameters([1.0], net.parameters())
    with pytest.raises(ValueError, match="at least one"):
        utils.parameters_to_vector([])
