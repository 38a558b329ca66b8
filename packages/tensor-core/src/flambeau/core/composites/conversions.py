"""Methods of Tensor that give it another dtype, device or library: ``to``, ``float``, ``numpy``."""
from flambeau.core import _core

_op = _core.operators()
_cast, _to_device = _op["cast"], _op["to_device"]
_dtype, _device, Tensor = _core.dtype, _core.device, _core.Tensor


def _read_target(args):
    """Sort positional arguments of ``to`` into dtype and device."""
    dtype = device = None  # type: object
    for value in args:
        if isinstance(value, _dtype):
            dtype = value
        elif value is float or value is int or value is bool or value is complex:
            dtype = _core._as_dtype(value)
        elif isinstance(value, Tensor):
            dtype, device = value.dtype, value.device
        elif isinstance(value, (str, _device, int)) and not isinstance(value, bool):
            device = value
        elif value is not None and not isinstance(value, bool):
            raise TypeError(f"to(): expected a dtype, a device or a tensor, got {value!r}")
    return dtype, device


def to(self, *args, dtype=None, device=None, non_blocking=False, copy=False, memory_format=None):
    """The tensor in another dtype, on another device, or as another tensor is.

    Returns ``self`` when nothing changes and ``copy`` is false.
    """
    if args:
        first_dtype, first_device = _read_target(args)
        dtype = dtype or first_dtype
        device = device if device is not None else first_device
    result = self
    if device is not None:
        target = device if isinstance(device, _device) else _device(device) \
            if isinstance(device, str) else _device("cuda", device)
        if target != self.device:
            result = _later(result, target) if non_blocking else _to_device(result, target)
    if dtype is not None and _core._as_dtype(dtype) is not result.dtype:
        result = _cast(result, dtype)
    if copy and result is self:
        return _op["clone"](self, memory_format=memory_format)
    return result if memory_format is None else _formatted(result, memory_format)


def _later(x, target):
    """On another device; the program may go on before the copy is done."""
    from flambeau.core import backends

    kind = target.type if x.is_cpu else x.device.type
    if kind in ("cpu", "meta") or kind not in backends._adapters:
        return _to_device(x, target)
    return backends.adapter(kind).later(x, lambda: _to_device(x, target))


def _formatted(x, memory_format):
    """In a memory format; None and "preserve_format" leave the order as it is."""
    if memory_format in (None, "preserve_format"):
        return x
    if memory_format == "contiguous_format":
        return _op["contiguous"](x)
    strides = _core.format_strides(x, memory_format)
    return x if x.stride() == strides else _op["clone"](x, memory_format=memory_format)


def as_method(function, name):
    """Name a function that another one made as a method of Tensor, which pickles look up."""
    function.__module__, function.__name__ = "flambeau", name
    function.__qualname__ = f"Tensor.{name}"
    return function


def _caster(called, name):
    target = _core._dtype_named(name)

    def cast(self, memory_format=None):
        return _formatted(self if self.dtype is target else _cast(self, target), memory_format)

    cast.__doc__ = f"The tensor as {name}."
    return as_method(cast, called)


def type_as(self, other):
    """The tensor in the dtype of another."""
    return to(self, other.dtype)


def cpu(self, memory_format=None):
    """The tensor on the CPU."""
    return _formatted(self if self.is_cpu else _to_device(self, _device("cpu")), memory_format)


def cuda(self, device=None, non_blocking=False, memory_format=None):
    """The tensor on a CUDA device."""
    return to(self, device if device is not None else "cuda", non_blocking=non_blocking)


def numpy(self, *, force=False):
    """A NumPy array over the same memory.

    Args:
        force: Detach and copy to the CPU first if need be.
    """
    return _core._to_numpy(cpu(self.detach()) if force else self)


def __array__(self, dtype=None, copy=None):
    """The tensor as NumPy sees it."""
    array = _core._to_numpy(self)
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError(f"__array__(): {array.dtype} as {dtype} needs a copy, but copy=False "
                             "was given")
        return array.astype(dtype)
    return array.copy() if copy else array


