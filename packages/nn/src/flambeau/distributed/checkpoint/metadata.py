"""What a checkpoint says of its contents; the classes have PyTorch's names in files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import flambeau

__all__ = [
    "BytesStorageMetadata",
    "ChunkStorageMetadata",
    "Metadata",
    "MetadataIndex",
    "StorageMeta",
    "TensorProperties",
    "TensorStorageMetadata",
]


@dataclass
class ChunkStorageMetadata:
    """A part of a tensor.

    Attributes:
        offsets: Where it begins.
        sizes: Its shape.
    """

    offsets: Any
    sizes: Any


class _MEM_FORMAT_ENCODING(Enum):
    """How files name memory formats."""

    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


@dataclass
class TensorProperties:
    """What a tensor is, besides its shape.

    Attributes:
        dtype: Its dtype.
        layout: Accepted for compatibility.
        requires_grad: Accepted for compatibility.
        memory_format: Accepted for compatibility.
        pin_memory: Accepted for compatibility.
    """

    dtype: Any = None
    layout: Any = flambeau.strided
    requires_grad: bool = False
    memory_format: Any = _MEM_FORMAT_ENCODING.TORCH_CONTIGUOUS_FORMAT
    pin_memory: bool = False

    def __getstate__(self) -> tuple[Any, ...]:
        return (self.dtype, self.layout, self.requires_grad, self.memory_format, self.pin_memory)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.dtype, self.layout, self.requires_grad, self.memory_format, self.pin_memory = state

    @staticmethod
    def create_from_tensor(tensor: Any) -> TensorProperties:
        """Those of a tensor.

        Args:
            tensor: The tensor.
        """
        return TensorProperties(tensor.dtype, requires_grad=tensor.requires_grad)


@dataclass
class TensorStorageMetadata:
    """A tensor in a checkpoint.

    Attributes:
        properties: What it is.
        size: Its shape.
        chunks: Its parts.
    """

    properties: TensorProperties
    size: Any
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """An object in a checkpoint that is no tensor."""


@dataclass
class StorageMeta:
    """Where a checkpoint was saved, and when it was read."""

    checkpoint_id: Any = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """What is in a checkpoint.

    Attributes:
        state_dict_metadata: Tensors and other objects, by name.
        planner_data: The path of each in the state dict.
        storage_data: Where each part lies in files, by `MetadataIndex`.
        storage_meta: Where the checkpoint was saved.
        version: That of the format.
    """

    state_dict_metadata: dict[str, Any]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None


@dataclass(frozen=True, init=False)
class MetadataIndex:
    """A part of a tensor, or an object, by name.

    Args:
        fqn: The name.
        offset: Where the part begins; None for objects.
        index: Accepted for compatibility.
    """

    fqn: str
    offset: Any = None
    index: int | None = field(hash=False, compare=False, default=None)

    def __init__(
        self, fqn: str, offset: Sequence[int] | None = None, index: int | None = None
    ) -> None:
        object.__setattr__(self, "fqn", fqn)
        object.__setattr__(self, "offset", None if offset is None else flambeau.Size(offset))
        object.__setattr__(self, "index", index)
