"""How the machines of a run learn which is which, and where their processes meet."""
from __future__ import annotations

import argparse
import socket
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from .store import DistStoreError

DEFAULT_PORT = 29400               # where machines meet, if an endpoint names none
PATIENCE = timedelta(minutes=10)


@dataclass(frozen=True)
class Node:
    """This machine's number, and where all processes meet."""

    rank: int
    address: str
    port: int


def free_port() -> int:
    """A port that no program uses at this moment."""
    with socket.create_server(("", 0)) as listening:
        return int(listening.getsockname()[1])


_stores: dict[str, Any] = {}       # one for each endpoint, in all attempts of a run


def meet(options: argparse.Namespace, machines: int, attempt: int) -> Node:
    """Learn this machine's number, by the command line or by meeting the others.

    Args:
        options: The command line.
        machines: How many machines take part.
        attempt: How often all have begun before.

    Raises:
        SystemExit: The command line does not say where machines meet.
        DistStoreError: The others did not come.
    """
    if options.standalone:
        return Node(0, "127.0.0.1", free_port())
    if options.rdzv_backend == "static":
        if not 0 <= options.node_rank < machines:
            raise SystemExit(f"torchrun: --node-rank {options.node_rank} of {machines} machines; "
                             f"give 0 to {machines - 1}")
        host, _, port = options.rdzv_endpoint.partition(":")
        return Node(options.node_rank, host or options.master_addr,
                    int(port or options.master_port) + attempt)
    if options.rdzv_backend != "c10d":
        raise SystemExit(f"torchrun: --rdzv-backend {options.rdzv_backend}; there are static and "
                         "c10d")
    if machines == 1 and not options.rdzv_endpoint:
        return Node(0, "127.0.0.1", free_port())
    if not options.rdzv_endpoint:
        raise SystemExit("torchrun: --rdzv-backend c10d: give --rdzv-endpoint HOST:PORT, the "
                         "address of one of the machines")
    return _met(options, machines, attempt)


def _met(options: argparse.Namespace, machines: int, attempt: int) -> Node:
    store = _stores.get(options.rdzv_endpoint)
    if store is None:
        store = _stores[options.rdzv_endpoint] = _opened(options.rdzv_endpoint)
    run = f"{options.rdzv_id}/{attempt}"
    rank = store.add(f"{run}/nodes", 1) - 1
    if rank >= machines:
        raise SystemExit(f"torchrun: {machines} machines have met already at "
                         f"{options.rdzv_endpoint}")
    if rank == 0:
        store.set(f"{run}/address", f"{options.local_addr or store.local_address} {free_port()}")
    address, port = store.get(f"{run}/address").decode().split()
    return Node(rank, address, int(port))


def _opened(endpoint: str) -> Any:
    """The store at an endpoint, served by the machine that has the address and comes first."""
    from .tcp_store import TCPStore

    host, _, port = endpoint.partition(":")
    number = int(port or DEFAULT_PORT)
    if _is_here(host):
        try:
            return TCPStore(host, number, is_master=True, timeout=PATIENCE)
        except DistStoreError:
            pass                   # another launcher on this machine serves it
    return TCPStore(host, number, timeout=PATIENCE)


def _is_here(host: str) -> bool:
    """Whether a name is one of this machine's."""
    try:
        with socket.create_server((host, 0)):
            return True
    except OSError:
        return False
