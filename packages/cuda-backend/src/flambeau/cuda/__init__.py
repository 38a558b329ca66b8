"""Flambeau on NVIDIA GPUs: ``x.to("cuda")``.

Importing needs neither CuPy nor a GPU; what is missing is said when a GPU is asked for. In
``simulation.as_cuda()`` the functions speak of device ``cudasim``.
"""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from flambeau.core.once import first_use
from flambeau.cuda import amp, graphs, memory, nvtx, profiler, random, runtime, streams
from flambeau.cuda.cupy_module import cupy, why_unavailable
from flambeau.cuda.devices import *  # noqa: F403
from flambeau.cuda.devices import __all__ as _of_devices
from flambeau.cuda.errors import AcceleratorError, DeferredCudaCallError, OutOfMemoryError
from flambeau.cuda.graphed import make_graphed_callables
from flambeau.cuda.graphs import *  # noqa: F403
from flambeau.cuda.memory import *  # noqa: F403
from flambeau.cuda.random import *  # noqa: F403
from flambeau.cuda.streams import *  # noqa: F403
from flambeau.rooms import import_module

if TYPE_CHECKING:
    from flambeau.cuda.cupy_backend import CuPyBackend

__all__ = [  # noqa: PLE0604
    "AcceleratorError", "DeferredCudaCallError", "OutOfMemoryError", "amp", "backend", "graphs",
    "init", "is_available", "is_initialized", "make_graphed_callables", "memory", "nvtx",
    "profiler", "random", "streams", "why_unavailable", *_of_devices, *graphs.__all__,
    *memory.__all__, *random.__all__, *streams.__all__]

CudaError = AcceleratorError
has_half, has_magma = True, False
_backend: CuPyBackend | None = None
_owner = 0      # the process that made it
#: Modules that few programs ask for.
_RARE = ("comm", "gds", "green_contexts", "jiterator", "nccl", "sparse", "tunable")


def backend() -> CuPyBackend:
    """The backend of device type ``cuda``; the entry point that the core loads.

    Raises:
        RuntimeError: CuPy, the driver or a GPU is missing; the text says which.
    """
    global _backend, _owner
    cupy()
    if _backend is None:
        from flambeau.cuda.cupy_backend import CuPyBackend

        with first_use:
            _backend, _owner = _backend or CuPyBackend(), os.getpid()
    return _backend


def is_available() -> bool:
    """Whether tensors can live on a GPU here.

    Example:
        >>> import flambeau.cuda
        >>> flambeau.cuda.is_available() in (True, False)
        True
    """
    return runtime.device_type() != "cuda" or runtime.is_replaced() or why_unavailable() is None


def is_initialized() -> bool:
    """Whether a GPU has been used."""
    return runtime.device_type() != "cuda" or runtime.is_replaced() or _backend is not None


def _is_in_bad_fork() -> bool:
    """Whether a GPU was used before this process was forked, which cannot use one then."""
    return _backend is not None and _owner != os.getpid()


def init() -> None:
    """Find the GPU now and not at its first use."""
    runtime.backend()


def __getattr__(name: str) -> Any:
    if name == "default_generators":
        return tuple(random.generator(i) for i in range(device_count()))  # noqa: F405
    if name in _RARE:
        return import_module(f"flambeau.cuda.{name}")
    if name == "GreenContext":
        return import_module("flambeau.cuda.green_contexts").GreenContext
    if name.endswith("Tensor"):
        tensor_type = import_module("flambeau.cuda.tensor_types").named(name)
        if tensor_type is not None:
            return tensor_type
    if name.endswith("Storage"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; a tensor's memory "
                             "is x.untyped_storage(), on whatever device", name=name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
