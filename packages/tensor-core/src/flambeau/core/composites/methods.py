"""Methods and properties of Tensor that are not definitions of their own."""
from flambeau.core import _core
from flambeau.core.compat import sparse_methods, tensor_methods
from flambeau.core.composites import tensor_queries
from flambeau.core.composites.creation import new_methods
from flambeau.core.composites.random.integers import EXACT_INTEGERS_BELOW, warn_of_rounding
from flambeau.core.composites.shape import resizing

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


def _as_method(function, name):
    """Name a function that another one made as a method of Tensor, which pickles look up."""
    function.__module__, function.__name__ = "flambeau", name
    function.__qualname__ = f"Tensor.{name}"
    return function


def _caster(called, name):
    target = _core._dtype_named(name)

    def cast(self, memory_format=None):
        return _formatted(self if self.dtype is target else _cast(self, target), memory_format)

    cast.__doc__ = f"The tensor as {name}."
    return _as_method(cast, called)


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


def zero_(self):
    """Set every element to zero."""
    return _op["fill_"](self, 0)


def float_power_(self, exponent):
    """Raise to a power in double precision, which the tensor must have."""
    tensor = isinstance(exponent, Tensor)
    is_complex = self.is_complex() or (exponent.is_complex() if tensor
                                       else isinstance(exponent, complex))
    wide = _core._dtype_named("complex128" if is_complex else "float64")
    if self.dtype is not wide:
        raise RuntimeError(f"float_power_(): the base given to float_power_ has dtype {self.dtype} "
                           f"but the operation's result requires dtype {wide}; write x = "
                           "x.float_power(exponent)")
    return _op["pow_"](self, exponent)


def uniform_(self, low=0.0, high=1.0, *, generator=None):
    """Fill with uniform random numbers from ``low`` to ``high``."""
    parts = _op["view_as_real"](self) if self.is_complex() else self
    _op["random_uniform_"](parts, low, high, generator=generator)
    return self


def normal_(self, mean=0.0, std=1.0, *, generator=None):
    """Fill with normal random numbers; ``std`` of complex ones is that of both parts together."""
    if not self.is_complex():
        return _op["random_normal_"](self, mean, std, generator=generator)
    _op["random_normal_"](_op["view_as_real"](self), 0.0, std / 2 ** 0.5, generator=generator)
    return _op["add_"](self, mean) if mean else self


def random_(self, *bounds, low=0, to=None, generator=None):
    """Fill with integers.

    Args:
        bounds: ``to``, or ``low, to``.
        low: The least integer.
        to: One more than the greatest integer; as far as the dtype holds all of them by default.
        generator: The stream to use; the default one when left out.
    """
    if len(bounds) > 2:
        raise TypeError(f"random_() takes at most 2 positional arguments (low, to), but "
                        f"{len(bounds)} were given")
    if bounds:
        low, to = bounds if len(bounds) == 2 else (low, bounds[0])
    if to is None and (low == 0 or not self.dtype.is_floating_point):
        return _op["random_integers_"](self, low, generator=generator)
    if to is None:
        to = EXACT_INTEGERS_BELOW.get(self.dtype.name, (1 << 63) - 1)
    elif self.dtype.is_floating_point:
        warn_of_rounding(low, to, self.dtype)
    return _op["random_integers_"](self, low, to, generator=generator)


def bernoulli_(self, p=0.5, *, generator=None):
    """Fill with ones of probability ``p``, a number or a tensor; zeros elsewhere."""
    if not isinstance(p, Tensor):
        return _op["random_bernoulli_"](self, p, generator=generator)
    ones = _op["bernoulli"](_op["expand"](p, self.shape), generator=generator)
    return _op["copy_"](self, ones)


def _transposed(self):
    if self.ndim <= 2:
        return _op["t"](self)
    return _op["permute"](self, list(range(self.ndim))[::-1])


def _matrix_transposed(self):
    if self.ndim < 2:
        raise RuntimeError(f"tensor.mT is only supported on matrices or batches of matrices. Got "
                           f"{self.ndim}-D tensor.")
    return _op["transpose"](self, -2, -1)


def _adjoint_of_matrix(self):
    if self.ndim not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got "
                           f"{self.ndim}-D tensor. Use tensor.mH for stacks of matrices.")
    return _op["adjoint"](self) if self.ndim else self.conj() if self.is_complex() else self


def _adjoint(self):
    return _op["adjoint"](self)


