"""A directory of small files that several processes read and write at once.

Who can write to the directory can have this process run code of theirs. So it must belong to this
user, and to nobody else: files are opened relative to a directory that was checked, and checked
themselves. A file holds a digest of its name and content; one that does not fit is removed.
"""

from __future__ import annotations

import os
import stat
import time
import warnings
from contextlib import suppress
from hashlib import blake2b

#: Bytes that all files may take; when there are more, the ones not used for longest go.
MAX_BYTES = 64 << 20
MAX_FILE_BYTES = 4 << 20
#: What a file takes on disk at least.
BLOCK_BYTES = 4096
#: One in this many new files has the directory measured.
FILES_PER_SWEEP = 16
SECONDS_PER_TOUCH = 24 * 3600
_DIGEST_BYTES = 32
_TEMPORARY = ".new-"


def directory() -> str | None:
    """Where files are kept: ``FLAMBEAU_CACHE_DIR``, or ``flambeau`` among the user's caches.

    Returns:
        The path; ``None`` where the variable is empty or there is no such directory.
    """
    chosen = os.environ.get("FLAMBEAU_CACHE_DIR")
    if chosen is None:
        base = os.environ.get("XDG_CACHE_HOME", "")
        base = base if os.path.isabs(base) else os.path.expanduser("~/.cache")
        chosen = os.path.join(base, "flambeau") if os.path.isabs(base) else ""
    return os.path.join(os.path.abspath(chosen), "code") if chosen else None


class Disk:
    """Files by name; whatever goes wrong with them, there is just nothing.

    Args:
        path: the directory, made when it is not there; ``None``: nothing is kept.
    """

    def __init__(self, path: str | None) -> None:
        self.path = path

    def get(self, name: str) -> bytes | None:
        """The content of a file, ``None`` where there is none that can be trusted."""
        if self.path is None:
            return None
        try:
            folder = self._open()
        except FileNotFoundError:
            return None
        except OSError as error:
            self._give_up(error)
            return None
        try:
            return self._read(folder, name)
        except OSError:
            return None
        finally:
            os.close(folder)

    def put(self, name: str, content: bytes) -> None:
        """Write a file; readers see the old one or the new one."""
        if self.path is None or len(content) > MAX_FILE_BYTES:
            return
        try:
            os.makedirs(self.path, mode=0o700, exist_ok=True)
            folder = self._open()
        except OSError as error:
            self._give_up(error)
            return
        try:
            self._write(folder, name, content)
            if int(name[:8], 16) % FILES_PER_SWEEP == 0:
                sweep(folder)
        except OSError as error:
            self._give_up(error)
        finally:
            os.close(folder)

    def _open(self) -> int:
        """The directory, which is this user's and nobody else's."""
        assert self.path is not None
        folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        if _is_private(os.fstat(folder)):
            return folder
        os.close(folder)
        raise PermissionError("others may write to it, or it is theirs")

    def _read(self, folder: int, name: str) -> bytes | None:
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        try:
            found = os.fstat(file)
            if stat.S_ISREG(found.st_mode) and _is_private(found):
                data = os.read(file, MAX_FILE_BYTES + _DIGEST_BYTES + 1)
                if data[:_DIGEST_BYTES] == _digest(name, data[_DIGEST_BYTES:]):
                    if _is_old(found):
                        os.utime(file)
                    return data[_DIGEST_BYTES:]
        finally:
            os.close(file)
        os.unlink(name, dir_fd=folder)
        return None

    def _write(self, folder: int, name: str, content: bytes) -> None:
        temporary = f"{_TEMPORARY}{os.getpid()}-{os.urandom(8).hex()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        file = os.open(temporary, flags, 0o600, dir_fd=folder)
        try:
            with os.fdopen(file, "wb") as opened:
                opened.write(_digest(name, content) + content)
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(temporary, dir_fd=folder)
            raise

    def _give_up(self, error: OSError) -> None:
        path, self.path = self.path, None
        warnings.warn(f"compiled code is not kept in {path}: {error.strerror or error}. Name "
                      "another directory in FLAMBEAU_CACHE_DIR, or leave it empty to keep none",
                      RuntimeWarning, stacklevel=2)


def sweep(folder: int, limit: int = MAX_BYTES) -> None:
    """Remove the files not used for longest where all take more than ``limit`` bytes."""
    files = []
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                found = entry.stat(follow_symlinks=False)
            except FileNotFoundError:       # another process was faster
                continue
            size = max(found.st_size, BLOCK_BYTES)
            if not (entry.name.startswith(_TEMPORARY) and _is_old(found)):
                files.append((found.st_mtime, size, entry.name))
            else:       # of a process that ended while it wrote
                _remove(folder, entry.name)
    total = sum(size for _, size, _ in files)
    if total <= limit:
        return
    for _, size, name in sorted(files):
        if total <= limit * 3 // 4:
            return
        _remove(folder, name)
        total -= size


def _remove(folder: int, name: str) -> None:
    with suppress(OSError):     # another process was faster, or it is a directory
        os.unlink(name, dir_fd=folder)


def _digest(name: str, content: bytes) -> bytes:
    return blake2b(content, key=name.encode()[:64], digest_size=_DIGEST_BYTES).digest()


def _is_private(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and not found.st_mode & 0o077


def _is_old(found: os.stat_result) -> bool:
    """Whether a file was not touched for a day."""
    return found.st_mtime + SECONDS_PER_TOUCH < time.time()
