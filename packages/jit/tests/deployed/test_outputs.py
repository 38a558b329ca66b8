"""Outputs of the runtime without Python in buffers of the caller's, and in its own memory."""

from __future__ import annotations

import ctypes
import io
import itertools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from runtime import Buffer, RuntimeFailed, RuntimeProgram, buffer_of, open_library

import flambeau as fl
from flambeau import jit

LIBRARY = open_library()
pytestmark = pytest.mark.skipif(LIBRARY is None, reason="needs libflambeau_runtime")

WEIGHT = fl.randn(6, 4)


def _written_later(x: Any) -> Any:
    y = x * 2
    z = y.sum(0)
    y[0].mul_(3)
    return y, z, y[:, 1:3]


def _state(x: Any) -> Any:
    y = x + 1
    x.copy_(y)
    return y, x


#: What results are: new, views of each other, the same twice, inputs, weights, written afterwards.
CASES: dict[str, Callable[[Any], Any]] = {
    "one": lambda x: x.exp(),
    "tail": lambda x: ((x @ WEIGHT.t()).relu() + 1, x.tanh()),
    "views": lambda x: (lambda y: (y, y.t(), y[1:], y.reshape(-1)))(x * 3),
    "twice": lambda x: (lambda y: (y, y, y + 1))(x.sin()),
    "given": lambda x: (x, x.t(), x * 1),
    "weights": lambda x: (WEIGHT, WEIGHT[1:], x @ WEIGHT.t()),
    "written": _written_later,
    "state": _state,
    "kinds": lambda x: (x > 0, x.to(fl.float64) * 2, x.argmax(1), x.sum(), x[:, :0]),
    "pairs": lambda x: (*x.sort(1), x.cumsum(0), fl.cat([x, x.neg()])),
    "strided": lambda x: (x.t() * 2, x.t().exp().t(), x.expand(2, 3, 4).sum(0)),
    "random": lambda x: (fl.rand(3, 4) + x, fl.randn(2)),
}


def loaded(program: Any) -> RuntimeProgram:
    """The program in the runtime."""
    file = io.BytesIO()
    program.save(file)
    return RuntimeProgram(LIBRARY, file.getvalue())


class Case:
    """A program here and there, with what it gives."""

    def __init__(self, name: str) -> None:
        self.x = fl.randn(3, 4, generator=fl.Generator().manual_seed(1))
        self.program = jit.trace(CASES[name], self.x.clone())
        self.runtime = loaded(self.program)
        fl.manual_seed(3)
        given = self.program(self.x.clone())
        self.expected = [given] if isinstance(given, fl.Tensor) else list(given)
        LIBRARY.flambeau_session_seed(self.runtime.session, ctypes.c_uint64(3))

    def check(self, found: list[Any]) -> None:
        for ours, theirs in zip(found, self.expected, strict=True):
            assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
            assert ours.contiguous().numpy().tobytes() == theirs.contiguous().numpy().tobytes()


@pytest.fixture(params=CASES)
def case(request: Any) -> Any:
    made = Case(request.param)
    yield made
    made.runtime.close()


def test_in_memory_of_the_session(case: Case) -> None:
    case.check(case.runtime(case.x.clone()))


def test_in_buffers_apart(case: Case) -> None:
    into = [fl.full(tuple(t.shape), 1, dtype=t.dtype) for t in case.expected]
    case.check(case.runtime(case.x.clone(), into=into))


def outputs_of(runtime: RuntimeProgram, given: list[Buffer]) -> list[Buffer]:
    """Run once, with results in the session's memory."""
    count = LIBRARY.flambeau_output_count(runtime.program)
    found = (Buffer * count)()
    runtime.check(LIBRARY.flambeau_run(
        runtime.session, (Buffer * len(given))(*given), ctypes.c_size_t(len(given)), found,
        ctypes.c_size_t(count)))
    return list(found)


@pytest.mark.parametrize("name", ["views", "twice", "given", "weights", "written"])
def test_memory_of_the_session_is_the_callers_to_write_to(name: str) -> None:
    """Until the next call, and nothing else lies there."""
    case = Case(name)
    x = case.x.clone()
    found = outputs_of(case.runtime, [buffer_of(x)])
    ends = sorted((t.data, t.data + t.bytes) for t in (*found, buffer_of(x)))
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(ends))
    for each in found:
        ctypes.memset(each.data, 255, each.bytes)
    case.check(case.runtime(x))
    case.runtime.close()


