"""Connections that come in, and messages on them: their size, then their bytes."""
from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable

_SIZE = struct.Struct("<Q")
MOST_BYTES = 1 << 31               # of a message: what is longer is not one of ours


def send_frame(link: socket.socket, content: bytes) -> None:
    """Send a message."""
    link.sendall(_SIZE.pack(len(content)) + content)


def receive_frame(link: socket.socket) -> bytearray:
    """Wait for a message.

    Raises:
        ConnectionError: The other side is gone, or does not send messages.
    """
    head = bytearray(_SIZE.size)
    receive_into(link, memoryview(head))
    size, = _SIZE.unpack(head)
    if size > MOST_BYTES:
        raise ConnectionError("what was received is no message of this library")
    content = bytearray(size)
    receive_into(link, memoryview(content))
    return content


def receive_into(link: socket.socket, target: memoryview) -> None:
    """Wait for as many bytes as the target has.

    Raises:
        ConnectionError: The other side is gone.
    """
    while target:
        size = link.recv_into(target)
        if not size:
            raise ConnectionError("the other side has closed the connection")
        target = target[size:]


def serve(server: socket.socket, handle: Callable[[socket.socket], None], name: str) -> None:
    """Handle each connection that comes in, until the socket is closed, all in threads.

    Each has a thread of its own, so that one that says nothing stops no other.
    """
    def accept() -> None:
        while True:
            try:
                link, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=handle, args=(link,), daemon=True, name=name).start()

    threading.Thread(target=accept, daemon=True, name=name).start()
