"""Kernels of our own give what the CPU gives, over views, long rows, NaN and nothing at all, and
the same bits in every order of threads."""
from __future__ import annotations

import numpy as np
import pytest

import flambeau as fl
from flambeau.core import _core
from flambeau.cuda.kernels import program_of
from flambeau.cuda.simulation import ORDERS


def _random(*shape, dtype="float32", nan=False, seed=0):
    values = np.random.default_rng(seed).standard_normal(shape)
    if dtype[:3] in ("int", "uin"):
        return fl.from_numpy((values * 10).astype(dtype))
    if nan and values.size:
        values.reshape(-1)[::7] = np.nan
    return fl.from_numpy(values).to(getattr(fl, dtype))


def _views(*shape, **how):
    """The same values as they come, transposed, with gaps, and with a broadcast dimension."""
    yield _random(*shape, **how)
    yield _random(*shape[::-1], **how).permute(*range(len(shape) - 1, -1, -1))
    yield _random(*shape[:-1], shape[-1] * 2 + 1, **how)[..., 1::2]
    yield _random(*shape[:-1], 1, **how).expand(*shape)


def _moved(value):
    if _core.is_tensor(value):
        return value.to("cudasim")
    if isinstance(value, (list, tuple)) and any(map(_core.is_tensor, value)):
        return [_moved(v) for v in value]
    return value


def _results(key, args):
    found = _core.call(key, list(args))
    return [t.cpu() for t in (found if isinstance(found, (tuple, list)) else (found,))]


def _bits(t):
    return t.contiguous().reshape(-1).view(fl.uint8).tolist()


def _check(simulated, key, args, tolerance=2e-5):
    """A call on the device in each order of threads, next to the CPU's."""
    want = _results(key, args)
    seen = []
    assert program_of(key) is not None
    for order in ORDERS:
        simulated.set_order(order, 3)
        try:
            seen.append(_results(key, map(_moved, args)))
        finally:
            simulated.set_order("forward")
    for k, expected in enumerate(want):
        got = seen[0][k]
        assert got.dtype == expected.dtype and got.shape == expected.shape
        np.testing.assert_allclose(_numbers(got), _numbers(expected), rtol=tolerance,
                                   atol=tolerance, equal_nan=True)
        for others in seen[1:]:
            assert _bits(others[k]) == _bits(got), f"{key}: the order of threads shows"


def _numbers(t):
    t = t.to(fl.float32) if t.dtype == fl.bfloat16 else t
    return t.numpy()


# ---- rows ----------------------------------------------------------------------------------------
SIZES = [(3, 7), (2, 1500), (40, 33), (4, 3, 5), (0, 4), (1,), (70, 9)]


@pytest.mark.parametrize("key", ["sum", "amax", "argmin", "var", "logsumexp", "any"])
@pytest.mark.parametrize("shape", SIZES)
def test_reductions(simulated, key, shape):
    rest = {"var": (None, False), "logsumexp": (False,)}.get(key, (False,))
    for x in _views(*shape, nan=key in ("sum", "amax", "argmin")):
        for dim in (0, len(shape) - 1):
            if x.shape[dim] or key not in ("amax", "argmin"):
                _check(simulated, key, [x, dim if key == "argmin" else (dim,), *rest])
        if x.numel() and key != "argmin":
            _check(simulated, key, [x, (), *rest])


def test_parts_of_long_rows_are_joined(simulated):
    x = _random(70_001)
    _check(simulated, "sum", [x, (), False, None], 1e-3)
    _check(simulated, "argmax", [x, None, False])
    assert simulated.launches("sum", "float32", "sum_join_block_float32")
    _check(simulated, "sum", [_random(3000, 40), (0,), False, None], 1e-4)
    assert simulated.launches("sum", "float32", "sum_join_thread_float32")


@pytest.mark.parametrize("key", ["softmax", "log_softmax"])
@pytest.mark.parametrize("shape", SIZES)
def test_softmax_and_its_gradient(simulated, key, shape):
    for x in _views(*shape):
        for dim in (0, len(shape) - 1):
            _check(simulated, key, [x, dim, None])
            result = _core.call(key, [x, dim, None])
            _check(simulated, f"{key}_grad", [_random(*shape, seed=1), result, dim])