@pytest.mark.parametrize("shift", [0, 1, 2])
@pytest.mark.parametrize("function", [
    lambda x: x.t() * 2,
    lambda x: (lambda y: (y, x.t() + y))(x + 1)[1],
    lambda x: (x + 1, x.t())[0],
])
def test_buffers_that_overlap_an_input(function: Callable[[Any], Any], shift: int) -> None:
    """The buffer of the output begins `shift` rows into that of the input."""
    runtime = loaded(jit.trace(function, fl.randn(16, 16)))
    memory = fl.randn(18, 16)
    expected = function(memory[:16].clone())
    runtime(memory[:16], into=[memory[shift:shift + 16]])
    assert fl.equal(memory[shift:shift + 16], expected)
    runtime.close()


def test_an_input_is_read_after_a_result_is_there() -> None:
    runtime = loaded(jit.trace(lambda x: (x * 2, x.sum()), fl.randn(8)))
    memory, total = fl.randn(8), fl.zeros(())
    given = memory.clone()
    runtime(memory, into=[memory, total])
    assert fl.equal(memory, given * 2)
    assert fl.equal(total, given.sum())
    runtime.close()


def test_buffers_that_overlap_each_other() -> None:
    """The one that is written last wins, as it is whole."""
    runtime = loaded(jit.trace(lambda x: (x * 2, x.exp(), x - 1), fl.randn(8)))
    x, memory, apart = fl.randn(8), fl.zeros(12), fl.zeros(8)
    runtime(x, into=[memory[:8], apart, memory[4:]])
    assert fl.equal(apart, x.exp())
    assert fl.equal(memory[4:], x - 1)
    assert fl.equal(memory[:4], (x * 2)[:4])
    runtime.close()


def test_a_buffer_that_is_too_small_or_askew() -> None:
    runtime = loaded(jit.trace(lambda x: x.exp(), fl.randn(8)))
    x = fl.randn(8)
    with pytest.raises(RuntimeFailed, match="more bytes than its buffer"):
        runtime(x, into=[fl.zeros(7)])
    memory = fl.zeros(40, dtype=fl.uint8)
    askew = memory[1:33]
    runtime(x, into=[askew])
    assert askew.numpy().tobytes() == x.exp().numpy().tobytes()
    runtime.close()


def test_results_of_a_call_are_inputs_of_the_next() -> None:
    """As the keys and values of a network that generates: memory of the session."""
    runtime = loaded(jit.trace(lambda x: x * 2 + 1, fl.ones(5)))
    x = fl.ones(5)
    now = buffer_of(x)
    for _ in range(3):
        now, = outputs_of(runtime, [now])
    assert list((ctypes.c_float * 5).from_address(now.data)) == [15.0] * 5
    runtime.close()


COUNTING = """
import ctypes, sys
sys.path.insert(0, sys.argv[1])
from runtime import RuntimeProgram, Buffer, code_of, open_library
import flambeau as fl

library, libc, largest = open_library(), ctypes.CDLL(None), [0]
libc.malloc.restype = ctypes.c_void_p

@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
def take(context, size):
    largest[0] = max(largest[0], size)
    return libc.malloc(ctypes.c_size_t(size))

@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
def give(context, memory, size):
    libc.free(ctypes.c_void_p(memory))

assert library.flambeau_set_allocator(take, give, None) == 0
program = RuntimeProgram(library, sys.argv[2])
x, out = fl.ones(1 << 20), fl.zeros(3, 1 << 20)
program(x, into=[out])
with_buffer = largest[0]
program(x)
print(with_buffer, largest[0])
"""


def test_no_memory_is_taken_beside_a_buffer(tmp_path: Path) -> None:
    fl.manual_seed(0)
    jit.trace(lambda x: x.expand(3, 1 << 20) * 2, fl.ones(1 << 20)).save(tmp_path / "p")
    words = [sys.executable, "-c", COUNTING, str(Path(__file__).parents[1]), str(tmp_path / "p")]
    found = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert int(found[0]) < 1 << 20 and int(found[1]) >= 3 << 22
