"""Derivatives through layers with weights of int8: rounding counts as the identity."""

import pytest

import flambeau
from flambeau.core import ops


def test_derivatives_are_those_of_the_layer_without_rounding():
    flambeau.manual_seed(0)
    weight = flambeau.randint(-127, 128, (9, 32)).to(flambeau.int8)
    for shape in ((32,), (5, 32), (2, 3, 32)):
        values = flambeau.randn(shape), flambeau.rand(9), flambeau.randn(9)
        ours, plain = ([v.clone().requires_grad_() for v in values] for _ in range(2))
        result = ops.quantized_linear(ours[0], weight, ours[1], ours[2])
        upstream = flambeau.randn(result.shape)
        result.backward(upstream)
        x, scales, bias = plain
        (ops.linear(x, weight.float() * scales[:, None], None) + bias).backward(upstream)
        for a, b in zip(ours, plain, strict=True):
            assert a.grad.dtype is flambeau.float32
            assert (a.grad - b.grad).abs().max() <= 1e-5 * b.grad.abs().max()


@pytest.mark.filterwarnings("ignore:vmap")      # batches of scales go one by one, and say so
def test_batches_are_the_samples_one_by_one():
    flambeau.manual_seed(1)
    x, weight = flambeau.randn(4, 3, 32), flambeau.randint(-127, 128, (9, 32)).to(flambeau.int8)
    scales, bias = flambeau.rand(4, 9), flambeau.randn(9)
    for dims in ((0, None, None), (1, None, None), (0, None, 0), (None, None, 0)):
        def call(a, b, c):
            return ops.quantized_linear(a, b, c, bias)

        args = (x, weight, scales if dims[2] == 0 else scales[0])
        many = flambeau.func.vmap(call, dims)(*args)
        for i in range(many.shape[0]):
            one = call(*(a if d is None else a.select(d, i)
                         for a, d in zip(args, dims, strict=True)))
            assert flambeau.equal(many[i], one)


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_rounded_values_pass_gradients_on_in_their_range(axis):
    x = flambeau.linspace(-2, 2, 24).reshape(4, 6).requires_grad_()
    if axis is None:
        result = flambeau.fake_quantize_per_tensor_affine(x, 0.25, 3, 0, 7)
        whole = flambeau.round(x.detach() / 0.25) + 3
    else:
        count = x.shape[axis]
        scale = flambeau.linspace(0.125, 1, count)
        zero = flambeau.arange(count, dtype=flambeau.int32)
        result = flambeau.fake_quantize_per_channel_affine(x, scale, zero, axis, 0, 7)
        each = (-1, 1) if axis == 0 else (1, -1)
        whole = flambeau.round(x.detach() / scale.reshape(each)) + zero.reshape(each)
    upstream = flambeau.randn(4, 6)
    result.backward(upstream)
    inside = (whole >= 0) & (whole <= 7)
    assert inside.any()
    assert not inside.all()
    assert flambeau.equal(x.grad, flambeau.where(inside, upstream, 0))
