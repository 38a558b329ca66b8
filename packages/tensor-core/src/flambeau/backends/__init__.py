"""What this build and machine can use, under PyTorch's names, so that programs that ask run.

Settings of libraries that Flambeau does not use are accepted: see ``core/compat/table.py``.
"""
from flambeau.backends import (
    cpu,
    cuda,
    cudnn,
    mha,
    mkl,
    mkldnn,
    mps,
    nnpack,
    openmp,
    opt_einsum,
    quantized,
    xnnpack,
)

__all__ = ["cpu", "cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "nnpack", "openmp",
           "opt_einsum", "quantized", "xnnpack"]
