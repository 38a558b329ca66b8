"""What tensors hold of a GPU's memory, what is kept for them, and what to do when it is full."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import flambeau.cuda.runtime as runtime
from flambeau.cuda.errors import OutOfMemoryError

__all__ = ["CUDAPluggableAllocator", "MemPool", "caching_allocator_alloc",
           "caching_allocator_delete", "caching_allocator_disabled",
           "caching_allocator_enable", "change_current_allocator", "device_memory_used",
           "empty_cache", "get_allocator_backend", "get_per_process_memory_fraction",
           "host_memory_stats", "host_memory_stats_as_nested_dict", "max_memory_allocated",
           "max_memory_cached", "max_memory_reserved", "mem_get_info", "memory_allocated",
           "memory_cached", "memory_reserved", "memory_snapshot", "memory_stats",
           "memory_stats_as_nested_dict", "memory_summary", "reset_accumulated_host_memory_stats",
           "reset_accumulated_memory_stats", "reset_max_memory_allocated",
           "reset_max_memory_cached", "reset_peak_host_memory_stats", "reset_peak_memory_stats",
           "set_per_process_memory_fraction", "use_mem_pool"]

_MIB = 1 << 20
_fractions: dict[tuple[str, int], float] = {}
_taken: dict[int, Any] = {}
_base: dict[tuple[str, int], dict[str, int]] = {}


def _statistics(device: Any) -> dict[str, int]:
    """The counters of a device; all 0 where none was used."""
    from flambeau.cuda import _launch, is_initialized

    if runtime.device_type() == "cuda" and not is_initialized() and \
            not str(device).startswith("cudasim"):
        return Counter()
    found, index = runtime.place(device)
    return dict(_launch.statistics(found.device_type, index))


def memory_allocated(device: Any = None) -> int:
    """Bytes in use by tensors of a GPU; 0 where there is none."""
    return _statistics(device)["allocated"]


def memory_reserved(device: Any = None) -> int:
    """Bytes of a GPU that tensors use or that are kept for them; 0 where there is none."""
    return _statistics(device)["reserved"]


def max_memory_allocated(device: Any = None) -> int:
    """At most how many bytes tensors used since ``reset_peak_memory_stats``."""
    return _statistics(device)["most_allocated"]


def max_memory_reserved(device: Any = None) -> int:
    """At most how many bytes were reserved since ``reset_peak_memory_stats``."""
    return _statistics(device)["most_reserved"]


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let the peaks begin anew at what is in use now."""
    if _statistics(device):
        from flambeau.cuda import _launch

        found, index = runtime.place(device)
        _launch.reset_peaks(found.device_type, index)


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved
reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Let the counts of ``memory_stats`` that only grow begin at 0."""
    now = _statistics(device)
    if now:
        found, index = runtime.place(device)
        _base[found.name, index] = now


def empty_cache() -> None:
    """Give memory kept for reuse back to the driver. Does nothing where there is no GPU.

    Example:
        >>> import flambeau.cuda
        >>> flambeau.cuda.empty_cache()
    """
    from flambeau.cuda import _launch, is_initialized

    if runtime.device_type() != "cuda" or is_initialized():
        found = runtime.backend()
        for index in range(found.device_count()):
            _launch.trim(found.device_type, index)
        found.free_kept()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free and total bytes of a GPU."""
    found, index = runtime.place(device)
    return tuple(map(int, found.memory_info(index)))  # type: ignore[return-value]


def device_memory_used(device: Any = None) -> int:
    """Bytes of a GPU in use, by this process and others."""
    free, total = mem_get_info(device)
    return total - free


# ---- statistics ---------------------------------------------------------------------------------
def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """The numbers of ``memory_stats`` in nested dictionaries."""
    nested: dict[str, Any] = {}
    for key, value in memory_stats(device).items():
        *path, last = key.split(".")
        inner = nested
        for name in path:
            inner = inner.setdefault(name, {})
        inner[last] = value
    return nested


