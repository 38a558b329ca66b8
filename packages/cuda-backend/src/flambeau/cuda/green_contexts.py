"""Parts of a GPU's multiprocessors for a stream, which are not offered."""
from __future__ import annotations

from typing import Any

__all__ = ["GreenContext"]

SUPPORTED = False


class GreenContext:
    """Not supported: streams share all multiprocessors."""

    @staticmethod
    def create(num_sms: int, device_id: int = 0) -> Any:
        """Not supported: streams share all multiprocessors."""
        raise NotImplementedError("cuda.GreenContext.create(): streams share all multiprocessors; "
                                  "give streams priorities, cuda.Stream(priority=-1), or limit the "
                                  "process by NVIDIA's MPS (CUDA_MPS_ACTIVE_THREAD_PERCENTAGE)")
