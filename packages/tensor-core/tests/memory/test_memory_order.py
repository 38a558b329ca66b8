"""How results lie in memory: as their operands do, by PyTorch's rules."""
from __future__ import annotations

import random

import numpy as np
import pytest

import flambeau
from flambeau.core import ops

LAST, LAST_3D = flambeau.channels_last, flambeau.channels_last_3d


def batch(*shape, dtype=flambeau.float32):
    count = int(np.prod(shape))
    return (flambeau.arange(count) % 17 - 8).to(dtype).view(shape) / 4


def weight(x, *shape):
    return batch(*shape, dtype=x.dtype)


@pytest.mark.parametrize("shape, memory_format, strides", (
    ((2, 3, 4, 5), LAST, (60, 1, 15, 3)),
    ((2, 3, 4, 5, 6), LAST_3D, (360, 1, 90, 18, 3)),
    ((2, 3, 4, 5), flambeau.contiguous_format, (60, 20, 5, 1)),
))
def test_blank_memory_in_a_format(shape, memory_format, strides):
    for x in (flambeau.empty(shape, memory_format=memory_format),
              flambeau.empty(*shape, memory_format=memory_format, dtype=flambeau.int64)):
        assert x.stride() == strides
        assert x.is_contiguous(memory_format=memory_format)
        assert x._version == 0


@pytest.mark.parametrize("memory_format, text", (
    (flambeau.preserve_format, "preserve_format"), (LAST_3D, "rank 5"), ("sideways", "sideways")))
def test_blank_memory_refuses_formats_that_do_not_fit(memory_format, text):
    with pytest.raises((RuntimeError, ValueError), match=text):
        flambeau.empty(2, 3, 4, 5, memory_format=memory_format)


def test_preserved_order_is_c_order_where_a_yes_or_no_is_wanted():
    x = batch(2, 3, 4, 5)
    assert x.is_contiguous(memory_format=flambeau.preserve_format)
    assert x.contiguous(memory_format=flambeau.preserve_format) is x
    assert not x.to(memory_format=LAST).is_contiguous(memory_format=flambeau.preserve_format)
    with pytest.raises(RuntimeError, match="preserve"):
        x.to(memory_format=LAST).contiguous(memory_format=flambeau.preserve_format)


def test_one_channel_can_be_asked_for_in_both_orders():
    x = batch(2, 1, 4, 5)
    y = x.to(memory_format=LAST)
    assert y.stride() == (20, 1, 5, 1) and y.is_contiguous()
    assert y.clone().stride() == (20, 1, 5, 1)
    assert x.contiguous(memory_format=LAST) is x


IMAGES = {
    "exp": lambda x: x.exp(),
    "scaled": lambda x: x * 2 + flambeau.ones(3, 1, 1),
    "with C order": lambda x: x + batch(2, 3, 4, 5),
    "where": lambda x: flambeau.where(x > 0, x, 0.0),
    "frexp": lambda x: flambeau.frexp(x)[0],
    "sort": lambda x: x.sort(2)[0],
    "positions": lambda x: x.argsort(3, stable=True),
    "flip": lambda x: x.flip((1, 3)),
    "roll": lambda x: x.roll(1, 2),
    "cat": lambda x: flambeau.cat([x, x], 1),
    "pad": lambda x: ops.constant_pad_nd(x, (1, 2, 0, 1), 3.0),
    "mirrored": lambda x: ops.pad(x, (1, 1, 1, 1), mode="reflect"),
    "conv2d": lambda x: ops.conv2d(x, weight(x, 4, 3, 3, 3), padding=1),
    "grouped": lambda x: ops.conv2d(x, weight(x, 3, 1, 3, 3), stride=2, padding=1, groups=3),
    "transposed": lambda x: ops.conv_transpose2d(x, weight(x, 3, 2, 3, 3), stride=2),
    "integers": lambda x: ops.conv2d((x * 4).long(), flambeau.ones(2, 3, 2, 2).long()),
    "max_pool2d": lambda x: ops.max_pool2d(x, 2),
    "its positions": lambda x: ops.max_pool2d_with_indices(x, 2)[1],
    "avg_pool2d": lambda x: ops.avg_pool2d(x, 2),
    "lp_pool2d": lambda x: ops.lp_pool2d(x, 2, 2),
    "adaptive mean": lambda x: ops.adaptive_avg_pool2d(x, (2, 3)),
    "adaptive best": lambda x: ops.adaptive_max_pool2d(x, (3, 2)),
    "nearest": lambda x: ops.interpolate(x, scale_factor=2),
    "bilinear": lambda x: ops.interpolate(x, size=(7, 3), mode="bilinear"),
    "batch norm": lambda x: ops.batch_norm(
        x, flambeau.zeros(3), flambeau.ones(3), training=True),
    "group norm": lambda x: ops.group_norm(x, 3),
    "local response": lambda x: ops.local_response_norm(x, 2),
    "shuffle": lambda x: ops.pixel_shuffle(ops.cat([x, x, x, x], 1), 2),
    "unshuffle": lambda x: ops.pixel_unshuffle(x[..., :4], 2),
    "channels": lambda x: ops.channel_shuffle(x, 3),
    "unpool": lambda x: ops.max_unpool2d(*ops.max_pool2d_with_indices(x[..., :4], 2), 2),
}


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.parametrize("dtype", (flambeau.float32, flambeau.float64, flambeau.bfloat16))
def test_channels_last_goes_through_networks(name, dtype):
    call, x = IMAGES[name], batch(2, 3, 4, 5, dtype=dtype)
    plain, last = call(x), call(x.to(memory_format=LAST))
    assert plain.is_contiguous()
    assert last.is_contiguous(memory_format=LAST) and not last.is_contiguous()
    assert flambeau.equal(plain, last)


