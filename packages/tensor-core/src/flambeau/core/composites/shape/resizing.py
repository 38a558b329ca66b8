"""Tensors that take another shape or other memory in place, and loops over elements in Python."""
import operator
import warnings
from math import prod

from flambeau.core import _core
from flambeau.core.composites.shape.joins import broadcast_shape

_op = _core.operators()
Tensor = _core.Tensor

_MOST_BYTES = 2**63 - 1


def _expect_free(self, what, leaf_too=True):
    """Refuse tensors whose history knows their shape, captured and read-only ones."""
    _core.refuse_captured(self, what)
    if self.requires_grad and (leaf_too or not self.is_leaf) \
            and not _core.is_inference_mode_enabled():
        raise RuntimeError(f"{what}(): cannot resize variables that require grad; write "
                           "x.data or x.detach() first, or make a new tensor")
    if self.is_readonly:
        raise RuntimeError(f"{what}(): the tensor is read-only; write x.clone() first")


def resize_(self, *sizes, size=None, memory_format=None):
    """Give the tensor another shape; elements beyond the present ones are not initialized.

    Memory that suffices is kept. Where it does not, the tensor moves to new memory, which views
    of it taken before do not share.

    Args:
        sizes: The shape, as ints or as one sequence.
        size: The same by name.
        memory_format: How the elements lie; in C order when left out.

    Returns:
        The tensor itself.

    Raises:
        RuntimeError: The memory does not suffice, and belongs to an array or is shown by one.

    Example:
        >>> import flambeau
        >>> flambeau.tensor([1, 2, 3, 4]).resize_(2, 2)
        tensor([[1, 2],
                [3, 4]])
    """
    if size is not None:
        sizes = (*sizes, size)
    in_a_row = len(sizes) == 1 and isinstance(sizes[0], (tuple, list))
    shape = tuple(map(operator.index, sizes[0] if in_a_row else sizes))
    if min(shape, default=0) < 0:
        raise RuntimeError(f"resize_(): Trying to create tensor with negative dimension: "
                           f"{list(shape)}")
    if prod(shape) * self.element_size() > _MOST_BYTES:
        raise RuntimeError(f"resize_(): integer multiplication overflow: shape {list(shape)} has "
                           "more elements than memory can be addressed")
    if shape != tuple(self.shape):
        _expect_free(self, "resize_")
        version = self._version
        self.data = _flat(self, prod(shape)).view(shape)
        _core.count_write(self, version)
    if memory_format not in (None, "contiguous_format", "preserve_format"):
        strides = _core.format_strides(self, memory_format)
        self.data = _op["as_strided"](self, shape, strides, self.storage_offset())
    return self


def _flat(x, count):
    """The first elements of the memory from a tensor's first on, in new memory if need be."""
    at = x.storage_offset()
    room = _core.storage_bytes(x) // x.element_size() - at
    if count <= room:
        return _op["as_strided"](x.detach(), (count,), (1,), at)
    if _core.is_fixed(x):
        raise RuntimeError(
            "resize_(): Trying to resize storage that is not resizable: its memory belongs to an "
            "array, a buffer or other processes, or an array shows it, and would not move along; "
            "write x.clone().resize_(...)")
    more = _op["empty"]((count,), dtype=x.dtype, device=x.device)
    if room > 0:
        _op["copy_"](_op["narrow"](more, 0, 0, room),
                     _op["as_strided"](x.detach(), (room,), (1,), at))
    return more


def write_to(out, x, in_a_row=False, warning=None):
    """Write a new tensor to ``out``, which takes its shape.

    Args:
        out: Where to write.
        x: What to write.
        in_a_row: Whether a shape of as many elements is left as it is, as PyTorch leaves it.
        warning: The function that warns where elements are given up, as PyTorch's arange does.
    """
    if out.shape != x.shape:
        if in_a_row and out.numel() == x.numel():
            x = x.view(out.shape)
        else:
            if warning and out.numel():
                warnings.warn("An output with one or more elements was resized: out has shape "
                              f"{list(out.shape)}, the result of {warning}() has {list(x.shape)}; "
                              "give out= as many elements, or none", stacklevel=2)
            resize_(out, *x.shape)
    return _op["clone"](x, out=out)


def resize_as_(self, the_template, *, memory_format=None):
    """Give the tensor the shape of another; see ``resize_``.

    The memory format ``preserve_format`` is that of the other tensor.
    """
    if memory_format == "preserve_format":
        memory_format = format_of(the_template)
    return resize_(self, tuple(the_template.shape), memory_format=memory_format)


def resize(self, *sizes):
    """A tensor with another shape and as many elements; ``reshape`` without a size of -1.

    Raises:
        RuntimeError: The shape has more or fewer elements.

    Example:
        >>> import flambeau
        >>> flambeau.tensor([1, 2, 3, 4]).resize(2, 2)
        tensor([[1, 2],
                [3, 4]])
    """
    in_a_row = len(sizes) == 1 and isinstance(sizes[0], (tuple, list))
    shape = tuple(map(operator.index, sizes[0] if in_a_row else sizes))
    if prod(shape) != self.numel() or min(shape, default=0) < 0:
        raise RuntimeError(f"resize(): requested resize to {list(shape)} ({prod(shape)} elements "
                           f"in total), but the given tensor has {self.numel()} elements; write "
                           "x.detach().clone().resize_(...) for another number of them")
    return self.reshape(shape)


