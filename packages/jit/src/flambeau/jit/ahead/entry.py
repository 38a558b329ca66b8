"""``aot``: a program as an object file and a C header."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from flambeau.jit.ahead.emit import Target, object_file, target_of
from flambeau.jit.ahead.expand import expanded
from flambeau.jit.ahead.fixed import fixed
from flambeau.jit.ahead.header import header
from flambeau.jit.ahead.lowering import is_known, lower
from flambeau.jit.ahead.memory import plan, plan_state
from flambeau.jit.ahead.scope import Scope
from flambeau.jit.ahead.state import kept, place_captures, writes_apart
from flambeau.jit.ahead.unit import ALIGNMENT, Buffer, Place, Unit
from flambeau.jit.errors import ProgramError
from flambeau.jit.ir import Graph
from flambeau.jit.itemsizes import SIZE
from flambeau.jit.llvm.grid import contiguous_strides
from flambeau.jit.programs.freezing import freeze
from flambeau.jit.programs.program import Program
from flambeau.jit.scripted.objects import Scripted, program_of


@dataclass(frozen=True)
class Ahead:
    """What ``aot`` wrote; ``print`` shows it.

    Args:
        object: the object file.
        header: the C header.
        weights: the file of weights; ``None`` where they are embedded.
        name: what names in the header begin with.
        target: what the code is made for.
        arena_bytes: memory that a run works in.
        weight_bytes: of all constants.
        object_bytes: size of the object file.
        steps: calls of a run.
        functions: different ones among them.
        state_bytes: memory that lives from run to run, where the program writes to buffers.
    """

    object: Path
    header: Path
    weights: Path | None
    name: str
    target: str
    arena_bytes: int
    weight_bytes: int
    object_bytes: int
    steps: int
    functions: int
    state_bytes: int = 0

    def __str__(self) -> str:
        state = f"state {self.state_bytes:,} bytes; " if self.state_bytes else ""
        held = "embedded" if self.weights is None else f"in {self.weights.name}"
        return (f"{self.name}: {self.object.name} of {self.object_bytes:,} bytes for "
                f"{self.target}; arena {self.arena_bytes:,} bytes; {state}weights "
                f"{self.weight_bytes:,} bytes, {held}; {self.steps} steps, {self.functions} "
                "functions")


def aot(
    program: Program, path: str | os.PathLike[str], *, target: str = "native",
    weights: str = "embedded", name: str | None = None, sizes: Mapping[str, int] | None = None,
) -> Ahead:
    """Write a program as an object file with a C header: no runtime, nothing allocated.

    The header declares ``NAME_init`` and ``NAME_run(inputs, outputs, arena)``, and has shapes,
    dtypes and the size of the arena as constants. Results have the bits of ``freeze(program)`` in
    Python on the same instructions; recurrent layers, average pooling and others that are compiled
    as what they consist of differ by rounding. Link with ``-lm``. Buffers that the program writes
    to are state: memory of the caller's, which ``NAME_reset(state)`` fills and each run is given;
    so is the stream of random numbers.

    Args:
        program: what ``trace`` or ``load`` gave, of a module in eval mode, of float32, float16 or
            bfloat16 but for indices and masks.
        path: the object file, ``model.o``; the header lies beside it, ``model.h``.
        target: ``x86-64-v3`` (AVX2), ``x86-64-v4`` (AVX-512), ``aarch64``, ``wasm32`` (with
            128-bit vectors), or ``native``.
        weights: ``embedded`` in the object file; or ``file``: in ``model.weights`` beside it, to be
            mapped and given to ``NAME_init``.
        name: of the functions; the file's if left out.
        sizes: a number for each size that may vary, ``{"N": 1}``.

    Returns:
        What was written, and how large it is.

    Raises:
        ProgramError: a size has no number; an operator cannot be compiled ahead of time, with its
            line; the program writes to its inputs.
        ValueError: an argument is none of those above.

    Example:
        >>> import flambeau, tempfile
        >>> from flambeau import jit, nn
        >>> program = jit.trace(nn.Linear(3, 2).eval(), flambeau.ones(4, 3))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     made = jit.aot(program, f"{folder}/layer.o", target="x86-64-v3", sizes={"N": 1})
        ...     "int layer_run(const float *input_0" in made.header.read_text()
        True
        >>> made.weights is None
        True
    """
    if weights not in ("embedded", "file"):
        raise ValueError(f"aot(): weights={weights!r}; it is 'embedded' or 'file'")
    chosen, file = target_of(target), Path(path)
    prefix = _name(name, file)
    graph = _graph(program, sizes or {})
    unit = _unit(graph, chosen)
    arena = plan(unit.steps, unit.status.buffer)
    state = plan_state([buffer for buffer, _ in unit.state])
    code = object_file(unit, chosen, prefix, weights)
    digest, apart = hashlib.sha256(unit.weights).digest(), None
    if weights == "file":
        apart = file.with_suffix(".weights")
        apart.write_bytes(digest.ljust(ALIGNMENT, b"\0") + unit.weights)
    text = header(prefix, graph.inputs, graph.outputs, arena, chosen, digest,
                  ALIGNMENT + len(unit.weights), weights == "embedded", state,
                  unit.stream is not None)
    file.write_bytes(code)
    beside = file.with_suffix(".h")
    beside.write_text(text)
    return Ahead(file, beside, apart, prefix, chosen.name, arena, len(unit.weights), len(code),
                 len(unit.steps), len(unit.texts), state)


def _name(name: str | None, file: Path) -> str:
    if name is not None and not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise ValueError(f"aot(): name={name!r} is no name in C")
    found = name or re.sub(r"\W", "_", file.stem, flags=re.ASCII)
    return found if not found[0].isdigit() else f"_{found}"


def _graph(program: Program, sizes: Mapping[str, int]) -> Graph:
    """What is compiled: sizes fixed, weights constant."""
    if isinstance(program, Scripted):
        program = program_of(program)
    if isinstance(program, Program) and any(node.into for node in program.graph.nodes):
        graph = expanded(writes_apart(fixed(kept(program), sizes), is_known), is_known)
    else:
        graph = expanded(fixed(freeze(program).graph, sizes), is_known)
    for kind, values in (("input", graph.inputs), ("output", graph.outputs)):
        for k, value in enumerate(values):
            if value.dtype.startswith("complex"):
                raise ProgramError(f"aot(): {kind} {k} is {value.dtype}, which C headers of "
                                   "programs do not have; give real and imaginary parts apart")
            if 0 in value.shape:
                raise ProgramError(f"aot(): {kind} {k} has shape {list(value.shape)}, which has no "
                                   "elements; trace with an example that has some")
            if value.device != "cpu":
                raise ProgramError(f"aot(): {kind} {k} lies on {value.device}; trace on the CPU")
    return graph


def _unit(graph: Graph, target: Target) -> Unit:
    unit = Unit(target.machine)
    unit.inputs, unit.outputs = len(graph.inputs), len(graph.outputs)
    scope = Scope(unit, graph)
    for k, value in enumerate(graph.inputs):
        scope.places[value] = _whole("input", k, value)
    place_captures(unit, scope, graph)
    made = {value for node in graph.nodes for value in node.outputs}
    for k, value in enumerate(graph.outputs):
        if value in made and value not in scope.view_results and value not in scope.places:
            scope.places[value] = _whole("output", k, value)
    lower(scope, graph)
    for k, value in enumerate(graph.outputs):
        to = _whole("output", k, value)
        if scope.place(value).buffer != to.buffer or scope.place(value).buffer.number != k:
            scope.copy_to(scope.place(value), to)
    return unit


def _whole(kind: str, number: int, value: object) -> Place:
    shape, dtype = value.shape, value.dtype  # type: ignore[attr-defined]
    place = Place(Buffer(kind, 0, number), dtype, shape, contiguous_strides(shape))
    place.buffer.bytes = place.numel * SIZE[dtype]
    return place
