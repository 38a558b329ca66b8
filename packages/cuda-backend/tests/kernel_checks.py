"""Calls of kernels of our own, beside the CPU's and in every order of threads."""
from __future__ import annotations

import numpy as np

import flambeau as fl
from flambeau.core import _core
from flambeau.cuda.kernels import program_of
from flambeau.cuda.simulation import ORDERS


def random(*shape, dtype="float32", nan=False, seed=0):
    values = np.random.default_rng(seed).standard_normal(shape)
    if dtype[:3] in ("int", "uin"):
        return fl.from_numpy((values * 10).astype(dtype))
    if nan and values.size:
        values.reshape(-1)[::7] = np.nan
    return fl.from_numpy(values).to(getattr(fl, dtype))


def views(*shape, **how):
    """The same values as they come, transposed, with gaps, and with a broadcast dimension."""
    yield random(*shape, **how)
    yield random(*shape[::-1], **how).permute(*range(len(shape) - 1, -1, -1))
    yield random(*shape[:-1], shape[-1] * 2 + 1, **how)[..., 1::2]
    yield random(*shape[:-1], 1, **how).expand(*shape)


def moved(value):
    if _core.is_tensor(value):
        return value.to("cudasim")
    if isinstance(value, (list, tuple)) and any(map(_core.is_tensor, value)):
        return [moved(v) for v in value]
    return value


def results(key, args):
    found = _core.call(key, list(args))
    return [t.cpu() for t in (found if isinstance(found, (tuple, list)) else (found,))]


def bits(t):
    return t.contiguous().reshape(-1).view(fl.uint8).tolist()


def check(simulated, key, args, tolerance=2e-5):
    """A call on the device in each order of threads, next to the CPU's."""
    want = results(key, args)
    seen = []
    assert program_of(key) is not None
    for order in ORDERS:
        simulated.set_order(order, 3)
        try:
            seen.append(results(key, map(moved, args)))
        finally:
            simulated.set_order("forward")
    for k, expected in enumerate(want):
        got = seen[0][k]
        assert got.dtype == expected.dtype and got.shape == expected.shape
        np.testing.assert_allclose(numbers(got), numbers(expected), rtol=tolerance,
                                   atol=tolerance, equal_nan=True)
        for others in seen[1:]:
            assert bits(others[k]) == bits(got), f"{key}: the order of threads shows"


def numbers(t):
    t = t.to(fl.float32) if t.dtype == fl.bfloat16 else t
    return t.numpy()


def repeated(*shape, high=5, seed=0, dtype="int64"):
    """Few different values, so that equal ones meet."""
    return fl.from_numpy(np.random.default_rng(seed).integers(-high, high, shape).astype(dtype))
