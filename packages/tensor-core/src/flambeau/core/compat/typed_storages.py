"""Storages as elements of a dtype: ``x.storage()``, and classes such as ``FloatStorage``."""
from __future__ import annotations

from functools import cache
from typing import Any

from flambeau.core import _core
from flambeau.core._core import Tensor
from flambeau.core.composites.conversions import TYPES
from flambeau.core.storages import Storage, UntypedStorage, new_tensor


class TypedStorage(Storage):
    """The memory that a tensor and its views share, as elements of its dtype.

    Args:
        arguments: A number of elements (uninitialized), or a sequence of their values.
        wrap_storage: Memory to look at, instead of arguments.
        dtype: The dtype of the elements.
        device: Where the memory should be.

    Example:
        >>> import flambeau
        >>> flambeau.arange(6).view(2, 3)[1].storage().tolist()
        [0, 1, 2, 3, 4, 5]
    """

    dtype: Any = None

    def __init__(self, *arguments: Any, wrap_storage: UntypedStorage | None = None,
                 dtype: Any = None, device: Any = None, _internal: bool = False) -> None:
        name, fixed = type(self).__name__, type(self).dtype
        if fixed is not None and (dtype is not None or device is not None):
            word = "dtype" if dtype is not None else "device"
            raise RuntimeError(f"{name}(): '{word}' cannot be specified; write TypedStorage(..., "
                               f"{word}={dtype if dtype is not None else device!r})")
        if wrap_storage is None:
            self.dtype = fixed or dtype or _core.get_default_dtype()
            made = new_tensor(name, arguments, self.dtype, device)
            self._untyped_storage = UntypedStorage._of(made)
        else:
            self.dtype = fixed or dtype
            self._untyped_storage = _wrapped(name, arguments, wrap_storage, self.dtype, device)

    @property
    def _bytes(self) -> Tensor:
        return self._untyped_storage._bytes

    @_bytes.setter
    def _bytes(self, value: Tensor) -> None:
        self._untyped_storage._bytes = value

    def _elements(self) -> Tensor:
        return self._untyped_storage._as_tensor(self.dtype)

    def _as_tensor(self, dtype: Any) -> Tensor:
        if dtype is not None and dtype != self.dtype:
            raise RuntimeError(f"Expected a Storage of type {dtype} or an UntypedStorage, but got "
                               f"one of {self.dtype}")
        return self._elements()

    @classmethod
    def from_buffer(cls, buffer: Any, byte_order: str = "native", *, dtype: Any = None,
                    count: int = -1, offset: int = 0) -> TypedStorage:
        """A copy of the elements in a buffer.

        Args:
            buffer: An object with the buffer protocol.
            byte_order: ``"little"``, ``"big"`` or ``"native"``.
            dtype: The dtype of the elements, for ``TypedStorage`` itself.
            count: How many; as many as there are when left out.
            offset: Bytes to pass over.
        """
        from sys import byteorder

        if byte_order not in ("little", "big", "native"):
            raise ValueError(f"from_buffer(): byte_order must be 'little', 'big' or 'native', got "
                             f"{byte_order!r}")
        wanted = cls.dtype or dtype or _core.get_default_dtype()
        size = wanted.itemsize
        raw = UntypedStorage.from_buffer(buffer, count=count * size if count >= 0 else -1,
                                         offset=offset)
        if raw.nbytes() % size:
            raise ValueError(f"from_buffer(): {raw.nbytes()} bytes are no multiple of the "
                             f"{size} bytes of {wanted}; give count")
        if wanted.name == "bool":
            raw = UntypedStorage._of(raw._bytes.ne(0))
        elif byte_order not in ("native", byteorder):
            raw.byteswap(wanted)
        return cls(wrap_storage=raw, dtype=None if cls.dtype else wanted)

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, size: int = 0, *,
                  dtype: Any = None) -> TypedStorage:
        """The elements in a file, mapped into memory; see ``UntypedStorage.from_file``."""
        wanted = cls.dtype or dtype or _core.get_default_dtype()
        mapped = UntypedStorage.from_file(filename, shared, size * wanted.itemsize)
        return cls(wrap_storage=mapped, dtype=None if cls.dtype else wanted)

    def element_size(self) -> int:
        """Bytes of an element."""
        return int(self.dtype.itemsize)

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return self._untyped_storage

    def _sliced(self, start: int, stop: int) -> Tensor:
        return self._elements()[start:stop]

    def _alike(self, storage: UntypedStorage) -> TypedStorage:
        return TypedStorage(wrap_storage=storage, dtype=self.dtype)

    def clone(self) -> TypedStorage:
        """A copy with memory of its own."""
        return self._alike(self._untyped_storage.clone())

    __copy__ = clone

    def __deepcopy__(self, memo: dict[int, Any]) -> TypedStorage:
        return self._alike(self._untyped_storage.__deepcopy__(memo))

    def cpu(self) -> TypedStorage:
        """The storage on the CPU: itself if it is there."""
        found = self._untyped_storage.cpu()
        return self if found is self._untyped_storage else self._alike(found)

    def to_dtype(self, dtype: Any) -> TypedStorage:
        """A storage with the elements converted; itself if they have the dtype."""
        if dtype == self.dtype:
            return self
        return TypedStorage(wrap_storage=UntypedStorage._of(self._readable().to(dtype)),
                            dtype=dtype)

    def type(self, dtype: Any = None) -> Any:
        """The name of the class for this dtype; with a dtype, the storage converted."""
        if dtype is not None:
            return self.to_dtype(dtype)
        return f"flambeau.{storage_class(self.dtype).__name__}"

    def __repr__(self) -> str:
        shown = self.nbytes() if self._bytes.is_meta else self.tolist()
        return f"{type(self).__name__}({shown}, dtype={self.dtype}, device={self.device})"


