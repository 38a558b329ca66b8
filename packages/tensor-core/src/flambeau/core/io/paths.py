"""Files that are replaced at once: a crash leaves the old one or the new one, never a half."""
from __future__ import annotations

import fcntl
import os
import secrets
import time

_YOUNG = 5.0    # seconds in which a temporary file may not have been locked by its writer yet


def path_of(f, what: str, method: str):
    """``f`` as a path. Numbers are none: ``open`` would take them for open files, and close them.

    Raises:
        TypeError: ``f`` is no path; ``what`` is the function that got it, and ``method`` what an
            open file would have had.
    """
    try:
        return os.fspath(f)
    except TypeError:
        raise TypeError(f"{what}(): f must be a path or a file with a {method}() method, not "
                        f"{type(f).__name__}") from None


def replace_atomically(path, write) -> None:
    """Call ``write(file)`` on a temporary file, flush it to disk, and rename it to ``path``.

    What a process that was killed has left of earlier attempts is removed.
    """
    path = os.fsdecode(path)
    folder, name = os.path.split(os.path.abspath(path))
    prefix = f".{name[:200]}.saving-"
    _sweep(folder, prefix)
    temporary = os.path.join(folder, prefix + secrets.token_hex(8))
    try:
        with open(temporary, "xb") as file:
            fcntl.flock(file, fcntl.LOCK_SH)    # says that it is being written
            write(file)
            file.flush()
            os.fsync(file.fileno())
            os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise
    _sync_folder(folder)


def _sweep(folder: str, prefix: str) -> None:
    for name in os.listdir(folder):
        if name.startswith(prefix):
            _remove_if_abandoned(os.path.join(folder, name))


def _remove_if_abandoned(temporary: str) -> None:
    """Remove a temporary file that no process is writing."""
    try:
        with open(temporary, "rb") as file:
            if time.time() - os.fstat(file.fileno()).st_mtime < _YOUNG:
                return
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(temporary)
    except OSError:
        return    # being written, or gone meanwhile


def _sync_folder(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
