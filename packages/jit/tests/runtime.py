"""Saved programs in the runtime without Python, by its C interface."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import flambeau as fl
from flambeau.core.runtime_files import LIBRARY, runtime_prefix

MAX_DIMS = 32


class Buffer(ctypes.Structure):
    """``flambeau_tensor``."""

    _fields_ = (("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t), ("dtype", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("shape", ctypes.c_int64 * MAX_DIMS))


class Info(ctypes.Structure):
    """``flambeau_info``."""

    _fields_ = (("name", ctypes.c_char_p), ("dtype", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("shape", ctypes.c_int64 * MAX_DIMS), ("symbols", ctypes.c_char_p * MAX_DIMS),
                ("is_written", ctypes.c_int32), ("reserved", ctypes.c_int32))


class Argument(ctypes.Structure):
    """``flambeau_argument``."""

    _fields_ = (("kind", ctypes.c_int32), ("count", ctypes.c_uint32),
                ("tensors", ctypes.POINTER(Buffer)), ("integers", ctypes.POINTER(ctypes.c_int64)),
                ("reals", ctypes.POINTER(ctypes.c_double)), ("text", ctypes.c_char_p))


class RuntimeFailed(Exception):
    """A code other than 0, and its text."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def find_library() -> Path | None:
    """``TESTED_RUNTIME``, what a wheel installed, or what lies beside an in-place build."""
    if named := os.environ.get("TESTED_RUNTIME"):
        return Path(named)
    try:
        return runtime_prefix() / "lib" / LIBRARY
    except FileNotFoundError:
        built = Path(__file__).resolve().parents[3] / "build" / "core" / LIBRARY
        return built if built.exists() else None


def open_library() -> Any:
    """The library, sharing the core's BLAS, or ``None`` where it was not built."""
    path = find_library()
    if path is None:
        return None
    library = ctypes.CDLL(str(path))
    for name in ("flambeau_error_text", "flambeau_version"):
        getattr(library, name).restype = ctypes.c_char_p
    for name in ("flambeau_input_count", "flambeau_output_count"):
        getattr(library, name).restype = ctypes.c_size_t
    for folder in sys.path:
        blas = Path(folder) / "scipy_openblas32" / "lib" / "libscipy_openblas.so"
        if blas.exists():
            library.flambeau_use_blas(str(blas).encode())
            break
    return library


def code_of(dtype: Any) -> int:
    """The number of a dtype in the C interface."""
    return int(dtype.code)


class RuntimeProgram:
    """A program and a session of it."""

    def __init__(self, library: Any, content: str | os.PathLike[str] | bytes) -> None:
        self.library = library
        self.program = ctypes.c_void_p()
        self.session = ctypes.c_void_p()
        self.content = content
        if isinstance(content, bytes):
            size = ctypes.c_size_t(len(content))
            status = library.flambeau_load_memory(content, size, ctypes.byref(self.program))
        else:
            status = library.flambeau_load(os.fsencode(content), ctypes.byref(self.program))
        self.check(status)
        self.check(library.flambeau_session_new(self.program, ctypes.byref(self.session)))

    def check(self, status: int) -> None:
        if status:
            raise RuntimeFailed(status, self.library.flambeau_error_text().decode(errors="replace"))

    def info(self, kind: str) -> list[Info]:
        """What it takes (``input``) or gives (``output``)."""
        found = []
        for index in range(getattr(self.library, f"flambeau_{kind}_count")(self.program)):
            info = Info()
            describe = getattr(self.library, f"flambeau_{kind}_info")
            self.check(describe(self.program, ctypes.c_size_t(index), ctypes.byref(info)))
            found.append(info)
        return found

    def set_random(self, state: list[int]) -> None:
        self.check(self.library.flambeau_session_set_random(
            self.session, (ctypes.c_uint64 * 2)(*state)))

    def random(self) -> list[int]:
        state = (ctypes.c_uint64 * 2)()
        self.check(self.library.flambeau_session_get_random(self.session, state))
        return list(state)

    def __call__(self, *tensors: Any, into: Sequence[Any] = ()) -> list[Any]:
        """Run on tensors in C order; new tensors, gradients last.

        Threads that share a session give tensors to write to: the session's own memory stays only
        until its next call, which may be another thread's.
        """
        inputs = (Buffer * max(1, len(tensors)))(*(buffer_of(tensor) for tensor in tensors))
        count = self.library.flambeau_output_count(self.program)
        outputs = (Buffer * max(1, count))(*(buffer_of(tensor) for tensor in into))
        self.check(self.library.flambeau_run(
            self.session, inputs, ctypes.c_size_t(len(tensors)), outputs, ctypes.c_size_t(count)))
        return list(into) or [_tensor(output) for output in outputs[:count]]

    def close(self) -> None:
        self.library.flambeau_session_free(self.session)
        self.library.flambeau_program_free(self.program)


def buffer_of(tensor: Any) -> Buffer:
    """The memory of a tensor in C order."""
    shape = (ctypes.c_int64 * MAX_DIMS)(*tensor.shape)
    return Buffer(tensor.data_ptr(), tensor.numel() * tensor.element_size(),
                  code_of(tensor.dtype), tensor.dim(), shape)


def _tensor(output: Buffer) -> Any:
    dtype = next(d for d in DTYPES if code_of(d) == output.dtype)
    made = fl.empty(tuple(output.shape[:output.ndim]), dtype=dtype)
    ctypes.memmove(made.data_ptr(), output.data, made.numel() * made.element_size())
    return made


DTYPES = [getattr(fl, name) for name in (
    "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16",
    "bfloat16", "float32", "float64", "complex64", "complex128", "complex32", "float8_e4m3fn",
    "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")]