def __array_wrap__(self, array, context=None, return_scalar=False):
    """What a function of NumPy gives when it is called with a tensor, as a tensor."""
    import numpy

    array = numpy.asarray(array)
    return _core.from_numpy(array.astype("uint8") if array.dtype == "bool" else array)


def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
    """The tensor as a DLPack capsule."""
    return _core._to_dlpack(self, stream, max_version, dl_device, copy)


def __dlpack_device__(self):
    """(device type, index) in DLPack's numbers."""
    return _core._dlpack_device(self)


def __array_namespace__(self, /, *, api_version=None):
    """The functions of the Python array API standard for this array.

    Args:
        api_version: Version of the standard, such as ``"2025.12"``.

    Raises:
        ValueError: the version is not among those that ``flambeau.array_api`` follows.
    """
    from flambeau import array_api

    if api_version not in (None, *array_api.VERSIONS):
        raise ValueError(f"__array_namespace__(): version {api_version!r} of the array API "
                         f"standard is not supported; supported are {array_api.VERSIONS}")
    return array_api


def to_device(self, device, /, *, stream=None):
    """The tensor on a device; the array API standard's name for ``to``.

    Args:
        device: Where the result should live.
        stream: Must be None: copies are ordered with the device's other work.
    """
    if stream is not None:
        raise ValueError(f"to_device(): stream must be None, got {stream!r}; copies are ordered "
                         "with the other work of the device")
    return to(self, device)


#: The names of tensor types, "flambeau.FloatTensor", and what they stand for.
TYPES = {"Bool": "bool", "Byte": "uint8", "Char": "int8", "Short": "int16", "Int": "int32",
          "Long": "int64", "UInt16": "uint16", "UInt32": "uint32", "UInt64": "uint64",
          "Half": "float16", "BFloat16": "bfloat16", "Float": "float32", "Double": "float64",
          "ComplexFloat": "complex64", "ComplexDouble": "complex128",
          "ComplexHalf": "complex32"}
_TYPE_OF = {dtype: name for name, dtype in TYPES.items()}


def _dtype_of_type(text):
    """The dtype of a type's name; the library's name before the point is free."""
    name = text.rpartition(".")[2].removesuffix("Tensor")
    if name not in TYPES or not text.endswith("Tensor"):
        raise ValueError(f"type(): no type is called {text!r}; give a dtype such as "
                         "flambeau.float32, or a name such as 'flambeau.FloatTensor'")
    return _core._dtype_named(TYPES[name])


def type(self, dtype=None, non_blocking=False):
    """The tensor in another dtype; its type's name when none is given.

    Args:
        dtype: A dtype, ``flambeau.FloatTensor`` or such a type's name.
        non_blocking: Accepted for compatibility.
    """
    if dtype is None:
        module = "" if self.is_cpu else f"{self.device.type}."
        name = self.dtype.name
        return f"{_core.shown_package[0]}.{module}{_TYPE_OF.get(name, name.capitalize())}Tensor"
    if isinstance(dtype, str):
        return to(self, _dtype_of_type(dtype))
    if dtype is Tensor:
        return to(self, _core.get_default_dtype())
    return to(self, getattr(dtype, "dtype", dtype))  # flambeau.FloatTensor has one


METHODS = {f.__name__: f for f in (  # type: dict[str, object]
    to, type_as, cpu, cuda, numpy, __array__, __array_wrap__, __dlpack__, __dlpack_device__,
    __array_namespace__, to_device, type)}
METHODS |= {name: _caster(name, dtype) for name, dtype in (
    ("float", "float32"), ("double", "float64"), ("half", "float16"), ("bfloat16", "bfloat16"),
    ("int", "int32"), ("long", "int64"), ("short", "int16"), ("bool", "bool"), ("byte", "uint8"),
    ("char", "int8"), ("cfloat", "complex64"), ("cdouble", "complex128"),
    ("chalf", "complex32"))}
