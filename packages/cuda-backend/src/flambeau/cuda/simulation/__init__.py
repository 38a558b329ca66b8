"""Device ``cudasim``: the text of CUDA kernels, built by a C++ compiler and run on the CPU.

Threads of a block are fibers with shared memory, barriers, warps that shuffle and vote, tensor-core
products and asynchronous copies; they run forward, backward or in a random order, which must not
change a bit. Memory is surrounded by pages that nobody may touch. It needs ``g++``, and takes the
place of a GPU in tests: correct kernels, at a thousandth of the speed.

Example:
    >>> from flambeau.cuda import simulation
    >>> simulation.ORDERS
    ('forward', 'reversed', 'shuffled')
"""
from __future__ import annotations

from contextlib import AbstractContextManager

from flambeau.cuda.simulation.device import ORDERS, KernelError, SimulatedBackend

__all__ = ["ORDERS", "KernelError", "SimulatedBackend", "as_cuda",
           "replace_cuda"]


def backend() -> SimulatedBackend:
    """The backend of device type ``cudasim``."""
    return SimulatedBackend()


def replace_cuda(count: int = 1) -> SimulatedBackend:
    """Make device ``cuda`` the simulation in this process, before it is used: programs that write
    ``x.cuda()`` run unchanged.

    Args:
        count: How many devices there are.
    """
    from flambeau.core import backends

    made = type("ReplacedBackend", (SimulatedBackend,), {"name": "cuda"})(count=count)
    backends.register(made)
    return made


def as_cuda() -> AbstractContextManager[None]:
    """Let the functions of ``flambeau.cuda`` speak of device ``cudasim`` in the body."""
    from flambeau.cuda.runtime import speaking_of

    return speaking_of("cudasim")
