"""The functional operators of `torch.distributed` in a world of one process: `_c10d_functional`."""
from __future__ import annotations

from typing import Any

from flambeau.core import Tensor
from flambeau.distributed import _rank_not_in_group as _rank_not_in_group


def _same(input: Tensor, *settings: Any) -> Tensor:
    """What one process gathers, reduces or sends itself: a copy."""
    return input.clone()


def _waited(tensor: Tensor) -> Tensor:
    """The tensor: there is nothing to wait for."""
    return tensor


_SCHEMAS: dict[str, Any] = {
    "all_reduce(Tensor input, str reduce_op, str group_name) -> Tensor": _same,
    "all_gather_into_tensor(Tensor input, int group_size, str group_name) -> Tensor": _same,
    "reduce_scatter_tensor(Tensor input, str reduce_op, int group_size, str group_name) -> Tensor":
        _same,
    "all_to_all_single(Tensor input, SymInt[] output_split_sizes, SymInt[] input_split_sizes, "
    "str group_name) -> Tensor": _same,
    "broadcast(Tensor input, int src, str group_name) -> Tensor": _same,
    "wait_tensor(Tensor tensor) -> Tensor": _waited,
}
_kept: dict[str, object] = {}


def register(namespace: str) -> None:
    """Register them, when a program first asks for their namespace.

    Args:
        namespace: ``_c10d_functional`` or a variant of it.
    """
    from flambeau.library import Library

    library = _kept[namespace] = Library(namespace, "FRAGMENT")
    for schema, function in _SCHEMAS.items():
        library.impl(library.define(schema), function, "CompositeImplicitAutograd")
