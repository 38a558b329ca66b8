"""A store that one process serves to the others."""
from __future__ import annotations

import errno
import json
import socket
import time
from datetime import timedelta
from typing import Any

from .frames import receive_frame, send_frame, serve
from .operations import OPERATIONS
from .store import DEFAULT_TIMEOUT, DistStoreError, HashStore, Store

__all__ = ["TCPStore"]

RETRY_SECONDS = 0.05
_WORKERS = "/workers"              # how many processes have come


class TCPStore(Store):
    """A store that one process serves, and others reach by its address.

    Args:
        host_name: The address of the process that serves it.
        port: Its port; 0 for any that is free, which ``port`` then tells.
        world_size: How many processes there are, if the server is to wait for all.
        is_master: Whether this process serves it.
        timeout: How long to wait for the server, and `get` and `wait` for a key.
        wait_for_workers: Whether the server waits until all have come.
        multi_tenant: Accepted for compatibility.
        master_listen_fd: Accepted for compatibility.
        use_libuv: Accepted for compatibility.

    Raises:
        DistStoreError: The server, or another process, did not come in time.

    Example:
        >>> from flambeau.distributed import TCPStore
        >>> store = TCPStore("127.0.0.1", 0, is_master=True)
        >>> other = TCPStore("127.0.0.1", store.port)
        >>> other.set("rate", "0.1")
        >>> store.get("rate")
        b'0.1'
    """

    def __init__(self, host_name: str, port: int, world_size: int | None = None,
                 is_master: bool = False, timeout: timedelta = DEFAULT_TIMEOUT,
                 wait_for_workers: bool = True, multi_tenant: bool = False,
                 master_listen_fd: int | None = None, use_libuv: bool = True) -> None:
        super().__init__(timeout)
        self._server = _Server(host_name, port) if is_master else None
        self.host = host_name
        self.port = self._server.port if self._server else port
        # Connections on which nobody asks: a thread that waits for a key stops no other.
        self._idle = [_connected(host_name, self.port, timeout.total_seconds())]
        self.local_address = self._idle[0].getsockname()[0]
        if world_size and world_size > 0:
            come = self.add(_WORKERS, 1)
            if is_master and wait_for_workers:
                self._wait_for_all(come, world_size)

    def __del__(self) -> None:
        for link in self.__dict__.get("_idle", ()):     # none after an error in the beginning
            link.close()
        if self.__dict__.get("_server") is not None:
            self._server.close()  # type: ignore[union-attr]

    def _wait_for_all(self, come: int, world_size: int) -> None:
        end = time.monotonic() + self.timeout.total_seconds()
        while come < world_size:
            if time.monotonic() > end:
                raise DistStoreError(f"wait timeout after {self.timeout}: {come} of {world_size} "
                                     "processes have come")
            time.sleep(RETRY_SECONDS)
            come = self.add(_WORKERS, 0)

    def _do(self, operation: str, key: str, *args: Any) -> Any:
        return self._ask([operation, key, *args])

    def _get(self, key: str, seconds: float) -> bytes | None:
        return self._ask(["get", key, seconds])

    def _ask(self, request: list[Any]) -> Any:
        try:
            link = self._idle.pop()
        except IndexError:
            link = _connected(self.host, self.port, self.timeout.total_seconds())
        try:
            send_frame(link, _packed(request))
            answer = _unpacked(receive_frame(link))[0]
        except OSError as error:
            link.close()
            raise DistStoreError(
                f"the store at {self.host}:{self.port} does not answer ({error}); its process has "
                "ended, or failed: see what it wrote") from error
        self._idle.append(link)
        return answer


def _packed(values: list[Any]) -> bytes:
    """Numbers and texts as they are, bytes as texts in a list."""
    return json.dumps([[v.decode("latin-1")] if isinstance(v, bytes) else v
                       for v in values]).encode()


def _unpacked(content: bytes | bytearray) -> list[Any]:
    return [v[0].encode("latin-1") if isinstance(v, list) else v for v in json.loads(content)]


def _connected(host: str, port: int, seconds: float) -> socket.socket:
    """A connection to the server, which may come later."""
    end = time.monotonic() + seconds
    while True:
        try:
            link = socket.create_connection((host, port), timeout=seconds)
        except OSError as error:
            if time.monotonic() > end:
                raise DistStoreError(f"no store answers at {host}:{port} ({error}); is the process "
                                     "of rank 0 running there?") from error
            time.sleep(RETRY_SECONDS)
        else:
            link.settimeout(None)
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return link


class _Server:
    """Serves the values of a store, a thread for each process."""

    def __init__(self, host: str, port: int) -> None:
        self._store = HashStore()
        self._socket = _listening(host, port)
        self.port = self._socket.getsockname()[1]
        serve(self._socket, self._answer, "store")

    def close(self) -> None:
        """Serve nobody else."""
        self._socket.shutdown(socket.SHUT_RDWR)        # which wakes the thread that accepts
        self._socket.close()

    def _answer(self, link: socket.socket) -> None:
        with link:
            try:
                link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while True:
                    operation, key, *args = _unpacked(receive_frame(link))
                    if operation == "get":
                        result: Any = self._store._get(key, *args)
                    elif operation in OPERATIONS:
                        result = self._store._do(operation, key, *args)
                    else:
                        return
                    send_frame(link, _packed([result]))
            except (OSError, ValueError, TypeError):
                return             # the process has ended, or sends what no store does


def _listening(host: str, port: int) -> socket.socket:
    """A socket at the host's address where that is one of this machine, else at all of them."""
    try:
        return socket.create_server((host, port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise DistStoreError(f"port {port} of {host} is in use: another run has it, or one "
                                 "that ended just now; set MASTER_PORT to another") from error
        return socket.create_server(("", port))
