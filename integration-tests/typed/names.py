"""Names with types in modules that are filled at run time: ``test_typed.py`` checks and runs it."""

from __future__ import annotations

import flambeau
import flambeau.array_api as xp
from flambeau import Tensor, backends, cpu, distributed, return_types


def main() -> float:
    """One of each."""
    x: Tensor = flambeau.ones(2, 2)
    largest: return_types.max = x.max(0)
    y: Tensor = xp.exp(xp.add(x, xp.asarray(1.0, dtype=xp.float32)))
    assert xp.fft.fft(y, n=4, axis=-1).shape == (2, 4)
    available: list[bool] = [backends.mkl.is_available(), not distributed.is_available()]
    backends.cudnn.deterministic = True
    with backends.cuda.sdp_kernel(enable_flash=False), cpu.stream(None):
        assert not backends.cuda.flash_sdp_enabled() and not any(available)
    precision: str = flambeau.get_float32_matmul_precision()
    assert precision in ("highest", "high", "medium")
    return float(largest.values.sum() + xp.linalg.det(x))
