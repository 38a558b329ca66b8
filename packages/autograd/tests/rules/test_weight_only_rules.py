"""Derivatives through layers with weights in few bits."""

import pytest

import flambeau
from flambeau.core import ops


def arguments(four, shift):
    flambeau.manual_seed(0)
    weight = flambeau.randint(-128, 128, (9, 80)).to(flambeau.int8)
    whole = weight.float()
    if four:
        weight = flambeau.randint(0, 256, (9, 48)).to(flambeau.uint8)
        blocks = weight.reshape(9, 3, 16)
        whole = flambeau.cat([blocks & 15, blocks >> 4], 2).reshape(9, 96)[:, :80].float()
        whole = whole if shift else whole - 8
    return weight, whole, flambeau.rand(9, 3), flambeau.randn(9, 3) if shift else None


@pytest.mark.parametrize("four", [False, True])
@pytest.mark.parametrize("shift", [False, True])
def test_derivatives_are_those_of_the_product(four, shift):
    weight, whole, scales, offsets = arguments(four, shift)
    for shape in ((80,), (5, 80), (2, 3, 80)):
        values = [flambeau.randn(shape), scales, offsets, flambeau.randn(9)]
        ours, plain = ([v if v is None else v.clone().requires_grad_() for v in values]
                       for _ in range(2))
        result = ops.weight_only_linear(ours[0], weight, *ours[1:], 32)
        upstream = flambeau.randn(result.shape)
        result.backward(upstream)
        x, factors, shifts, bias = plain
        matrix = whole * factors.repeat_interleave(32, 1)[:, :80]
        if shift:
            matrix = matrix + shifts.repeat_interleave(32, 1)[:, :80]
        (x @ matrix.t() + bias).backward(upstream)
        for a, b in zip(ours, plain, strict=True):
            if a is not None:
                assert (a.grad - b.grad).abs().max() <= 1e-5 * b.grad.abs().max()


def test_halves_learn():
    weight = flambeau.randn(9, 40).half().requires_grad_()
    x = flambeau.randn(5, 40, requires_grad=True)
    ops.weight_only_linear(x, weight, None, None, None, 0).sum().backward()
    assert weight.grad.dtype is flambeau.float16
    assert flambeau.allclose(weight.grad.float(), x.sum(0).expand(9, 40), atol=1e-2)
    assert flambeau.allclose(x.grad, weight.float().sum(0).expand(5, 40), atol=1e-5)


@pytest.mark.filterwarnings("ignore:vmap")      # batches of factors go one by one, and say so
def test_batches_are_the_samples_one_by_one():
    weight, _, scales, offsets = arguments(True, True)
    x, many = flambeau.randn(4, 3, 80), flambeau.rand(4, 9, 3)
    for dims in ((0, None), (1, None), (0, 0), (None, 0)):
        def call(a, b):
            return ops.weight_only_linear(a, weight, b, offsets, None, 32)

        args = (x, many if dims[1] == 0 else scales)
        batch = flambeau.func.vmap(call, dims)(*args)
        for i in range(batch.shape[0]):
            one = call(*(a if d is None else a.select(d, i)
                         for a, d in zip(args, dims, strict=True)))
            assert flambeau.equal(batch[i], one)