def test_volumes_keep_their_order_too():
    x = batch(2, 3, 4, 5, 6)
    for y in (ops.conv3d(x.to(memory_format=LAST_3D), batch(2, 3, 1, 2, 2)),
              ops.conv3d(x, batch(2, 3, 1, 2, 2).to(memory_format=LAST_3D))):
        assert y.is_contiguous(memory_format=LAST_3D)
        assert flambeau.equal(y, ops.conv3d(x, batch(2, 3, 1, 2, 2)))


@pytest.mark.parametrize("kind", ["conv2d", "conv_transpose2d"])
def test_complex_convolutions_keep_the_order(kind):
    x = batch(2, 3, 4, 5).to(flambeau.complex64)
    w = batch(3, 3, 2, 2).to(flambeau.complex64) * 1j
    plain, last = getattr(ops, kind)(x, w), getattr(ops, kind)(x.to(memory_format=LAST), w)
    assert last.is_contiguous(memory_format=LAST)
    assert flambeau.allclose(plain, last)


def test_batch_norm_keeps_orders_that_are_not_suggested():
    """PyTorch's strides of one column, and of an empty batch."""
    column = flambeau.arange(6.0).reshape(1, 3, 2, 1).permute(0, 2, 1, 3)
    empty = flambeau.ones(0, 2, 3, 4).to(memory_format=LAST)
    for x, strides in ((column, (6, 1, 2, 2)), (empty, (24, 1, 8, 2))):
        y = ops.batch_norm(x, flambeau.zeros(2), flambeau.ones(2), training=False)
        assert y.stride() == strides


def test_gaps_are_closed_and_the_order_stays():
    x = batch(4, 3, 5).permute(2, 0, 1)[::2]            # [3, 4, 3], strides (2, 15, 5)
    assert x.stride() == (2, 15, 5)
    for y in (x.clone(), x.double(), flambeau.zeros_like(x), x.neg(), x + 1):
        assert y.stride() == (1, 9, 3)
    assert x.expand(2, 3, 4, 3).clone().stride() == (36, 1, 9, 3)


def program(rng, framework, array):
    """How results of operands in any order, with gaps and broadcast, step where they do."""
    n = array.ndim
    turns = [rng.sample(range(n), n) for _ in range(2)]
    gap, broadcast = rng.random() < 0.3, [rng.random() < 0.3 for _ in range(n)]
    x = framework.as_tensor(array).permute(turns[0])
    x = x[::2] if gap else x
    back = [turns[1].index(d) for d in range(n)]
    y = x.permute(turns[1]).contiguous().permute(back)
    z = framework.ones([1 if one else size for one, size in zip(broadcast, x.shape, strict=True)])
    results = (x.exp(), x.clone(), framework.zeros_like(x), x.double(), x + y, y * x, x * z, z - x,
               framework.where(z > 0, y, x), framework.lerp(x, y, z), x > y,
               x.expand(2, *x.shape) + 1, framework.empty_like(x.expand(2, *x.shape)))
    return [[step for step, size in zip(r.stride(), r.shape, strict=True) if size > 1]
            for r in results]


@pytest.mark.oracle
def test_orders_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    for seed in range(400):
        rng = random.Random(seed)
        array = np.zeros([rng.randint(1, 4) for _ in range(rng.randint(1, 4))], np.float32)
        state = rng.getstate()
        want = program(rng, torch, array)
        rng.setstate(state)
        assert program(rng, flambeau, array) == want, (seed, array.shape)


def test_memory_in_a_given_order():
    x = flambeau.empty_permuted((2, 3, 5), (1, 0, 2), dtype=flambeau.int32, requires_grad=False)
    assert (x.shape, x.stride(), x.dtype) == ((2, 3, 5), (5, 10, 1), flambeau.int32)
    assert flambeau.empty_permuted((2, 0, 4), (2, 0, 1)).stride() == (1, 1, 2)
    for order in ((0, 1), (0, 1, 1), (0, 1, -1), (0, 1, 3)):
        with pytest.raises(RuntimeError, match="must name each of the dimensions 0 to 2 once"):
            flambeau.empty_permuted((2, 3, 5), order)
