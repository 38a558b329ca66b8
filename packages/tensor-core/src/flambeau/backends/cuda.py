"""Settings of CUDA's libraries; accepted, and without effect."""
from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from flambeau import rooms

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["cudnn_sdp_enabled", "enable_cudnn_sdp", "enable_flash_sdp", "enable_math_sdp",
           "enable_mem_efficient_sdp", "flash_sdp_enabled", "is_built", "math_sdp_enabled",
           "matmul", "mem_efficient_sdp_enabled", "preferred_linalg_library", "sdp_kernel"]

matmul = SimpleNamespace(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=False,
    allow_bf16_reduced_precision_reduction=False,
)
_enabled = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def is_built() -> bool:
    """Whether flambeau-cuda-backend is installed."""
    return rooms.installed("cuda")


def _asks(kernel: str) -> Any:
    def asked() -> bool:
        return _enabled[kernel]

    asked.__name__ = asked.__qualname__ = f"{kernel}_sdp_enabled"
    asked.__doc__ = f"What ``enable_{kernel}_sdp`` was told; True at first."
    return asked


def _sets(kernel: str) -> Any:
    def enable(enabled: bool) -> None:
        _enabled[kernel] = bool(enabled)

    enable.__name__ = enable.__qualname__ = f"enable_{kernel}_sdp"
    enable.__doc__ = "Say whether attention may use a kernel; there is one, whatever is said."
    return enable


flash_sdp_enabled, enable_flash_sdp = _asks("flash"), _sets("flash")
mem_efficient_sdp_enabled, enable_mem_efficient_sdp = _asks("mem_efficient"), _sets("mem_efficient")
math_sdp_enabled, enable_math_sdp = _asks("math"), _sets("math")
cudnn_sdp_enabled, enable_cudnn_sdp = _asks("cudnn"), _sets("cudnn")


@contextmanager
def sdp_kernel(enable_flash: bool = True, enable_math: bool = True,
               enable_mem_efficient: bool = True, enable_cudnn: bool = True) -> Iterator[None]:
    """Say for a block which kernels attention may use.

    Args:
        enable_flash: What ``flash_sdp_enabled`` answers.
        enable_math: What ``math_sdp_enabled`` answers.
        enable_mem_efficient: What ``mem_efficient_sdp_enabled`` answers.
        enable_cudnn: What ``cudnn_sdp_enabled`` answers.
    """
    before = dict(_enabled)
    _enabled.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient,
                    cudnn=enable_cudnn)
    try:
        yield
    finally:
        _enabled.update(before)


def preferred_linalg_library(backend: str | None = None) -> str:
    """The library of matrix decompositions on GPUs.

    Args:
        backend: Accepted for compatibility.
    """
    return "default"
