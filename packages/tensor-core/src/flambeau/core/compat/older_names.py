"""Public names that older programs use: ``set_default_tensor_type``, ``typename`` and the like."""
from __future__ import annotations

import warnings
from typing import Any

from flambeau.core import _core
from flambeau.core.compat.tensor_types import TensorType, named
from flambeau.core.compat.typed_storages import TypedStorage, from_file
from flambeau.core.layouts import layout, memory_format
from flambeau.core.storages import Storage, UntypedStorage

OutOfMemoryError = MemoryError  # CuPy's error of the same name is one too

__all__ = ["OutOfMemoryError", "TypedStorage", "UntypedStorage", "from_file", "is_storage",
           "layout", "memory_format", "set_default_tensor_type", "typename"]


def is_storage(obj: Any) -> bool:
    """Whether an object is the memory of a tensor: what ``x.storage()`` gives."""
    return isinstance(obj, Storage)


def set_default_tensor_type(t: Any, /) -> None:
    """Choose the default dtype by a tensor type, as older programs do; deprecated.

    Args:
        t: A type such as ``flambeau.DoubleTensor``, or its name.

    Raises:
        TypeError: ``t`` is no tensor type.

    Example:
        >>> import flambeau
        >>> flambeau.set_default_dtype(flambeau.float64)   # instead of DoubleTensor here
        >>> flambeau.ones(1).dtype
        flambeau.float64
        >>> flambeau.set_default_dtype(flambeau.float32)
    """
    found = named(t.rpartition(".")[2]) if isinstance(t, str) else t
    if not isinstance(found, TensorType):
        raise TypeError(f"set_default_tensor_type(): invalid type object: expected a tensor type "
                        f"such as flambeau.DoubleTensor, got {t!r}; or write "
                        "flambeau.set_default_dtype(flambeau.float64)")
    if not found.dtype.is_floating_point:
        raise TypeError("set_default_tensor_type(): only floating-point types are supported as "
                        f"the default type, got {t!r}; write flambeau.DoubleTensor, or give "
                        "dtype= where tensors are made")
    _warn_of_default_type()
    _core.set_default_dtype(found.dtype)


def _warn_of_default_type() -> None:
    warnings.warn("flambeau.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
                  "flambeau.set_default_dtype() and flambeau.set_default_device() as "
                  "alternatives.", stacklevel=3)


def typename(obj: Any, /) -> str:
    """Name of an object's type, with its module.

    Args:
        obj: Anything; for tensors the name says the dtype.

    Example:
        >>> import flambeau
        >>> flambeau.typename(flambeau.ones(1))
        'flambeau.FloatTensor'
    """
    if isinstance(obj, _core.Tensor):
        return str(obj.type())
    kind = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(kind, "__module__", None)
    if module in (None, "builtins"):
        return str(kind.__qualname__)
    return f"{module}.{kind.__qualname__}"
