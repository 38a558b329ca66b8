"""Lists of tensors as one: what libraries for several processes take from `torch._utils`."""
from __future__ import annotations

from collections.abc import Iterator, Sequence

import flambeau
from flambeau.core import Tensor


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """The elements of all tensors, one after the other."""
    return flambeau.cat([each.reshape(-1) for each in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of a flat tensor with the shapes of others."""
    parts = flat.split([each.numel() for each in tensors])
    return tuple(part.view(each.shape) for part, each in zip(parts, tensors, strict=True))


def _take_tensors(tensors: Sequence[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Lists of tensors of one dtype and device, of about as many bytes as the limit.

    Args:
        tensors: Dense tensors.
        size_limit: Bytes at which a list is given, and a next one begun.
    """
    lists: dict[tuple[object, object], list[Tensor]] = {}
    for tensor in tensors:
        key = tensor.dtype, tensor.device
        found = lists.setdefault(key, [])
        size = sum(map(_bytes, found)) + _bytes(tensor)
        if size > size_limit and found:
            yield lists.pop(key)
            found = lists.setdefault(key, [])
        found.append(tensor)
    yield from lists.values()


def _bytes(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _element_size(dtype: flambeau.dtype) -> int:
    """The bytes of an element."""
    if not isinstance(dtype, flambeau.dtype):
        raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
    return dtype.itemsize
