"""`torch.jit.save` and `torch.jit.load`: scripts as files.

A file holds the program that was recorded, as `flambeau.jit.save` writes it, and the module as
data: its tensors, attributes, and the names of its classes. Where the program has imported these
classes and they have the sources that they had, the module is made again, with all its methods;
else the program is loaded. Nothing of a file is executed, and a file imports nothing.
"""
from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

from flambeau import rooms
from flambeau.as_torch.stands.scripts import records
from flambeau.as_torch.stands.scripts.loaded import LoadedModule
from flambeau.as_torch.stands.scripts.objects import ScriptFunction, ScriptModule
from flambeau.core import io as files

_archive = rooms.import_module(f"{rooms.PREFIX}jit.programs.archive")
_freezing = rooms.import_module(f"{rooms.PREFIX}jit.programs.freezing")
_objects = rooms.import_module(f"{rooms.PREFIX}jit.scripted.objects")
_errors = rooms.import_module(f"{rooms.PREFIX}jit.errors")
File = str | os.PathLike[str] | BinaryIO
RECORD = "script/module.pt"
EXTRA = "script/extra/"
_TORCHSCRIPT = "constants.pkl"      # an entry of files that PyTorch writes


def save(m: Any, f: File, _extra_files: Mapping[str, str | bytes] | None = None,
         **own: Any) -> None:
    """Write a scripted or traced function or module to a file.

    Args:
        m: That.
        f: A path, or a file that is open for writing bytes.
        _extra_files: Name -> content of what is written along.
        own: What `flambeau.jit.save` takes beside: it is called then.

    Raises:
        RuntimeError: No program was recorded, for it was not called or because of what it does,
            and the module holds what a file cannot.
    """
    if own or not isinstance(m, ScriptModule | ScriptFunction):
        _freezing.save(m, f, **own)
        return
    program, why = _program(m)
    record, why_not = records.written(m)
    if program is None and record is None:
        raise RuntimeError(f"torch.jit.save(): {why_not}; and there is no program: {why}")
    memory = io.BytesIO()
    if program is not None:
        program.save(memory)
    with zipfile.ZipFile(memory, "a", zipfile.ZIP_STORED) as archive:
        if record is not None:
            archive.writestr(RECORD, record)
        for name, content in (_extra_files or {}).items():
            archive.writestr(EXTRA + name, content)
    if isinstance(f, str | os.PathLike):
        files.replace_atomically(f, lambda file: file.write(memory.getvalue()))
    else:
        f.write(memory.getvalue())


def _program(m: Any) -> tuple[Any, str]:
    """The program of what is saved, or why there is none."""
    try:
        return (m.recorded() if hasattr(type(m), "recorded") else _objects.program_of(m)), ""
    except (_errors.ProgramError, _errors.TraceError) as error:
        return None, str(error).splitlines()[0]


def load(f: File, map_location: Any = None, _extra_files: dict[str, Any] | None = None,
         _restore_shapes: bool = False) -> Any:
    """Read what `save` wrote.

    Args:
        f: A path, or a file that is open for reading bytes.
        map_location: The device that tensors are moved to.
        _extra_files: Names -> what their contents are written to.
        _restore_shapes: Accepted for compatibility.

    Raises:
        ValueError: There is no such file.
        RuntimeError: It was written by PyTorch, whose TorchScript is not read, or holds classes
            that cannot be found here, and no program.
    """
    if isinstance(f, str | os.PathLike):
        if not os.path.isfile(f):
            raise ValueError(f"torch.jit.load(): there is no file {os.fspath(f)!r}")
        with open(f, "rb") as file:
            return load(file, map_location, _extra_files)
    with _opened(f) as (archive, entries):
        for name in _extra_files or ():
            if EXTRA + name in entries:
                _extra_files[name] = archive.read(EXTRA + name)  # type: ignore[index]
        why_not = ""
        if RECORD in entries:
            made, why_not = records.read(archive.read(RECORD), map_location)
            if made is not None:
                return made
        if not set(_archive.ENTRIES) <= entries:
            raise RuntimeError(f"torch.jit.load(): {why_not or 'the file holds no script'}; and "
                               "the file holds no program: call the module before it is saved")
        program = _archive.read_program(archive)
    return LoadedModule(program if map_location is None else program.to(map_location))


@contextmanager
def _opened(f: BinaryIO) -> Iterator[tuple[zipfile.ZipFile, set[str]]]:
    try:
        archive = zipfile.ZipFile(io.BytesIO(f.read()))
    except zipfile.BadZipFile as error:
        raise RuntimeError(f"torch.jit.load(): the file is no script: {error}") from None
    with archive:
        entries = set(archive.namelist())
        if any(name.endswith("/" + _TORCHSCRIPT) for name in entries):
            raise RuntimeError("torch.jit.load(): the file was written by PyTorch, in TorchScript, "
                               "which Flambeau does not run; save state_dict() there, and load it "
                               "into the module here")
        yield archive, entries
