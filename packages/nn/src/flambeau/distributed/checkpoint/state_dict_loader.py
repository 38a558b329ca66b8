"""Loading what processes saved together, by as many processes or others."""

from __future__ import annotations

import os
from typing import Any

import flambeau
from flambeau import Tensor

from ._chunks import Box, common, narrowed, own_box, own_elements
from ._flat import leaves, name_of, set_at
from ._world import World
from .api import CheckpointException
from .filesystem import FileSystemReader
from .metadata import Metadata, MetadataIndex, TensorStorageMetadata
from .state_dict_saver import stateless
from .stateful import Stateful

__all__ = ["load", "load_state_dict"]


def load(
    state_dict: dict[str, Any], *, checkpoint_id: str | os.PathLike[str] | None = None,
    storage_reader: FileSystemReader | None = None, planner: Any = None,
    process_group: Any = None, no_dist: bool = False,
) -> None:
    """Load into the tensors of a state dict; all processes call it.

    Each process reads the elements of its parts, whoever saved them: processes may be more or
    fewer, and share tensors in other ways. Nothing in the files is executed.

    Args:
        state_dict: As in `save`, with tensors of the shapes in the checkpoint, which are written
            to; other objects are replaced.
        checkpoint_id: The folder.
        storage_reader: What reads, instead of a folder.
        planner: `DefaultLoadPlanner`, which says whether something may be missing.
        process_group: The processes; all by default.
        no_dist: Whether this process loads by itself.

    Raises:
        ValueError: There is neither a folder nor a reader.
        CheckpointException: Something is missing or of another shape, in some process.
    """
    if storage_reader is None:
        if checkpoint_id is None:
            raise ValueError("load(): give checkpoint_id, a folder, or storage_reader")
        storage_reader = FileSystemReader(checkpoint_id)
    world = World(process_group, no_dist)
    states = stateless(state_dict)
    error = None
    try:
        partial = getattr(planner, "allow_partial_load", False)
        read_into(states, storage_reader, partial)
    except Exception as caught:
        error = f"{type(caught).__name__}: {caught}"
    every = world.gather(error)
    failures = {rank: each for rank, each in enumerate(every) if each is not None}
    if failures:
        raise CheckpointException("load()", failures)
    for key, each in state_dict.items():
        if isinstance(each, Stateful):
            each.load_state_dict(states[key])
        else:
            state_dict[key] = states[key]


load_state_dict = load


def read_into(states: dict[str, Any], reader: FileSystemReader, partial: bool) -> None:
    """Fill a state dict.

    Args:
        states: The state dict.
        reader: What reads.
        partial: Whether something may be missing.

    Raises:
        RuntimeError: Something is missing.
        ValueError: A tensor has another shape.
    """
    metadata = reader.read_metadata()
    for path, value in list(leaves(states)):
        name = name_of(path)
        if name not in metadata.state_dict_metadata:
            if partial:
                continue
            raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
        entry = metadata.state_dict_metadata[name]
        if not isinstance(entry, TensorStorageMetadata):
            set_at(states, path, reader.read(metadata.storage_data[MetadataIndex(name)]))
        elif isinstance(value, Tensor):
            _fill(value, name, entry, metadata, reader)
        else:
            set_at(states, path, whole(name, entry, metadata, reader))


def _fill(
    tensor: Any, name: str, entry: TensorStorageMetadata, metadata: Metadata,
    reader: FileSystemReader,
) -> None:
    if tuple(tensor.shape) != tuple(entry.size):
        raise ValueError(f"Size mismatch between saved {tuple(entry.size)} and current: "
                         f"{tuple(tensor.shape)} for {name}")
    box, target = own_box(tensor), own_elements(tensor)
    if target.numel():
        _copy_chunks(target, box, name, entry, metadata, reader)


def _copy_chunks(
    target: Any, box: Box, name: str, entry: TensorStorageMetadata, metadata: Metadata,
    reader: FileSystemReader,
) -> None:
    """Copy the elements of all saved parts that belong to a part.

    Raises:
        ValueError: The saved parts do not have all of them.
    """
    found = 0
    for chunk in entry.chunks:
        theirs = tuple(chunk.offsets), tuple(chunk.sizes)
        shared = common(box, theirs) if target.ndim else box
        if shared is None:
            continue
        saved = reader.read(metadata.storage_data[MetadataIndex(name, chunk.offsets)])
        if tuple(saved.shape) != theirs[1]:
            raise ValueError(f"{name}: a part of shape {tuple(saved.shape)} is in the file, and "
                             f".metadata says {theirs[1]}")
        here = narrowed(target, box[0], shared)
        here.copy_(narrowed(saved, theirs[0], shared))
        found += here.numel()
    if found != target.numel():
        raise ValueError(f"{name}: the checkpoint has {found} of {target.numel()} elements")


def whole(
    name: str, entry: TensorStorageMetadata, metadata: Metadata, reader: FileSystemReader
) -> Any:
    """A tensor of a checkpoint, with all its elements."""
    made = flambeau.empty(tuple(entry.size), dtype=entry.properties.dtype)
    if made.numel():
        box = (0,) * made.ndim, tuple(made.shape)
        _copy_chunks(made, box, name, entry, metadata, reader)
    return made
