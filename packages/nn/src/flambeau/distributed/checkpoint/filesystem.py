"""Checkpoints in folders: a file of each process, and ``.metadata``, as PyTorch writes them."""

from __future__ import annotations

import io
import os
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import flambeau
from flambeau.core.io.pytorch import writer

from ._metadata_file import read, written
from ._storage_info import _StorageInfo
from .metadata import Metadata, StorageMeta

__all__ = ["FileSystemReader", "FileSystemWriter"]

METADATA = ".metadata"
SUFFIX = ".distcp"
VERSION = "1.0.0"


class FileSystemWriter:
    """Writes a checkpoint to a folder.

    Args:
        path: The folder, which is made.
        single_file_per_rank: Whether each process writes one file, instead of one for each part.
        sync_files: Whether files are on the disk when it returns.
        thread_count: Accepted for compatibility.
        per_thread_copy_ahead: Accepted for compatibility.
        cache_staged_state_dict: Accepted for compatibility.
        overwrite: Whether a checkpoint that is there may be replaced.
    """

    def __init__(
        self, path: str | os.PathLike[str], single_file_per_rank: bool = True,
        sync_files: bool = True, thread_count: int = 1, per_thread_copy_ahead: int = 10_000_000,
        cache_staged_state_dict: bool = False, overwrite: bool = True,
    ) -> None:
        self.path = Path(path)
        self.single_file_per_rank = single_file_per_rank
        self.sync_files = sync_files
        self.overwrite = overwrite

    @property
    def checkpoint_id(self) -> Path:
        """The folder."""
        return self.path

    def begin(self) -> None:
        """Make the folder.

        Raises:
            RuntimeError: There is a checkpoint, which may not be replaced.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        if not self.overwrite and (self.path / METADATA).exists():
            raise RuntimeError(f"Checkpoint already exists and self.overwrite={self.overwrite}.")

    def write(self, rank: int, items: Iterable[Any]) -> Iterator[_StorageInfo]:
        """Write a process's parts, and say where they are.

        Args:
            rank: The process.
            items: Tensors and other objects.
        """
        number, file = 0, None
        try:
            for item in items:
                name = f"__{rank}_{number}{SUFFIX}"
                if file is None:
                    file = (self.path / name).open("wb")
                start = file.tell()
                content = io.BytesIO()
                writer(item)(content)
                file.write(content.getbuffer())
                yield _StorageInfo(name, start, file.tell() - start)
                if not self.single_file_per_rank:
                    self._close(file)
                    number, file = number + 1, None
        finally:
            if file is not None:
                self._close(file)

    def _close(self, file: Any) -> None:
        if self.sync_files:
            file.flush()
            os.fsync(file.fileno())
        file.close()

    def finish(self, metadata: Metadata) -> None:
        """Write what is in the checkpoint, when all processes have written their parts.

        Args:
            metadata: What is in it.
        """
        metadata.version = VERSION
        metadata.storage_meta = StorageMeta(str(self.path), str(uuid.uuid4()))
        temporary = self.path / f"{METADATA}.tmp"
        with temporary.open("wb") as file:
            file.write(written(metadata))
            if self.sync_files:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(self.path / METADATA)


class FileSystemReader:
    """Reads a checkpoint from a folder; nothing in it is executed.

    Args:
        path: The folder.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @property
    def checkpoint_id(self) -> Path:
        """The folder."""
        return self.path

    def read_metadata(self) -> Metadata:
        """What is in the checkpoint.

        Raises:
            FileNotFoundError: There is none.
            ValueError: It is damaged.
        """
        return read((self.path / METADATA).read_bytes())

    def read(self, where: _StorageInfo) -> Any:
        """A part or an object.

        Args:
            where: Where it lies.

        Raises:
            ValueError: It was changed by an extension, or is in no file of the folder.
        """
        if where.transform_descriptors:
            raise ValueError(f"{where.relative_path}: extensions of checkpoints, here "
                             f"{list(where.transform_descriptors)}, are not made; save without")
        if Path(where.relative_path).name != where.relative_path:
            raise ValueError(f".metadata names the file {where.relative_path!r}, which is not in "
                             "the folder of the checkpoint")
        with (self.path / where.relative_path).open("rb") as file:
            file.seek(where.offset)
            content = file.read(where.length)
        return flambeau.load(io.BytesIO(content))
