"""Connections between the processes of a group, made when two first have something to say.

Each process listens at one port, which the store tells the others together with a word that only
they know. Of two processes, the one of the higher rank connects.
"""
from __future__ import annotations

import secrets
import select
import socket
import struct
import threading

from .frames import receive_frame, receive_into, send_frame, serve
from .store import PrefixStore

NAME_BYTES = 48                    # of a call, in the head of a message
JOINED_BYTES = 1 << 16             # up to which a message goes out with its head
_HEAD = struct.Struct(f"<q{NAME_BYTES}sq")     # the call's number, its name, bytes
BUFFER_BYTES = 1 << 22             # of a socket: more leaves fewer waits in large exchanges


class Listener:
    """The port of this process, at which other processes' connections come in.

    Args:
        host: The address that others reach; empty for all addresses of this machine.
    """

    def __init__(self, host: str) -> None:
        self._socket = socket.create_server((host, 0))
        self.port = self._socket.getsockname()[1]
        self.word = secrets.token_hex(16)
        self._come: dict[str, socket.socket] = {}
        self._changed = threading.Condition()
        serve(self._socket, self._greet, "links")

    def _greet(self, link: socket.socket) -> None:
        try:
            link.settimeout(10)
            word, _, name = receive_frame(link).decode().partition(" ")
        except (OSError, UnicodeDecodeError):
            word = name = ""
        if not secrets.compare_digest(word, self.word):
            link.close()
            return
        link.settimeout(None)
        with self._changed:
            self._come[name] = link
            self._changed.notify_all()

    def take(self, name: str, seconds: float) -> socket.socket:
        """Wait for the connection of a name.

        Raises:
            TimeoutError: It did not come.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: name in self._come, seconds):
                raise TimeoutError(f"no process has connected as {name!r} in {seconds:g} s")
            return self._come.pop(name)


_listeners: dict[str, Listener] = {}
_listeners_lock = threading.Lock()


def listener(address: str) -> Listener:
    """The port of this process for those that reach it at an address.

    Processes of one machine meet at its loopback address, which no other machine reaches.
    """
    host = address if address.startswith("127.") else ""
    with _listeners_lock:
        if host not in _listeners:
            _listeners[host] = Listener(host)
        return _listeners[host]


class Links:
    """The connections of one group, for one purpose.

    Args:
        store: The group's store.
        me: The rank of this process in the group.
        size: How many processes the group has.
        purpose: What the connections are for; those of another purpose are others.
        seconds: How long a process waits for another.
    """

    def __init__(self, store: PrefixStore, me: int, size: int, purpose: str,
                 seconds: float) -> None:
        self.store = store
        self.me = me
        self.size = size
        self.purpose = purpose
        self.seconds = seconds
        self._links: dict[int, socket.socket] = {}
        self._making: dict[int, threading.Lock] = {}
        self._name = store.prefix
        self._call = 0
        self.begin("")

    def publish(self) -> None:
        """Tell the others where this process is, if there are any."""
        if self.size == 1:
            return
        address = self.store.local_address
        port = listener(address)
        self.store.set(f"at/{self.me}", f"{address} {port.port} {port.word}")

    def __getitem__(self, peer: int) -> socket.socket:
        """The connection to a process."""
        link = self._links.get(peer)
        if link is None:
            with self._making.setdefault(peer, threading.Lock()):
                link = self._links.get(peer)
                if link is None:
                    link = self._links[peer] = self._made(peer)
        return link

    def _made(self, peer: int) -> socket.socket:
        link = self._connect(peer) if peer < self.me else self._awaited(peer)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            link.setsockopt(socket.SOL_SOCKET, option, BUFFER_BYTES)
        link.settimeout(self.seconds)
        return link

    def _connect(self, peer: int) -> socket.socket:
        host, port, word = self.store.get(f"at/{peer}").decode().split()
        link = socket.create_connection((host, int(port)), timeout=self.seconds)
        send_frame(link, f"{word} {self._name}/{self.purpose}/{self.me}".encode())
        return link

    def _awaited(self, peer: int) -> socket.socket:
        port = listener(self.store.local_address)
        return port.take(f"{self._name}/{self.purpose}/{peer}", self.seconds)

    def close(self) -> None:
        """End all connections."""
        for link in self._links.values():
            link.close()
        self._links.clear()

    def begin(self, what: str) -> None:
        """Go on to the next call of the group, of which each message says the name."""
        self._call += 1
        self._what = what.encode()[:NAME_BYTES].ljust(NAME_BYTES, b"\0")

    def send(self, peer: int, content: memoryview) -> None:
        """Send a message to a process."""
        head = self._head(content)
        if content.nbytes <= JOINED_BYTES:
            self[peer].sendall(head + content)
        else:
            self[peer].sendall(head)
            self[peer].sendall(content)

    def receive(self, peer: int, target: memoryview) -> None:
        """Wait for a message of a process, of as many bytes as the target has.

        Raises:
            ConnectionError: The process sends something else, or is gone.
        """
        head = bytearray(_HEAD.size)
        receive_into(self[peer], memoryview(head))
        self._check(peer, head, target)
        receive_into(self[peer], target)

    def exchange(self, to: int, content: memoryview, source: int, target: memoryview) -> None:
        """Send a message to one process and receive one of another, at the same time.

        Raises:
            ConnectionError: The process sends something else, or one is gone.
        """
        out, come = self[to], self[source]
        head = bytearray(_HEAD.size)
        sent = [memoryview(self._head(content)), content]
        wanted = [memoryview(head), target]
        while sent or wanted:
            ready, free = self._wait(out if sent else None, come if wanted else None, source)
            if free:
                sent[0] = sent[0][out.send(sent[0]):]
            if ready:
                size = come.recv_into(wanted[0])
                if not size:
                    raise ConnectionError("the other side has closed the connection")
                wanted[0] = wanted[0][size:]
                if len(wanted) == 2 and not wanted[0]:
                    self._check(source, head, target)
            sent = [part for part in sent if part]
            wanted = [part for part in wanted if part]

    def _head(self, content: memoryview) -> bytes:
        """What a message begins with: which call it is of, and its size."""
        return _HEAD.pack(self._call, self._what, content.nbytes)

    def _check(self, peer: int, head: bytearray, target: memoryview) -> None:
        """Check that a message is of the call that this process makes, and of the same size."""
        if head == self._head(target):
            return
        call, what, size = _HEAD.unpack(head)
        raise ConnectionError(
            f"rank {peer} of the group is in its call {call}, {_shown(what)}, and sends {size} "
            f"bytes; this process is in its call {self._call}, {_shown(self._what)}, and expects "
            f"{target.nbytes}: all have to call the same functions in the same order, with tensors "
            "of the same size and dtype")

    def _wait(self, out: socket.socket | None, come: socket.socket | None,
              source: int) -> tuple[bool, bool]:
        """Wait until bytes have come, or may be sent."""
        poll = select.poll()
        if come is not None:
            poll.register(come, select.POLLIN)
        if out is not None:
            reads = select.POLLIN if out is come else 0
            poll.register(out, select.POLLOUT | reads)
        met = dict(poll.poll(self.seconds * 1000))
        if not met:
            raise TimeoutError(f"nothing came from rank {source} in {self.seconds:g} s")
        ready = come is not None and bool(met.get(come.fileno(), 0) & ~select.POLLOUT)
        return ready, out is not None and bool(met.get(out.fileno(), 0) & ~select.POLLIN)


def _shown(what: bytes) -> str:
    return what.rstrip(b"\0").decode(errors="replace") or "the first"
