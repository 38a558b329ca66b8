"""Tensors over dense ones: what they say of themselves is true of the dense tensor they hold.

Their class is shown every call (``__torch_function__``) and runs it on what they hold. Calls that
are shown to nobody meet no memory: they are refused, as with sparse tensors.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flambeau.core import _core, functions
from flambeau.core.layouts import layout
from flambeau.core.register import row

Tensor = _core.Tensor
_op = {**functions, **_core.operators()}


class Wrapped(Tensor):
    """A tensor whose memory and history are those of the dense ``_values``."""

    _values: Any
    layout: layout
    is_nested = is_sparse = is_sparse_csr = is_quantized = is_mkldnn = False

    # ---- facts: those of the values ------------------------------------------------------------
    @property
    def shape(self) -> Any:
        """The size of every dimension."""
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        """How many dimensions there are."""
        return len(self.shape)

    def dim(self) -> int:
        """How many dimensions there are."""
        return self.ndim

    def size(self, dim: int | None = None) -> Any:
        """The size of every dimension, or of one."""
        return self.shape if dim is None else self.shape[dim]

    def numel(self) -> int:
        """How many elements there are."""
        return int(self._values.numel())

    nelement = numel

    def __len__(self) -> int:
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Any]:
        return iter(self.unbind())

    @property
    def dtype(self) -> Any:
        """The dtype of the values."""
        return self._values.dtype

    @property
    def device(self) -> Any:
        """The device of the values."""
        return self._values.device

    is_cpu = property(lambda self: self._values.is_cpu)
    is_cuda = property(lambda self: self._values.is_cuda)
    is_meta = property(lambda self: self._values.is_meta)
    is_leaf = property(lambda self: self._values.is_leaf)
    grad_fn = property(lambda self: self._values.grad_fn)
    itemsize = property(lambda self: self._values.itemsize)
    nbytes = property(lambda self: self._values.nbytes)
    _version = property(lambda self: self._values._version)

    @property
    def requires_grad(self) -> bool:
        """Whether gradients of the values are wanted."""
        return bool(self._values.requires_grad)

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        self._values.requires_grad = wanted

    @property
    def grad(self) -> Any:
        """The gradient, of the kind of the tensor."""
        return None if self._values.grad is None else self._like(self._values.grad)

    @grad.setter
    def grad(self, gradient: Any) -> None:
        self._values.grad = None if gradient is None else gradient._values

    @property
    def data(self) -> Any:      # type: ignore[override]
        """The same memory without history."""
        return self._like(self._values.data)

    def _like(self, values: Any) -> Any:
        """A tensor of the kind with these values."""
        raise NotImplementedError

    # ---- autograd --------------------------------------------------------------------------------
    def detach(self) -> Any:
        """The same memory without history."""
        return self._like(self._values.detach())

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Ask for gradients, or no longer."""
        if requires_grad != self._values.requires_grad:     # asking needs flambeau-autograd
            self._values.requires_grad_(requires_grad)
        return self

    def retain_grad(self) -> None:
        """Keep the gradient though the tensor is no leaf."""
        self._values.retain_grad()

    def backward(self, gradient: Any = None, retain_graph: bool | None = None,
                 create_graph: bool = False, inputs: Any = None) -> None:
        """Compute gradients of leaves, from a gradient of this kind."""
        given = gradient._values if isinstance(gradient, Wrapped) else gradient
        self._values.backward(given, retain_graph, create_graph, inputs)

    def register_hook(self, hook: Any) -> Any:
        """Call a function with the gradient, once it is known."""
        def of_values(gradient: Any) -> Any:
            result = hook(self._like(gradient))
            return result._values if isinstance(result, Wrapped) else result

        return self._values.register_hook(of_values)

    # ---- what dense memory would answer ----------------------------------------------------------
    def _refused(self, what: str) -> RuntimeError:
        return RuntimeError(f".{what} is not supported for {type(self).__name__}, which is more "
                            "than its elements: take them first, e.g. with x.unbind(), "
                            "x.to_padded_tensor() or x.to_tensor()")

    def tolist(self) -> Any:
        """Refused: there is more than the elements."""
        raise self._refused("tolist()")

    def numpy(self, *, force: bool = False) -> Any:
        """Refused: there is more than the elements."""
        raise self._refused("numpy()")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise self._refused("numpy()")

    def data_ptr(self) -> int:
        """The address of the values."""
        return int(self._values.data_ptr())

    def item(self) -> Any:
        """The only element, as a Python number."""
        return self._values.item()

    def __bool__(self) -> bool:
        return bool(self._values)

    def __hash__(self) -> int:
        return id(self)

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec) if spec else repr(self)

    def _history(self) -> str:
        if self._values.grad_fn is not None:
            name = type(self._values.grad_fn).__name__
            return f", grad_fn=<{name}>"
        return ", requires_grad=True" if self.requires_grad else ""

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = self._like(self._values.detach().clone())
        memo[id(self)] = made
        return made.requires_grad_(self.requires_grad)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the elements lie in C order."""
        return bool(self._values.is_contiguous())

    def is_floating_point(self) -> bool:
        """Whether the dtype is a floating one."""
        return bool(self.dtype.is_floating_point)

    def is_complex(self) -> bool:
        """Whether the dtype is complex."""
        return bool(self.dtype.is_complex)


def new(kind: type, values: Any, shape: tuple[int, ...]) -> Any:
    """A tensor of the class, over no memory of its own."""
    zero = _op["zeros"]((), dtype=values.dtype, device=values.device)
    with _core.DisableTorchFunction():
        made = _core.make_sparse(kind, _op["expand"](zero, shape))
    made._values = values
    return made


# ---- calls that a class is shown -----------------------------------------------------------------

_SWAPPED = {"__rsub__": "sub", "__radd__": "add", "__rmul__": "mul", "__rtruediv__": "div",
            "__rpow__": "pow", "__rfloordiv__": "floor_divide", "__rmod__": "remainder"}
_DUNDERS = {"truediv": "div", "floordiv": "floor_divide", "mod": "remainder", "invert":
            "bitwise_not", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
            "matmul": "matmul", "rmatmul": "matmul"}


def _plain_name(name: str) -> tuple[str, bool]:
    """The name without what marks syntax and calls in place, and whether it was one of these."""
    if name.startswith("__") and name.endswith("__"):
        inner = name[2:-2]
        inplace = inner.startswith("i") and inner[1:] in {
            "add", "sub", "mul", "truediv", "pow", "floordiv", "mod", "and", "or", "xor"}
        inner = inner[1:] if inplace else inner
        return _DUNDERS.get(inner, inner), inplace
    if name.endswith("_") and not name.startswith("_"):
        return name[:-1], True
    return name, False


def called(func: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...], str, bool]:
    """A call that was shown to a class, as the operator that it stands for.

    Args:
        func: What is called: an operator, a function, or the method that syntax stands for.
        args: By position.

    Returns:
        What to call, its positional arguments, its plain name, and whether it writes to the first.
    """
    shown = getattr(func, "__name__", str(func))
    if shown in _SWAPPED:
        name = _SWAPPED[shown]
        return _core.operators()[name], (args[1], args[0]), name, False
    return func, args, *_plain_name(shown)


def is_pointwise(func: Any, name: str) -> bool:
    """Whether an operator, or the one that syntax stands for, computes element by element.

    Args:
        func: What is called.
        name: Its name, as `called` gives it.
    """
    operator: Any = func if hasattr(func, "keys") else _core.operators().get(name)
    return hasattr(operator, "key") and row(operator.key).category == "pointwise"
