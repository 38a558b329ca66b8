"""pytest plugin: every program that a test runs is saved, run without Python too, and compared.

Outputs, inputs that are written to and the position of the random numbers must be equal bit for
bit, but for what follows an operator of `NEAR`; where Python raises nothing, the runtime may only
refuse what `REFUSED` names. Needs jit's
`tests/runtime.py` on the path, and the library (`TESTED_RUNTIME`).
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from runtime import (  # type: ignore[import-not-found]
    RuntimeFailed,
    RuntimeProgram,
    open_library,
)

from flambeau.jit import bridge
from flambeau.jit.errors import ProgramError
from flambeau.jit.programs.program import Program
from flambeau.jit.tree import flatten

REFUSED = ("too old for the runtime", "no operator of this runtime", "by default, and the runtime",
           "that were there when it was traced", "runs on the device")

#: Operators that Python makes of others, which sum in another order, and how far apart that is.
NEAR = {"roi_align": {"float32": 2e-5, "float64": 1e-12}}

library = open_library()
run_in_python = Program._run
counts: Counter[str] = Counter()
busy = False


def run(self: Program, args: Any, kwargs: dict[str, Any], how: str) -> Any:
    """``Program._run``, and the same in the runtime where the program can be saved."""
    global busy
    if busy:
        return run_in_python(self, args, kwargs, how)
    busy = True
    try:
        prepared = _prepare(self, args, kwargs)
    finally:
        busy = False
    result = run_in_python(self, args, kwargs, how)
    if prepared is not None:
        busy = True
        try:
            path, tensors, copies, state = prepared
            near = next((NEAR[node.op] for node in self.graph.nodes if node.op in NEAR), {})
            _compare(path, tensors, copies, state, result, near)
        finally:
            busy = False
    return result


def _prepare(program: Program, args: Any, kwargs: dict[str, Any]) -> Any:
    """The file, the inputs and their copies, the state of the random numbers."""
    path = Path(tempfile.mkdtemp()) / "a.program"
    try:
        tensors = program._tensors(args, kwargs)
        program.save(path)
    except ProgramError:
        counts["not saved"] += 1
        return None
    state = bridge.random_state_now()
    if program._retrace is not None:        # what it refuses, it records again
        return None
    if len({bridge.memory_address(tensor) for tensor in tensors}) < len(tensors) or len(state) > 2:
        counts["inputs that share memory, other generators"] += 1
        return None
    copies = [tensor.detach().contiguous().clone() for tensor in tensors]
    return path, tensors, copies, state


def _is_same(one: Any, other: Any, near: dict[str, float]) -> bool:
    """Whether two results are equal bit for bit, or as near as their dtype may be."""
    other = other.detach().contiguous()
    if one.dtype.name not in near:
        return bridge.same_bits(one, other)
    apart = (one - other).abs()
    return one.shape == other.shape and bool((apart <= near[one.dtype.name]).all())


def _compare(path: Path, tensors: list[Any], copies: list[Any], state: list[int],
             result: Any, near: dict[str, float]) -> None:
    expected: list[Any] = []
    flatten(result, expected)
    try:
        runtime = RuntimeProgram(library, path)
        runtime.set_random(state)
        found = runtime(*copies)
    except RuntimeFailed as error:
        if not any(why in str(error) for why in REFUSED):
            raise
        counts["refused"] += 1
        return
    for one, other in zip([*found, *copies], [*expected, *tensors], strict=False):
        assert _is_same(one, other, near), f"{path} differs"
    assert runtime.random() == bridge.random_state_now(), f"{path} drew other numbers"
    runtime.close()
    counts["the same"] += 1


def pytest_configure(config: pytest.Config) -> None:
    """Begin."""
    assert library is not None, "build libflambeau_runtime, and name it in TESTED_RUNTIME"
    Program._run = run  # type: ignore[method-assign]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How many programs were compared."""
    terminalreporter.write_line(f"programs in the runtime: {dict(counts)}")
