"""Methods that older programs use: ``x.new(...)``, ``x.storage()``, ``x.pin_memory()``."""
from flambeau.core import _core
from flambeau.core.layouts import memory_format

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
    """A copy in page-locked memory, from which ``x.to(device, non_blocking=True)`` goes on beside
    the program; the tensor itself where it lies there, or the device needs none.

    Args:
        device: The kind of device that the memory is for; ``"cuda"`` when left out.

    Raises:
        RuntimeError: there is no such device.
    """
    from flambeau.core import backends

    kind = str(device or "cuda").partition(":")[0]
    try:
        backend = backends.adapter(kind)
    except RuntimeError as error:
        raise RuntimeError("pin_memory(): Cannot access accelerator device when none is available; "
                           f"leave the call out without a GPU ({error})") from None
    if not self.is_cpu:
        raise RuntimeError(f"cannot pin 'Tensor' on {self.device}: only dense CPU tensors can be "
                           "pinned; write x.cpu().pin_memory()")
    return self if self.is_pinned() else pinned_copy(self, backend)


def pinned_copy(x, backend):
    """A copy in memory that a backend has locked; the tensor itself if it locks none."""
    memory = backend.pinned(x.nbytes) if x.numel() else None
    if memory is None:
        return x
    flat = _core.frombuffer(memory, dtype=x.dtype, count=x.numel())
    made = flat.view(x.shape)
    made.copy_(x.detach())
    return made


def record_stream(self, stream):
    """Keep the memory, once nobody holds the tensor, until a stream has done what it was asked.

    Args:
        stream: One that works on the tensor, and is not the one it was made on.
    """
    from flambeau.core import backends

    if self.device.type in ("cpu", "meta"):
        raise NotImplementedError(f"record_stream(): a tensor on {self.device} has no streams; "
                                  "leave the call out")
    backends.adapter(self.device.type).use(self, stream)


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


def dim_order(self, *, ambiguity_check=False):
    """The dimensions in the order in which they lie in memory, the outermost first.

    Args:
        ambiguity_check: Whether to refuse a tensor with more than one such order; memory formats
            to choose by are a list of them.

    Raises:
        RuntimeError: There is more than one order, and no format, or several, that decide.

    Example:
        >>> import flambeau
        >>> flambeau.empty(2, 3, 5).transpose(1, 2).dim_order()
        (0, 2, 1)
    """
    formats = ambiguity_check if isinstance(ambiguity_check, list) else []
    if not isinstance(ambiguity_check, bool | list) or not all(
            isinstance(each, memory_format) for each in formats):
        raise TypeError("dim_order(): The ambiguity_check argument must be a bool or a list of "
                        f"memory formats, got {ambiguity_check!r}")
    if ambiguity_check is not False and _has_several_orders(self):
        if sum(self.is_contiguous(memory_format=each) for each in formats) != 1:
            raise RuntimeError("dim_order(): The tensor does not have unique dim order, or cannot "
                               "map to exact one of the given memory formats.")
    return tuple(sorted(range(self.ndim), key=lambda dim: -self.stride(dim)))


def _has_several_orders(x):
    strides = x.stride()
    return 1 in x.shape or any(a == b for a, b in zip(strides, strides[1:], strict=False))


METHODS = {f.__name__: f for f in (  # type: dict[str, object]
    new, as_subclass, untyped_storage, storage, storage_type, pin_memory, record_stream,
    to_dense, dim_order)}
