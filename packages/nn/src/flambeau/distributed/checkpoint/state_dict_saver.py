"""Saving what processes have together."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import flambeau
from flambeau import Tensor, distributed
from flambeau.distributed.tensor import DTensor

from ._chunks import own_box, own_elements
from ._flat import leaves, name_of, paths_in
from ._world import World
from .api import CheckpointException
from .filesystem import FileSystemWriter
from .metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from .stateful import Stateful

__all__ = ["async_save", "save", "save_state_dict"]


def save(
    state_dict: dict[str, Any], *, checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: FileSystemWriter | None = None, planner: Any = None,
    process_group: Any = None, no_dist: bool = False, use_collectives: bool = True,
) -> Metadata:
    """Save a state dict that processes have together; all call it.

    Each part of a `DTensor` is written by one of the processes that have it, in the format of
    PyTorch's distributed checkpoints. Other tensors and objects are written by one process.

    Args:
        state_dict: Tensors, other objects, and what has a ``state_dict``, by name.
        checkpoint_id: The folder.
        storage_writer: What writes, instead of a folder.
        planner: Accepted for compatibility.
        process_group: The processes; all by default.
        no_dist: Whether this process saves by itself.
        use_collectives: Accepted for compatibility.

    Returns:
        What is in the checkpoint.

    Raises:
        ValueError: There is neither a folder nor a writer.
        CheckpointException: A process failed.

    Example:
        >>> import flambeau, tempfile
        >>> from flambeau.distributed import checkpoint
        >>> folder = tempfile.mkdtemp()
        >>> _ = checkpoint.save({"x": flambeau.arange(3)}, checkpoint_id=folder)
        >>> state = {"x": flambeau.zeros(3, dtype=flambeau.int64)}
        >>> checkpoint.load(state, checkpoint_id=folder)
        >>> state["x"]
        tensor([0, 1, 2])
    """
    target = _writer(checkpoint_id, storage_writer)
    return _saved(stateless(state_dict), target, World(process_group, no_dist))


save_state_dict = save


def _writer(folder: Any, given: FileSystemWriter | None) -> FileSystemWriter:
    if given is not None:
        return given
    if folder is None:
        raise ValueError("save(): give checkpoint_id, a folder, or storage_writer")
    return FileSystemWriter(folder)


def stateless(state_dict: dict[str, Any]) -> dict[str, Any]:
    """A state dict with states instead of objects that have one."""
    return {key: each.state_dict() if isinstance(each, Stateful) else each
            for key, each in state_dict.items()}


def _saved(state_dict: dict[str, Any], target: FileSystemWriter, world: World) -> Metadata:
    items, described = _described(state_dict)
    plans = world.gather([(key, size) for key, (_, size) in items.items()])
    owners = _owners(plans)
    mine = [key for key in items if owners[key] == world.rank]
    error, infos = None, []
    try:
        target.begin()
        infos = list(target.write(world.rank, (items[key][0] for key in mine)))
    except Exception as caught:
        error = f"{type(caught).__name__}: {caught}"
    results = world.gather((error, list(zip(mine, infos, strict=False)), described))
    failures = {rank: each[0] for rank, each in enumerate(results) if each[0] is not None}
    if failures:
        raise CheckpointException("save()", failures)
    metadata = _joined(results, paths_in(state_dict))
    if world.rank == 0:
        target.finish(metadata)
    world.gather(None)              # no process goes on before the checkpoint is complete
    return metadata


Key = tuple[str, tuple[int, ...] | None]


def _described(state_dict: dict[str, Any]) -> tuple[dict[Key, Any], dict[str, Any]]:
    """What this process has, with sizes in bytes, and what it is."""
    items: dict[Key, Any] = {}
    described: dict[str, Any] = {}
    for path, value in leaves(state_dict):
        name = name_of(path)
        if not isinstance(value, Tensor):
            items[name, None] = value, 0
            described[name] = None
            continue
        offsets, sizes = own_box(value)
        described[name] = (value.dtype, tuple(value.shape))
        if 0 in sizes and 0 not in value.shape:
            continue                # a process without elements
        local = own_elements(value).cpu()
        count = local.numel() * local.element_size()
        if local.untyped_storage().nbytes() != count or not local.is_contiguous():
            local = local.contiguous().clone()
        items[name, offsets] = local, count
        described[name] = (value.dtype, tuple(value.shape), offsets, sizes)
    return items, described


def _owners(plans: list[list[tuple[Key, int]]]) -> dict[Key, int]:
    """The process that writes each part: of those that have it the one with least to write."""
    have: dict[Key, list[int]] = {}
    sizes: dict[Key, int] = {}
    for rank, plan in enumerate(plans):
        for key, size in plan:
            have.setdefault(key, []).append(rank)
            sizes[key] = size
    loads = [0] * len(plans)
    owners = {}
    for key in sorted(have, key=lambda key: (len(have[key]), key[0], key[1] or ())):
        owner = min(have[key], key=lambda rank: loads[rank])
        owners[key] = owner
        loads[owner] += sizes[key]
    return owners


def _joined(results: list[Any], paths: dict[str, Any]) -> Metadata:
    """What all processes have together."""
    content: dict[str, Any] = {}
    storage: dict[MetadataIndex, Any] = {}
    for _, written, described in results:
        for (name, offsets), info in written:
            storage[MetadataIndex(name, offsets)] = info
        for name, facts in described.items():
            if facts is None:
                content.setdefault(name, BytesStorageMetadata())
                continue
            dtype, shape, *box = facts
            entry = content.setdefault(name, TensorStorageMetadata(
                TensorProperties(dtype), flambeau.Size(shape), []))
            chunk = [ChunkStorageMetadata(*map(flambeau.Size, box))] if box else []
            entry.chunks += [each for each in chunk if each not in entry.chunks]
    return Metadata(content, paths, storage)


# ---- while the program goes on -------------------------------------------------------------------
class _Background:
    """The thread that saves, and the group of all processes' threads."""

    pool: ThreadPoolExecutor | None = None
    group: tuple[Any, Any] | None = None        # the world, and the group of its threads


