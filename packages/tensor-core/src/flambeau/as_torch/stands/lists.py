"""Operators on lists of tensors, which optimizers of libraries use: ``torch._foreach_add_``."""
from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import flambeau
from flambeau.core import Tensor

PREFIX = "_foreach_"
#: What takes numbers as well as tensors, in place of what takes tensors alone.
_NUMBERS = {"maximum": "clamp_min", "minimum": "clamp_max", "maximum_": "clamp_min_",
            "minimum_": "clamp_max_"}


def _norm(x: Tensor, ord: Any = 2, dtype: Any = None) -> Tensor:
    return flambeau.linalg.vector_norm(x, ord, dtype=dtype)


def _powsum(x: Tensor, ord: Any = 2, dtype: Any = None) -> Tensor:
    return x.abs().pow(ord).sum(dtype=dtype)


#: Names of arguments in PyTorch's signatures, in their order: what has a name is placed by it.
_PLACES = ("tensor1", "tensor2", "tensors1", "scalar", "scalars", "other", "tensor", "weight",
           "weights", "exponent", "src")
_OWN: dict[str, Callable[..., Any]] = {"norm": _norm, "powsum": _powsum}


def _parts(value: Any, count: int, is_numbers: bool) -> list[Any]:
    """What an argument gives for each tensor of a list."""
    if isinstance(value, list | tuple):
        if len(value) != count and all(isinstance(each, Tensor) for each in value):
            raise RuntimeError("Tensor lists must have the same number of tensors, got "
                               f"{count} and {len(value)}")
        if len(value) != count:
            raise RuntimeError("Tensor list must have same number of elements as scalar list.")
        return list(value)
    if is_numbers and isinstance(value, Tensor):
        if value.ndim != 1:
            raise RuntimeError("Expected packed scalar Tensor to be of dimension 1. Got "
                               f"{value.ndim} instead.")
        if len(value) != count:
            raise RuntimeError(f"Expected length of scalars to match input of length {count} but "
                               f"got {len(value)} instead.")
        return list(value.unbind(0))
    return [value] * count


@cache
def _made(name: str) -> Callable[..., Any]:
    word = name.removeprefix(PREFIX)
    function = _OWN.get(word) or getattr(flambeau.Tensor, _NUMBERS.get(word, word))
    has_numbers = word.startswith(("addcmul", "addcdiv"))

    def each(first: Any, *others: Any, **options: Any) -> Any:
        others += tuple(options.pop(name) for name in _PLACES if name in options)
        lists = first if isinstance(first, list | tuple) else others[0]
        if not lists:
            raise RuntimeError("Tensor list must have at least one tensor.")
        if has_numbers and len(others) == 3:
            options["value"], others = others[2], others[:2]
        columns = [_parts(value, len(lists), False) for value in (first, *others)]
        named = {key: _parts(value, len(lists), has_numbers) for key, value in options.items()}
        found = [(flambeau.pow if word == "pow" else function)(     # of a number, too
            *values, **{key: column[i] for key, column in named.items()})
            for i, values in enumerate(zip(*columns, strict=True))]
        return None if word.endswith("_") else tuple(found)

    each.__name__ = each.__qualname__ = name
    return each


def __getattr__(name: str) -> Any:
    if not name.startswith(PREFIX) or not (
            (word := name.removeprefix(PREFIX)) in _OWN or word in _NUMBERS
            or hasattr(Tensor, word)):
        raise AttributeError(f"module 'torch' has no attribute {name!r}")
    return _made(name)