def memory_stats(device: Any = None) -> dict[str, int]:
    """What the allocator counted, by PyTorch's names; empty where no GPU was used.

    ``allocated_bytes.all`` is what tensors hold, ``reserved_bytes.all`` that and what is kept, each
    with ``current``, ``peak``, ``allocated`` (ever) and ``freed``; ``num_alloc_retries`` counts
    requests that were repeated with nothing kept, ``num_ooms`` those that failed.
    """
    s = _statistics(device)
    if not s:
        return {}
    found, index = runtime.place(device)
    base = _base.get((found.name, index), {})

    def ever(key: str) -> int:
        return s[key] - base.get(key, 0)

    rows = {"allocated_bytes": ("allocated", "most_allocated", "bytes_taken"),
            "reserved_bytes": ("reserved", "most_reserved", "bytes_reserved"),
            "allocation": ("count", "count", "takes"), "segment": ("segments", "segments",
                                                                   "reserves")}
    stats = {}
    for name, (current, peak, total) in rows.items():
        for group in ("all", "large_pool"):
            stats.update({f"{name}.{group}.current": s[current], f"{name}.{group}.peak": s[peak],
                          f"{name}.{group}.allocated": ever(total),
                          f"{name}.{group}.freed": s[total] - s[current] -
                          base.get(total, 0) + base.get(current, 0)})
    stats |= {"num_alloc_retries": ever("retries"), "num_ooms": ever("failures"),
              "num_device_alloc": ever("reserves"),
              "num_device_free": ever("reserves") - s["segments"] + base.get("segments", 0),
              "num_sync_all_streams": 0, "max_split_size": -1}
    return dict(sorted(stats.items()))


def memory_snapshot(mempool_id: Any = None, include_traces: bool = True,
                    device: Any = None) -> list[dict[str, Any]]:
    """Each block of memory: its address, size, stream and whether a tensor holds it."""
    from flambeau.cuda import _launch

    if not _statistics(device):
        return []
    found, index = runtime.place(device)
    return [{"device": index, "address": address, "total_size": size, "stream": stream,
             "allocated_size": size * used, "active_size": size * used, "segment_type": "large",
             "segment_pool_id": (0, pool), "is_expandable": False, "frames": [],
             "blocks": [{"address": address, "size": size, "requested_size": size, "frames": [],
                         "state": "active_allocated" if used else "inactive"}]}
            for address, size, stream, pool, used in _launch.snapshot(found.device_type, index)
            if mempool_id is None or mempool_id == (0, pool)]


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """A table of what tensors hold and what is kept."""
    s = _statistics(device)
    index = runtime.place(device)[1] if s else 0
    rows = [("tensors hold", s["allocated"], s["most_allocated"]),
            ("reserved", s["reserved"], s["most_reserved"]),
            ("kept for reuse", s["reserved"] - s["allocated"], 0)]
    lines = [f"{'memory of device ' + str(index):28s}{'now':>14s}{'at most':>14s}"]
    lines += [f"{name:28s}{amount(now):>14s}{amount(peak) if peak else '':>14s}"
              for name, now, peak in rows]
    if not abbreviated and s:
        lines += ["", f"{s['count']} tensors' blocks, the largest:", *held(device)]
    return "\n".join(lines)


def host_memory_stats() -> dict[str, int]:
    """Bytes of pinned memory in use, by PyTorch's names."""
    from flambeau.cuda.pinned import bytes_in_use

    return {"active_bytes.current": bytes_in_use(), "allocated_bytes.current": bytes_in_use()}


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """The numbers of ``host_memory_stats`` in nested dictionaries."""
    return {key.split(".")[0]: {"current": value} for key, value in host_memory_stats().items()}


def reset_peak_host_memory_stats() -> None:
    """Do nothing: pinned memory has no peaks here."""


reset_accumulated_host_memory_stats = reset_peak_host_memory_stats


# ---- limits -------------------------------------------------------------------------------------
def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Reserve at most a part of a GPU's memory; what goes beyond raises OutOfMemoryError.

    Args:
        fraction: From 0 to 1 of its memory.
        device: The GPU; the current one when left out.
    """
    from flambeau.cuda import _launch

    if not isinstance(fraction, float):
        raise TypeError(f"Invalid type for fraction argument, must be `float`, not {fraction!r}")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    found, index = runtime.place(device)
    _fractions[found.name, index] = fraction
    total = int(found.memory_info(index)[1])
    _launch.set_limit(found.device_type, index, 0 if fraction == 1 else max(
        1, int(fraction * total)))


def get_per_process_memory_fraction(device: Any = None) -> float:
    """What ``set_per_process_memory_fraction`` was told; 1.0 at first."""
    found, index = runtime.place(device)
    return _fractions.get((found.name, index), 1.0)


def amount(size: float) -> str:
    """Bytes in a unit that suits them."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.2f} {unit}"


def held(device: Any, most: int = 5) -> list[str]:
    """The sizes that hold most memory: ``3 x 512.00 MiB``."""
    from flambeau.cuda import _launch

    found, index = runtime.place(device)
    sizes = Counter(size for _, size, _, _, used in
                    _launch.snapshot(found.device_type, index) if used)
    order = sorted(sizes.items(), key=lambda item: -item[0] * item[1])
    return [f"{count} x {amount(size)}" for size, count in order[:most]]


