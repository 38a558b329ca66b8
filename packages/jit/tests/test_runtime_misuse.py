"""Wrong calls of the C interface: a code and a text, and nothing is written behind a buffer."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from runtime import Buffer, Info, RuntimeProgram, open_library

import flambeau as fl
from flambeau import jit

LIBRARY = open_library()
pytestmark = pytest.mark.skipif(LIBRARY is None, reason="needs libflambeau_runtime")

INVALID, NO_FILE, BAD_PROGRAM, WRONG_INPUT, SMALL_BUFFER = 1, 2, 3, 5, 6
SIZE = ctypes.c_size_t


@pytest.fixture
def runtime(tmp_path: Path) -> RuntimeProgram:
    program = jit.trace(lambda x, y: (x + y, x.sum()), (fl.ones(2, 3), fl.ones(3)),
                        dynamic={0: {0: "N"}})
    program.save(tmp_path / "a.program")
    return RuntimeProgram(LIBRARY, tmp_path / "a.program")


def text() -> str:
    return str(LIBRARY.flambeau_error_text().decode())


class Call:
    """Buffers for a run, and 64 bytes behind each output that must stay as they are."""

    def __init__(self, runtime: RuntimeProgram) -> None:
        self.runtime = runtime
        self.x, self.y = fl.ones(2, 3), fl.ones(3)
        self.memory = [ctypes.create_string_buffer(b"#" * (size + 64), size + 64)
                       for size in (24, 4)]
        shape = ctypes.c_int64 * 32
        self.inputs = (Buffer * 2)(
            Buffer(self.x.data_ptr(), 24, fl.float32.code, 2, shape(2, 3)),
            Buffer(self.y.data_ptr(), 12, fl.float32.code, 1, shape(3)))
        self.outputs = (Buffer * 2)(
            Buffer(ctypes.addressof(self.memory[0]), 24),
            Buffer(ctypes.addressof(self.memory[1]), 4))

    def run(self, inputs: int = 2, outputs: int = 2) -> int:
        return int(LIBRARY.flambeau_run(self.runtime.session, self.inputs, SIZE(inputs),
                                        self.outputs, SIZE(outputs)))


def change(number: int, field: str, value: Any) -> Callable[[Call], None]:
    return lambda call: setattr(call.inputs[number], field, value)


def resize(size: int) -> Callable[[Call], None]:
    return lambda call: call.inputs[0].shape.__setitem__(0, size)


@pytest.mark.parametrize("spoil, why", [
    (change(0, "bytes", 23), "bytes"),
    (change(0, "data", None), "NULL"),
    (change(0, "dtype", fl.float64.code), r"must be float32\[N, 3\], got float64"),
    (change(0, "dtype", 77), "input 0"),
    (change(0, "dtype", -1), "input 0"),
    (change(0, "ndim", 1), "input 0"),
    (change(0, "ndim", 33), "input 0"),
    (change(0, "ndim", -3), "input 0"),
    (change(1, "ndim", 2**30), "input 1"),
    (resize(-2), "input 0"),
    (resize(2**62), "input 0"),
    (resize(3), "bytes"),
])
def test_inputs_that_are_wrong(
    runtime: RuntimeProgram, spoil: Callable[[Call], None], why: str,
) -> None:
    call = Call(runtime)
    spoil(call)
    assert call.run() == WRONG_INPUT
    assert re.search(why, text()), text()
    assert all(set(memory.raw) == {ord("#")} for memory in call.memory)
    assert Call(runtime).run() == 0         # the session can be used afterwards


def test_outputs_that_are_too_small(runtime: RuntimeProgram) -> None:
    """The shape is filled in, for a second try; what fits is written, nothing behind a buffer."""
    call = Call(runtime)
    call.outputs[0].bytes = 20
    assert call.run() == SMALL_BUFFER and "output 0" in text()
    assert list(call.outputs[0].shape[:2]) == [2, 3] and call.outputs[0].dtype == fl.float32.code
    assert set(call.memory[0].raw) == {ord("#")}
    call.outputs[0].bytes = 24
    assert call.run() == 0
    assert [memory.raw[-64:] for memory in call.memory] == [b"#" * 64] * 2


def test_counts_and_nulls(runtime: RuntimeProgram) -> None:
    for counts in ((1, 2), (3, 2), (2, 1), (2**40, 2)):
        assert Call(runtime).run(*counts) == WRONG_INPUT
    program, session = runtime.program, runtime.session
    nothing = ctypes.c_void_p()
    calls = [
        LIBRARY.flambeau_run(None, None, SIZE(0), None, SIZE(0)),
        LIBRARY.flambeau_run(session, None, SIZE(2), None, SIZE(2)),
        LIBRARY.flambeau_load(None, ctypes.byref(nothing)),
        LIBRARY.flambeau_load(b"x", None),
        LIBRARY.flambeau_load_memory(None, SIZE(9), ctypes.byref(nothing)),
        LIBRARY.flambeau_session_new(None, ctypes.byref(nothing)),
        LIBRARY.flambeau_session_new(program, None),
        LIBRARY.flambeau_session_seed(None, ctypes.c_uint64(1)),
        LIBRARY.flambeau_input_info(program, SIZE(2), ctypes.byref(Info())),
        LIBRARY.flambeau_input_info(program, SIZE(0), None),
        LIBRARY.flambeau_output_info(None, SIZE(0), ctypes.byref(Info())),
        LIBRARY.flambeau_set_threads(0),
        LIBRARY.flambeau_use_blas(None)]
    assert calls == [INVALID] * len(calls)
    assert LIBRARY.flambeau_input_count(None) == 0
    LIBRARY.flambeau_session_free(None)
    LIBRARY.flambeau_program_free(None)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    found = ctypes.c_void_p(1)
    assert LIBRARY.flambeau_load(bytes(tmp_path / "none"), ctypes.byref(found)) == NO_FILE
    assert found.value is None and "no such file" in text()
    assert LIBRARY.flambeau_load(bytes(tmp_path), ctypes.byref(found)) == NO_FILE
    (tmp_path / "empty").write_bytes(b"")
    assert LIBRARY.flambeau_load(bytes(tmp_path / "empty"), ctypes.byref(found)) == BAD_PROGRAM
