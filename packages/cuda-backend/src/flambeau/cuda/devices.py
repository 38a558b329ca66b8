"""GPUs by number: which there are, what they can do, and which is the current one."""
from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import flambeau.cuda.runtime as runtime

__all__ = ["can_device_access_peer", "check_error", "clock_rate", "cudaStatus",
           "cudart", "current_blas_handle",
           "current_device", "current_solver_handle", "device", "device_count", "device_of",
           "get_arch_list", "get_device_capability", "get_device_name", "get_device_properties",
           "get_gencode_flags", "get_sync_debug_mode", "ipc_collect", "is_bf16_supported",
           "is_tf32_supported", "list_gpu_processes", "memory_usage", "power_draw", "set_device",
           "set_sync_debug_mode", "synchronize", "temperature", "utilization"]


class device:
    """Make a GPU the current one in the body.

    Args:
        device: Its number or name; None changes nothing.

    Example:
        >>> import flambeau.cuda
        >>> with flambeau.cuda.device(None):
        ...     pass
    """

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device is None else runtime.place(device)[1]
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            self.prev_idx = runtime.set_current(self.idx)

    def __exit__(self, *error: object) -> None:
        if self.idx >= 0:
            runtime.set_current(self.prev_idx)


class device_of(device):
    """Make the GPU of a tensor the current one in the body; nothing for one on the CPU."""

    def __init__(self, obj: Any) -> None:
        super().__init__(None if obj.device.type in ("cpu", "meta") else obj.device)


def _available() -> bool:
    from flambeau.cuda import is_available

    return is_available()


def device_count() -> int:
    """How many GPUs there are; 0 where none can be used."""
    return int(runtime.backend().device_count()) if _available() else 0


def current_device() -> int:
    """Number of the current GPU."""
    runtime.backend()
    return runtime.current_index()


def set_device(device: Any) -> None:
    """Make a GPU the current one.

    Args:
        device: Its number, or a device such as ``"cuda:1"``; a negative number changes nothing.
    """
    if not isinstance(device, int) or device >= 0:
        runtime.set_current(runtime.place(device)[1])


def synchronize(device: Any = None) -> None:
    """Wait until everything asked of a GPU is done."""
    found, index = runtime.place(device)
    from flambeau.core import _core

    _core.synchronize(f"{found.name}:{index}")


def get_device_properties(device: Any = None) -> SimpleNamespace:
    """Its ``name``, ``major`` and ``minor``, ``total_memory``, ``multi_processor_count`` and more.
    """
    found, index = runtime.place(device)
    return SimpleNamespace(**found.properties(index))


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Compute capability of a GPU, such as ``(9, 0)``."""
    found = get_device_properties(device)
    return found.major, found.minor


def get_device_name(device: Any = None) -> str:
    """Name of a GPU."""
    return str(get_device_properties(device).name)


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether a GPU is there that computes in bfloat16."""
    return _available() and (including_emulation or get_device_capability() >= (8, 0))


def is_tf32_supported() -> bool:
    """Whether a GPU is there with tensor cores for TF32."""
    return _available() and get_device_capability() >= (8, 0)


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether tensors move from one GPU to another without the host."""
    (here, a), (there, b) = runtime.place(device), runtime.place(peer_device)
    return here is there and a != b


def get_arch_list() -> list[str]:
    """Architectures that kernels are compiled for: that of the GPU, on first use."""
    if not _available():
        return []
    return sorted({"sm_{}{}".format(*get_device_capability(i)) for i in range(device_count())})


def get_gencode_flags() -> str:
    """The options that such architectures have for nvcc."""
    return " ".join(f"-gencode compute=compute_{a[3:]},code={a}" for a in get_arch_list())


def ipc_collect() -> None:
    """Do nothing: no memory is shared between processes."""


_sync_debug = ["default"]


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Accepted for compatibility: calls that wait for the GPU are not reported."""
    names = ("default", "warn", "error")
    name = names[debug_mode] if isinstance(debug_mode, int) else debug_mode
    if name not in names:
        raise RuntimeError(f"invalid value of debug_mode, expected one of {names}, not {name!r}")
    _sync_debug[0] = name


def get_sync_debug_mode() -> int:
    """What ``set_sync_debug_mode`` was told: 0, 1 or 2."""
    return ("default", "warn", "error").index(_sync_debug[0])


class cudaStatus:
    """Numbers of the runtime's statuses."""

    SUCCESS, ERROR_NOT_READY = 0, 34


def check_error(res: int) -> None:
    """Raise for a status of the runtime that is an error."""
    from flambeau.cuda.errors import AcceleratorError

    if res != cudaStatus.SUCCESS:
        raise AcceleratorError(f"CUDA error {res}; see the driver's documentation of cudaError_t")


def cudart() -> Any:
    """The runtime's functions, as CuPy has them."""
    from flambeau.cuda.cupy_module import cupy

    return cupy().cuda.runtime


def current_blas_handle() -> int:
    """The address of cuBLAS' handle, as CuPy has it."""
    from flambeau.cuda.cupy_module import cupy

    return int(cupy().cuda.device.get_cublas_handle())


def current_solver_handle() -> int:
    """The address of cuSOLVER's handle, as CuPy has it."""
    from flambeau.cuda.cupy_module import cupy

    return int(cupy().cuda.device.get_cusolver_handle())


def _ask_nvml(what: str) -> Any:
    raise ModuleNotFoundError(f"flambeau.cuda.{what}() is NVML's: pip install nvidia-ml-py, import "
                              "pynvml, and ask it")


def utilization(device: Any = None) -> int:
    """How busy a GPU is; NVML says it."""
    return int(_ask_nvml("utilization"))


def memory_usage(device: Any = None) -> int:
    """How busy a GPU's memory is; NVML says it."""
    return int(_ask_nvml("memory_usage"))


def temperature(device: Any = None) -> int:
    """How hot a GPU is; NVML says it."""
    return int(_ask_nvml("temperature"))


def power_draw(device: Any = None) -> int:
    """How much power a GPU draws; NVML says it."""
    return int(_ask_nvml("power_draw"))


def clock_rate(device: Any = None) -> int:
    """How fast a GPU's clock is; NVML says it."""
    return int(_ask_nvml("clock_rate"))


def list_gpu_processes(device: Any = None) -> str:
    """Which processes use a GPU; NVML says it."""
    return str(_ask_nvml("list_gpu_processes"))