def _in_place_view(name):
    view = _op[name]

    def change(self, *args, **kwargs):
        return _core.become_view(self, view(self, *args, **kwargs), f"{name}_")

    change.__doc__ = f"The tensor itself as {name}() shows it."
    return _as_method(change, f"{name}_")


def real(input):
    """The real parts, as a view of complex numbers; real numbers as they are."""
    return _op["select"](_op["view_as_real"](input), -1, 0) if input.is_complex() else input


def _set_real(self, value):
    real(self)[...] = value


def _set_imag(self, value):
    imag(self)[...] = value


def imag(input):
    """The imaginary parts, as a view of complex numbers."""
    if not input.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return _op["select"](_op["view_as_real"](input), -1, 1)


def conj(input):
    """The complex conjugate; of real numbers the tensor itself.

    Example:
        >>> import flambeau
        >>> flambeau.tensor([1 + 2j]).conj()
        tensor([1.-2.j])
    """
    return _op["conj"](input) if input.is_complex() else input


def where(self, condition, other):
    """The tensor's elements where a condition holds, those of ``other`` elsewhere.

    Args:
        condition: A bool tensor.
        other: A tensor or a number.

    Example:
        >>> import flambeau
        >>> flambeau.tensor([1, 2]).where(flambeau.tensor([True, False]), 0)
        tensor([1, 0])
    """
    return _op["where"](condition, self, other)


def index_put(input, indices, values, accumulate=False):
    """A copy with values written through advanced indexing.

    Args:
        input: The tensor.
        indices: For each dimension an integer tensor or None, or a bool mask for several.
        values: What to write; broadcast to the indexed elements.
        accumulate: Add instead of overwriting.
    """
    return _op["index_put"](input, _core.spread_indices(input, indices), values, accumulate)


def index_put_(input, indices, values, accumulate=False):
    """Writes values through advanced indexing; arguments as for ``index_put``."""
    return _op["index_put_"](input, _core.spread_indices(input, indices), values, accumulate)


def is_conj(self):
    """Whether the conjugate is still to be taken: never, it is computed at once."""
    return False


def is_neg(self):
    """Whether the sign is still to be turned: never, it is computed at once."""
    return False


def is_nonzero(self):
    """Whether the only element is not zero."""
    return bool(self)


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
        return f"flambeau.{module}{_TYPE_OF.get(name, name.capitalize())}Tensor"
    if isinstance(dtype, str):
        return to(self, _dtype_of_type(dtype))
    if dtype is Tensor:
        return to(self, _core.get_default_dtype())
    return to(self, getattr(dtype, "dtype", dtype))  # flambeau.FloatTensor has one


def __dir__(self):
    """The names that this tensor answers to."""
    absent = {"volatile"} if self.is_cuda else {"volatile", "__cuda_array_interface__"}
    return sorted(set(object.__dir__(self)) - absent)


ATTRIBUTES = {f.__name__: f for f in (  # type: dict[str, object]
    to, type_as, cpu, cuda, numpy, __array__, __array_wrap__, __dlpack__, __dlpack_device__,
    __array_namespace__, __dir__, to_device, zero_, float_power_, uniform_, normal_, random_,
    bernoulli_, conj, where, index_put, index_put_, is_conj, is_neg, is_nonzero, type)}
ATTRIBUTES |= {name: _caster(name, dtype) for name, dtype in (
    ("float", "float32"), ("double", "float64"), ("half", "float16"), ("bfloat16", "bfloat16"),
    ("int", "int32"), ("long", "int64"), ("short", "int16"), ("bool", "bool"), ("byte", "uint8"),
    ("char", "int8"), ("cfloat", "complex64"), ("cdouble", "complex128"),
    ("chalf", "complex32"))}
ATTRIBUTES |= tensor_queries.METHODS | resizing.METHODS | tensor_methods.METHODS
ATTRIBUTES |= new_methods.METHODS | sparse_methods.METHODS
ATTRIBUTES |= {f"{name}_": _in_place_view(name) for name in (
    "as_strided", "squeeze", "swapaxes", "swapdims", "t", "transpose", "unsqueeze")}
ATTRIBUTES |= {"__cuda_array_interface__": property(_core._cuda_array_interface)}
ATTRIBUTES |= {"T": property(_transposed), "mT": property(_matrix_transposed),
               "H": property(_adjoint_of_matrix), "mH": property(_adjoint),
               "real": property(real, _set_real), "imag": property(imag, _set_imag),
               "__array_priority__": 1000}
