"""The backend of device type ``cuda``: CuPy's memory pool, streams, NVRTC and cuBLAS."""
from __future__ import annotations

from functools import cache
from typing import Any

from flambeau.core import _core
from flambeau.core.promotion import dtype_name
from flambeau.cuda import _launch, pinned, source
from flambeau.cuda.arrays.compositions import run_composition
from flambeau.cuda.cupy_module import cupy
from flambeau.cuda.generated import GeneratedBackend

#: Fused multiply-adds only where a formula writes them, so that bits agree with the CPU.
OPTIONS = ("--std=c++17", "--fmad=false")


class CuPyBackend(GeneratedBackend):
    """NVIDIA GPUs through CuPy. All work of a thread runs on its current CuPy stream."""

    name = "cuda"

    def __init__(self) -> None:
        self.xp = cupy()
        self.module = cache(self._module)

    def device_count(self):
        return self.xp.cuda.runtime.getDeviceCount()

    def driver(self):
        return _launch.nvidia_driver()

    def reserve(self, index, nbytes):
        with self.xp.cuda.Device(index):
            memory = self.xp.cuda.alloc(nbytes)
        return memory.ptr, memory

    def device_of(self, address):
        return self.xp.cuda.runtime.pointerGetAttributes(address).device if address else 0

    def pinned(self, nbytes):
        return pinned.allocate(self.device_type, nbytes)

    def enter(self, index):
        self.xp.cuda.Device(index).use()

    def free_kept(self):
        self.xp.get_default_memory_pool().free_all_blocks()

    def memory_info(self, index):
        with self.xp.cuda.Device(index):
            return self.xp.cuda.runtime.memGetInfo()

    def properties(self, index):
        found = self.xp.cuda.runtime.getDeviceProperties(index)
        return {"name": found["name"].decode(), "major": found["major"], "minor": found["minor"],
                "total_memory": found["totalGlobalMem"],
                "multi_processor_count": found["multiProcessorCount"],
                "warp_size": found["warpSize"],
                "max_threads_per_block": found["maxThreadsPerBlock"],
                "uuid": bytes(found.get("uuid", b"")).hex()}

    def _module(self, group: str, kind: str):
        """A module, compiled on first use; CuPy keeps the result on disk between processes."""
        return self.xp.RawModule(code=source.module(group, kind).text, options=OPTIONS)

    def function(self, group, kind, kernel):
        return self.module(group, kind).get_function(kernel).kernel.ptr

    def plan(self, op, args, outs):
        with self.xp.cuda.Device(outs[0].device.index or 0):    # which kernels are loaded for
            return super().plan(op, args, outs)

    def launch(self, group, kind, kernel, threads, argument, index):
        with self.xp.cuda.Device(index):
            super().launch(group, kind, kernel, threads, argument, index)

    def launch_grid(self, group, kind, kernel, grid, block, argument, index):
        with self.xp.cuda.Device(index):
            super().launch_grid(group, kind, kernel, grid, block, argument, index)

    def run_composition(self, op, args, outs):
        here = outs[0].device
        index = here.index or 0

        def load(t):
            return self._load(t.to(here) if t.device.type == "cpu" else t)

        stream = self.xp.cuda.ExternalStream(_launch.stream(self.device_type, index), index)
        with self.xp.cuda.Device(index), stream:
            return run_composition(self.xp, load, self._store, op, args, outs)

    # ---- tensors as CuPy arrays ----------------------------------------------------------------

    def _memory(self, t) -> Any:
        """A tensor's elements where they lie; bfloat16 as 16-bit integers."""
        name = dtype_name(t.dtype)
        dtype = self.xp.dtype("uint16" if name == "bfloat16" else name)
        strides = [step * dtype.itemsize for step in t.stride()]
        span = sum((n - 1) * s for n, s in zip(t.shape, strides, strict=True)) + dtype.itemsize
        memory = self.xp.cuda.UnownedMemory(_core.address_of(t), max(span, 1), t,
                                            t.device.index or 0)
        pointer = self.xp.cuda.MemoryPointer(memory, 0)
        return self.xp.ndarray(tuple(t.shape), dtype, pointer, strides)

    def _load(self, t) -> Any:
        memory, name = self._memory(t), dtype_name(t.dtype)
        if name == "bfloat16":
            wide = self.xp.ascontiguousarray(memory).astype("uint32") << 16
            return wide.view("float32").reshape(memory.shape)
        return memory.astype("float32") if name == "float16" else memory

    def _store(self, t, values) -> None:
        if dtype_name(t.dtype) != "bfloat16":
            self._memory(t)[...] = values
            return
        bits = self.xp.ascontiguousarray(values.astype("float32")).view("uint32")
        rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        rounded = self.xp.where(self.xp.isnan(values), 0x7FC0, rounded)
        self._memory(t)[...] = rounded.reshape(tuple(t.shape)).astype("uint16")
