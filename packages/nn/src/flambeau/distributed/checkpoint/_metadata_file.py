"""The file ``.metadata``: a pickle as PyTorch writes it, read without executing anything of it."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

import flambeau
from flambeau.core import _core
from flambeau.core.io.objects import set_state
from flambeau.core.io.permission import Permission
from flambeau.core.io.pickle_writer import Call, Global, PickleWriter
from flambeau.core.io.pickles import Named, Setting, run

from ._storage_info import _StorageInfo
from .metadata import (
    _MEM_FORMAT_ENCODING,
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)

_OWN, _THEIRS = "flambeau.", "torch."
_METADATA = "torch.distributed.checkpoint.metadata."
_FILES = "torch.distributed.checkpoint.filesystem."
_DATA_CLASSES = (BytesStorageMetadata, ChunkStorageMetadata, Metadata, StorageMeta,
                 TensorProperties, TensorStorageMetadata)


# ---- writing -------------------------------------------------------------------------------------
def written(content: Metadata) -> bytes:
    """The bytes of a file.

    Args:
        content: What is in the checkpoint.
    """
    return PickleWriter(_replaced, _named).write(content)


def _named(name: str) -> Global:
    """A class by its name in PyTorch."""
    if name.endswith("._StorageInfo"):
        return Global(_FILES.rstrip("."), "_StorageInfo")
    module, _, last = name.rpartition(".")
    return Global(module.replace(_OWN, _THEIRS, 1), last)


def _replaced(obj: Any, path: str) -> Any:
    if isinstance(obj, _core.dtype):
        return Global("torch", obj.name)
    if isinstance(obj, flambeau.Size):
        return Call(Global("torch", "Size"), (tuple(obj),))
    if obj is flambeau.strided:
        return Call(Global("torch.serialization", "_get_layout"), ("torch.strided",))
    return None


# ---- reading -------------------------------------------------------------------------------------
class _Index:
    """A `MetadataIndex` that is being read: one that is a key before it has its parts."""

    fqn: str
    offset: Any = None
    index: int | None = None


def _blank(kind: type) -> Named:
    return Named(kind.__name__, lambda: object.__new__(kind))


def _names() -> dict[str, Any]:
    dtypes = {f"torch.{name}": value for name, value in vars(flambeau).items()
              if isinstance(value, _core.dtype)}
    return {
        **dtypes,
        **{_METADATA + kind.__name__: _blank(kind) for kind in _DATA_CLASSES},
        _METADATA + "MetadataIndex": _blank(_Index),
        _METADATA + "_MEM_FORMAT_ENCODING": Named("format", _MEM_FORMAT_ENCODING),
        _FILES + "_StorageInfo": _blank(_StorageInfo),
        "torch.Size": Named("Size", flambeau.Size),
        "torch.serialization._get_layout": Named("_get_layout", lambda name: flambeau.strided),
        **{f"pathlib.{name}": Named(name, lambda *parts: str(PurePosixPath(*parts)))
           for name in ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath")},
    }


def read(content: bytes) -> Metadata:
    """What the bytes of a file say.

    Args:
        content: The bytes.

    Raises:
        ValueError: They are damaged, or name classes that such a file has no use for.
    """
    setting = Setting(_names(), Permission(), _refuse, set_state)
    found: Any = run(content, setting)
    if not isinstance(found, Metadata):
        raise ValueError(f".metadata contains {type(found).__name__}, and no Metadata")
    found.storage_data = {MetadataIndex(key.fqn, key.offset, key.index): value
                          for key, value in found.storage_data.items()}
    return found


def _refuse(identity: Any) -> Any:
    raise ValueError(".metadata names objects outside of it, which there are not")
