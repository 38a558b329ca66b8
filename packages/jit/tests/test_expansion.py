"""Operators of packages in files: by their formula where there is one, else by name."""

from __future__ import annotations

import ctypes
import json
import math
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from runtime import Argument, Buffer, RuntimeFailed, RuntimeProgram, open_library

import flambeau as fl
from flambeau import jit
from flambeau.core import register_op
from flambeau.jit import bridge

LIBRARY = open_library()

swish = register_op("x_swish(Operand x, Operand y, *, Scalar a=1)",
                    "a * x / (1 + exp(-x)) + (y if 0 < x else x) - y * 2.5")
two = register_op("x_two(Tensor x, Mask m) -> (Tensor, Tensor)", "sqrt(abs(x)) if m else x, x * x")
fused_sum = register_op("x_fma(Tensor x, Tensor y)", "fma(x, y, x)")
same = register_op("x_same(Tensor x)", "x")

#: Loads a program where nothing was registered, and writes what it gives.
LOAD = """
import sys, flambeau as fl
from flambeau import jit
results = jit.load(sys.argv[1])(*fl.load(sys.argv[2]))
fl.save(results if isinstance(results, tuple) else (results,), sys.argv[3])
"""


def operators(path: Path) -> set[str]:
    with zipfile.ZipFile(path) as archive:
        graph = json.loads(archive.read("graph.json"))["graph"]
    return {node["op"] for outer in graph["nodes"]
            for node in (outer, *outer.get("body", {"nodes": []})["nodes"])}


def elsewhere(path: Path, *inputs: Any) -> tuple[Any, ...]:
    """What the program gives in a process without the operators."""
    fl.save(inputs, path.with_name("inputs"))
    files = [str(path), str(path.with_name("inputs")), str(path.with_name("results"))]
    done = subprocess.run([sys.executable, "-c", LOAD, *files], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    results: tuple[Any, ...] = fl.load(files[2])
    return results


@pytest.mark.parametrize("dtype", [fl.float32, fl.float64])
@pytest.mark.parametrize("function", [
    lambda x, y: swish(x, y, a=3),
    lambda x, y: swish(x, 0.3),
    lambda x, y: swish(x * 2, y) + y.sum(),
    lambda x, y: two(x, y > 0),
    lambda x, y: (two(x, y > 0)[1] @ y.t(), x),
], ids=range(5))
def test_formulas_travel(tmp_path: Path, function: Any, dtype: Any) -> None:
    x, y = fl.randn(3, 4, dtype=dtype), fl.randn(3, 4, dtype=dtype)
    x[0, :3] = fl.tensor([0.0, float("nan"), float("-inf")], dtype=dtype)
    path = tmp_path / "a.program"
    program = jit.trace(function, (x, y))
    program.save(path)
    assert not any(name.startswith("x_") for name in operators(path))
    expected = program(x, y)
    expected = expected if isinstance(expected, tuple) else (expected,)
    found = [elsewhere(path, x, y)]
    if LIBRARY is not None:
        found.append(tuple(RuntimeProgram(LIBRARY, path)(x, y)))
    for results in found:
        assert len(results) == len(expected)
        assert all(map(bridge.same_bits, results, expected))


@pytest.mark.parametrize("function, inputs", [
    (lambda x: swish(x, x), (fl.randn(4).to(fl.float16),)),         # computed in float32
    (lambda x, y: fused_sum(x, y), (fl.randn(4), fl.randn(4))),     # no operator rounds once
    (lambda x: same(x), (fl.randn(4),)),
    (lambda x, y: swish(x, y), (fl.randn(4), fl.randn(4).to(fl.float64))),
], ids=["half", "fma", "nothing", "two dtypes"])
def test_others_keep_their_name(tmp_path: Path, function: Any, inputs: Any) -> None:
    path = tmp_path / "a.program"
    program = jit.trace(function, inputs)
    program.save(path)
    assert any(name.startswith("x_") for name in operators(path))
    assert bridge.same_bits(jit.load(path)(*inputs), program(*inputs))
    with pytest.raises(RuntimeError, match="x_.*package"):
        elsewhere(path, *inputs)
    if LIBRARY is not None:
        with pytest.raises(RuntimeFailed, match="calls 'x_.*registered by a package"):
            RuntimeProgram(LIBRARY, path)


def test_operators_of_python_functions(tmp_path: Path) -> None:
    """What ``custom_op`` made of the library's operators is recorded as these."""
    @fl.library.custom_op("expansion::triple", mutates_args=())
    def triple(x: fl.Tensor) -> fl.Tensor:
        return x * 3

    x = fl.randn(4)
    program = jit.trace(lambda x: fl.ops.expansion.triple(x) + 1, x)
    program.save(tmp_path / "a.program")
    (found,) = elsewhere(tmp_path / "a.program", x)
    assert bridge.same_bits(found, x * 3 + 1)


FUNCTION = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(Argument), ctypes.c_size_t,
    ctypes.POINTER(Buffer), ctypes.c_size_t)


