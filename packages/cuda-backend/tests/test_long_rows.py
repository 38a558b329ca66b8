"""Few long rows have several blocks each, and one entry of a long row is found without an order."""
from __future__ import annotations

import numpy as np
import pytest
from kernel_checks import bits, check, random, repeated, views

import flambeau as fl
from flambeau.core import _core

#: Rows and their length; the last one is not spread.
LONG = [(1, 40_001), (3, 16_384), (255, 16_400), (2, 9_000)]


def was_joined(simulated, group, kernel, length):
    joined = simulated.launches(group, "float32", f"{kernel}_joined_float32")
    assert bool(joined) >= (length >= 16_384)


@pytest.mark.parametrize("shape", LONG[:2] + LONG[3:])
@pytest.mark.parametrize("key", ["softmax", "log_softmax"])
def test_softmax(simulated, shape, key):
    for x in list(views(*shape))[:3]:
        check(simulated, key, [x, 1, None])
        result = _core.call(key, [x, 1, None])
        check(simulated, f"{key}_grad", [random(*shape, seed=1), result, 1])
    index = fl.tensor([5, shape[1] - 1, -1][:shape[0]])
    check(simulated, "log_softmax_at", [x, 1, index])
    for kernel in (key, f"{key}_grad", "log_softmax_at"):
        was_joined(simulated, kernel, kernel, shape[1])


def test_softmax_of_infinities(simulated):
    """Parts that hold nothing but minus infinity, one with infinity, one with NaN."""
    rows = random(4, 40_000)
    rows[0, 100:] = -float("inf")
    rows[1] = -float("inf")
    rows[2, 30_000] = float("inf")
    rows[3, 10_000] = float("nan")
    for key in ("softmax", "log_softmax"):
        check(simulated, key, [rows, 1, None])


@pytest.mark.parametrize("shape", LONG)
def test_norms(simulated, shape):
    rows, length = shape
    for x in (random(*shape), random(length, rows).t()) if rows < 9 else (random(*shape),):
        x = x * 3 + 100         # far from 0, where a sum of squares would be of no use
        weight, bias = random(length, seed=1), random(length, seed=2)
        y, mean, rstd = _core.call("native_layer_norm", [x, 1, weight, bias, 1e-5])
        check(simulated, "native_layer_norm", [x, 1, weight, bias, 1e-5], 5e-4)
        grad = random(*shape, seed=3)
        check(simulated, "layer_norm_grad", [grad, x, mean, rstd, weight, 1], 2e-3)
        channels = x.t().reshape(length, rows).contiguous()
        scale, shift = random(rows, seed=4), random(rows, seed=5)
        args = [channels, scale, shift, None, None, True, 0.1, 1e-5]
        y, mean, rstd = _core.call("native_batch_norm", args)
        check(simulated, "native_batch_norm", args, 5e-4)
        args = [grad.t().contiguous(), channels, scale, mean, rstd, True]
        check(simulated, "batch_norm_grad", args, 2e-3)
    for kernel in ("layer_norm", "layer_norm_grad", "batch_norm", "batch_norm_grad"):
        was_joined(simulated, kernel, kernel, length)


def moved_as(x, layout):
    """A tensor on the device: as it comes, beginning at an odd address, transposed, with gaps."""
    x = x.to("cudasim")
    if layout == "shifted":
        room = fl.empty(x.numel() + 1, dtype=x.dtype, device="cudasim")[1:].view(tuple(x.shape))
        return room.copy_(x)
    if layout == "transposed":
        return x.t().contiguous().t()
    if layout == "gaps":
        room = fl.empty(x.shape[0], 2 * x.shape[1], dtype=x.dtype, device="cudasim")[:, ::2]
        return room.copy_(x)
    return x


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("shape", [(5, 100), (5, 1000), (3, 2500), (2, 17_003)])
def test_bits_do_not_depend_on_where_rows_lie(simulated, shape, dtype):
    """Threads take the same elements, in packs of 16 bytes or one by one."""
    x, grad = random(*shape, dtype=dtype), random(*shape, dtype=dtype, seed=1)
    weight = random(shape[1], dtype=dtype, seed=2).to("cudasim")
    mean, rstd = (random(shape[0], 1, dtype=dtype, seed=k).to("cudasim") for k in (3, 4))
    found = []
    for layout in ("plain", "shifted", "transposed", "gaps"):
        a, g = moved_as(x, layout), moved_as(grad, layout)
        found.append([bits(t.cpu()) for t in (
            _core.call("softmax", [a, 1, None]), _core.call("log_softmax_grad", [g, a, 1]),
            *_core.call("native_layer_norm", [a, 1, weight, None, 1e-5]),
            *_core.call("layer_norm_grad", [g, a, mean, rstd, weight, 1]))])
    assert all(each == found[0] for each in found)


