# Threads, memory, instruction sets and modes of the running process.

def parallel_for_address() -> int:
    """Address of the thread pool's ``fl_parallel_chunks(n, grain, fn, ctx)``."""
    return <uintptr_t><void *>&fl_parallel_chunks


def isa_level() -> str:
    """The instruction set level kernels run at: ``v2``, ``v3``, ``v4`` or ``base``."""
    return fl_isa_name(fl_isa_level()).decode()


def cache_bytes() -> int:
    """Size of the last cache."""
    return fl_host_cache()


def get_num_threads() -> int:
    """Threads that take part in one operator."""
    return fl_get_num_threads()


def set_num_threads(count):
    """Set how many threads take part in one operator; at least 1."""
    if not _is_integer(count):
        raise TypeError(f"set_num_threads(): expects an int, but got {type(count).__name__}")
    if fl_set_num_threads(count) < 0:
        fl_raise()


def _allow_winograd(bint allow):
    fl_conv_allow_winograd(allow)


def memory_stats() -> dict:
    """Bytes and counts of the CPU allocator."""
    cdef fl_alloc_info info
    fl_alloc_stats(&info)
    return {"live_bytes": info.live_bytes, "peak_live_bytes": info.peak_live_bytes,
            "cached_bytes": info.cached_bytes, "cache_limit": info.cache_limit,
            "alloc_count": info.alloc_count, "free_count": info.free_count,
            "system_count": info.system_count}


def reset_peak_memory_stats():
    """Start a new peak of live bytes."""
    fl_alloc_reset_peak()


def empty_cache():
    """Give freed blocks back to the operating system."""
    fl_alloc_trim()


def _fail_allocations_after(int64_t blocks):
    """For tests, under FLAMBEAU_ALLOC=plain: the request after so many more fails; -1: none."""
    fl_alloc_fail_after(blocks)


def is_grad_enabled() -> bool:
    """Whether operations are recorded on this thread."""
    return (fl_thread.mode & FL_M_GRAD) != 0


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in inference mode."""
    return (fl_thread.mode & FL_M_INFERENCE) != 0


def _set_mode(uint32_t mode):
    fl_thread.mode = mode


def _get_mode():
    return fl_thread.mode
