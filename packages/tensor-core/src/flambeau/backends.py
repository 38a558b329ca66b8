"""What this build and machine can use, under PyTorch's names, so that programs that ask run.

Settings of libraries that Flambeau does not use (cuDNN, MKL, oneDNN) are accepted and change
nothing: there is no nondeterministic or less precise kernel that they could switch.
"""

from __future__ import annotations

from types import SimpleNamespace

from flambeau import rooms
from flambeau.core import isa_level

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp"]


def _no() -> bool:
    return False


def _cuda_is_built() -> bool:
    return rooms.installed("cuda")


def _cpu_capability() -> str:
    return {"v4": "AVX512", "v3": "AVX2"}.get(isa_level(), "DEFAULT")


cpu = SimpleNamespace(get_cpu_capability=_cpu_capability)
cuda = SimpleNamespace(
    is_built=_cuda_is_built,
    matmul=SimpleNamespace(
        allow_tf32=False,
        allow_fp16_reduced_precision_reduction=False,
        allow_bf16_reduced_precision_reduction=False,
    ),
)
cudnn = SimpleNamespace(
    is_available=_no, enabled=False, benchmark=False, deterministic=True, allow_tf32=False
)
mkl = SimpleNamespace(is_available=_no)
mkldnn = SimpleNamespace(is_available=_no, enabled=False)
mps = SimpleNamespace(is_available=_no, is_built=_no)
openmp = SimpleNamespace(is_available=_no)
