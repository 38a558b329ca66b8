"""Compiled loops over all dtypes: casts, half precision, uint64."""

import numpy as np
import pytest

import flambeau
from flambeau import jit
from flambeau.jit import bridge, compiling
from flambeau.jit.cache.kernels import KernelCache
from flambeau.jit.llvm import launch
from flambeau.jit.llvm.machine import Machine, machine

DTYPES = ("bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
          "float16", "bfloat16", "float32", "float64", "complex64", "complex128")
NUMBERS = [0.0, -0.0, 1.0, -1.5, 2.5, 3.5, 127.5, 128.0, -129.0, 255.0, 256.0, 6e-8, 2.9e-8, -6e-5,
           65504.0, 65519.9, 65520.0, -7e4, 2.0**31, -(2.0**31) - 1.0, -(2.0**31) - 0.5, 2.0**32,
           2.0**53 + 1.0, 2.0**63, -(2.0**63), 2.0**64, 1e300, np.inf, -np.inf, np.nan, 0.1]


@pytest.fixture(autouse=True)
def small_kernels_wait():
    bridge.configure_deferral(compiling.make_plan, 1)
    yield
    bridge.configure_deferral(compiling.make_plan)


def _bytes(t):
    if t.dtype == flambeau.bfloat16:
        t = t.float()
    array = np.array(t.numpy())
    if array.dtype.kind in "fc":
        array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    return array.dtype, array.shape, array.tobytes()


@pytest.mark.parametrize("source", DTYPES)
def test_casts_join_loops(source):
    """From every dtype to every other, special values: the bits of the core's conversion."""
    given = flambeau.tensor(NUMBERS, dtype=flambeau.float64).to(getattr(flambeau, source))
    for target in DTYPES:
        dtype = getattr(flambeau, target)
        numbers = given.clone()         # NumPy comes to its memory, where nothing waits any more

        def run(x, dtype=dtype):
            y = x.to(dtype)
            return y, y.logical_not(), y.clone().unsqueeze(0)

        compiled = jit.compile(run)
        assert list(map(_bytes, run(numbers))) == list(map(_bytes, compiled(numbers))), target
        inexact = {name for name in (source, target) if "float" in name}
        has_complex = "complex" in source + target
        is_signed = not inexact or "uint64" not in (source, target)
        if source != target and target != "bool" and is_signed and not has_complex:
            assert "cast logical_not clone" in compiled.explain(), target


@pytest.mark.parametrize("has_fma", [True, False])
def test_half_precision(has_fma, monkeypatch):
    """All numbers of half precision, and all that lie between, with and without instructions."""
    level = machine().cpu if has_fma else "x86-64-v2"
    monkeypatch.setattr(launch, "machine", lambda: Machine(level, has_fma, 128))
    monkeypatch.setattr(launch, "KERNELS", KernelCache())
    bits = np.arange(1 << 16, dtype=np.uint16)
    every = flambeau.from_numpy(bits.view(np.float16).copy())
    between = every.float()
    between = flambeau.cat([between * 1.0001, between * 0.99996, between * 1.00048828125])

    def run(x, y):
        return x.float() * 1, y.half().float() * 2, x * x

    found = jit.compile(run)(every, between)
    assert list(map(_bytes, found)) == list(map(_bytes, run(every, between)))


def test_uint64_is_not_signed():
    x = flambeau.tensor([2**63 - 1, 5, 0], dtype=flambeau.uint64)
    x = x * 2 + flambeau.tensor([1, 0, 0], dtype=flambeau.uint64)

    def run(x):
        y = x + 1
        return y - 2 > x, flambeau.maximum(y, x), y.bitwise_xor(x), y // 3, x > -1, y / 2

    compiled = jit.compile(run)
    assert list(map(_bytes, run(x))) == list(map(_bytes, compiled(x)))
    assert run(x)[1].tolist() == compiled(x)[1].tolist() == [2**64 - 1, 11, 1]
    assert "add sub gt maximum bitwise_xor" in compiled.explain()
