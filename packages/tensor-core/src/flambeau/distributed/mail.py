"""Messages from one process to another: `send` and `recv`.

What comes is kept until it is asked for, by its sender and tag, so that two processes that send to
each other do not wait for each other.
"""
from __future__ import annotations

import socket
import struct
import threading
from collections import deque

from .frames import receive_into
from .links import Links

_HEAD = struct.Struct("<qq")       # tag, bytes


class Mail:
    """The messages between this process and the others of a group."""

    def __init__(self, links: Links) -> None:
        self._links = links
        self._come: dict[tuple[int, int], deque[bytearray]] = {}
        self._failed: dict[int, BaseException] = {}
        self._changed = threading.Condition()
        self._sending = [threading.Lock() for _ in range(links.size)]
        self._reading: set[int] = set()

    def send(self, peer: int, tag: int, content: memoryview) -> None:
        """Send a message; return when the network has it."""
        with self._sending[peer]:
            self._open(peer)
            self._links[peer].sendall(_HEAD.pack(tag, content.nbytes))
            self._links[peer].sendall(content)

    def receive(self, peer: int | None, tag: int, seconds: float) -> tuple[int, bytearray]:
        """Wait for a message of a process, or of any; return its sender, too.

        Raises:
            TimeoutError: None came.
            ConnectionError: The process is gone.
        """
        peers = [peer] if peer is not None else [r for r in range(self._links.size)
                                                 if r != self._links.me]
        for each in peers:
            self._open(each)
        with self._changed:
            self._changed.wait_for(lambda: self._found(peers, tag) is not None
                                   or any(r in self._failed for r in peers), seconds)
            found = self._found(peers, tag)
            if found is not None:
                return found, self._come[found, tag].popleft()
            for each in peers:
                if each in self._failed:
                    raise ConnectionError(str(self._failed[each]))
            raise TimeoutError(f"no message with tag {tag} came in {seconds:g} s")

    def _found(self, peers: list[int], tag: int) -> int | None:
        return next((r for r in peers if self._come.get((r, tag))), None)

    def _open(self, peer: int) -> None:
        """Have a thread read what comes from a process."""
        with self._changed:
            if peer in self._reading:
                return
            self._reading.add(peer)
        threading.Thread(target=self._read, args=(peer,), daemon=True, name="mail").start()

    def _read(self, peer: int) -> None:
        try:
            link = self._links[peer]
            link.settimeout(None)
            while True:
                self._keep(peer, link)
        except TimeoutError:           # it has nothing to say yet
            with self._changed:
                self._reading.discard(peer)
        except OSError as error:
            with self._changed:
                self._failed[peer] = error
                self._changed.notify_all()

    def _keep(self, peer: int, link: socket.socket) -> None:
        head = bytearray(_HEAD.size)
        receive_into(link, memoryview(head))
        tag, size = _HEAD.unpack(head)
        content = bytearray(size)
        receive_into(link, memoryview(content))
        with self._changed:
            self._come.setdefault((peer, tag), deque()).append(content)
            self._changed.notify_all()

    def close(self) -> None:
        """End the connections."""
        self._links.close()
