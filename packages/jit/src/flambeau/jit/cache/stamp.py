"""What files on disk depend on beside their key: another stamp, other files."""

from __future__ import annotations

import os
import sys
from functools import cache
from hashlib import blake2b

from flambeau.core import _core


@cache
def stamp() -> bytes:
    """A digest of the processor's level, the versions of LLVM and Python, and the sources."""
    import llvmlite

    parts = [_core.isa_level(), llvmlite.__version__, sys.version, sys.platform, os.uname().machine]
    home = os.path.dirname(os.path.dirname(__file__))
    for folder, _, files in os.walk(home):
        parts += sorted(_state(os.path.join(folder, file)) for file in files if file[-3:] == ".py")
    parts.append(_state(_core.__file__))
    return blake2b("\n".join(parts).encode(), digest_size=32).digest()


def _state(path: str) -> str:
    """Changes when a file does."""
    found = os.stat(path)
    return f"{path} {found.st_size} {found.st_mtime_ns}"


def name_of(kind: str, key: bytes) -> str:
    """The name of the file for a key."""
    return blake2b(key, key=stamp(), person=kind.encode(), digest_size=32).hexdigest()
