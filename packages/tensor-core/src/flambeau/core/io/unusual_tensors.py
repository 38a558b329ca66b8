"""Tensors in files that are more than numbers: of shape alone, or with attributes of their own."""
from __future__ import annotations

import sys
from typing import Any

from flambeau import rooms
from flambeau.core import _core, functions
from flambeau.core.io.errors import fail

_MOST_DIMS = 32


def attributes_of(x: Any) -> dict[str, Any] | None:
    """What a program has set on a tensor or parameter, None without any."""
    parameter = getattr(sys.modules.get(f"{rooms.PREFIX}nn"), "Parameter", _core.Tensor)
    if type(x) not in (_core.Tensor, parameter):
        return None
    return {name: v for name, v in x.__dict__.items() if not hasattr(_core.Tensor, name)} or None


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
    numbers = [*shape, *stride]
    if any(type(n) is not int or not 0 <= n < 1 << 62 for n in numbers) or \
            len(shape) != len(stride) or len(shape) > _MOST_DIMS:
        fail("a tensor on the meta device is damaged")
    found = dtype if isinstance(dtype, _core.dtype) else _core._dtype_named(dtype)
    made = functions["empty_strided"](tuple(shape), tuple(stride), dtype=found, device="meta")
    return _core.requiring(made, True) if requires_grad is True else made
