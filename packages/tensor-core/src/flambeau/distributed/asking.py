"""What a program asks of the processes there are."""
from __future__ import annotations

import os
from typing import Any

import flambeau

from . import groups
from .backend import Backend
from .groups import GroupMember, ProcessGroup, resolve


def is_available() -> bool:
    """Return True: processes on one machine, or several, can train together."""
    return True


def is_initialized() -> bool:
    """Say whether `init_process_group` was called."""
    return GroupMember.WORLD is not None


def is_gloo_available() -> bool:
    """Return True: what programs ask of Gloo, the sockets here do."""
    return True


def is_nccl_available() -> bool:
    """Return False: tensors of GPUs go through the memory of the CPU."""
    return False


is_mpi_available = is_ucc_available = is_xccl_available = is_nccl_available


def is_backend_available(backend: str) -> bool:
    """Say whether there is a backend of this name.

    Args:
        backend: Such as ``"gloo"``.
    """
    return backend.lower() == "gloo"


def is_torchelastic_launched() -> bool:
    """Say whether the launcher of several processes started this one."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def get_rank(group: Any = None) -> int:
    """The number of this process in a group, -1 where it is not in it."""
    return -1 if group == GroupMember.NON_GROUP_MEMBER else resolve(group).rank()


def get_world_size(group: Any = None) -> int:
    """How many processes a group has, -1 where this one is not in it."""
    return -1 if group == GroupMember.NON_GROUP_MEMBER else resolve(group).size()


def _rank_not_in_group(group: Any) -> bool:
    """Say whether a group is one that this process is not in, as `new_group` gives it."""
    return bool(group == GroupMember.NON_GROUP_MEMBER)


def get_backend(group: Any = None) -> str:
    """Return what `init_process_group` was given."""
    return resolve(group).backend


def get_default_backend_for_device(device: Any) -> str:
    """The backend that PyTorch uses for the tensors of a device.

    Args:
        device: A device or its name.

    Raises:
        ValueError: There is none.
    """
    kind = flambeau.device(device).type
    if kind not in Backend.default_device_backend_map:
        raise ValueError(f"Default backend not registered for device : {device}")
    return Backend.default_device_backend_map[kind]


def get_process_group_ranks(group: Any = None) -> list[int]:
    """The numbers of a group's processes among all."""
    return list(resolve(group).ranks)


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The number in a group of a process.

    Args:
        group: The group.
        global_rank: The process's number among all.

    Raises:
        ValueError: It is not in the group.
    """
    return resolve(group).local_rank(global_rank)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The number among all of a process of a group.

    Args:
        group: The group.
        group_rank: The process's number in the group.

    Raises:
        ValueError: The group has fewer processes.
    """
    ranks = resolve(group).ranks
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"get_global_rank(): the group has {len(ranks)} processes, and no rank "
                         f"{group_rank}")
    return ranks[group_rank]


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The number of this process on its machine, from ``LOCAL_RANK``.

    Args:
        fallback_rank: What is given where the variable is not set.

    Raises:
        RuntimeError: It is not set, and there is no fallback.
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is None:
        raise RuntimeError("get_node_local_rank(): LOCAL_RANK is not in the environment; start "
                           "with torchrun, or give fallback_rank")
    return fallback_rank


def get_pg_count() -> int:
    """How many groups there are."""
    return len(groups.made)
