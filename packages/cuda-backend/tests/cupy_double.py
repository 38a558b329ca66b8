"""What the adapter uses of CuPy, over the simulated device.

Work of a stream is done in order and late: when its stream is waited for, when an array of that
stream is computed, or when another stream waits for an event recorded there; other streams stay
behind meanwhile. Arrays are closed to NumPy, memory of tensors to the host. Every n-th allocation
fails where that is asked for. Calls are recorded, to be compared with CuPy's own functions.
"""
from __future__ import annotations

import ctypes
import re
import sys
from collections import defaultdict
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace

import numpy as np

from flambeau.cuda.simulation import SimulatedBackend, libraries
from flambeau.cuda.simulation.building import build

_POINTER = ctypes.c_void_p
_LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, ctypes.c_int, _POINTER, _POINTER,
                           ctypes.POINTER(ctypes.c_uint32), ctypes.POINTER(ctypes.c_uint32),
                           ctypes.c_uint32, _POINTER, ctypes.c_size_t)
_COPY = ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, ctypes.c_int, _POINTER, _POINTER, _POINTER,
                         ctypes.c_size_t, ctypes.c_int)
_SYNCHRONIZE = ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, ctypes.c_int)
_ERROR = ctypes.CFUNCTYPE(_POINTER, _POINTER, ctypes.c_int)
WITHIN = 2