class Kernel(ctypes.Structure):
    """``flambeau_kernel``."""

    _fields_ = (("describe", FUNCTION), ("run", FUNCTION), ("context", ctypes.c_void_p))


def numbers(buffer: Any) -> Any:
    """The elements of a buffer of float32, as ctypes has them."""
    count = math.prod(buffer.shape[:buffer.ndim])
    return ctypes.cast(buffer.data, ctypes.POINTER(ctypes.c_float * count)).contents


@FUNCTION
def describe(context: Any, arguments: Any, count: int, results: Any, result_count: int) -> int:
    """Like the first argument; refuses more than 100 elements."""
    first = arguments[0].tensors[0]
    results[0].dtype, results[0].ndim = first.dtype, first.ndim
    results[0].shape = first.shape
    return 7 if math.prod(first.shape[:first.ndim]) > 100 else 0


@FUNCTION
def scale(context: Any, arguments: Any, count: int, results: Any, result_count: int) -> int:
    """``x_scale``: by a number, or by 2."""
    factor = arguments[1].reals[0] if arguments[1].kind == 5 else 2.0
    for k, element in enumerate(numbers(arguments[0].tensors[0])):
        numbers(results[0])[k] = element * factor
    return 0


@pytest.mark.skipif(LIBRARY is None, reason="needs libflambeau_runtime")
def test_kernels_that_the_user_of_the_runtime_gives(tmp_path: Path) -> None:
    """By name, on views too; what goes wrong is said with the operator's name."""
    scaled = register_op("x_scale(Tensor x, *, Scalar by=2)", "fma(x, by, 0)")
    path = tmp_path / "a.program"
    program = jit.trace(lambda x: scaled(x.t(), by=2.5) + 1, fl.randn(3, 4), dynamic={0: {0: "N"}})
    program.save(path)
    kernel = Kernel(describe, scale, None)
    with pytest.raises(RuntimeFailed, match=r"flambeau_register_kernel\(\) gives it a kernel"):
        RuntimeProgram(LIBRARY, path)
    assert LIBRARY.flambeau_register_kernel(b"x_scale", ctypes.byref(kernel)) == 0
    runtime = RuntimeProgram(LIBRARY, path)
    x = fl.randn(5, 4)
    (found,) = runtime(x)
    assert bridge.same_bits(found, program(x))
    with pytest.raises(RuntimeFailed, match=r"x_scale\(\): its kernel refuses .* code 7"):
        runtime(fl.randn(50, 4))


@pytest.mark.skipif(LIBRARY is None, reason="needs libflambeau_runtime")
def test_kernels_that_cannot_be_registered() -> None:
    register = LIBRARY.flambeau_register_kernel
    kernel = Kernel(describe, scale, None)
    assert register(b"exp", ctypes.byref(kernel)) == 1
    assert LIBRARY.flambeau_error_text() == b"exp is an operator of the runtime"
    assert register(b"x_other", None) == register(None, ctypes.byref(kernel)) == 1
    assert register(b"x_other", ctypes.byref(Kernel(describe, FUNCTION(), None))) == 1
