"""uint64 beyond int64: its order and its quotients are others."""
from __future__ import annotations

import shutil

import pytest

import flambeau as fl

pytestmark = pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")
A = [0, 1, 7, 2**63 - 1, 2**63, 2**63 + 5, 2**64 - 1]
B = [3, 1, 2**63 + 5, 2**63, 7, 2, 2**64 - 2]


@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge", "maximum", "minimum", "fmax", "fmin",
                                  "floor_divide", "remainder", "bitwise_right_shift", "clamp_min",
                                  "clamp_max"])
def test_two_tensors(simulated, name):
    a, b = (fl.tensor(x, dtype=fl.uint64) for x in (A, B))
    if name == "bitwise_right_shift":
        b = b % 64
    operator = getattr(fl, name, None) or getattr(fl.ops, name)
    pairs = [(a, b), (a[:, None], b), (a[::2], b[::2])]
    for x, y in pairs if "divide" in name or name == "remainder" else [*pairs, (b, a)]:
        got = operator(x.to("cudasim"), y.to("cudasim")).cpu()
        assert (got.dtype, got.tolist()) == (operator(x, y).dtype, operator(x, y).tolist())


@pytest.mark.parametrize("number", [0, 1, 7, 2**63 - 1, -1, -8])
@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge", "add", "sub", "mul",
                                  "maximum", "floor_divide", "remainder", "bitwise_and",
                                  "clamp_min", "clamp_max", "clamp"])
def test_tensors_and_numbers(simulated, name, number):
    a = fl.tensor(A, dtype=fl.uint64)
    if number == 0 and name in ("floor_divide", "remainder"):
        return
    operator = getattr(fl, name)
    for x in (a, a[::2], a.reshape(-1, 1).expand(7, 2)):
        try:
            want = operator(x, number)
        except (RuntimeError, TypeError):
            with pytest.raises((RuntimeError, TypeError)):
                operator(x.to("cudasim"), number)
            continue
        got = operator(x.to("cudasim"), number).cpu()
        assert (got.dtype, got.tolist()) == (want.dtype, want.tolist())


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "bool", "int64", "uint8"])
def test_casts(simulated, dtype):
    a = fl.tensor(A, dtype=fl.uint64)
    for x in (a, a[::2]):
        got, want = (each.to(getattr(fl, dtype)) for each in (x.to("cudasim"), x))
        assert got.tolist() == want.tolist()


@pytest.mark.parametrize("name", ["sign", "abs", "relu", "signbit"])
def test_one_tensor(simulated, name):
    a = fl.tensor(A, dtype=fl.uint64)
    operator = getattr(fl, name)
    assert operator(a.to("cudasim")).cpu().tolist() == operator(a).tolist()
