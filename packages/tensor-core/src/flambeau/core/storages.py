"""The memory of tensors as objects: ``x.untyped_storage().data_ptr()`` tells what is shared."""
from __future__ import annotations

from typing import Any

from flambeau.core import _core, functions
from flambeau.core._core import Tensor


class UntypedStorage:
    """The bytes that a tensor and its views share.

    Two of these are equal when they are the same memory.

    Args:
        tensor: Any tensor of the storage.

    Example:
        >>> import flambeau
        >>> x = flambeau.zeros(2, 3)
        >>> x.untyped_storage().nbytes()
        24
        >>> x[1].untyped_storage() == x.untyped_storage()
        True
    """

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor.detach()

    @property
    def device(self) -> Any:
        """Where the memory is."""
        return self._tensor.device

    def data_ptr(self) -> int:
        """The address of the first byte; 0 without any."""
        x = self._tensor
        return x.data_ptr() - x.storage_offset() * x.element_size() if self.nbytes() else 0

    def nbytes(self) -> int:
        """How many bytes there are."""
        return int(_core.storage_bytes(self._tensor))

    def size(self) -> int:
        """How many elements there are: bytes."""
        return self.nbytes()

    def element_size(self) -> int:
        """Bytes of an element: 1."""
        return 1

    def __len__(self) -> int:
        return self.size()

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, UntypedStorage)
                and _core.storage_id(self._tensor) == _core.storage_id(other._tensor))

    def __hash__(self) -> int:
        return hash(_core.storage_id(self._tensor))


class TypedStorage(UntypedStorage):
    """The memory that a tensor and its views share, as elements of its dtype.

    Args:
        tensor: Any tensor of the storage.

    Example:
        >>> import flambeau
        >>> flambeau.arange(6).view(2, 3)[1].storage().tolist()
        [0, 1, 2, 3, 4, 5]
    """

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self._tensor.dtype

    def size(self) -> int:
        """How many elements there are."""
        return self.nbytes() // self.element_size()

    def element_size(self) -> int:
        """Bytes of an element."""
        return int(self._tensor.element_size())

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return UntypedStorage(self._tensor)

    def _elements(self) -> Tensor:
        return functions["as_strided"](self._tensor, (self.size(),), (1,), 0)

    def tolist(self) -> list[Any]:
        """All elements, those that no view of the memory shows included."""
        return self._elements().tolist()

    def __getitem__(self, index: Any) -> Any:
        found = self._elements()[index]
        return found if isinstance(index, slice) else found.item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._elements()[index] = value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.tolist()}, dtype={self.dtype}, device={self.device})"