class _ElementClass(type):
    """Classes such as ``FloatStorage``: any storage of the dtype on the CPU is an instance."""

    dtype: Any

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, TypedStorage) and value.dtype == cls.dtype \
            and bool(value._bytes.is_cpu)


def _wrapped(name: str, arguments: tuple[Any, ...], storage: Any, dtype: Any,
             device: Any) -> UntypedStorage:
    if arguments:
        raise RuntimeError(f"{name}(): No positional arguments go with wrap_storage")
    if dtype is None:
        raise RuntimeError(f"{name}(): Argument 'dtype' must be specified with wrap_storage")
    if not isinstance(dtype, _core.dtype):
        raise TypeError(f"{name}(): Argument 'dtype' must be a dtype, not "
                        f"{type(dtype).__name__}")
    if device is not None:
        raise RuntimeError(f"{name}(): Argument 'device' should not be specified with "
                           "wrap_storage, whose device it is")
    if not isinstance(storage, UntypedStorage):
        raise TypeError(f"{name}(): Argument 'wrap_storage' must be UntypedStorage, but got "
                        f"{type(storage).__name__}; write storage.untyped()")
    return storage


_NAMES = {name for name in TYPES if not name.startswith("UInt")}


@cache
def named_class(name: str) -> type[TypedStorage] | None:
    """The class called ``name``, such as ``FloatStorage``; None when there is none."""
    if name == "Storage":
        return named_class("FloatStorage")
    kind = name.removesuffix("Storage")
    if kind not in _NAMES or kind == name:
        return None
    fields = {"dtype": _core._dtype_named(TYPES[kind]), "__module__": _core.shown_package[0],
              "__doc__": f"Storage of {TYPES[kind]} elements; see ``TypedStorage``."}
    made: Any = _ElementClass
    found: type[TypedStorage] = made(name, (TypedStorage,), fields)
    return found


def storage_class(dtype: Any) -> type[TypedStorage]:
    """The class of storages of a dtype; ``TypedStorage`` where it has no name of its own."""
    for kind in _NAMES:
        if TYPES[kind] == dtype.name:
            return named_class(f"{kind}Storage") or TypedStorage
    return TypedStorage


def _converter(kind: str) -> Any:
    dtype = _core._dtype_named(TYPES[kind])

    def convert(self: TypedStorage) -> TypedStorage:
        return self.to_dtype(dtype)

    convert.__doc__ = f"The storage with its elements as {TYPES[kind]}."
    return convert


for _kind in _NAMES:
    _method = {"BFloat16": "bfloat16", "ComplexFloat": "complex_float",
               "ComplexDouble": "complex_double"}.get(_kind, _kind.lower())
    setattr(TypedStorage, _method, _converter(_kind))


def from_file(filename: str, shared: bool = False, size: int = 0, *, dtype: Any = None,
              device: Any = None, requires_grad: bool = False) -> Tensor:
    """A vector over a file that is mapped into memory.

    Args:
        filename: The file; with ``shared`` it is made, or made longer, where need be.
        shared: Whether writes go to the file; else they stay in this process.
        size: The number of elements.
        dtype: Their dtype, the default one when left out.
        device: The CPU.
        requires_grad: Whether gradients are wanted.

    Raises:
        RuntimeError: The file is too short.
    """
    stored = TypedStorage.from_file(filename, shared, size, dtype=dtype)
    found = stored._elements() if device is None else stored._elements().to(device)
    return _core.requiring(found) if requires_grad else found
