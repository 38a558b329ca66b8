"""Programs written for several processes, run by one: a world of rank 0 alone.

One process uses all cores, and there is no training on several machines. What moves tensors
between processes leaves them as they are, or copies them to the only place there is.
"""
from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from enum import Enum
from typing import Any

__all__ = [
    "GroupMember", "ProcessGroup", "ReduceOp", "Work", "all_gather", "all_gather_into_tensor",
    "all_gather_object", "all_reduce", "all_to_all", "all_to_all_single", "barrier", "broadcast",
    "broadcast_object_list", "destroy_process_group", "gather", "gather_object", "get_backend",
    "get_process_group_ranks", "get_rank", "get_world_size", "group", "init_process_group",
    "is_available", "is_gloo_available", "is_initialized", "is_mpi_available", "is_nccl_available",
    "is_torchelastic_launched", "monitored_barrier", "new_group", "reduce", "reduce_scatter",
    "reduce_scatter_tensor", "scatter"]


class ReduceOp(Enum):
    """How values of several processes are joined; those of one stay what they are."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7


class Work:
    """What a call with ``async_op=True`` gives: it is done already."""

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Return True."""
        return True

    def is_completed(self) -> bool:
        """Return True."""
        return True


class ProcessGroup:
    """A group of this process alone.

    Args:
        backend: What the program asked for, which `get_backend` repeats.
    """

    def __init__(self, backend: str) -> None:
        self.backend = backend

    def rank(self) -> int:
        """Return 0."""
        return 0

    def size(self) -> int:
        """Return 1."""
        return 1


