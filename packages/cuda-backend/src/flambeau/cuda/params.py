"""Numbers of the interface that arguments of kernels have."""
from __future__ import annotations

#: dtype codes of ``flambeau/abi.h``.
DTYPE_CODES = {name: code for code, name in enumerate(
    "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 "
    "complex64 complex128".split())}
