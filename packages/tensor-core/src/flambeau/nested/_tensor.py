"""What a nested tensor is: a Tensor to ``isinstance``, whose calls its class runs itself."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flambeau.core import _core, functions
from flambeau.core.layouts import layout

Tensor = _core.Tensor
_op = {**functions, **_core.operators()}


class Nested(Tensor):
    """Samples of different lengths in one tensor. Its memory is that of the dense ``_values``."""

    _values: Any
    layout: layout
    is_nested = True
    is_sparse = is_sparse_csr = is_quantized = is_mkldnn = False

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from flambeau.nested._calls import run

        return run(func, tuple(args), dict(kwargs or {}))

    # ---- facts: those of the values ------------------------------------------------------------
    @property
    def shape(self) -> Any:
        """The size of every dimension."""
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        """How many dimensions there are, the first of which counts samples."""
        return len(self.shape)

    def dim(self) -> int:
        """How many dimensions there are."""
        return self.ndim

    def size(self, dim: int | None = None) -> Any:
        """The size of every dimension, or of one."""
        return self.shape if dim is None else self.shape[dim]

    def numel(self) -> int:
        """How many elements all samples have together."""
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
        """The gradient, nested like the tensor."""
        return None if self._values.grad is None else self._like(self._values.grad)

    @grad.setter
    def grad(self, gradient: Any) -> None:
        self._values.grad = None if gradient is None else gradient._values

    @property
    def data(self) -> Any:
        """The same memory without history."""
        return self._like(self._values.data)

    def _like(self, values: Any) -> Any:
        """Values in the same arrangement as a nested tensor."""
        raise NotImplementedError

    def _parts(self) -> list[Any]:
        """The samples, as dense tensors."""
        raise NotImplementedError

    # ---- autograd --------------------------------------------------------------------------------
    def detach(self) -> Any:
        """The same memory without history."""
        return self._like(self._values.detach())

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Ask for gradients, or no longer."""
        self._values.requires_grad_(requires_grad)
        return self

    def retain_grad(self) -> None:
        """Keep the gradient though the tensor is no leaf."""
        self._values.retain_grad()

    def backward(self, gradient: Any = None, **options: Any) -> None:
        """Compute gradients of leaves, from a nested gradient."""
        given = gradient._values if isinstance(gradient, Nested) else gradient
        self._values.backward(given, **options)

    def register_hook(self, hook: Any) -> Any:
        """Call a function with the gradient, once it is known."""
        def of_values(gradient: Any) -> Any:
            result = hook(self._like(gradient))
            return result._values if isinstance(result, Nested) else result

        return self._values.register_hook(of_values)

    # ---- what dense memory would answer ----------------------------------------------------------
    def values(self) -> Any:
        """All samples side by side, as a dense tensor with the same memory and history."""
        return self._values.view_as(self._values)

    def unbind(self, dim: int = 0) -> Any:
        """The samples, as views."""
        if dim not in (0, -self.ndim):
            raise RuntimeError(f"unbind(): only supported for NestedTensor on dim=0, not {dim}")
        return tuple(self._parts())

    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Any:
        """A dense tensor in which shorter samples are filled up."""
        from flambeau.nested._calls import JAGGED, STRIDED

        table = JAGGED if self.layout == "jagged" else STRIDED
        return table["to_padded_tensor"](self, padding, output_size)

    def _refused(self, what: str) -> RuntimeError:
        return RuntimeError(f".{what} is not supported for nested tensors, whose samples differ: "
                            f"write [x.{what} for x in nested.unbind()]")

    def tolist(self) -> Any:
        """Refused: samples differ."""
        raise self._refused("tolist()")

    def numpy(self, *, force: bool = False) -> Any:
        """Refused: samples differ."""
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
        """Whether samples follow each other without gaps."""
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
