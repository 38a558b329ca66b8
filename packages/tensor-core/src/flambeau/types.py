"""Names for annotations, as in ``torch.types``."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.core import Size, Tensor, device, dtype

Number = int | float | bool
Device = device | str | int | None

_dtype = dtype
_device = device
_int, _float, _bool, _complex = int, float, bool, complex
_size = Size | list[int] | tuple[int, ...]
_layout = str
_TensorOrTensors = Tensor | Sequence[Tensor]
Storage = Any

__all__ = ["Device", "Number", "Storage"]
