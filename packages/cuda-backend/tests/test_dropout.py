"""Dropout in one launch: the CPU's bits, whatever the order of threads; gradients, graphs."""
from __future__ import annotations

from functools import partial

import pytest
from kernel_checks import bits, random

import flambeau as fl
from flambeau import cuda
from flambeau.core import _core

DTYPES = ("float16", "bfloat16", "float32", "float64")
ORDERS = ("forward", "reversed", "shuffled")
SHAPES = ((), (1,), (3,), (8, 8), (5, 7), (1025,), (0, 3))


def special(*shape, dtype):
    """Random numbers, some of them NaN, infinite and -0."""
    x = random(*shape, dtype=dtype)
    if x.numel() > 3:
        x.view(-1)[:3] = fl.tensor([float("nan"), float("inf"), -0.0]).to(x.dtype)
    return x


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.9999, 1 - 1e-5, 1.0])
def test_bits_of_the_cpu(simulated, p, dtype):
    for shape in SHAPES:
        x, drawn = special(*shape, dtype=dtype), []
        for order in ORDERS:
            simulated.set_order(order)
            fl.manual_seed(5)
            there = [_core.call("dropout", [x.to(simulated.name), p, True, False])
                     for _ in range(2)]
            drawn.append([bits(t.cpu()) for t in there])
        simulated.set_order("forward")
        fl.manual_seed(5)
        wanted = [bits(_core.call("dropout", [x, p, True, False])) for _ in range(2)]
        assert drawn == [wanted] * 3, shape


@pytest.mark.parametrize("dtype", DTYPES)
def test_views_and_writes_in_place(simulated, dtype):
    whole = special(12, 10, dtype=dtype)
    there = whole.to(simulated.name)
    for view in (lambda x: x.t(), lambda x: x[::2], lambda x: x[:, 3:4], lambda x: x.flatten()[1:],
                 lambda x: x[1].expand(4, 10), lambda x: x[3:7]):
        for inplace in (False, True):
            found = []
            for x in (whole.clone(), there.clone()):
                if inplace and view(x).stride()[0] == 0:
                    continue
                fl.manual_seed(2)
                result = _core.call("dropout", [view(x), 0.3, True, inplace])
                found.append((result.stride(), bits(result.cpu()), bits(x.cpu())))
            assert found[:1] == found[1:]


@pytest.mark.parametrize("dtype", DTYPES)
def test_operands_that_do_not_lie_side_by_side(simulated, dtype):
    """Other strides, and memory that packs of 16 bytes do not fit."""
    x = special(40, 33, dtype=dtype)
    generator = fl.Generator(algorithm="philox")
    for view in (lambda x: x.t(), lambda x: x[:, 1:], lambda x: x.flatten()[1:], lambda x: x[::3]):
        found = []
        for each in (x, x.to(simulated.name)):
            results = _core.call("native_dropout", [view(each), 0.3, 1.5, generator.manual_seed(1)])
            found.append([bits(t.cpu()) for t in results])
        assert found[0] == found[1]


def test_one_launch_each_way(simulated):
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    x = random(64, 5).to(simulated.name).requires_grad_()
    grad = random(64, 5, seed=2).to(simulated.name)
    before = simulated.launches()
    y = _core.call("dropout", [x, 0.25, True, False])
    assert simulated.launches() == before + 1
    slope, = fl.autograd.grad(y, x, grad)
    assert simulated.launches() == before + 2
    kept = y.cpu() != 0
    assert bits(slope.cpu()) == bits(grad.cpu() * (kept * fl.tensor(4 / 3)))
    assert 0 < kept.sum() < 320


def layer(x):
    return _core.call("dropout", [x * 2, 0.4, True, False]).exp()


@pytest.mark.parametrize("seeds_between", [False, True])
@pytest.mark.parametrize("reentrant", [False, True])
def test_recomputed_calls_draw_the_same(simulated, reentrant, seeds_between):
    checkpoint = pytest.importorskip("flambeau.utils.checkpoint", reason="needs flambeau-autograd")
    x, found = random(30, 7).to(simulated.name).requires_grad_(), []
    for call in (layer, partial(checkpoint.checkpoint, layer, use_reentrant=reentrant)):
        fl.manual_seed(8)
        y = call(x)
        _core.call("dropout", [x, 0.5, True, False])        # numbers that others draw
        if seeds_between:
            fl.manual_seed(9)
        x.grad = None
        y.backward(fl.ones_like(y))
        after = _core.call("dropout", [x, 0.5, True, False])
        found.append([bits(t.detach().cpu()) for t in (y, x.grad, after)])
    assert found[0] == found[1]


def test_recomputed_calls_of_a_graph_draw_the_same(late):
    checkpoint = pytest.importorskip("flambeau.utils.checkpoint", reason="needs flambeau-autograd")
    x, found = random(30, 7).to(late.name).requires_grad_(), []
    for call in (layer, partial(checkpoint.checkpoint, layer, use_reentrant=False)):
        captured = cuda.CUDAGraph()
        fl.manual_seed(8)
        with cuda.graph(captured):
            y = call(x)
            slope, = fl.autograd.grad(y, x, fl.ones_like(y))
            after = _core.call("dropout", [x, 0.5, True, False])
        for _ in range(2):
            captured.replay()
            found.append([bits(t.detach().cpu()) for t in (y, slope, after)])
    assert found[:2] == found[2:] and found[0] != found[1]


def test_chunks_of_a_batch_draw_the_same(simulated):
    func = pytest.importorskip("flambeau.func", reason="needs flambeau-autograd")
    x = random(6, 40).to(simulated.name).abs() + 1
    found = []
    for options in ({}, {"chunk_size": 2}, {"chunk_size": 4}):
        fl.manual_seed(3)
        found.append(func.vmap(layer, randomness="same", **options)(x).tolist())
    assert found[0] == found[1] == found[2]


def test_second_derivatives_and_transforms(simulated):
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    x = random(6, 4, dtype="float64").to(simulated.name).requires_grad_()
    y = _core.call("dropout", [x, 0.4, True, False])
    slope, = fl.autograd.grad((y ** 3).sum(), x, create_graph=True)
    second, = fl.autograd.grad(slope.sum(), x)
    scale = (y != 0).double() / 0.6
    fl.testing.assert_close(second, 6 * x.detach() * scale ** 3)
    from flambeau import func

    draw = func.vmap(lambda x: _core.call("dropout", [x, 0.4, True, False]), randomness="different")
    kept = draw(fl.ones(50, 4, device=simulated.name)) != 0
    assert 0 < kept.sum().item() < 200


def test_graphs_draw_anew(late):
    x = random(33).to(late.name)
    fl.manual_seed(4)
    captured = cuda.CUDAGraph()
    with cuda.graph(captured):
        y = _core.call("dropout", [x, 0.5, True, False])
    found = []
    for _ in range(3):
        captured.replay()
        found.append(y.tolist())
    fl.manual_seed(4)
    assert found == [_core.call("dropout", [x, 0.5, True, False]).tolist() for _ in range(3)]


def test_a_twister_of_the_thread(simulated):
    """Numbers that only the CPU draws are copied."""
    x = special(9, 5, dtype="float32")
    generator, found = fl.Generator(algorithm="mt19937"), []
    for each in (x, x.to(simulated.name)):
        results = _core.call("native_dropout", [each, 0.3, 1.5, generator.manual_seed(1)])
        found.append([bits(t.cpu()) for t in results])
    assert found[0] == found[1]
