"""The processor."""
from flambeau.core import isa_level

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """The instructions that kernels use: ``"AVX512"``, ``"AVX2"`` or ``"DEFAULT"``."""
    return {"v4": "AVX512", "v3": "AVX2"}.get(isa_level(), "DEFAULT")
