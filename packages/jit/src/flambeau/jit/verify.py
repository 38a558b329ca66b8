"""Compare a program with the function it was traced from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flambeau.jit import bridge
from flambeau.jit.errors import TraceError
from flambeau.jit.program import Program
from flambeau.jit.sizes import Marks
from flambeau.jit.tree import flatten, unflatten

Tensor = Any


def verify(
    fn: Callable[..., Any], program: Program, examples: Sequence[Tensor], marks: Marks,
    base: Mapping[str, int],
) -> None:
    """Run both on the example, and on other sizes with the example's rows in another order.

    What either of them writes into captured tensors is put back.

    Raises:
        TraceError: a result differs.
    """
    for grow in (0, 1, 3):
        sizes = {name: size + grow for name, size in base.items()}
        inputs = [_rows(t, dims, sizes, grow) for t, dims in zip(examples, marks, strict=True)]
        wanted = _run(fn, program, inputs)
        found = _run(program, program, inputs)
        for number, (one, other) in enumerate(zip(wanted, found, strict=True)):
            if not bridge.equal(one, other):
                raise TraceError(
                    f"result {number} of the program differs from the function's for {sizes}: it "
                    "depends on something a trace does not see, such as the time or a global"
                )


def _rows(tensor: Tensor, dims: Mapping[int, str], sizes: Mapping[str, int], shift: int) -> Tensor:
    """The example with its slices repeated and shifted to fill other sizes."""
    with bridge.no_grad():
        result = bridge.clone(tensor)
        for d, name in dims.items():
            count = result.shape[d]
            order = [(i + shift) % count for i in range(sizes[name])]
            result = bridge.take(result, d, order)
    return result


def _run(fn: Callable[..., Any], program: Program, inputs: Sequence[Tensor]) -> list[Tensor]:
    tensors = [bridge.clone(tensor) for tensor in inputs]
    captured = [capture.tensor for capture in program.graph.captures]
    with bridge.no_grad():
        before = [bridge.clone(tensor) for tensor in captured]
        with bridge.same_random_numbers():
            outputs: list[Tensor] = []
            flatten(fn(*unflatten(program.takes, tensors)), outputs)
        results = [bridge.clone(t) for t in (*outputs, *tensors, *captured)]
        for tensor, old in zip(captured, before, strict=True):
            if not bridge.equal(tensor, old):
                bridge.copy_into(tensor, old)
    return results
