"""Shared libraries from the text of kernels, each built once."""
from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
import tempfile
import warnings
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent

#: ``-mfma``: kernels write fused multiply-adds where they want them, and GPUs have them.
FLAGS = ("-std=c++17", "-O1", "-w", "-mfma", "-ffp-contract=off", "-fPIC", "-shared",
         "-fno-stack-protector")


@cache
def default_folder() -> Path:
    """Where libraries are kept between runs; closed to other users, who could change them.

    A folder of this process alone, and a warning, where that one cannot be written.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = base / "flambeau" / "cudasim"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        found = folder.stat()
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        warnings.warn(f"compiled kernels cannot be kept in {folder} ({error}): every process "
                      "compiles them anew; set XDG_CACHE_HOME to a folder that can be written",
                      stacklevel=2)
        return Path(_temporary().name)
    if found.st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to another user, who could change what runs; "
                              "set XDG_CACHE_HOME to a folder of your own")
    return folder


@cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    """A folder that goes when the process ends."""
    return tempfile.TemporaryDirectory(prefix="flambeau-cudasim-")


@cache
def _headers() -> bytes:
    found = [*HERE.glob("*.h"), *(HERE.parent / "native").glob("*.h")]
    return b"".join(path.read_bytes() for path in sorted(found))


def build(name: str, text: str, folder: Path) -> ctypes.CDLL:
    """The library of a text, compiled unless the folder has it.

    Args:
        name: for the name of the file.
        text: C++ source.
        folder: where sources and libraries are kept.

    Raises:
        RuntimeError: the compiler is missing, or refuses the text; with its messages.
    """
    digest = hashlib.sha256(text.encode() + _headers() + " ".join(FLAGS).encode()).hexdigest()
    built = folder / f"{name}_{digest[:16]}.so"
    if not built.exists():
        _compile(text, built)
    return ctypes.CDLL(str(built))


def _compile(text: str, built: Path) -> None:
    """Compile beside the result and rename, so that nobody meets half a file."""
    with tempfile.TemporaryDirectory(dir=built.parent) as scratch:
        source, made = (Path(scratch) / built.with_suffix(end).name for end in (".cpp", ".so"))
        source.write_text(text)
        command = ["g++", *FLAGS, f"-I{HERE}", str(source), "-o", str(made)]
        try:
            run = subprocess.run(command, capture_output=True, text=True)
        except FileNotFoundError:
            raise RuntimeError("the simulation of kernels needs g++, which was not found; "
                               "install gcc's C++ compiler") from None
        if run.returncode:
            raise RuntimeError(f"g++ refuses {source.name}:\n{run.stderr[:4000]}")
        source.replace(built.with_suffix(".cpp"))
        made.replace(built)
