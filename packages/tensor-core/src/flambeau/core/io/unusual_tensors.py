"""Tensors in files that are more than numbers: of shape alone, with attributes of their own, of a
program's class."""
from __future__ import annotations

import sys
import warnings
from typing import Any

from flambeau import rooms
from flambeau.core import _core, functions
from flambeau.core.homes import own_module
from flambeau.core.io.errors import fail, shown

_MOST_DIMS = 32


def attributes_of(x: Any) -> dict[str, Any] | None:
    """What a program has set on a tensor or parameter, None without any."""
    parameter = getattr(sys.modules.get(f"{rooms.PREFIX}nn"), "Parameter", _core.Tensor)
    if type(x) not in (_core.Tensor, parameter):
        return None
    return {name: v for name, v in x.__dict__.items() if not hasattr(_core.Tensor, name)} or None


def of_class(x: Any, path: str) -> tuple[type, Any, dict[str, Any]] | None:
    """What a tensor of a program's class is made of; None for the classes of this library.

    Args:
        x: The tensor.
        path: Where it lies in what is saved, for messages.

    Returns:
        The class, the tensor that it shows, or the facts of one without memory of its own
        (``_make_wrapper_subclass``), and its attributes.
    """
    kind = type(x)
    parameter = getattr(sys.modules.get(f"{rooms.PREFIX}nn"), "Parameter", None)
    if own_module(kind).startswith(rooms.PREFIX) or parameter in kind.__mro__:
        return None
    if kind.__reduce_ex__ is not _core.Tensor.__reduce_ex__ or kind.__reduce__ is not \
            _core.Tensor.__reduce__:
        _tell_loss(x, path)
        return None
    with _core.DisableTorchFunction(), _core.DisableTorchDispatch():
        if _core.is_wrapper(x):
            data: Any = [x.dtype, list(x.shape), list(x.stride()), x.storage_offset(), x.device]
        elif x.is_meta:
            return None
        else:
            data = x.detach().as_subclass(_core.Tensor)
    return kind, data, _core.attributes_of(x)


def _tell_loss(x: Any, path: str) -> None:
    """Say what is lost where a function of the class's own would have to be called."""
    what = f"save(): the {type(x).__name__} at {path or 'the top'} is pickled by a method of its " \
        "class, which files do not call"
    if _core.is_wrapper(x):
        raise TypeError(f"{what}, and has no memory of its own; save the tensors inside")
    warnings.warn(f"{what}: the file holds a plain tensor of its elements", stacklevel=2)


def with_class(kind: Any, data: Any, requires_grad: bool) -> Any:
    """The tensor of ``of_class``, without its attributes."""
    if not isinstance(kind, type) or not issubclass(kind, _core.Tensor):
        fail(f"the file wants a tensor of the class {shown(kind)}, which is none")
    if isinstance(data, _core.Tensor):
        return _core.Tensor._make_subclass(kind, data.detach(), requires_grad is True)
    if type(data) is not list or len(data) != 5 or not _core.is_shown_below(kind):
        fail(f"a {kind.__name__} of the file is damaged")
    dtype, shape, stride, offset, device = data
    _check_geometry([*shape, *stride, offset], shape, stride)
    if not isinstance(dtype, _core.dtype) or not isinstance(device, _core.device):
        fail(f"a {kind.__name__} of the file is damaged")
    try:
        made = _core.make_wrapper(kind, tuple(shape), tuple(stride), dtype, device, offset)
    except (MemoryError, OverflowError, ValueError) as error:
        fail(f"a {kind.__name__} of the file has no room: {error}")
    return _core.requiring(made, True) if requires_grad is True else made


def set_attributes(x: Any, attributes: Any) -> Any:
    """The tensor of a program's class with its attributes, by its ``__setstate__`` if it has one.

    PyTorch writes a dict, or a pair of it and the values of slots.
    """
    if callable(setter := getattr(type(x), "__setstate__", None)):
        setter(x, attributes)
        return x
    both = attributes if type(attributes) is tuple and len(attributes) == 2 else (attributes,)
    for part in both:
        if part is not None and not isinstance(part, dict) or \
                not all(isinstance(name, str) and name[:2] != "__" for name in part or ()):
            fail("the attributes of a tensor are damaged")
        for name, value in (part or {}).items():
            setattr(x, name, value)
    return x


def with_attributes(x: Any, attributes: Any) -> Any:
    """The tensor with what ``attributes_of`` gave of another."""
    if not isinstance(x, _core.Tensor) or not isinstance(attributes, dict) or \
            not all(isinstance(name, str) and name.isidentifier() and not name.startswith("__")
                    and not hasattr(_core.Tensor, name) for name in attributes):
        fail("the attributes of a tensor are damaged")
    x.__dict__.update(attributes)
    return x


def meta_facts(x: Any) -> list[Any]:
    """The facts of a tensor on the meta device, which has no numbers."""
    return [x.dtype.name, list(x.shape), list(x.stride()), x.requires_grad]


def meta_tensor(dtype: Any, shape: Any, stride: Any, requires_grad: Any) -> Any:
    """The tensor of ``meta_facts``."""
    _check_geometry([*shape, *stride], shape, stride)
    found = dtype if isinstance(dtype, _core.dtype) else _core._dtype_named(dtype)
    made = functions["empty_strided"](tuple(shape), tuple(stride), dtype=found, device="meta")
    return _core.requiring(made, True) if requires_grad is True else made


def _check_geometry(numbers: list[Any], shape: Any, stride: Any) -> None:
    if any(type(n) is not int or not 0 <= n < 1 << 62 for n in numbers) or \
            len(shape) != len(stride) or len(shape) > _MOST_DIMS:
        fail("the shape of a tensor without memory is damaged")
