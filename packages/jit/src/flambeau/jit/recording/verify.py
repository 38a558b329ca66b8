"""Compare a program with the function it was traced from: results, and everything they touch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from flambeau.jit import bridge
from flambeau.jit.errors import TraceError
from flambeau.jit.programs.program import Program, unpack
from flambeau.jit.recording.active import repeating_answers
from flambeau.jit.sizes import Marks
from flambeau.jit.tree import flatten, unflatten

Tensor = Any


def verify(
    fn: Callable[..., Any], program: Program, examples: Sequence[Tensor], marks: Marks,
    base: Mapping[str, int], thorough: bool, to_bits: bool = True,
) -> None:
    """Run both on the example, and on other sizes with the example's rows in another order.

    What either of them changes in captured tensors, gradients and generators is put back.

    Args:
        fn: the function.
        program: the program.
        examples: the example's tensors.
        marks: the symbols of their sizes.
        base: the symbols' sizes in the example.
        thorough: also on other sizes, to both sides of every one that was found to decide.
        to_bits: whether results must have the same bits; otherwise they may differ by roundings.

    Raises:
        TraceError: something differs.
    """
    for shift, sizes in enumerate(_sizes(program, base, thorough)):
        inputs = [_rows(t, dims, sizes, shift) for t, dims in zip(examples, marks, strict=True)]
        if any(size not in program.graph.range_of(name) for name, size in sizes.items()):
            continue
        with bridge.same_random_numbers():      # whatever other threads draw between the runs
            wanted = _wanted(fn, program, inputs)
            found = _found(program, inputs, sizes)
        for what, one in wanted.seen.items():
            if not _same(one, found.seen.get(what), to_bits):
                raise TraceError(
                    f"{what} of the program differs from the function's for "
                    f"{sizes or 'the example'}: it depends on something a trace does not see, such "
                    "as the time, a global, another thread or memory shared with NumPy"
                )


def _wanted(fn: Callable[..., Any], program: Program, inputs: Sequence[Tensor]) -> _Run:
    """The run of the function: without history where the program can have none."""
    try:
        with repeating_answers():
            return _Run(fn, program, inputs)
    except Exception as error:
        why = program.graph.no_history
        if not why or isinstance(error, TraceError):
            raise
        raise TraceError(f"{why}, and under no_grad() the function fails: {error}") from error


def _found(program: Program, inputs: Sequence[Tensor], sizes: Mapping[str, int]) -> _Run:
    """The run of the program, which must not fail where the function does not."""
    try:
        return _Run(program, program, inputs)
    except Exception as error:
        raise TraceError(
            f"the program fails where the function does not, for {sizes or 'the example'}: "
            f"{type(error).__name__}: {error}; an error that is caught inside what is traced "
            "cannot be recorded") from error


def _sizes(
    program: Program, base: Mapping[str, int], thorough: bool
) -> list[dict[str, int]]:
    """The example's sizes, others, and those beside every bound."""
    found = [dict(base)]
    if thorough:
        found += [{name: size + grow for name, size in base.items()} for grow in (1, 3)]
        for name in base:
            sizes = program.graph.range_of(name)
            found.append({**base, name: sizes.start})
            if sizes.stop - 1 < 4096:
                found.append({**base, name: sizes.stop - 1})
    return found


def _rows(tensor: Tensor, dims: Mapping[int, str], sizes: Mapping[str, int], shift: int) -> Tensor:
    """The example with its slices repeated and shifted to fill other sizes."""
    with bridge.no_grad():
        result = bridge.clone(tensor)
        for d, name in dims.items():
            count = result.shape[d]
            if count:
                order = [(i + shift) % count for i in range(sizes[name])]
                result = bridge.take(result, d, order)
    if tensor.requires_grad:
        result.requires_grad = True
    return result


class _Run:
    """One run of a function, and what can be seen after it."""

    def __init__(
        self, fn: Callable[..., Any], program: Program, inputs: Sequence[Tensor]
    ) -> None:
        graph = program.graph
        captured = [c.tensor for c in graph.captures if not c.constant]
        tensors = [bridge.clone(tensor.detach()) for tensor in inputs]
        for tensor, example in zip(tensors, inputs, strict=True):
            if example.requires_grad:
                tensor.requires_grad = True
        with bridge.no_grad():
            before = [bridge.clone(tensor.detach()) for tensor in captured]
            grads = [(t, t.grad, None if t.grad is None else bridge.clone(t.grad))
                     for t in captured if t.is_leaf]
        generators = [(g, g.get_state()) for g in graph.generators()]
        mode = bridge.no_grad() if graph.no_history else nullcontext()
        outputs: list[Tensor] = []
        self.seen: dict[str, Any] = {}
        try:
            with bridge.same_random_numbers(), mode:
                args, kwargs = unpack(unflatten(program.takes, tensors))
                flatten(fn(*args, **kwargs), outputs)
                self.look(outputs, tensors, captured, graph.grads)
                for number, (generator, _) in enumerate(generators):
                    self.seen[f"the state of generator {number}"] = generator.get_state()
        finally:
            for generator, state in generators:
                generator.set_state(state)
            with bridge.no_grad():
                for tensor, old in zip(captured, before, strict=True):
                    if not bridge.equal(tensor.detach(), old):
                        bridge.copy_into(tensor.detach(), old)
                for tensor, grad, old in grads:
                    if tensor.grad is not grad:
                        tensor.grad = grad
                    if grad is not None and not bridge.equal(grad, old):
                        bridge.copy_into(grad, old)

    def look(
        self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], captured: Sequence[Tensor],
        grads: Sequence[Any],
    ) -> None:
        seen = self.seen
        names: dict[int, str] = {}
        for kind, tensors in (("input", inputs), ("captured tensor", captured),
                              ("result", outputs)):
            for number, tensor in enumerate(tensors):
                name = f"{kind} {number}"
                seen[name] = bridge.clone(tensor.detach())
                if not tensor.numel():
                    continue
                first = names.setdefault(bridge.memory_address(tensor), name)
                if kind == "result":
                    seen[f"the memory of {name}"] = (first, tensor.storage_offset()) \
                        if first != name else None
                if not grads and kind == "result":
                    seen[f"requires_grad of {name}"] = tensor.requires_grad
                if tensor.is_leaf and tensor.requires_grad and tensor.grad is not None:
                    seen[f"the gradient of {name}"] = bridge.clone(tensor.grad)
        seen["the random state"] = bridge.random_state_now()


def _same(one: Any, other: Any, to_bits: bool) -> bool:
    if bridge.is_tensor(one) and bridge.is_tensor(other):
        return bridge.same_bits(one, other) or not to_bits and bridge.are_close(one, other)
    return type(one) is type(other) and one == other