class GroupMember:
    """Where the group of all processes is found."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100


group = GroupMember
Group = ProcessGroup | None


def is_available() -> bool:
    """Say whether processes can be coupled: they cannot.

    Programs that ask do without; the functions here are for those that do not ask.
    """
    return False


def is_initialized() -> bool:
    """Say whether `init_process_group` was called."""
    return GroupMember.WORLD is not None


def is_gloo_available() -> bool:
    """Return False: nothing is sent."""
    return False


is_nccl_available = is_mpi_available = is_torchelastic_launched = is_gloo_available


def _stated(given: int, variable: str, default: int) -> int:
    return given if given >= 0 else int(os.environ.get(variable, default))


def init_process_group(backend: str | None = None, init_method: str | None = None,
                       timeout: timedelta | None = None, world_size: int = -1, rank: int = -1,
                       store: Any = None, group_name: str = "", pg_options: Any = None,
                       device_id: Any = None) -> None:
    """Begin a world of one process.

    Args:
        backend: Remembered for `get_backend`.
        init_method: Accepted for compatibility.
        timeout: Accepted for compatibility.
        world_size: How many processes there are: 1, also in ``WORLD_SIZE``, which counts where
            this is left out.
        rank: The number of this process, 0; else ``RANK``.
        store: Accepted for compatibility.
        group_name: Accepted for compatibility.
        pg_options: Accepted for compatibility.
        device_id: Accepted for compatibility.

    Raises:
        RuntimeError: More than one process is asked for.
        ValueError: It was called before.

    Example:
        >>> from flambeau import distributed
        >>> distributed.init_process_group("gloo", world_size=1, rank=0)
        >>> distributed.get_rank(), distributed.get_world_size()
        (0, 1)
        >>> distributed.destroy_process_group()
    """
    if GroupMember.WORLD is not None:
        raise ValueError("init_process_group(): trying to initialize the default process group "
                         "twice; call destroy_process_group() before")
    size = _stated(world_size, "WORLD_SIZE", 1)
    number = _stated(rank, "RANK", 0)
    if size != 1 or number != 0:
        raise RuntimeError(
            f"init_process_group(): rank {number} of {size} processes, but Flambeau trains in one "
            "process, which uses all cores: start one, with WORLD_SIZE=1 and RANK=0, or without "
            "torchrun")
    GroupMember.WORLD = ProcessGroup(backend or "undefined")


def destroy_process_group(group: Group = None) -> None:
    """End the world, or forget a group."""
    if group is None or group is GroupMember.WORLD:
        _group(None)
        GroupMember.WORLD = None


def new_group(ranks: Sequence[int] | None = None, timeout: timedelta | None = None,
              backend: str | None = None, **options: Any) -> ProcessGroup | int:
    """Make a group of ``ranks``: this process, or nobody."""
    world = _group(None)
    if ranks is not None and 0 not in ranks:
        return GroupMember.NON_GROUP_MEMBER
    return ProcessGroup(backend or world.backend)


def _group(given: Group) -> ProcessGroup:
    if given is not None:
        return given
    if GroupMember.WORLD is None:
        raise ValueError("Default process group has not been initialized, please make sure to "
                         "call init_process_group.")
    return GroupMember.WORLD


def get_rank(group: Group = None) -> int:
    """Return 0."""
    return _group(group).rank()


def get_world_size(group: Group = None) -> int:
    """Return 1."""
    return _group(group).size()


def get_backend(group: Group = None) -> str:
    """Return what `init_process_group` was given."""
    return _group(group).backend


def get_process_group_ranks(group: Group = None) -> list[int]:
    """Return ``[0]``."""
    _group(group)
    return [0]


# ---- what moves tensors ------------------------------------------------------------------------
def _done(async_op: bool) -> Work | None:
    return Work() if async_op else None


def _expect_rank(what: str, rank: int | None) -> None:
    if rank not in (None, 0):
        raise ValueError(f"{what}(): there is no rank {rank} in a world of one process; give 0")


def _put(what: str, places: Sequence[Any] | None, value: Any) -> None:
    """Write to the only place of a list."""
    if places is None or len(places) != 1:
        raise ValueError(f"{what}(): the list must have 1 element, as many as there are processes, "
                         f"not {0 if places is None else len(places)}")
    places[0].copy_(value)


def all_reduce(tensor: Any, op: ReduceOp = ReduceOp.SUM, group: Group = None,
               async_op: bool = False) -> Work | None:
    """Leave ``tensor`` as it is: the sum over one process."""
    _group(group)
    return _done(async_op)


def broadcast(tensor: Any, src: int | None = None, group: Group = None, async_op: bool = False,
              group_src: int | None = None) -> Work | None:
    """Leave ``tensor`` as it is."""
    _group(group)
    _expect_rank("broadcast", src)
    return _done(async_op)


def reduce(tensor: Any, dst: int | None = None, op: ReduceOp = ReduceOp.SUM, group: Group = None,
           async_op: bool = False, group_dst: int | None = None) -> Work | None:
    """Leave ``tensor`` as it is."""
    _group(group)
    _expect_rank("reduce", dst)
    return _done(async_op)


def all_gather(tensor_list: Sequence[Any], tensor: Any, group: Group = None,
               async_op: bool = False) -> Work | None:
    """Copy ``tensor`` to ``tensor_list[0]``."""
    _group(group)
    _put("all_gather", tensor_list, tensor)
    return _done(async_op)


def all_gather_into_tensor(output_tensor: Any, input_tensor: Any, group: Group = None,
                           async_op: bool = False) -> Work | None:
    """Copy the input to the output, which has as many elements."""
    _group(group)
    output_tensor.copy_(input_tensor.reshape(output_tensor.shape))
    return _done(async_op)


def gather(tensor: Any, gather_list: Sequence[Any] | None = None, dst: int | None = None,
           group: Group = None, async_op: bool = False,
           group_dst: int | None = None) -> Work | None:
    """Copy ``tensor`` to ``gather_list[0]``."""
    _group(group)
    _expect_rank("gather", dst)
    _put("gather", gather_list, tensor)
    return _done(async_op)


def scatter(tensor: Any, scatter_list: Sequence[Any] | None = None, src: int | None = None,
            group: Group = None, async_op: bool = False,
            group_src: int | None = None) -> Work | None:
    """Copy ``scatter_list[0]`` to ``tensor``."""
    _group(group)
    _expect_rank("scatter", src)
    if not scatter_list:
        raise ValueError("scatter(): scatter_list must have the tensor of rank 0")
    _put("scatter", [tensor], scatter_list[0])
    return _done(async_op)


def reduce_scatter(output: Any, input_list: Sequence[Any], op: ReduceOp = ReduceOp.SUM,
                   group: Group = None, async_op: bool = False) -> Work | None:
    """Copy ``input_list[0]`` to ``output``."""
    return scatter(output, input_list, 0, group, async_op)


def reduce_scatter_tensor(output: Any, input: Any, op: ReduceOp = ReduceOp.SUM,
                          group: Group = None, async_op: bool = False) -> Work | None:
    """Copy the input to the output, which has as many elements."""
    return all_gather_into_tensor(output, input, group, async_op)


def all_to_all(output_tensor_list: Sequence[Any], input_tensor_list: Sequence[Any],
               group: Group = None, async_op: bool = False) -> Work | None:
    """Copy the only input to the only output."""
    _group(group)
    _put("all_to_all", output_tensor_list, input_tensor_list[0])
    return _done(async_op)


def all_to_all_single(output: Any, input: Any, output_split_sizes: Sequence[int] | None = None,
                      input_split_sizes: Sequence[int] | None = None, group: Group = None,
                      async_op: bool = False) -> Work | None:
    """Copy the input to the output."""
    return all_gather_into_tensor(output, input, group, async_op)


def barrier(group: Group = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Wait for nobody."""
    _group(group)
    return _done(async_op)


def monitored_barrier(group: Group = None, timeout: timedelta | None = None,
                      wait_all_ranks: bool = False) -> None:
    """Wait for nobody."""
    _group(group)


# ---- what moves Python objects -----------------------------------------------------------------
def all_gather_object(object_list: list[Any], obj: Any, group: Group = None) -> None:
    """Put ``obj`` into ``object_list[0]``."""
    _group(group)
    object_list[0] = obj


def gather_object(obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None,
                  group: Group = None, group_dst: int | None = None) -> None:
    """Put ``obj`` into ``object_gather_list[0]``."""
    _group(group)
    _expect_rank("gather_object", dst)
    if object_gather_list is not None:
        object_gather_list[0] = obj


def broadcast_object_list(object_list: list[Any], src: int | None = None, group: Group = None,
                          device: Any = None, group_src: int | None = None) -> None:
    """Leave the list as it is."""
    _group(group)
    _expect_rank("broadcast_object_list", src)


def __getattr__(name: str) -> object:
    hint = "" if name.startswith("__") else (
        "; one process uses all cores, there is no training on several machines")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