class Driver(ctypes.Structure):
    """``fl_driver`` (native/driver.h)."""

    _fields_ = (("struct_size", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
                ("ctx", _POINTER), ("launch", _LAUNCH), ("copy", _COPY),
                ("synchronize", _SYNCHRONIZE), ("error", _ERROR), ("rest", _POINTER * 12))


class OutOfMemoryError(MemoryError):
    """As CuPy's."""


class Machine:
    """Streams that are late, memory that is closed, and what was asked for."""

    def __init__(self) -> None:
        self.device = SimulatedBackend()
        self.late: dict[int, list] = defaultdict(list)
        self.stream = 0             # CuPy's current one
        self.index = 0              # its current device
        self.kernels: dict = {}     # by handle: the device it was loaded on, its address
        self.failed = ""            # what a late kernel did wrong: told by the next call
        self.fail_every = self.allocations = 0
        self.called: set = set()
        self.ran: list[str] = []
        self.words = ctypes.create_string_buffer(512)
        self.driver = Driver(ctypes.sizeof(Driver), 0, None, _LAUNCH(self._launch),
                             _COPY(self._copy), _SYNCHRONIZE(self._synchronize),
                             _ERROR(lambda *_: ctypes.addressof(self.words)))

    # ---- streams -------------------------------------------------------------------------------

    def flush(self, stream: int, count: int | None = None) -> None:
        """Do what waits in a stream, or the first of it."""
        waiting = self.late[stream]
        for _ in range(len(waiting) if count is None else count):
            waiting.pop(0)()

    def _status(self) -> int:
        self.words.value, failed = self.failed.encode(), bool(self.failed)
        self.failed = ""
        return int(failed)

    def _launch(self, _, device, stream, function, grid, block, shared_bytes, argument, size):
        of, function = self.kernels[function]
        if of != device:
            self.words.value = b"CUDA_ERROR_INVALID_HANDLE: a kernel of another device"
            return 400
        bytes_ = ctypes.string_at(argument, size)
        grid, block = ((ctypes.c_uint32 * 3)(*x[:3]) for x in (grid, block))

        def run():
            library = self.device.memory.library
            if library.fl_run_kernel(function, grid, block, shared_bytes, bytes_, size):
                self.failed = library.fl_last_error().decode()

        self.late[stream or 0].append(run)
        return self._status()

    def _copy(self, _, device, stream, to, source, size, kind):
        def run():
            with self.device._open():
                ctypes.memmove(to, source, size)

        self.late[stream or 0].append(run)
        if kind != WITHIN:          # the host's memory may be read or freed at once
            self.flush(stream or 0)
        return self._status()

    def _synchronize(self, _, device):
        for stream in list(self.late):
            self.flush(stream)
        return self._status()

    @contextmanager
    def using(self):
        """The host's turn on the current stream: what came before is done."""
        self.flush(self.stream)
        with self.device._open():
            yield

    def allocate(self, nbytes: int):
        self.count_allocation()
        return self.device.memory.allocate(nbytes)

    def count_allocation(self) -> None:
        self.allocations += 1
        if self.fail_every and self.allocations % self.fail_every == 0:
            raise OutOfMemoryError("Out of memory allocating (planted)")


class Array:
    """An array of the device: computes as NumPy's, and is closed to it."""

    __array_ufunc__ = None

    def __init__(self, machine: Machine, values: np.ndarray) -> None:
        self._machine, self._values = machine, values

    def __array__(self, *_, **__):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    @property
    def data(self):
        return SimpleNamespace(ptr=self._values.ctypes.data)

    def __getattr__(self, name: str):
        if name in ("shape", "dtype", "ndim", "size", "itemsize", "strides"):
            return getattr(self._values, name)
        if name in ("ctypes", "tobytes", "tolist") or name.startswith("__"):
            raise AttributeError(f"CuPy's arrays have no {name} that host code may use here")
        found = getattr(self._values, name)
        if callable(found):
            return lambda *a, **k: _run(self._machine, found, a, k)
        return _wrapped(self._machine, found)

    def __len__(self) -> int:
        return len(self._values)

    def __setitem__(self, key, value) -> None:
        with self._machine.using():
            self._values[_plain(key)] = _plain(value)

    def _number(self, kind):
        with self._machine.using():
            return kind(self._values)

    def __bool__(self) -> bool:
        return self._number(bool)

    def __int__(self) -> int:
        return self._number(int)

    def __float__(self) -> float:
        return self._number(float)


def _operator(name: str):
    def call(self, *others):
        function = getattr(np.ndarray, name)
        return _run(self._machine, lambda *a: function(*a), (self, *others), {})

    return call


for _name in ("add sub mul truediv floordiv mod pow matmul and or xor lshift rshift").split():
    for _kind in (f"__{_name}__", f"__r{_name}__"):
        setattr(Array, _kind, _operator(_kind))
for _name in "neg pos invert abs lt le gt ge eq ne getitem".split():
    setattr(Array, f"__{_name}__", _operator(f"__{_name}__"))


def _plain(value):
    if isinstance(value, Array):
        return value._values
    if isinstance(value, np.ndarray):
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    if isinstance(value, (tuple, list)):
        return type(value)(map(_plain, value))
    return value


def _wrapped(machine: Machine, value):
    if isinstance(value, (np.ndarray, np.generic)):
        return Array(machine, np.asarray(value))
    if isinstance(value, (tuple, list)):
        return tuple(_wrapped(machine, v) for v in value)
    return value


def _run(machine: Machine, function, args, kwargs):
    machine.count_allocation()
    with machine.using(), np.errstate(all="ignore"):
        found = function(*map(_plain, args), **{k: _plain(v) for k, v in kwargs.items()})
    return _wrapped(machine, found)


class Namespace:
    """Functions of NumPy by CuPy's names; each call is recorded."""

    def __init__(self, machine: Machine, of, name: str) -> None:
        self._machine, self._of, self._name = machine, of, name

    def __getattr__(self, name: str):
        found = getattr(self._of, name)
        if isinstance(found, type) or not callable(found):
            return found

        def call(*args, **kwargs):
            self._machine.called.add((f"{self._name}.{name}", len(args), tuple(sorted(kwargs))))
            return _run(self._machine, found, args, kwargs)

        if isinstance(found, np.ufunc):
            call.at = lambda *args: _run(self._machine, found.at, args, {})
        return call


class Kernels:
    """``cupy.RawModule``: the text built for the simulation."""

    def __init__(self, machine: Machine, code: str, options: tuple) -> None:
        kernels = re.findall(r"__global__ void (\w+)\s*\(const ([\w<>]+) c\)", code)
        launchers = "\n".join(f"FL_LAUNCHER({name}, {kind})" for name, kind in kernels)
        self.machine = machine
        self.library = build("double", f'#include "cuda.h"\n{code}\n{launchers}\n',
                             machine.device.folder)

    def get_function(self, name: str):
        address = ctypes.cast(getattr(self.library, f"launch_{name}"), _POINTER).value
        handle = address * 2 + self.machine.index       # CuPy loads modules on each device
        self.machine.kernels[handle] = self.machine.index, address
        return SimpleNamespace(kernel=SimpleNamespace(ptr=handle))


class Stream:
    """``cupy.cuda.Stream``."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.ptr = machine, id(self)

    def record(self) -> tuple[int, int]:
        return self.ptr, len(self.machine.late[self.ptr])

    def wait_event(self, event: tuple[int, int]) -> None:
        stream, count = event
        self.machine.late[self.ptr].append(lambda: self.machine.flush(
            stream, min(count, len(self.machine.late[stream]))))

    def synchronize(self) -> None:
        self.machine.flush(self.ptr)


def _library(machine: Machine, library):
    """Functions that take addresses, on the current stream."""

    def find(_, name):
        function = getattr(library, name)

        def call(*args):
            machine.called.add((f"libs.{name}", len(args), ()))
            with machine.using():
                return function(*args)

        return call

    return type("Library", (), {"__getattr__": find})()


def make(machine: Machine) -> ModuleType:
    """The module ``cupy``."""
    xp = Namespace(machine, np, "cupy")
    xp.__name__ = "cupy"
    xp.fft, xp.linalg = (Namespace(machine, getattr(np, n), f"cupy.{n}") for n in ("fft", "linalg"))
    xp.dtype, xp.RawModule = np.dtype, lambda code, options: Kernels(machine, code, options)
    memory = SimpleNamespace(UnownedMemory=lambda ptr, size, owner, device: (ptr, size, owner),
                             MemoryPointer=lambda memory, offset: (*memory, offset))

    def ndarray(shape, dtype, pointer, strides):
        address, size, owner, offset = pointer
        held = (ctypes.c_char * size).from_address(address) if address else bytearray(size)
        return Array(machine, np.ndarray(shape, dtype, held, offset, strides))

    def alloc(nbytes):
        held = machine.allocate(nbytes)
        return SimpleNamespace(ptr=held.address, mem=held)

    @contextmanager
    def device(index):
        before, machine.index = machine.index, index
        try:
            yield index
        finally:
            machine.index = before

    @contextmanager
    def on_stream(ptr, device_id=-1):
        before, machine.stream = machine.stream, ptr
        try:
            yield
        finally:
            machine.stream = before

    xp.ndarray = ndarray
    xp.cuda = SimpleNamespace(
        UnownedMemory=memory.UnownedMemory, MemoryPointer=memory.MemoryPointer, alloc=alloc,
        Device=device, ExternalStream=on_stream, runtime=SimpleNamespace(getDeviceCount=lambda: 2),
        alloc_pinned_memory=lambda nbytes: bytearray(nbytes),
        device=SimpleNamespace(get_cublas_handle=lambda: libraries.BLAS_HANDLE,
                               get_cusolver_handle=lambda: libraries.SOLVER_HANDLE))
    return xp


def install(machine: Machine, monkeypatch) -> None:
    """CuPy's packages, for imports."""
    def triangular(a, b, **facts):
        return _run(machine, libraries.solve_triangular, (a, b), facts)

    @contextmanager
    def errstate(linalg):
        yield linalg

    libs = ModuleType("cupy_backends.cuda.libs")
    libs.cublas = _library(machine, libraries.Library(libraries.CUBLAS))
    libs.cusolver = _library(machine, libraries.Library(libraries.CUSOLVER))
    cupyx, scipy_linalg = ModuleType("cupyx"), ModuleType("cupyx.scipy.linalg")
    cupyx.errstate, scipy_linalg.solve_triangular = errstate, triangular
    for name, module in (("cupy_backends", ModuleType("cupy_backends")),
                         ("cupy_backends.cuda", ModuleType("cupy_backends.cuda")),
                         ("cupy_backends.cuda.libs", libs), ("cupyx", cupyx),
                         ("cupyx.scipy", ModuleType("cupyx.scipy")),
                         ("cupyx.scipy.linalg", scipy_linalg)):
        monkeypatch.setitem(sys.modules, name, module)
