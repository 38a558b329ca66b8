"""Checkpoints of several processes from and to single files."""

from __future__ import annotations

import os
from typing import Any

import flambeau
from flambeau.core.io.pytorch import writer

from ._flat import built
from .filesystem import FileSystemReader
from .metadata import MetadataIndex, TensorStorageMetadata
from .state_dict_loader import whole
from .state_dict_saver import save

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(
    dcp_checkpoint_dir: str | os.PathLike[str], torch_save_path: str | os.PathLike[str]
) -> None:
    """Write a checkpoint to one file, as ``torch.save`` does; one process calls it.

    Args:
        dcp_checkpoint_dir: The checkpoint's folder.
        torch_save_path: The file.
    """
    reader = FileSystemReader(dcp_checkpoint_dir)
    metadata = reader.read_metadata()
    values: dict[str, Any] = {}
    for name, entry in metadata.state_dict_metadata.items():
        if isinstance(entry, TensorStorageMetadata):
            values[name] = whole(name, entry, metadata, reader)
        else:
            values[name] = reader.read(metadata.storage_data[MetadataIndex(name)])
    write = writer(built(values, metadata.planner_data or {}))
    with open(torch_save_path, "wb") as file:
        write(file)


def torch_save_to_dcp(
    torch_save_path: str | os.PathLike[str], dcp_checkpoint_dir: str | os.PathLike[str]
) -> None:
    """Write a file of ``torch.save`` as a checkpoint; one process calls it.

    Args:
        torch_save_path: The file.
        dcp_checkpoint_dir: The checkpoint's folder.
    """
    save(flambeau.load(torch_save_path), checkpoint_id=dcp_checkpoint_dir, no_dist=True)
