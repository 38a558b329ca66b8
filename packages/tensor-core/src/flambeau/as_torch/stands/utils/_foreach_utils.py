"""What libraries ask of lists of tensors: `torch.utils._foreach_utils`."""
from __future__ import annotations

from typing import Any

Indices = list[int]
TensorListList = list


def _group_tensors_by_device_and_dtype(tensorlistlist: Any, with_indices: bool = False) -> Any:
    """Lists cut into those of one device and dtype, by the first; and where elements were."""
    groups: dict[Any, tuple[list[list[Any]], list[int]]] = {}
    for i, (first, *others) in enumerate(zip(*tensorlistlist, strict=True)):
        key = (first.device, first.dtype)
        lists, places = groups.setdefault(key, ([[] for _ in tensorlistlist], []))
        for column, value in zip(lists, (first, *others), strict=True):
            column.append(value)
        if with_indices:
            places.append(i)
    return groups


def _get_foreach_kernels_supported_devices() -> list[str]:
    """No device gains by lists of tensors."""
    return []


_get_fused_kernels_supported_devices = _get_foreach_kernels_supported_devices


def _has_foreach_support(tensors: Any, device: Any) -> bool:
    """False: a loop is as fast."""
    return False


def _device_has_foreach_support(device: Any) -> bool:
    """False: a loop is as fast."""
    return False
