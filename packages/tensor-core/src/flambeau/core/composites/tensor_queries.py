"""Questions about tensors, and functions of the same name as a method: ``flambeau.numel(x)``."""
import operator
import sys

from flambeau.core import _core
from flambeau.core.layouts import strided

_op = _core.operators()
Tensor = _core.Tensor
_UNSIGNED = ("bool", "uint8", "uint16", "uint32", "uint64")


def _expect(what, x):
    if not isinstance(x, Tensor):
        raise TypeError(f"{what}(): argument 'input' must be Tensor, not {type(x).__name__}")


def _asked(name):
    """The function that calls a method without arguments."""
    def ask(input):
        if not isinstance(input, Tensor) and hasattr(type(input), "__torch_function__"):
            return type(input).__torch_function__(ask, (type(input),), (input,), {})
        _expect(name, input)
        return getattr(input, name)()

    ask.__module__, ask.__name__, ask.__qualname__ = "flambeau", name, name
    ask.__doc__ = f"The same as ``input.{name}()``."
    return ask


def is_signed(self):
    """Whether numbers of this dtype may be negative."""
    return self.dtype.name not in _UNSIGNED


def is_same_size(self, other):
    """Whether another tensor has the same shape."""
    return tuple(self.shape) == tuple(other.shape)


def _is_same_size(input, other):
    return is_same_size(input, other)


_is_same_size.__module__, _is_same_size.__doc__ = "flambeau", is_same_size.__doc__
_is_same_size.__name__ = _is_same_size.__qualname__ = "is_same_size"


def is_set_to(self, tensor):
    """Whether another tensor is the same view of the same memory."""
    return (_core.storage_id(self) == _core.storage_id(tensor)
            and self.storage_offset() == tensor.storage_offset()
            and tuple(self.shape) == tuple(tensor.shape) and self.stride() == tensor.stride())


def fill_diagonal_(self, fill_value, wrap=False):
    """Fill the main diagonal of a tensor of equal sides, or of any matrix.

    Args:
        fill_value: The number.
        wrap: Go on below the square part of a tall matrix, one row left out between.

    Example:
        >>> import flambeau
        >>> flambeau.zeros(2, 2).fill_diagonal_(3)
        tensor([[3., 0.],
                [0., 3.]])
    """
    if self.ndim < 2:
        raise RuntimeError(f"fill_diagonal_(): dimensions must larger than 1, got shape "
                           f"{list(self.shape)}")
    shape = list(self.shape)
    if self.ndim > 2 and min(shape) != max(shape):
        raise RuntimeError(f"fill_diagonal_(): all dimensions of input must be of equal length, "
                           f"got shape {shape}")
    first = 0
    while True:
        rest = self if first == 0 else self[first:]
        if not min(rest.shape):
            return self
        steps = sum(rest.stride())
        _op["fill_"](_op["as_strided"](rest, (min(rest.shape),), (steps,), rest.storage_offset()),
                     fill_value)
        if not wrap or self.ndim > 2:
            return self
        first += shape[1] + 1
        if first >= shape[0]:
            return self


def is_pinned(self, device=None):
    """Whether the memory is locked for copies to a device, as ``pin_memory()`` makes it."""
    backends = sys.modules.get("flambeau.core.backends")
    return backends is not None and self.is_cpu and backends.is_pinned(self.data_ptr())


def is_shared(self):
    """Whether other processes can share the memory, after ``share_memory_``."""
    sharing = sys.modules.get("flambeau.core.shared_memory")
    return sharing is not None and sharing.is_shared(self)


def share_memory_(self):
    """Move the memory to where processes can share it.

    Processes that are forked, or to which the tensor is sent, then read and write the same
    elements, and so do views of it. Tensors that were not moved are sent as copies.

    Returns:
        The tensor itself.

    Raises:
        RuntimeError: An array or a compiled function looks at the memory, and would not move
            with it.

    Example:
        >>> import flambeau
        >>> flambeau.ones(2).share_memory_().is_shared()
        True
    """
    from flambeau.core import shared_memory

    shared_memory.share(self)
    return self


def __repr__(self, *, tensor_contents=None):
    """The text of a tensor, for classes that show something else in place of its numbers.

    Args:
        tensor_contents: The text between the parentheses; the numbers when left out.

    Example:
        >>> import flambeau
        >>> flambeau.ones(2, dtype=flambeau.int8).__repr__(tensor_contents="two ones")
        'tensor(two ones, dtype=flambeau.int8)'
    """
    if tensor_contents is None:
        return _slot_repr(self)
    from flambeau.core.printing import tensor_text

    return tensor_text(self, tensor_contents)


_slot_repr = _core.Tensor.__repr__


def __div__(self, other):
    """``x / other`` by the name that Python 2 gave it; libraries still ask for it."""
    return self / other


def __rdiv__(self, other):
    """``other / x``; see ``__div__``."""
    return other / self


def __idiv__(self, other):
    """``x /= other``; see ``__div__``."""
    return operator.itruediv(self, other)


def __long__(self):
    """``int(x)``, as Python 2 had it."""
    return int(self)


def __nonzero__(self):
    """``bool(x)``, as Python 2 had it."""
    return bool(self)


def dequantize(self):
    """The numbers of a quantized tensor; of this one, itself in float32."""
    return self.float()


def _of_quantized(name: str):
    def ask(self):
        raise RuntimeError(f"{name}(): expected a quantized tensor, and this one is of "
                           f"{self.dtype}: write quantize_per_tensor(x, scale, zero_point, dtype)")

    ask.__name__ = name
    ask.__doc__ = f"{name} of a quantized tensor; other tensors have none."
    return ask


#: What no tensor is here, and the layout that all have.
CONSTANTS = {  # type: dict[str, object]
    **dict.fromkeys(("is_sparse", "is_sparse_csr", "is_quantized", "is_nested", "is_mkldnn",
                     "is_mps", "is_xla", "is_xpu", "is_vulkan"), False),
    "layout": strided,
}

METHODS = {f.__name__: f for f in (  # type: dict[str, object]
    is_signed, is_same_size, is_set_to, fill_diagonal_, is_pinned, is_shared,
    share_memory_, dequantize, __repr__, __div__, __rdiv__, __idiv__, __long__, __nonzero__)}
METHODS["_cdata"] = property(id, doc="A number that no other tensor has as long as this one lives.")
METHODS |= CONSTANTS
METHODS |= {name: _of_quantized(name) for name in (
    "int_repr", "q_scale", "q_zero_point", "q_per_channel_scales", "q_per_channel_zero_points",
    "q_per_channel_axis", "qscheme")}
FUNCTIONS = {name: _asked(name) for name in (  # type: dict[str, object]
    "is_complex", "is_floating_point", "is_signed", "is_nonzero", "is_conj", "is_neg",
    "is_inference", "numel", "get_device", "detach", "detach_", "zero_")}
FUNCTIONS["is_same_size"] = _is_same_size
