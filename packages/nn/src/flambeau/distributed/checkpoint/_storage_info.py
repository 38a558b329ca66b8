"""Where a part of a checkpoint lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass
class _StorageInfo:
    """Some bytes of a file.

    Attributes:
        relative_path: The file's name.
        offset: The first byte.
        length: How many there are.
        transform_descriptors: How they were changed; None where they were not.
    """

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Sequence[str] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value is not None}
