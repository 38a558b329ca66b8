"""Kernels of our own: CUDA C++ of whole families, and what of it each operator runs.

``program_of`` gives an operator's program, which the launch path (native/programs.cpp) runs without
Python; ``source.module`` gives the text of the modules that it names.
"""
from __future__ import annotations

from flambeau.cuda.kernels.program import (
    Group,
    Program,
    Step,
    group,
    kernel_name,
    modules,
    packed,
    program_of,
)

__all__ = ["Group", "Program", "Step", "group", "kernel_name", "modules", "packed", "program_of"]
