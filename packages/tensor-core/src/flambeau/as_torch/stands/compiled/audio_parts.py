"""What torchaudio asks its compiled library about itself."""
from __future__ import annotations

from typing import Any


def _cuda_version() -> None:
    """None: what checks versions of CUDA has nothing to compare."""


def _is_there() -> bool:
    return True


NAMESPACE = "_torchaudio"
OPERATORS: dict[str, Any] = {
    "cuda_version() -> int?": _cuda_version,
    "is_align_available() -> bool": _is_there,
    "is_rir_available() -> bool": _is_there,
}
