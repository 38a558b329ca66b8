"""How the machines of a run learn which is which, and where their processes meet."""
from __future__ import annotations

import socket
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from .store import DistStoreError

if TYPE_CHECKING:
    from .launcher.api import LaunchConfig

DEFAULT_HOST, DEFAULT_MASTER_PORT = "127.0.0.1", 29500
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


def meet(config: LaunchConfig, attempt: int) -> Node:
    """Learn this machine's number, by the configuration or by meeting the others.

    Args:
        config: Of the run.
        attempt: How often all have begun before.

    Raises:
        SystemExit: The configuration does not say where machines meet.
        DistStoreError: The others did not come.
    """
    host, _, port = config.rdzv_endpoint.partition(":")
    machines = config.min_nodes
    if config.rdzv_backend == "static":
        rank = int(config.rdzv_configs.get("rank", 0))
        if not 0 <= rank < machines:
            raise SystemExit(f"torchrun: --node-rank {rank} of {machines} machines; give 0 to "
                             f"{machines - 1}")
        return Node(rank, host or DEFAULT_HOST, int(port or DEFAULT_MASTER_PORT) + attempt)
    if config.rdzv_backend != "c10d":
        raise SystemExit(f"torchrun: --rdzv-backend {config.rdzv_backend}; there are static and "
                         "c10d")
    if machines == 1 and port in ("", "0"):
        return Node(0, DEFAULT_HOST, free_port())
    if not config.rdzv_endpoint:
        raise SystemExit("torchrun: --rdzv-backend c10d: give --rdzv-endpoint HOST:PORT, the "
                         "address of one of the machines")
    return _met(config, attempt)


def _met(config: LaunchConfig, attempt: int) -> Node:
    store = _stores.get(config.rdzv_endpoint)
    if store is None:
        store = _stores[config.rdzv_endpoint] = _opened(config.rdzv_endpoint)
    run = f"{config.run_id}/{attempt}"
    rank = store.add(f"{run}/nodes", 1) - 1
    if rank >= config.min_nodes:
        raise SystemExit(f"torchrun: {config.min_nodes} machines have met already at "
                         f"{config.rdzv_endpoint}")
    if rank == 0:
        store.set(f"{run}/address", f"{config.local_addr or store.local_address} {free_port()}")
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
