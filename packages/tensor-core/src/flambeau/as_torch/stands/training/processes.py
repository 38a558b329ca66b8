"""What trainers take of the modules of `torch.distributed`."""
from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from flambeau import rooms
from flambeau.distributed import groups
from flambeau.distributed.collectives import broadcast_coalesced


class _Groups(Mapping[Any, Any]):
    """The groups that there are: each with its backend and the store that it met in."""

    def __getitem__(self, group: Any) -> tuple[str, Any]:
        if group not in list(self):
            raise KeyError(group)
        return group.backend, group.store

    def __iter__(self) -> Iterator[Any]:
        return iter(groups.made.values())

    def __len__(self) -> int:
        return len(groups.made)


_pg_map = _Groups()


def _get_default_group() -> groups.ProcessGroup:
    """The group of all processes.

    Raises:
        ValueError: `init_process_group` was not called.
    """
    return groups.resolve(None)


def _sync_module_states(module: Any, process_group: Any, broadcast_bucket_size: int, src: int,
                        params_and_buffers_to_ignore: Container[str],
                        broadcast_buffers: bool = True) -> None:
    """Copy the parameters and buffers of one process to all; all kinds at once, of any size."""
    named = [*module.named_parameters(), *(module.named_buffers() if broadcast_buffers else ())]
    broadcast_coalesced([x.detach() for name, x in named
                         if name not in params_and_buffers_to_ignore], process_group, src)


def compute_local_shape_and_global_offset(
        global_shape: Sequence[int], mesh: Any, placements: Sequence[Any],
        skip_offset: bool = False) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of this process's part of a shared tensor, and where it begins.

    Args:
        global_shape: The shape of the tensor.
        mesh: The processes.
        placements: How they share it.
        skip_offset: Whether the second result is empty, as for a process outside of the mesh.
    """
    if mesh.get_coordinate() is None:
        return (0,), ()
    layout: Any = rooms.import_module(f"{rooms.PREFIX}distributed.tensor._layout")
    shape = tuple(global_shape)
    sizes, offsets = layout.part(shape, mesh, layout.normalized(placements, mesh, len(shape)))
    return sizes, () if skip_offset else offsets
