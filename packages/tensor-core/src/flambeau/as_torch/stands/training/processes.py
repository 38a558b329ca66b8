"""What trainers take of the modules of `torch.distributed`."""
from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any

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
