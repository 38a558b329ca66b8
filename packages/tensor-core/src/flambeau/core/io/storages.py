"""Storages in files: the memory of tensors, saved beside them and shared with them again."""
from __future__ import annotations

import sys
from typing import Any

from flambeau.core import _core
from flambeau.core.io.errors import fail

_MODULE = "flambeau.core.storages"


def is_storage(obj: Any) -> bool:
    """Whether ``obj`` is a storage; a program that has none has not loaded their module."""
    module = sys.modules.get(_MODULE)
    return module is not None and isinstance(obj, module.Storage)


def elements_of(storage: Any, seen: Any = ()) -> tuple[str | None, Any]:
    """The name of a storage's dtype, None for bytes, and a tensor of all its elements.

    Args:
        storage: Of elements or of bytes.
        seen: Pairs (identity of memory, name of a dtype) of tensors that are saved beside it: bytes
            are given as elements of their dtype, so that they can share memory again.
    """
    if getattr(storage, "dtype", None) is not None:
        return storage.dtype.name, storage._elements()
    raw = storage._bytes
    beside = next((name for memory, name in seen if memory == storage._cdata), None)
    if beside is None or raw.numel() % _core._dtype_named(beside).itemsize:
        return None, raw
    return None, raw.view(_core._dtype_named(beside))


def storage_over(x: Any, dtype_name: str | None) -> Any:
    """The storage of the elements of ``x`` and of nothing else; of bytes without a dtype."""
    from flambeau.core.compat.typed_storages import TypedStorage
    from flambeau.core.storages import UntypedStorage

    if not isinstance(x, _core.Tensor) or not x.is_contiguous():
        fail("a storage of the file has no memory; the file is damaged")
    raw = UntypedStorage.__new__(UntypedStorage)
    raw._bytes = x.detach().reshape(-1).view(_core._dtype_named("uint8"))
    if dtype_name is None:
        return raw
    return TypedStorage(wrap_storage=raw, dtype=_core._dtype_named(dtype_name))