def refuse(found: Any, index: int, nbytes: int, why: str) -> None:
    """Raise what a full device means, and what holds its memory."""
    device = f"{found.name}:{index}"
    s = _statistics(device)
    free, total = found.memory_info(index)
    fraction = _fractions.get((found.name, index), 1.0)
    limit = "" if fraction == 1 else \
        f" This process may reserve {fraction:.0%} of it (set_per_process_memory_fraction)."
    largest = ", ".join(held(device)) or "nothing"
    raise OutOfMemoryError(
        f"CUDA out of memory. Tried to allocate {amount(nbytes)} on device '{device}', which has "
        f"{amount(total)}, of which {amount(free)} is free.{limit} Tensors hold "
        f"{amount(s['allocated'])} ({largest}), {amount(s['reserved'] - s['allocated'])} more is "
        "kept for reuse. Let go of tensors (a loss that is added up keeps its graph: add "
        "loss.item()), take smaller batches, or use flambeau.utils.checkpoint."
        + (f" The driver says: {why}" if why else ""))


# ---- memory for others --------------------------------------------------------------------------
def caching_allocator_alloc(size: int, device: Any = None, stream: Any = None) -> int:
    """Memory of the allocator's for another library: its address.

    Args:
        size: Bytes.
        device: Where; the current device when left out.
        stream: The stream that works on it first; the current one when left out.
    """
    from flambeau.cuda import _launch
    from flambeau.cuda.streams import ExternalStream
    from flambeau.cuda.streams import stream as on

    found, index = runtime.place(device)
    if isinstance(stream, int):
        stream = ExternalStream(stream, device)
    with on(stream):
        address, block = _launch.take(found.device_type, index, size)
    _taken[address] = block
    return int(address)


def caching_allocator_delete(mem_ptr: int) -> None:
    """Give memory of ``caching_allocator_alloc`` back."""
    if _taken.pop(mem_ptr, None) is None:
        raise ValueError(f"caching_allocator_delete(): {mem_ptr:#x} is no address that "
                         "caching_allocator_alloc() gave and that was not given back")


def get_allocator_backend() -> str:
    """``"native"``: the allocator of this package."""
    return "native"


# ---- pools -------------------------------------------------------------------------------------
class MemPool:
    """Memory that only the body of ``use_mem_pool`` takes from and gives back to.

    Args:
        allocator: Not supported: memory comes from where CuPy's does (``cupy.cuda.set_allocator``).
    """

    def __init__(self, allocator: Any = None, **options: Any) -> None:
        if allocator is not None:
            raise NotImplementedError("MemPool(allocator): memory comes from where CuPy's does; "
                                      "call cupy.cuda.set_allocator() before the first tensor")
        from flambeau.cuda.graphs import graph_pool_handle

        self.id = graph_pool_handle()

    def use_count(self) -> int:
        """How many hold the pool: its user alone."""
        return 1

    def snapshot(self, include_traces: bool = True) -> list[dict[str, Any]]:
        """Each block of the pool, as ``memory_snapshot`` has them."""
        return memory_snapshot(self.id)


@contextmanager
def use_mem_pool(pool: MemPool, device: Any = None) -> Iterator[None]:
    """Let tensors of the body, in this thread, take their memory from a pool.

    Args:
        pool: The pool.
        device: Accepted for compatibility: a pool is for all devices.
    """
    from flambeau.cuda import _launch

    before = _launch.set_pool(pool.id[1])
    try:
        yield
    finally:
        _launch.set_pool(before)


class CUDAPluggableAllocator:
    """Not supported: memory comes from where CuPy's does."""

    def __init__(self, path_to_so_file: str, alloc_fn_name: str, free_fn_name: str) -> None:
        raise NotImplementedError(
            "CUDAPluggableAllocator(): memory comes from where CuPy's does; wrap the two functions "
            "by cupy.cuda.CFunctionAllocator and call cupy.cuda.set_allocator() before the first "
            "tensor, or let RMM (rmm.allocators.cupy) provide both")


@contextmanager
def caching_allocator_disabled() -> Iterator[None]:
    """Give back what is kept for reuse before and after the body; inside it is kept as ever."""
    empty_cache()
    try:
        yield
    finally:
        empty_cache()


def change_current_allocator(allocator: Any) -> None:
    """Not supported: memory comes from where CuPy's does."""
    raise NotImplementedError("change_current_allocator(): memory comes from where CuPy's does; "
                              "call cupy.cuda.set_allocator(), as of RMM, before the first tensor")


def caching_allocator_enable(value: bool = True) -> None:
    """Accepted for compatibility: memory is kept for reuse; ``empty_cache`` gives it back."""
