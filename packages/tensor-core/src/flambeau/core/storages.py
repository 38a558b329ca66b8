"""The memory of tensors as objects: ``x.untyped_storage().data_ptr()`` tells what is shared."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import index as as_index
from typing import Any, Self

from flambeau.core import _core, functions
from flambeau.core._core import Tensor

_UINT8 = _core._dtype_named("uint8")


def _byte_view(tensor: Tensor) -> Tensor:
    """All bytes of the storage of a tensor, which shares it, as one dimension."""
    plain, count = tensor.detach(), int(_core.storage_bytes(tensor))
    if plain.is_cpu:
        return _core._on_storage(_core._storage_of(plain), _UINT8, (count,), (1,), 0)
    elements = count // plain.element_size()
    return functions["as_strided"](plain, (elements,), (1,), 0).view(_UINT8)


def new_tensor(what: str, arguments: tuple[Any, ...], dtype: Any, device: Any) -> Tensor:
    """The elements that a constructor's arguments ask for, in memory of their own."""
    if len(arguments) > 1:
        raise RuntimeError(f"{what}(): Too many positional arguments: expected a size or one "
                           f"sequence of numbers, got {len(arguments)}")
    first = arguments[0] if arguments else 0
    if isinstance(first, (Tensor, Storage)) or not (
            hasattr(first, "__index__") or isinstance(first, Sequence)):
        raise TypeError(f"{what}(): Argument type not recognized: {type(first).__name__}; give a "
                        "size or a sequence of numbers. The storage of a tensor x is "
                        "x.untyped_storage()")
    if isinstance(first, str):
        raise TypeError(f"{what}(): invalid data type 'str'; give a sequence of numbers")
    if isinstance(first, Sequence):
        made = _core.tensor(first, dtype=dtype).reshape(-1)
        return made if device is None else made.to(device)
    return functions["empty"]((as_index(first),), dtype=dtype, device=device)


class Storage:
    """What storages of bytes and of elements share; ``_bytes`` are all bytes of the memory."""

    _bytes: Tensor

    @property
    def device(self) -> Any:
        """Where the memory is."""
        return self._bytes.device

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is a GPU's."""
        return bool(self._bytes.is_cuda)

    is_sparse = False

    def is_shared(self) -> bool:
        """Whether other processes can share the memory."""
        return bool(self._bytes.is_shared())

    def share_memory_(self) -> Self:
        """Move the memory to where other processes can share it, as a tensor's ``share_memory_``.

        Raises:
            RuntimeError: An array looks at the memory, and would not move with it.
        """
        if not self.is_shared():
            self._bytes.share_memory_()
        return self

    @property
    def _cdata(self) -> int:
        if self.is_shared():        # what comes back from another process is the same memory
            return int(_core.storage_address(self._bytes))
        return int(_core.storage_id(self._bytes))

    def _elements(self) -> Tensor:
        """All elements, as a tensor that shares the memory."""
        raise NotImplementedError

    def _readable(self) -> Tensor:
        if self._bytes.is_meta:
            raise NotImplementedError(f"{type(self).__name__}: Not available for 'meta' storage: "
                                      "it has a size and no elements")
        return self._elements()

    def data_ptr(self) -> int:
        """The address of the first byte; 0 without any, and on ``meta``."""
        return int(self._bytes.data_ptr()) if self.nbytes() and not self._bytes.is_meta else 0

    def nbytes(self) -> int:
        """How many bytes there are."""
        return int(self._bytes.numel())

    def size(self) -> int:
        """How many elements there are."""
        return self.nbytes() // self.element_size()

    def element_size(self) -> int:
        """Bytes of an element."""
        raise NotImplementedError

    def get_device(self) -> int:
        """The number of the GPU; -1 on the CPU."""
        return int(self._bytes.get_device())

    def tolist(self) -> list[Any]:
        """All elements, those that no view of the memory shows included."""
        return self._readable().tolist()

    def fill_(self, value: Any) -> Self:
        """Set every element."""
        self[:] = value
        return self

    def copy_(self, source: Storage, non_blocking: bool | None = None) -> Self:
        """Write the elements of another storage of the same size, converted to this dtype.

        Args:
            source: Where they come from.
            non_blocking: Accepted for compatibility.
        """
        if source._bytes.is_meta:
            raise NotImplementedError("copy_(): Cannot copy out of meta storage; no data!")
        if source.size() != self.size():
            raise RuntimeError(f"copy_(): {source.size()} elements do not fit a storage of "
                               f"{self.size()}")
        self._elements().copy_(source._elements())
        return self

    def resize_(self, size: int) -> None:
        """Hold another number of elements; the first ones are kept.

        Raises:
            RuntimeError: A tensor shows this memory. Tensors keep their address, so that its
                storage cannot move: resize the tensor, or a ``clone`` of the storage.
        """
        count = as_index(size) * self.element_size()
        old = self._bytes
        if count == self.nbytes():
            return
        if not old.is_meta and _core.storage_refcount(old) > 1:
            raise RuntimeError(
                f"resize_(): a tensor shows these {self.nbytes()} bytes, and tensors keep their "
                "address; write x.resize_(...) for the tensor, or storage.clone().resize_(...)")
        self._bytes = functions["empty"]((count,), dtype=_UINT8, device=old.device)
        if not old.is_meta:
            kept = min(count, old.numel())
            self._bytes[:kept].copy_(old[:kept])

    def __sizeof__(self) -> int:
        return super().__sizeof__() + self.nbytes()

    def __len__(self) -> int:
        return self.size()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        elements = self._readable()
        if not isinstance(index, slice):
            return elements[as_index(index)].item()
        if index.step not in (None, 1):
            raise TypeError(f"a storage is sliced in steps of 1, got {index.step}; write "
                            "storage.tolist()[a:b:step]")
        return self._sliced(*index.indices(len(self))[:2])

    def _sliced(self, start: int, stop: int) -> Any:
        raise NotImplementedError

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(value, Storage):
            raise RuntimeError(f"cannot set item with a {type(value).__name__}; write "
                               "storage.copy_(other), or give a number")
        self._readable()[index] = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Storage) and self._cdata == other._cdata \
            and isinstance(other, UntypedStorage) == isinstance(self, UntypedStorage)

    def __hash__(self) -> int:
        return hash(self._cdata)


