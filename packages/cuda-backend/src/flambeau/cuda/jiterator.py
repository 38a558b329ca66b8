"""Kernels from C++ text at run time: ``compile`` makes them from Python instead."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

_INSTEAD = ("write the formula in Python and flambeau.compile() it, register it as an operator "
            "with flambeau.core.register_op(), or launch a kernel of CuPy's (cupy.RawKernel) over "
            "flambeau tensors")


def _create_jit_fn(code_string: str, **kwargs: Any) -> Callable[..., Any]:
    """Return a function that raises when it is called: kernels are made from formulas.

    A module that only defines kernels at its top is thereby importable, as in PyTorch on a CPU.
    """
    def refuse(*tensors: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"cuda.jiterator: {_INSTEAD}")
    return refuse


def _create_multi_output_jit_fn(code_string: str, num_outputs: int,
                                **kwargs: Any) -> Callable[..., Any]:
    """Return a function that raises when it is called: kernels are made from formulas."""
    return _create_jit_fn(code_string, **kwargs)