def resize_as(self, tensor):
    """A tensor with the shape of another and as many elements; see ``resize``."""
    return resize(self, tuple(tensor.shape))


def format_of(x):
    """The memory format by which a tensor lies, if not in C order; samples of batches have none."""
    if not _core.level_of(x) and not x.is_contiguous():
        for name in ("channels_last", "channels_last_3d"):
            if x.is_contiguous(memory_format=name):
                return name
    return None


def set_(self, source=None, storage_offset=None, size=None, stride=None):
    """Show the memory of another tensor, or a storage.

    Args:
        source: A tensor or typed storage of the same dtype and device, or an untyped storage;
            no memory when left out.
        storage_offset: Elements from the start of that memory; those of source when left out.
        size: The shape; that of source when left out.
        stride: Steps in elements; those of C order when left out.

    Returns:
        The tensor itself.
    """
    if _core.is_asked_below(self):
        return _core.method_below(*_set_call(self, source, storage_offset, size, stride))
    if not self.is_leaf or not _core.is_grad_enabled():
        _expect_free(self, "set_", leaf_too=False)
    elif self.requires_grad:
        raise RuntimeError("set_(): a leaf Variable that requires grad is being used in an "
                           "in-place operation; write x.set_(...) under flambeau.no_grad()")
    else:
        _core.refuse_captured(self, "set_")
    if source is None:
        source = _op["empty"]((0,), dtype=self.dtype, device=self.device)
    if hasattr(source, "_as_tensor"):   # a storage
        source = source._as_tensor(self.dtype)
    if not isinstance(source, Tensor):
        raise TypeError(f"set_(): source must be a tensor or a storage, not "
                        f"{type(source).__name__}")
    if source.dtype is not self.dtype or source.device != self.device:
        raise RuntimeError(f"set_(): source is {source.dtype} on {source.device}, the tensor "
                           f"{self.dtype} on {self.device}; convert with source.to(x)")
    shown = source.detach()
    if size is not None:
        strides = stride if stride is not None else _steps(size)
        at = shown.storage_offset() if storage_offset is None else storage_offset
        shown = _op["as_strided"](shown, size, strides, at)
    self.data = shown
    return self


def _set_call(x, source, offset, size, stride):
    """Which of PyTorch's forms of ``set_`` a call is, and its arguments."""
    if source is None:
        return "set_.default", x
    form = "set_.source_Tensor" if isinstance(source, Tensor) else "set_.source_Storage"
    if size is None:
        return form, x, source
    stride = _steps(size) if stride is None else stride
    return f"{form}_storage_offset", x, source, offset or 0, list(size), list(stride)


def _steps(shape):
    """Strides of C order."""
    return [prod(shape[d + 1:]) for d in range(len(shape))]


def _each(self, what, function, others):
    """Write what a function of Python gives for each element."""
    if not self.is_cpu:
        raise TypeError(f"{what}(): is only implemented on CPU tensors, got {self.device}; write "
                        "the function with operators")
    if self.requires_grad:
        raise RuntimeError(f"{what}(): cannot call {what} on a tensor that requires grad, Python "
                           "functions have no derivative; write x.detach() first")
    for other in others:
        if isinstance(other, Tensor) and other.requires_grad:
            raise RuntimeError(f"{what}(): an argument requires grad, and Python functions have no "
                               "derivative; write y.detach()")
        if not isinstance(other, Tensor) or other.dtype is not self.dtype:
            raise TypeError(f"{what}(): expected a tensor of {self.dtype}, got "
                            f"{getattr(other, 'dtype', type(other).__name__)}")
        if broadcast_shape(what, [tuple(self.shape), tuple(other.shape)]) != tuple(self.shape):
            raise RuntimeError(f"{what}(): shape {list(other.shape)} does not broadcast to "
                               f"{list(self.shape)}")
    columns = [_op["reshape"](_op["expand"](x, self.shape), (-1,)).tolist()
               for x in (self.detach(), *others)]
    made = [function(*numbers) for numbers in zip(*columns, strict=True)]
    values = _core.tensor(made, dtype=self.dtype, device=self.device)
    return _op["copy_"](self, _op["reshape"](values, self.shape))


def apply_(self, callable):
    """Replace each element by what a Python function gives for it: slow, for tests.

    Example:
        >>> import flambeau
        >>> flambeau.tensor([1, 2]).apply_(lambda x: x * x + 1)
        tensor([2, 5])
    """
    return _each(self, "apply_", callable, ())


def map_(self, tensor, callable):
    """Replace each element x by ``callable(x, y)``, y the element of another tensor: slow."""
    return _each(self, "map_", callable, (tensor,))


def map2_(self, x, y, callable):
    """Replace each element by ``callable`` of it and those of two other tensors: slow."""
    return _each(self, "map2_", callable, (x, y))


METHODS = {f.__name__: f for f in (  # type: dict[str, object]
    resize, resize_as, resize_, resize_as_, set_, apply_, map_, map2_)}
