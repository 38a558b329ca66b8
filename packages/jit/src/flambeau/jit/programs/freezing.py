"""``freeze`` and ``save``: programs without parameters, and programs as files."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, BinaryIO

from flambeau.jit import bridge
from flambeau.jit.errors import ProgramError
from flambeau.jit.passes import frozen as frozen_graph
from flambeau.jit.programs.program import Program
from flambeau.jit.scripted.objects import Scripted, program_of


def freeze(
    program: Program, preserved_attrs: Any = None, optimize_numerics: bool = True
) -> Program:
    """A program whose weights are constants: a copy that no later training changes.

    What depends on weights alone is computed now. A batch norm becomes part of the weights of the
    convolution or linear layer whose results only it reads: ``w' = s w``, ``b' = s (b - mean) +
    shift`` with ``s = scale / sqrt(var + eps)`` for each channel. So do constants that only such
    results are multiplied with or added to. Sums have other terms then, and results differ by
    rounding: by some units in the last place of the sum of the terms' magnitudes. Results require
    no grad.

    Args:
        program: what ``trace``, ``script`` or ``load`` gave, of a module in eval mode.
        preserved_attrs: accepted for compatibility: a program has no attributes to drop.
        optimize_numerics: ``False``: batch norms and constants stay by themselves, and results are
            equal bit for bit.

    Returns:
        The program.

    Raises:
        ProgramError: it is no program, was traced in training mode, or writes to its weights.

    Example:
        >>> import flambeau
        >>> from flambeau import jit
        >>> weight = flambeau.tensor([2.0, 3.0])
        >>> frozen = jit.freeze(jit.trace(lambda x: x * weight.exp().log(), flambeau.ones(2)))
        >>> weight.zero_().tolist()
        [0.0, 0.0]
        >>> frozen(flambeau.ones(2)).round().tolist()
        [2.0, 3.0]
    """
    if isinstance(program, Scripted):
        program = program_of(program)
    if not isinstance(program, Program):
        raise ProgramError(
            f"freeze() takes what trace() gave, not {type(program).__name__}: "
            "jit.freeze(jit.trace(model.eval(), example))")
    if program.training:
        raise ProgramError("freeze(): the module was traced in training mode; call model.eval() "
                           "and trace it again")
    graph = program.graph
    if not graph.is_pure() or graph.writes:
        raise ProgramError("freeze(): the program writes in place, and what it writes to may be "
                           "its weights, which would be no constants")
    captures = [replace(capture, tensor=bridge.clone(capture.tensor.detach()), constant=True)
                for capture in graph.captures]
    frozen = replace(graph, captures=captures, requires=[False] * len(graph.outputs))
    return Program(frozen_graph(frozen, optimize_numerics), program.takes, program.gives,
                   program.training)


def optimize_for_inference(program: Program, other_methods: Any = None) -> Program:
    """The same as ``freeze``: programs have one code generator, which is always on.

    Args:
        program: what ``trace``, ``script`` or ``load`` gave, of a module in eval mode.
        other_methods: accepted for compatibility: a program has one method.

    Returns:
        The program.
    """
    return freeze(program)


def save(
    program: Any, f: str | os.PathLike[str] | BinaryIO, example_inputs: Any = None
) -> None:
    """Write a program to a file, which ``load`` reads without the Python that made it.

    Args:
        program: what ``trace`` gave, or ``script`` where it was called; with ``example_inputs``
            also a function or module that ``trace`` is to record first.
        f: where; a path, or a file that is open for writing bytes.
        example_inputs: see ``trace``.

    Raises:
        ProgramError: it is no program, and there is no example to record it with.
        TraceError: Python does what a program cannot hold; the message names the line.
    """
    if isinstance(program, Scripted):
        program = program_of(program, example_inputs)
    if not isinstance(program, Program):
        if example_inputs is None:
            raise ProgramError(
                f"save(): a {type(program).__name__} runs as Python, which a file does not hold; "
                "give an example to record it with: jit.save(model, path, example_inputs=(x,)), or "
                "save what jit.trace(model, x) gives")
        from flambeau.jit.recording.tracing import trace

        program = trace(program, example_inputs)
    program.save(f)
