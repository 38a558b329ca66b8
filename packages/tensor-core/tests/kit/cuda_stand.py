"""A stand-in for a CUDA device without a GPU: NumPy in host memory, for processes of their own."""

from __future__ import annotations

from flambeau.core import backends
from flambeau.testing.reference import ReferenceBackend


class Stand(ReferenceBackend):
    """Device type ``cuda``; notes what is asked of the driver."""

    name = "cuda"

    def __init__(self):
        self.synchronized = []

    def device_of(self, address):
        return 1

    def device_count(self):
        return 2

    def synchronize(self, index):
        self.synchronized.append(index)


class Foreign:
    """Another library's array, with its memory said to be on a CUDA device."""

    def __init__(self, array, **more):
        self.array = array
        face = array.__array_interface__
        kept = {name: face[name] for name in ("shape", "typestr", "strides", "data")}
        self.__cuda_array_interface__ = {**kept, "version": 3, **more}


stand = Stand()
backends.register(stand)
