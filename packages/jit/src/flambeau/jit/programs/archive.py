"""Programs as files: a zip of ``version.json``, ``graph.json`` and ``weights.safetensors``.

Nothing in the file is run: the graph is data, every operator in it must be known, and the grammar
checks all of it before the program exists. Entries are stored, not compressed, so a file cannot
ask for more memory than its own size.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from typing import Any, BinaryIO

from flambeau.jit import bridge
from flambeau.jit.errors import GraphError, ProgramError
from flambeau.jit.grammar import check
from flambeau.jit.programs.codec import decode_graph, encode_graph
from flambeau.jit.programs.expansion import expand
from flambeau.jit.programs.program import Program
from flambeau.jit.programs.weights import fill_captures, place_captures
from flambeau.jit.tree import check_spec

FORMAT = "flambeau-program"
VERSION = 2     # 1 had no writes into tensors: what was written was a new value
_LOCAL_HEADER = 30      # bytes of a zip before an entry's name and content
ENTRIES = ("version.json", "graph.json", "weights.safetensors")
BESIDE = "script/"      # what other writers put into the same file


def save_program(program: Program, path: str | os.PathLike[str] | BinaryIO) -> None:
    """Write a program: to an open file, or to a temporary one that is flushed and renamed."""
    graph = encode_graph(expand(program.graph))
    _shorten_locations(graph)
    body = {"graph": graph, "takes": program.takes, "gives": program.gives}
    version = {"format": FORMAT, "version": VERSION}
    weights = place_captures(program.graph.captures, graph["captures"])
    tensors = bridge.tensors_to_bytes(weights)
    contents = _aligned((_to_json(version), _to_json(body), tensors))
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_STORED) as archive:
        for name, content in zip(ENTRIES, contents, strict=True):
            archive.writestr(zipfile.ZipInfo(name), content)
    if isinstance(path, str | os.PathLike):
        bridge.replace_file(path, memory.getvalue())
    else:
        path.write(memory.getvalue())


def _aligned(contents: tuple[bytes, bytes, bytes]) -> tuple[bytes, bytes, bytes]:
    """The entries with spaces behind the graph, so that tensors begin at a multiple of 64 bytes.

    The runtime without Python then uses them in the mapped file, and copies none.
    """
    version, body, tensors = contents
    before = sum(_LOCAL_HEADER + len(name) for name in ENTRIES)
    header = 8 + int.from_bytes(tensors[:8], "little")
    return version, body + b" " * (-(before + len(version) + len(body) + header) % 64), tensors


def load(path: str | os.PathLike[str] | BinaryIO) -> Program:
    """Read a program that ``Program.save`` wrote.

    Args:
        path: the file, or one that is open for reading bytes.

    Returns:
        The program, with weights of its own.

    Raises:
        ProgramError: the file is not a program, was changed, or needs a newer version.
        FileNotFoundError: there is no such file.

    Example:
        >>> import flambeau, tempfile, os
        >>> from flambeau import jit
        >>> path = os.path.join(tempfile.mkdtemp(), "double.program")
        >>> jit.trace(lambda x: x * 2, flambeau.ones(3)).save(path)
        >>> jit.load(path)(flambeau.ones(2))
        tensor([2., 2.])
    """
    try:
        return _load(path)
    except ProgramError as error:
        where = os.fspath(path) if isinstance(path, str | os.PathLike) else "load()"
        raise ProgramError(f"{where}: {error}") from None


def _load(path: str | os.PathLike[str] | BinaryIO) -> Program:
    if not isinstance(path, str | os.PathLike):
        return _load_zip(path)
    with open(path, "rb") as file:
        return _load_zip(file)


def _load_zip(file: BinaryIO) -> Program:
    try:
        with zipfile.ZipFile(file) as archive:
            return read_program(archive)
    except (ProgramError, FileNotFoundError):
        raise
    except Exception as error:      # zipfile raises many kinds for damaged files
        raise ProgramError(f"not a program: {error}") from None


def read_program(archive: zipfile.ZipFile) -> Program:
    """The program of an archive that is open.

    Args:
        archive: the archive; entries below ``script/`` are other programs' business.

    Raises:
        ProgramError: it holds no program, or one that was changed or needs a newer version.
    """
    version, body, weights = _entries(archive)
    _check_version(_from_json(version, "version.json"))
    data = _from_json(body, "graph.json")
    if not isinstance(data, dict) or set(data) != {"graph", "takes", "gives"}:
        raise ProgramError("graph.json must hold a graph, what it takes and what it gives")
    graph = decode_graph(data["graph"])
    fill_captures(graph.captures, data["graph"]["captures"], weights)
    check_spec(data["takes"], len(graph.inputs))
    check_spec(data["gives"], len(graph.outputs))
    try:
        check(graph)
    except (GraphError, RecursionError, ArithmeticError) as error:
        raise ProgramError(str(error)) from None
    return Program(graph, data["takes"], data["gives"])


def _entries(archive: zipfile.ZipFile) -> list[bytes]:
    entries = [entry for entry in archive.infolist() if not entry.filename.startswith(BESIDE)]
    if sorted(entry.filename for entry in entries) != sorted(ENTRIES):
        raise ProgramError(f"a program is a zip of exactly {', '.join(ENTRIES)}")
    for entry in entries:
        if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
            raise ProgramError(f"{entry.filename} must be stored, not compressed")
        if entry.file_size != entry.compress_size:
            raise ProgramError(f"{entry.filename} declares a size it does not have")
    return [archive.read(name) for name in ENTRIES]


def _check_version(data: Any) -> None:
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ProgramError("version.json does not say that this is a program")
    version = data.get("version")
    if not isinstance(version, int) or not 1 <= version <= VERSION:
        raise ProgramError(
            f"the program has format version {str(version)[:20]}, this package reads 1 to "
            f"{VERSION}: pip install --upgrade flambeau-jit"
        )


def _shorten_locations(graph: dict[str, Any]) -> None:
    """Keep file names without their folders: those say more about a machine than they help."""
    for node in graph["nodes"]:
        node["where"] = os.path.basename(node["where"])
        if "body" in node:
            _shorten_locations(node["body"])


def _to_json(data: Any) -> bytes:
    return json.dumps(data, indent=1, allow_nan=False).encode()


def _from_json(content: bytes, name: str) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ProgramError(f"{name} is not JSON: {error}") from None
