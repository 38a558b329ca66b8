"""Memory of the simulated device, in which no access goes astray unnoticed."""
from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

from flambeau.cuda.simulation.building import HERE, build

#: Work of a library in a stream, which the host does.
HOST_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int)


class Allocation:
    """Frees its memory when nobody holds it, in the order of a stream."""

    __slots__ = ("_free", "address", "handle", "place")

    def __init__(self, address: int, handle: int, place: tuple[int, int], free) -> None:
        self.address, self.handle, self.place, self._free = address, handle, place, free

    def __del__(self) -> None:
        self._free(*self.place, self.handle)


class DeviceMemory:
    """Allocations between guarded pages.

    Args:
        folder: where the library is kept.
    """

    def __init__(self, folder: Path) -> None:
        self.library = _library(folder)

    def allocate(self, nbytes: int, index: int = 0, stream: int = 0) -> Allocation:
        """Memory full of NaN, of a device and a stream.

        Raises:
            MemoryError: the host has no more.
        """
        handle = ctypes.c_void_p()
        address = self.library.fl_device_allocate(nbytes, ctypes.byref(handle))
        if not address:
            raise MemoryError(f"device 'cudasim' has no memory for {nbytes} bytes")
        return Allocation(address, handle.value or 0, (index, stream),
                          self.library.fl_device_free_in)

    def describe(self, address: int) -> str:
        """What lies at or around an address, for errors."""
        data, size = ctypes.c_void_p(), ctypes.c_size_t()
        if not self.library.fl_device_find(address, ctypes.byref(data), ctypes.byref(size)):
            return "far from any tensor"
        return f"{address - (data.value or 0)} bytes into a storage of {size.value}"


@cache
def _library(folder: Path) -> ctypes.CDLL:
    names = ("memory.cpp", "streams.cpp", "driver.cpp")
    text = "".join((HERE / name).read_text() for name in names)
    library = build("device", text, folder)
    library.fl_device_allocate.restype = ctypes.c_void_p
    library.fl_device_allocate.argtypes = [ctypes.c_size_t, ctypes.c_void_p]
    library.fl_device_free_in.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    library.fl_works_of.argtypes = [ctypes.c_int, ctypes.c_void_p]
    library.fl_is_capturing.argtypes = [ctypes.c_int, ctypes.c_void_p]
    library.fl_ask_host.argtypes = [ctypes.c_int, ctypes.c_void_p, HOST_FUNCTION]
    library.fl_simulated_driver.restype = ctypes.c_void_p
    library.fl_last_error.restype = ctypes.c_char_p
    library.fl_launches_of.argtypes = [ctypes.c_void_p]
    library.fl_set_order.argtypes = [ctypes.c_int, ctypes.c_uint64]
    library.fl_run_kernel.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p,
                                      ctypes.c_uint32, ctypes.c_char_p, ctypes.c_size_t]
    library.fl_device_find.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    return library
