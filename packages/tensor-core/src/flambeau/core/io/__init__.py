"""Saving and loading, never with pickle's machinery: no file can run code.

``save`` writes safetensors files, NumPy's where the name ends in ``.npy`` or ``.npz``, and
PyTorch's where ``format`` says so. ``load`` tells by the content what a file is: safetensors,
NumPy's, or a checkpoint of PyTorch. A safetensors file holds tensors by name, and in its metadata
the JSON description of the nested structure they come from (``structure``).
"""
from __future__ import annotations

import codecs
import json
import os
from collections.abc import Mapping

from flambeau.core import default_save_format
from flambeau.core.io import archive, checkpoint, legacy, npy, pytorch, structure, tar
from flambeau.core.io.errors import FileError, fail
from flambeau.core.io.paths import path_of, replace_atomically
from flambeau.core.io.permission import Permission
from flambeau.core.io.safetensors import read_source, read_tensors, write_tensors
from flambeau.core.io.sources import Source, open_source

_TREE = "flambeau.tree"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")


_PICKLE_OPTIONS = frozenset(("encoding", "errors", "fix_imports", "buffers"))


def save(obj, f, pickle_module=None, pickle_protocol: int = 2,
         _use_new_zipfile_serialization: bool = True,
         _disable_byteorder_record: bool = False, *, format: str | None = None) -> None:
    """Save tensors and the structure that holds them.

    Tensors that share memory are stored once and share memory again when loaded. Parameters stay
    parameters, and tensors that require a gradient require it again, as leaves of a new graph.
    Objects of classes, such as modules, are stored as the name of their class and their state;
    ``load`` makes them again where it is permitted to.

    Args:
        obj: A tensor, or nested dicts (ordered or not), lists, tuples and sets of tensors, NumPy
            arrays, numbers, strings, bytes, dtypes, devices, shapes and None, and objects of
            classes that can be imported.
            For a path that ends in ``.npy`` one tensor, for ``.npz`` a dict of tensors.
        f: Path, or a binary file open for writing.
        pickle_module: Accepted for compatibility, like what follows: nothing is pickled.
        pickle_protocol: See above.
        _use_new_zipfile_serialization: With ``format="torch"``, False writes what PyTorch before
            version 1.6 reads: of such files several may follow each other.
        _disable_byteorder_record: Accepted for compatibility.
        format: ``"flambeau"``, which any reader of safetensors reads, or ``"torch"``, which
            ``torch.load`` of PyTorch reads, with ``weights_only=True`` too where ``obj`` holds
            tensors, numbers, strings and containers. Flambeau's when left out.

    Raises:
        TypeError: something that a file cannot hold, such as a local function.
        ValueError: another format.

    Example:
        >>> import flambeau, tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "x.safetensors")
        >>> flambeau.save({"weight": flambeau.ones(2), "step": 3}, path)
        >>> flambeau.load(path)
        {'weight': tensor([1., 1.]), 'step': 3}
    """
    write = _writer(obj, f, format or default_save_format["name"], _use_new_zipfile_serialization)
    if hasattr(f, "write"):
        write(f)
        if hasattr(f, "flush"):
            f.flush()       # who reads the file by its name finds all of it
    else:
        replace_atomically(f, write)


def _writer(obj, f, format: str, zipped: bool):
    """What writes ``obj`` to an open file; complains before any file is touched."""
    if format not in ("flambeau", "torch"):
        raise ValueError(f"save(): format={format!r} is not known; write format='flambeau' or "
                         "format='torch'")
    ending = "" if hasattr(f, "write") else os.path.splitext(path_of(f, "save", "write"))[1]
    if ending in (".npy", b".npy"):
        return npy.writer(obj)
    if ending in (".npz", b".npz"):
        return archive.writer(obj)
    if format == "torch":
        return pytorch.writer(obj) if zipped else pytorch.legacy_writer(obj)
    tree, tensors = structure.encode(obj)
    metadata = {"format": "flambeau", _TREE: json.dumps(tree, separators=(",", ":"))}
    return lambda file: write_tensors(file, tensors, metadata)


