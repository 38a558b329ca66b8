"""The table of kernels by key, which the modules beside this one fill."""
from __future__ import annotations

#: Kernels by key. An ordinary one takes the definition's arguments, tensors as arrays, and returns
#: the output or a tuple of them.
KERNELS: dict = {}
#: Kernels that need the tensors themselves: called with the definition's arguments and its outputs.
RAW_KERNELS: dict = {}


def _adder(table: dict, keys: tuple[str, ...]):
    def add(function):
        table.update(dict.fromkeys(keys, function))
        return function

    return add


def kernel(*keys: str):
    """Make a function the kernel of definitions."""
    return _adder(KERNELS, keys)


def raw_kernel(*keys: str):
    """Make a function on tensors the kernel of definitions."""
    return _adder(RAW_KERNELS, keys)
