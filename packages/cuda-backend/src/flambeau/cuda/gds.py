"""Files read into a GPU's memory by NVIDIA's GPUDirect Storage, which is not used."""
from __future__ import annotations

from typing import Any

__all__ = ["GdsFile", "gds_deregister_buffer", "gds_register_buffer"]

_INSTEAD = ("files are read through the host's memory: write flambeau.load(path, mmap=True) and "
            "x.pin_memory().to('cuda', non_blocking=True), or read with kvikio into a CuPy array "
            "and take it by flambeau.from_dlpack()")


def gds_register_buffer(s: Any) -> None:
    """Not supported: files are read through the host's memory."""
    raise NotImplementedError(f"cuda.gds.gds_register_buffer(): {_INSTEAD}")


def gds_deregister_buffer(s: Any) -> None:
    """Not supported: files are read through the host's memory."""
    raise NotImplementedError(f"cuda.gds.gds_deregister_buffer(): {_INSTEAD}")


class GdsFile:
    """Not supported: files are read through the host's memory."""

    def __init__(self, filename: str, flags: int) -> None:
        raise NotImplementedError(f"cuda.gds.GdsFile(): {_INSTEAD}")
