"""Exported programs as files: data only."""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from flambeau.export.exported_program import ExportedProgram
from flambeau.jit.errors import ProgramError
from flambeau.jit.programs import archive

FORMAT = "flambeau-export"
LARGEST = 1 << 20       # bytes of the part that names things


def save(ep: ExportedProgram, f: str | os.PathLike[str] | io.IOBase, *,
         extra_files: dict[str, Any] | None = None, opset_version: Any = None) -> None:
    """Write a program to a file: a zip of JSON and safetensors, never code.

    Args:
        ep: The program.
        f: Where to: a path, or a file that is open for writing bytes.
        extra_files: Name -> text, kept beside the program.
        opset_version: Has no effect.

    Example:
        >>> import flambeau, os, tempfile
        >>> from flambeau import export, nn
        >>> path = os.path.join(tempfile.mkdtemp(), "layer.pt2")
        >>> export.save(export.export(nn.ReLU(), (flambeau.ones(2),)), path)
        >>> export.load(path).module()(flambeau.tensor([-1., 1.]))
        tensor([0., 1.])
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program"
        ep._program.save(path)
        program = path.read_bytes()
    head = {"format": FORMAT, "version": 1, "names": ep._names, "state": sorted(ep._state),
            "extra": extra_files or {}}
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_STORED) as made:
        made.writestr(zipfile.ZipInfo("export.json"), json.dumps(head))
        made.writestr(zipfile.ZipInfo("program.zip"), program)
    if isinstance(f, str | os.PathLike):
        from flambeau.jit import bridge

        bridge.replace_file(f, memory.getvalue())
    else:
        f.write(memory.getvalue())


def load(f: str | os.PathLike[str] | io.IOBase, *, extra_files: dict[str, Any] | None = None,
         expected_opset_version: Any = None) -> ExportedProgram:
    """Read a program that `save` wrote; nothing in the file is run.

    Args:
        f: A path, or a file that is open for reading bytes.
        extra_files: Its values are replaced by the texts that were kept under its keys.
        expected_opset_version: Has no effect.

    Returns:
        The program, with parameters of its own.

    Raises:
        ProgramError: The file is no such program, or was damaged.
    """
    content = Path(f).read_bytes() if isinstance(f, str | os.PathLike) else f.read()
    head, program = _entries(content)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program"
        path.write_bytes(program)
        loaded = archive.load(path)
    names, state = head["names"], head["state"]
    if len(names) != len(loaded.graph.inputs):
        raise ProgramError("export.json does not name the inputs of the program")
    for key in extra_files or ():
        extra_files[key] = head["extra"].get(key)  # type: ignore[index]
    return ExportedProgram(loaded, names, set(state))


def _entries(content: bytes) -> tuple[dict[str, Any], bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as opened:
            if any(opened.getinfo(name).compress_type != zipfile.ZIP_STORED
                   for name in ("export.json", "program.zip")):
                raise ProgramError("entries of an exported program are stored, not compressed")
            if opened.getinfo("export.json").file_size > LARGEST:
                raise ProgramError("export.json is too large")
            head = json.loads(opened.read("export.json"))
            program = opened.read("program.zip")
    except (zipfile.BadZipFile, KeyError, ValueError, RecursionError, EOFError) as error:
        raise ProgramError(f"not an exported program: {error}") from None
    good = isinstance(head, dict) and head.get("format") == FORMAT and all(
        isinstance(head.get(key), list) and all(isinstance(each, str) for each in head[key])
        for key in ("names", "state")) and isinstance(head.get("extra"), dict)
    if not good:
        raise ProgramError("not an exported program: export.json does not say so")
    return head, program