def load(f, map_location=None, pickle_module=None, *, weights_only: bool | None = None,
         mmap: bool | None = False, **pickle_load_args):
    """Load what ``save`` wrote, a safetensors or NumPy file, or a checkpoint of PyTorch.

    The content says what a file is, not its name. A safetensors file that another program wrote
    and an ``.npz`` file give a dict of tensors, an ``.npy`` file gives a tensor. A checkpoint
    (``torch.save``) is read by an interpreter of our own that makes containers, numbers, strings,
    tensors, arrays, and objects of permitted classes, and refuses everything else by name.

    Args:
        f: Path, or a binary file open for reading.
        map_location: Device of the tensors, or a dict from devices to devices, or a function that
            is given each tensor and the name of its device, and returns it where it should be;
            the CPU when left out.
        pickle_module: Accepted for compatibility: files never run code.
        weights_only: False permits objects of any class that can be imported and is not of the
            standard library; else only of those given to ``serialization.add_safe_globals``.
            Neither executes anything of the file. Where it is left out, the environment may say
            False with ``TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1``, as programs for PyTorch write it.
        mmap: Keep the file mapped and the tensors read-only, instead of reading it all.
        pickle_load_args: ``encoding``, of texts that Python 2 wrote: ``"utf-8"`` when left out,
            ``"bytes"`` leaves them as they are. Other options of pickles are not needed.

    Raises:
        TypeError: an option is not known.
        ValueError: the encoding is not known.
        FileError: the file is damaged, or of a format or with a content that is not read.
    """
    if unknown := sorted(pickle_load_args.keys() - _PICKLE_OPTIONS):
        raise TypeError(f"load() got an unexpected keyword argument {unknown[0]!r}; options of "
                        f"pickles are {', '.join(sorted(_PICKLE_OPTIONS))}")
    everything = _says_all() if weights_only is None else not weights_only
    permission = Permission(everything, _encoding(pickle_load_args))
    with open_source(f, bool(mmap)) as source:
        return _read(source, _mover(map_location), permission)


def _says_all() -> bool:
    """Whether the environment permits objects of any class."""
    return os.environ.get("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "") in ("1", "y", "yes", "true")


def _encoding(options: dict) -> str:
    """How texts of Python 2 are read."""
    encoding = options.get("encoding", "utf-8")
    try:
        if encoding != "bytes":
            codecs.lookup(encoding)
    except (LookupError, TypeError):
        raise ValueError(f"load(): encoding={encoding!r} is not known; write an encoding such as "
                         "'latin1', or 'bytes' to leave texts as they are") from None
    return encoding


def _mover(map_location):
    if map_location is None:
        return lambda x: x
    if callable(map_location):
        return lambda x: _moved_by(map_location, x)
    if isinstance(map_location, Mapping):
        return lambda x: x.to(map_location.get(str(x.device), x.device))
    return lambda x: x.to(map_location)


def _moved_by(function, x):
    """A tensor where a function ``(storage, location)`` puts its memory."""
    placed = function(x, str(x.device))
    return x if placed is None else x.to(placed.device)


def _read(source: Source, move, permission: Permission):
    start = bytes(source.part(0, min(source.size, 32)))
    if start.startswith(_ZIP):
        return _read_archive(source, move, permission)
    if start.startswith(npy.MAGIC):
        return move(npy.read(source))
    if legacy.is_legacy(source, start):
        return legacy.read(source, move, permission)
    if tar.is_tar(source):
        return tar.read(source, move, permission)
    tensors, metadata = read_source(source)
    tensors = {name: move(x) for name, x in tensors.items()}
    return _restore(metadata[_TREE], tensors, permission) if _TREE in metadata else tensors


def _read_archive(source: Source, move, permission: Permission):
    members = archive.read_members(source)
    if checkpoint.is_checkpoint(members):
        return checkpoint.read(source, members, move, permission)
    return {name: move(x) for name, x in archive.read_arrays(source, members).items()}


def _restore(text: str, tensors: dict, permission: Permission):
    try:
        return structure.decode(json.loads(text), tensors, permission)
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
        if isinstance(error, FileError):
            raise
        fail(f"the structure description is damaged ({type(error).__name__}: {error})")


__all__ = ["FileError", "load", "read_tensors", "replace_atomically", "save", "write_tensors"]