def test_running_statistics_of_long_rows(simulated):
    x = random(20_000, 3) + 5
    args = [random(3, seed=1), random(3, seed=2), fl.zeros(3), fl.ones(3), True, 0.1, 1e-5]
    moved = [a.to("cudasim") if _core.is_tensor(a) else a for a in args]
    _core.call("native_batch_norm", [x, *args])
    _core.call("native_batch_norm", [x.to("cudasim"), *moved])
    for k in (2, 3):
        np.testing.assert_allclose(moved[k].cpu().numpy(), args[k].numpy(), rtol=1e-5)
    args[4] = moved[4] = False          # with what was found
    want = _core.call("native_batch_norm", [x, *args])[0]
    got = _core.call("native_batch_norm", [x.to("cudasim"), *moved])[0]
    np.testing.assert_allclose(got.cpu().numpy(), want.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(3000, 40), (513, 70), (40_000, 3)])
def test_gradients_of_weights_from_many_rows(simulated, shape):
    x, grad = random(*shape), random(*shape, seed=1)
    _, mean, rstd = _core.call("native_layer_norm", [x, 1, None, None, 1e-5])
    check(simulated, "layer_norm_grad", [grad, x, mean, rstd, random(shape[1], seed=2), 1], 2e-3)
    kernel = "layer_norm_weights_joined_float32"
    assert simulated.launches("layer_norm_grad", "float32", kernel)


@pytest.mark.parametrize("shape", [(1, 40_001), (3, 16_384)])
def test_scans(simulated, shape):
    for x in list(views(*shape))[:3]:
        ints = (x * 10).to(fl.int64)
        check(simulated, "cumsum", [ints, 1, None])
        check(simulated, "cumsum", [x.double(), 1, None], 1e-9)
        check(simulated, "cumprod", [1 + x.double() * 1e-3, 1, None], 1e-9)
        check(simulated, "logcumsumexp", [x, 1], 1e-4)
        for key in ("cummax", "cummin"):
            check(simulated, key, [ints, 1])
            gaps = x.clone()
            gaps[:, 20_000::7777] = float("nan")
            check(simulated, key, [gaps, 1])
    assert simulated.launches("cumsum", "int64", "cumsum_joined_int64")
    assert simulated.launches("cummax", "float32", "cummax_joined_float32")


def test_a_scan_in_place(simulated):
    x = (random(2, 20_000) * 10).to(fl.int64)
    assert (x.to("cudasim").cumsum_(1).cpu() == x.cumsum(1)).all()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "uint64", "uint8"])
def test_one_entry_of_long_rows(simulated, dtype):
    """The first of equal ones by its rank in a stable order, in every order of threads."""
    x = repeated(3, 5000, high=2000, dtype="float64").abs().to(getattr(fl, dtype))
    few = repeated(2, 5000, high=2).abs().to(x.dtype)           # hardly anything but ties
    for values in (x, few, x.t().contiguous().t()):
        ways = [("kthvalue", [k, 1, False], k - 1) for k in (1, 2, 1700, 4999, 5000)]
        ways += [("median.dim", [1, False], 2499), ("nanmedian.dim", [1, False], 2499)]
        for key, rest, rank in ways:
            want = values.sort(1, stable=True)
            for order in ("forward", "reversed", "shuffled"):
                simulated.set_order(order)
                got = _core.call(key, [values.to("cudasim"), *rest])
                for k in (0, 1):
                    np.testing.assert_array_equal(got[k].cpu().numpy(), want[k][:, rank].numpy())
    simulated.set_order("forward")


def test_medians_of_long_rows_with_nan(simulated):
    x = random(4, 6001)
    x[0, 5000] = x[1, 10] = x[1, 4000] = float("nan")
    x[2] = float("nan")
    for key in ("median.dim", "nanmedian.dim"):
        want = _core.call(key, [x, 1, False])
        got = _core.call(key, [x.to("cudasim"), 1, False])
        np.testing.assert_array_equal(got[0].cpu().numpy(), want[0].numpy())
    assert _core.call("median.dim", [x.to("cudasim"), 1, False])[1].tolist()[:2] == [5000, 10]