def test_softmax_of_infinities(simulated):
    rows = fl.tensor([[float("-inf")] * 3, [1.0, float("-inf"), 2.0], [float("inf"), 0.0, 1.0],
                      [float("nan"), 0.0, 1.0]])
    for key in ("softmax", "log_softmax"):
        _check(simulated, key, [rows, 1, None])


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(3, 4, 5), (4, 1200), (1, 1)])
def test_layer_norm_and_its_gradient(simulated, shape, dtype):
    tolerance = 3e-2 if dtype in ("float16", "bfloat16") else 1e-4
    for x in _views(*shape, dtype=dtype):
        weight, bias = (_random(shape[-1], dtype=dtype, seed=s) for s in (1, 2))
        args = [x, 1, weight, bias, 1e-2]
        _check(simulated, "native_layer_norm", args, tolerance)
        _, mean, rstd = _core.call("native_layer_norm", args)
        _check(simulated, "layer_norm_grad",
               [_random(*shape, dtype=dtype, seed=3), x, mean, rstd, weight, 1], 2 * tolerance)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(3, 4), (2, 6, 5), (2, 4, 3, 700)])
def test_batch_and_group_norm(simulated, shape, training):
    channels = shape[1]
    for x in _views(*shape):
        weight, bias, mean = (_random(channels, seed=s) for s in (1, 2, 3))
        var = _random(channels, seed=4).abs() + 0.5
        _check(simulated, "native_batch_norm",
               [x, weight, bias, mean, var, training, 0.0, 1e-2], 1e-4)
        got = [t.to("cudasim") for t in (mean, var)]
        _core.call("native_batch_norm", [x.to("cudasim"), None, None, *got, True, 0.3, 1e-2])
        want = [mean.clone(), var.clone()]
        _core.call("native_batch_norm", [x, None, None, *want, True, 0.3, 1e-2])
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(g.cpu().numpy(), w.numpy(), rtol=1e-4)
        grad = _random(*shape, seed=5)
        _check(simulated, "batch_norm_grad", [grad, x, weight, mean, var, training], 1e-3)
        _check(simulated, "native_group_norm", [x, weight, bias, 2, 1e-2], 1e-4)
        _, mean, rstd = _core.call("native_group_norm", [x, weight, bias, 2, 1e-2])
        _check(simulated, "group_norm_grad", [grad, x, weight, mean, rstd, 2], 1e-3)


@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_negative_log_likelihood(simulated, reduction):
    for shape in ((5, 4), (2, 4, 3), (4,)):
        x = _random(*shape)
        target = fl.from_numpy(np.random.default_rng(1).integers(
            0, 4, (shape[0], *shape[2:]) if len(shape) > 1 else ()))
        weight = _random(4, seed=2).abs()
        for w in (weight, None):
            args = [x, target, w, reduction, 1]
            _check(simulated, "nll_loss_rows", args)
            loss, total = _core.call("nll_loss_rows", args)
            _check(simulated, "nll_loss_grad", [_random(*loss.shape, seed=3), *args, total])


def test_a_target_outside_of_the_classes_is_an_error(simulated):
    x, target = _random(3, 4).to("cudasim"), fl.tensor([0, 4, 1]).to("cudasim")
    with pytest.raises(RuntimeError, match="target 4 is out of bounds for 4 classes"):
        _core.call("nll_loss_rows", [x, target, None, 1, -100])


# ---- scans ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("key", ["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"])
@pytest.mark.parametrize("shape", SIZES)
def test_scans(simulated, key, shape):
    more = [None] if key in ("cumsum", "cumprod") else []
    for x in _views(*shape, nan=key.startswith("cumm")):
        for dim in (0, len(shape) - 1):
            _check(simulated, key, [x, dim, *more], 1e-3 if key == "cumsum" else 1e-4)


def test_scans_in_a_wider_dtype_and_in_place(simulated):
    x = _random(5, 1100) + 1e4
    _check(simulated, "cumsum", [x, 1, fl.float64], 1e-12)
    _check(simulated, "cumsum", [_random(3, 50, dtype="int8"), 1, None], 0)
    y = x.to("cudasim")
    y.cumsum_(1)
    np.testing.assert_allclose(y.cpu().numpy(), x.cumsum(1).numpy(), rtol=1e-4)
