"""Tracing and compiling: functions of tensors as graphs, run as fused machine code.

``trace``     a function or module as a ``Program`` that can be saved
``load``      a saved program
``compile``   a function that is recorded and run as fused loops at each call
``Graph``     the representation; ``print(program.graph)`` shows it
"""

from __future__ import annotations

import os

from flambeau.jit.archive import load
from flambeau.jit.compile import compile
from flambeau.jit.errors import GraphError, ProgramError, TraceError
from flambeau.jit.ir import Graph
from flambeau.jit.program import Program
from flambeau.jit.trace import trace


def save(program: Program, path: str | os.PathLike[str]) -> None:
    """Write a program to a file; the same as ``program.save(path)``.

    Args:
        program: what ``trace`` gave.
        path: where.
    """
    program.save(path)


__all__ = [
    "Graph", "GraphError", "Program", "ProgramError", "TraceError", "compile", "load", "save",
    "trace",
]
