"""What a sparse tensor of any layout is: a Tensor to ``isinstance`` and to autograd."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flambeau.core import _core, functions
from flambeau.core.layouts import layout
from flambeau.sparse._history import tie

Tensor = _core.Tensor
_op = {**functions, **_core.operators()}


def blank(shape: tuple[int, ...], values: Any) -> Any:
    """What stands for the memory that a sparse tensor lacks: a single zero, seen in its shape."""
    zero = _op["zeros"]((), dtype=values.dtype, device=values.device)
    return _op["expand"](zero, tuple(shape))


class SparseTensor(Tensor):
    """A tensor of which only some elements are stored; the others are zero.

    Made by ``sparse_coo_tensor``, ``sparse_csr_tensor`` and ``Tensor.to_sparse``.
    """

    __slots__ = ("_held",)
    __torch_function__ = _core.no_override
    layout: layout
    is_sparse = False
    is_sparse_csr = False

    def _like(self, values: Any) -> Any:
        """A tensor of the same indices with other values, both without history."""
        raise NotImplementedError

    def _once(self, gradient: Any) -> Any:
        """The gradient of values as that of the tensor: once for each index."""
        return gradient

    def _each(self, values: Any) -> Any:
        """The tensor's element for each of the values of a tensor with these indices."""
        return values

    def _parts(self) -> tuple[Any, ...]:
        """The tensors of indices."""
        raise NotImplementedError

    def _nnz(self) -> int:
        """How many elements, or blocks, are stored."""
        return int(self._held.shape[0])

    def _become(self, other: Any) -> Any:
        """Take over the parts of another tensor of the layout, as a write to this one."""
        _core.reshape_sparse(self, blank(tuple(other.shape), other._held))
        self._held = other._held
        return self

    # ---- what dense memory would answer ------------------------------------------------------
    def detach(self) -> Any:
        """The same parts as a new tensor without history."""
        return self._like(self._held.detach())

    @property
    def data(self) -> Any:
        """The same parts without history."""
        return self._like(self._held.data)

    @data.setter
    def data(self, other: Any) -> None:
        if type(other) is not type(self):
            raise TypeError(f"data of a tensor of layout {self.layout} must be of that layout: "
                            "write x = y instead")
        self._become(other.detach())

    @property
    def _version(self) -> int:
        return int(self._held._version) + int(Tensor._version.__get__(self))

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Always False: there is no dense memory."""
        return False

    def _no_memory(self, what: str) -> RuntimeError:
        return RuntimeError(f"{what}: a tensor of layout {self.layout} has no dense memory; write "
                            f"x.to_dense().{what}, or take its parts, such as x.values()")

    def data_ptr(self) -> int:
        """Refused: there is no dense memory."""
        raise self._no_memory("data_ptr()")

    def untyped_storage(self) -> Any:
        """Refused: there is no dense memory."""
        raise NotImplementedError(str(self._no_memory("untyped_storage()")))

    storage = untyped_storage

    def tolist(self) -> Any:
        """Refused: the list would have all elements."""
        raise self._no_memory("tolist()")

    def numpy(self, *, force: bool = False) -> Any:
        """Refused: an array has all elements."""
        raise TypeError("can't convert Sparse layout tensor to numpy: write "
                        "x.to_dense().numpy(), or give its parts to scipy.sparse")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.numpy()

    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("a sparse tensor is no array; write x.to_dense()")

    def item(self) -> Any:
        """The only element, as a Python number."""
        if self.numel() != 1:
            raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to "
                               "Scalar; write x.to_dense().tolist()")
        return self.to_dense().item()

    def __bool__(self) -> bool:
        return bool(self.to_dense() if self.numel() == 1 else self._several())

    def _several(self) -> Any:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous; write "
                           "x.any()")

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> int:
        raise TypeError("a sparse tensor is no index; write x.to_dense()")

    def __iter__(self) -> Iterator[Any]:
        return iter(self.unbind(0))

    def __neg__(self) -> Any:
        return self.neg()

    def __abs__(self) -> Any:
        return self.abs()

    def __pos__(self) -> Any:
        return self

    def __invert__(self) -> Any:
        return self.to_dense().logical_not()

    def __getitem__(self, index: Any) -> Any:
        from flambeau.sparse._indexing import get_item

        return get_item(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError("Cannot assign to elements of a sparse tensor: make another one from its "
                        "indices and values, or write to x.to_dense()")

    # ---- writes, and new tensors of the layout -------------------------------------------------
    def zero_(self) -> Any:
        """Drop all elements."""
        from flambeau.sparse._calls import write

        return write(self, _op["zeros_like"](self.detach()), "zero")

    def new_zeros(self, *sizes: Any, size: Any = None, dtype: Any = None, device: Any = None,
                  requires_grad: bool = False, layout: Any = None,
                  pin_memory: bool = False) -> Any:
        """A tensor of the layout, dtype and device without elements."""
        from flambeau.sparse._make import empty_of_layout

        sizes = sizes if size is None else (size,)
        shape = sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
        made = empty_of_layout(shape, layout or self.layout, dtype or self.dtype,
                               device or self.device)
        return _core.requiring(made, True) if requires_grad else made

    new_empty = new_zeros

    def new(self, *arguments: Any, size: Any = None, device: Any = None) -> Any:
        """A tensor of the dtype: of indices, values and a size, of a size, or without elements."""
        from flambeau.sparse._make import sparse_coo_tensor

        if arguments and isinstance(arguments[0], Tensor):
            return sparse_coo_tensor(*arguments, dtype=self.dtype, device=device)
        sizes = arguments or ((0,) if size is None else size,)
        return self.new_zeros(*sizes, device=device)

    def _rearranged(self, name: str, *args: Any) -> Any:
        from flambeau.sparse._calls import CALLS, write

        return write(self, CALLS[name](self, *args), name)

    def transpose_(self, dim0: int, dim1: int) -> Any:
        """Swap two dimensions."""
        return self._rearranged("transpose", dim0, dim1)

    swapaxes_ = swapdims_ = transpose_

    def t_(self) -> Any:
        """Make rows columns."""
        return self._rearranged("t")

    def unsqueeze_(self, dim: int) -> Any:
        """Insert a dimension of size 1."""
        return self._rearranged("unsqueeze", dim)

    def squeeze_(self, dim: Any = None) -> Any:
        """Drop dimensions of size 1."""
        return self._rearranged("squeeze", dim)

    def resize_(self, *sizes: Any, size: Any = None, memory_format: Any = None) -> Any:
        """Let rows in CSR format have more columns, or another number of rows."""
        from flambeau.sparse._resizing import resized_rows

        sizes = sizes if size is None else (*sizes, size)
        return self._become(resized_rows(self, sizes[0] if len(sizes) == 1 and
                                         not isinstance(sizes[0], int) else sizes))

    def resize_as_sparse_(self, other: Any) -> Any:
        """Let the tensor have the shape and as many elements as another of its layout.

        Args:
            other: A sparse tensor.
        """
        from flambeau.sparse._resizing import resized_as

        return self._become(resized_as(self, other))

    def resize_as_(self, other: Any, *, memory_format: Any = None) -> Any:
        """`resize_as_sparse_`."""
        return self.resize_as_sparse_(other)

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The tensor in another dtype; its type's name when none is given."""
        if dtype is not None:
            return super().type(dtype)
        return super().type().replace("flambeau.", "flambeau.sparse.", 1)

    # ---- text, pickle, copies ----------------------------------------------------------------
    def __repr__(self, *, tensor_contents: Any = None) -> str:
        from flambeau.sparse._text import text

        return text(self)

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec) if spec else repr(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        from flambeau.sparse._copying import reduce

        return reduce(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        from flambeau.sparse._copying import deepcopy

        return deepcopy(self, memo)

    def share_memory_(self) -> Any:
        """Let other processes share the parts, where dense tensors can be shared."""
        for part in (*self._parts(), self._held):
            part.share_memory_()
        return self


def values_of(x: Any) -> Any:
    """The values of a sparse tensor, with its history; their gradient is sparse as it is.

    Args:
        x: A sparse tensor.
    """
    pattern = x.detach()

    def backward(g: Any, needs: Any) -> tuple[Any]:
        return (filled(pattern, pattern._once(g)),)

    return tie("Values", x._held.detach(), (x,), backward)


def filled(pattern: Any, values: Any) -> Any:
    """A sparse tensor with these values, and their history, at the indices of another.

    Args:
        pattern: A sparse tensor; its values are not read.
        values: Of the shape of the pattern's values, of any dtype.
    """
    from flambeau.sparse._masks import sample

    # Only indices are kept, by a tensor whose values are these.
    result = pattern._like(values.detach())
    indices = result.detach()
    return tie("SparseTensor", result, (values,), lambda g, needs: (sample(g, indices),))
