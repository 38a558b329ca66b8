"""Short messages, with a file handed along, between the two ends of a pair of sockets.

Messages stay short (what is long goes through a file in memory), and few are under way at a
time, so that sending does not wait for a reader that is stuck.
"""

from __future__ import annotations

import mmap
import os
import pickle
import socket
import struct
from typing import Any

from ._shared import make_file

_HEAD = struct.Struct("<IB")
_LONG = 2048
_PLAIN, _IN_FILE = 0, 1


class Channel:
    """One end of the pair.

    Args:
        end: The socket.
    """

    def __init__(self, end: socket.socket) -> None:
        self.socket = end

    def fileno(self) -> int:
        """The socket's descriptor, to wait for."""
        return self.socket.fileno()

    def send(self, message: Any, handle: int | None = None) -> None:
        """Send an object and, with it, an open file."""
        text = pickle.dumps(message, protocol=5)
        if len(text) <= _LONG:
            self._send(_PLAIN, text, [] if handle is None else [handle])
            return
        carrier = make_file(len(text))
        try:
            os.pwrite(carrier, text, 0)
            handles = [carrier] if handle is None else [carrier, handle]
            self._send(_IN_FILE, struct.pack("<Q", len(text)), handles)
        finally:
            os.close(carrier)

    def _send(self, kind: int, text: bytes, handles: list[int]) -> None:
        socket.send_fds(self.socket, [_HEAD.pack(len(text), kind) + text], handles)

    def receive(self) -> tuple[Any, int | None]:
        """The next object, and the open file that came with it.

        Raises:
            EOFError: The other end is closed.
        """
        head, handles, _, _ = socket.recv_fds(self.socket, _HEAD.size, 2)
        if len(head) < _HEAD.size:
            head += self._rest(_HEAD.size - len(head))
        size, kind = _HEAD.unpack(head)
        text = self._rest(size)
        if kind == _IN_FILE:
            carrier = handles.pop(0)
            text = _read_file(carrier, struct.unpack("<Q", text)[0])
        return pickle.loads(text), (handles[0] if handles else None)

    def _rest(self, size: int) -> bytes:
        parts = []
        while size:
            part = self.socket.recv(size)
            if not part:
                raise EOFError
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def say_goodbye(self) -> None:
        """Tell the other end that nothing more comes, without waiting for it, and close.

        It would notice the closing alone only if no other process had inherited this end.
        """
        try:
            self.socket.setblocking(False)
            self.send(None)
        except OSError:
            pass
        self.socket.close()


def _read_file(handle: int, size: int) -> bytes:
    try:
        with mmap.mmap(handle, size, access=mmap.ACCESS_READ) as memory:
            return memory[:]
    finally:
        os.close(handle)
