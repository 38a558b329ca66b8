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

from flambeau.cuda.simulation.device import ORDERS, KernelError, SimulatedBackend

__all__ = ["ORDERS", "KernelError", "SimulatedBackend"]


def backend() -> SimulatedBackend:
    """The backend of device type ``cudasim``."""
    return SimulatedBackend()