def async_save(
    state_dict: dict[str, Any], *, checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: FileSystemWriter | None = None, planner: Any = None,
    process_group: Any = None, async_checkpointer_type: Any = None, async_stager: Any = None,
    no_dist: bool = False, use_collectives: bool = True,
) -> Future[Metadata]:
    """Save a copy of a state dict while the program goes on; all processes call it.

    Args:
        state_dict: As in `save`; it may be changed as soon as this returns.
        checkpoint_id: The folder.
        storage_writer: What writes, instead of a folder.
        planner: Accepted for compatibility.
        process_group: Accepted for compatibility: threads have a group of their own.
        async_checkpointer_type: Accepted for compatibility: a thread saves.
        async_stager: Accepted for compatibility.
        no_dist: Whether this process saves by itself.
        use_collectives: Accepted for compatibility.

    Returns:
        A future, whose ``result()`` waits until all is saved, and raises what went wrong.
    """
    target = _writer(checkpoint_id, storage_writer)
    copied = _copied(stateless(state_dict))
    world = distributed.GroupMember.WORLD
    if not no_dist and world is not None and (
        _Background.group is None or _Background.group[0] is not world
    ):
        _Background.group = world, distributed.new_group()
    if _Background.pool is None:
        _Background.pool = ThreadPoolExecutor(1, "checkpoints")
    group = None if no_dist or _Background.group is None else _Background.group[1]
    return _Background.pool.submit(_saved, copied, target, World(group, no_dist))


def _copied(state_dict: dict[str, Any]) -> dict[str, Any]:
    """A state dict with copies of the tensors in it."""
    def copied(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: copied(each) for key, each in value.items()}
        if isinstance(value, list):
            return [copied(each) for each in value]
        if isinstance(value, DTensor):
            return DTensor(value._local_tensor.clone(), value._spec)
        return value.detach().clone() if isinstance(value, Tensor) else value

    found: dict[str, Any] = copied(state_dict)
    return found



