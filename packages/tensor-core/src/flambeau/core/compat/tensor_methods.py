"""Methods that older programs use: ``x.new(...)``, ``x.storage()``, ``x.pin_memory()``."""
from flambeau.core import _core

Tensor = _core.Tensor


def new(self, *arguments, size=None, device=None):
    """A tensor of this dtype and device from values, or an uninitialized one from sizes.

    Args:
        arguments: Nested sequences of numbers, a tensor of this dtype, or sizes.
        size: The shape, instead of arguments.
        device: Where the result should be; where this tensor is when left out.

    Example:
        >>> import flambeau
        >>> flambeau.ones(1, dtype=flambeau.int64).new([1, 2])
        tensor([1, 2])
    """
    from flambeau.core.compat.tensor_types import from_arguments

    if size is not None:
        if arguments:
            raise TypeError("new(): give values or size, not both")
        arguments = tuple(size)
    if device is None and not (len(arguments) == 1 and isinstance(arguments[0], Tensor)):
        device = self.device
    return from_arguments("new", self.dtype, *arguments, device=device)


def as_subclass(self, cls):
    """A view of the tensor that is of a Python subclass; gradients pass through it.

    Args:
        cls: A subclass of ``Tensor``.

    Raises:
        TypeError: ``cls`` is something else.
    """
    if not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise TypeError(f"as_subclass(): expected a subclass of Tensor, got {cls!r}")
    return _core.as_subclass(cls, _core.operators()["alias"](self))


def untyped_storage(self):
    """The memory that this tensor and its views share; see ``core.storages.UntypedStorage``."""
    from flambeau.core.storages import UntypedStorage

    return UntypedStorage._of(self)


def storage(self):
    """The memory that this tensor and its views share, as elements of its dtype."""
    from flambeau.core.compat.typed_storages import TypedStorage
    from flambeau.core.storages import UntypedStorage

    return TypedStorage(wrap_storage=UntypedStorage._of(self), dtype=self.dtype)


def storage_type(self):
    """The class of ``x.storage()`` by dtype: ``flambeau.FloatStorage`` for float32."""
    from flambeau.core.compat.typed_storages import storage_class

    return storage_class(self.dtype)


def pin_memory(self, device=None):
    """The tensor itself, where there is a GPU: copies to it need no pinned memory here.

    Args:
        device: The kind of device that the memory is for; ``"cuda"`` when left out.

    Raises:
        RuntimeError: there is no such device.
    """
    from flambeau.core import backends

    kind = str(device or "cuda").partition(":")[0]
    try:
        backends.adapter(kind)
    except RuntimeError as error:
        raise RuntimeError("pin_memory(): Cannot access accelerator device when none is available; "
                           f"leave the call out without a GPU ({error})") from None
    return self


def to_dense(self, dtype=None, *, masked_grad=None):
    """All elements of the tensor: itself, unless it is sparse.

    Args:
        dtype: The dtype of the result, where it is not this one's.
        masked_grad: Whether the gradient of a sparse tensor is that of its stored elements alone,
            as it is by default; else it is dense.
    """
    if str.__str__(self.layout) == "strided":
        return self if dtype is None else self.to(dtype)
    from flambeau.sparse._conversions import to_dense as all_elements

    return all_elements(self, dtype, masked_grad)


METHODS = {f.__name__: f for f in (  # type: dict[str, object]
    new, as_subclass, untyped_storage, storage, storage_type, pin_memory, to_dense)}