class UntypedStorage(Storage):
    """The bytes that a tensor and its views share.

    Two of these are equal when they are the same memory.

    Args:
        arguments: A number of bytes (uninitialized), or a sequence of their values.
        device: Where the memory should be.

    Example:
        >>> import flambeau
        >>> x = flambeau.zeros(2, 3)
        >>> x.untyped_storage().nbytes()
        24
        >>> x[1].untyped_storage() == x.untyped_storage()
        True
    """

    def __init__(self, *arguments: Any, device: Any = None) -> None:
        self._bytes = new_tensor("UntypedStorage", arguments, _UINT8, device)

    @classmethod
    def _of(cls, tensor: Tensor) -> UntypedStorage:
        """The storage of a tensor."""
        made = cls.__new__(cls)
        made._bytes = _byte_view(tensor)
        return made

    @classmethod
    def from_buffer(cls, buffer: Any, *, count: int = -1, offset: int = 0) -> UntypedStorage:
        """A copy of the bytes of a buffer."""
        shared = _core.over_buffer(buffer, _UINT8, count, offset)
        return cls._of(shared.clone())

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The bytes of a file, mapped into memory.

        Args:
            filename: The file; with ``shared`` it is made, or made longer, where need be.
            shared: Whether writes go to the file; else they stay in this process.
            nbytes: How many bytes, from the start.
        """
        import mmap
        import os

        flags = os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY
        file = os.open(filename, flags, 0o600)
        try:
            if shared and os.fstat(file).st_size < nbytes:
                os.ftruncate(file, nbytes)
            if os.fstat(file).st_size < nbytes:
                raise RuntimeError(f"from_file(): {filename!r} has {os.fstat(file).st_size} bytes, "
                                   f"fewer than {nbytes}; give shared=True to make it longer")
            if nbytes == 0:
                return cls()
            access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
            mapped = mmap.mmap(file, nbytes, access=access)
        finally:
            os.close(file)
        return cls._of(_core.over_buffer(mapped, _UINT8))

    def _elements(self) -> Tensor:
        return self._bytes

    def element_size(self) -> int:
        """Bytes of an element: 1."""
        return 1

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self

    def _sliced(self, start: int, stop: int) -> UntypedStorage:
        return UntypedStorage._of(self._bytes[start:stop].clone())

    def clone(self) -> UntypedStorage:
        """A copy with memory of its own."""
        return UntypedStorage._of(self._bytes.clone())

    __copy__ = clone

    def __deepcopy__(self, memo: dict[int, Any]) -> UntypedStorage:
        from copy import deepcopy

        return UntypedStorage._of(deepcopy(self._bytes, memo))

    def cpu(self) -> UntypedStorage:
        """The storage on the CPU: itself if it is there."""
        if self._bytes.is_meta:
            raise NotImplementedError("cpu(): Cannot copy out of meta storage; no data!")
        return self if self._bytes.is_cpu else UntypedStorage._of(self._bytes.cpu())

    def byteswap(self, dtype: Any) -> None:
        """Reverse the bytes of every element of a dtype; complex numbers have two."""
        width = dtype.itemsize // (2 if dtype.is_complex else 1)
        rows = self._bytes.view(-1, width)
        rows.copy_(rows.flip(1))

    def type(self) -> str:
        """The name of the class."""
        return "flambeau.UntypedStorage"

    def _as_tensor(self, dtype: Any) -> Tensor:
        """The memory as elements of a dtype, what is left over cut off."""
        wanted = dtype or _core.get_default_dtype()
        count = self.nbytes() // wanted.itemsize * wanted.itemsize
        return self._bytes[:count].view(wanted)

    def __repr__(self) -> str:
        return f"UntypedStorage({self.nbytes()} bytes, device={self.device})"
