"""``trace``: run a function without computing, at several sizes, and keep what it did."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from flambeau.jit import bridge
from flambeau.jit.dims import symbol
from flambeau.jit.errors import EscapeError, TraceError
from flambeau.jit.ir import Graph
from flambeau.jit.locations import location
from flambeau.jit.passes import optimized
from flambeau.jit.programs.program import Program, pack, unpack
from flambeau.jit.recording.active import recording
from flambeau.jit.recording.optimizers import Stepped
from flambeau.jit.recording.ranges import STEPS, Recordings
from flambeau.jit.recording.recorder import Memory, Recorder
from flambeau.jit.recording.verify import verify
from flambeau.jit.sizes import Marks, choose_sizes, mark_sizes, resize
from flambeau.jit.tree import Spec, flatten, unflatten

Tensor = Any
Dynamic = bool | Mapping[int, Mapping[int, str]]


def trace(
    fn: Callable[..., Any],
    example_inputs: Any = (),
    *,
    example_kwarg_inputs: Mapping[str, Any] | None = None,
    dynamic: Dynamic = True,
    check: bool = False,
    allow_reads: bool = False,
    retrace: bool = False,
    value_sizes: bool = False,
) -> Program:
    """Record what a function computes, as a program that runs without it.

    The function runs with the example's shapes but computes nothing; it runs several times, with
    other batch sizes, to learn which numbers depend on the batch, and for which sizes Python takes
    the same path. A program refuses other sizes and names the line that decides. What cannot be
    recorded raises, with file and line: reading values, shapes that depend on values. Arguments are
    recorded in C order: where the function asks for strides (``stride()``, ``is_contiguous()``),
    the program has those. At last the program is compared with the function on the example.

    Args:
        fn: a function or a module of tensors.
        example_inputs: its arguments: a tensor, or a tuple of tensors, numbers and containers.
        dynamic: ``True``: the first size of the first tensor may vary, and with it the first size
            of every tensor where it is the same. ``False``: all sizes are fixed. A dict names the
            sizes that vary: ``{0: {0: "N", 1: "T"}}`` for two sizes of the first tensor. A size
            that decides everything is fixed; if it was named, that is an error.
        example_kwarg_inputs: its keyword arguments.
        check: compare on other sizes and values too, up to the bounds of every size.
        allow_reads: compute while recording, so that ``item()``, ``bool()`` and printing work; what
            they gave is part of the program from then on. Needs ``dynamic=False``.
        retrace: record again for arguments that the program refuses, instead of raising.
        value_sizes: let results have sizes that values decide, as those of masks and
            ``nonzero()``, and sizes that ``dynamic`` names vary in any way. Sizes without a name
            are fixed. It is recorded with invented sizes, and warns where Python takes another
            path for some.

    Returns:
        The program. Parameters it captured are shared with the module.

    Raises:
        TraceError: Python did something that a trace cannot hold.

    Example:
        >>> import flambeau
        >>> from flambeau import jit
        >>> program = jit.trace(lambda x: (x * 2).sum(1), flambeau.ones(4, 3))
        >>> print(program.graph)
        graph(%0: float32[N, 3]):
            %1: float32[N, 3] = mul(%0, other=2)
            %2: float32[N] = sum(%1, dim=[1])
            return %2
        >>> program(flambeau.ones(2, 3))
        tensor([6., 6.])
    """
    several = isinstance(example_inputs, list | tuple)
    args = list(example_inputs) if several else [example_inputs]
    if value_sizes:
        return _with_value_sizes(fn, args, dict(example_kwarg_inputs or {}), dynamic)
    examples: list[Tensor] = []
    takes = flatten(pack(args, dict(example_kwarg_inputs or {})), examples)
    marks, base = mark_sizes(examples, dynamic)
    if allow_reads and base:
        raise TraceError(
            "allow_reads computes on the example alone: say that all sizes are fixed with "
            "dynamic=False"
        )
    session = Session(fn, takes, examples, marks, allow_reads)
    session.is_named = isinstance(dynamic, Mapping)
    try:
        graph, gives = session.graph(base)
        session.check_arrays(graph, {} if graph.fixed else base)
        training = getattr(fn, "training", None)
        again = partial(_trace_again, fn, dynamic=dynamic, check=check) if retrace else None
        program = Program(optimized(graph), takes, gives, training, again)
        base = {} if graph.fixed else base
        verify(fn, program, examples, session.marks, base, thorough=check)
    finally:
        session.restore()
    return program


def _with_value_sizes(fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any],
                      dynamic: Dynamic) -> Program:
    from flambeau.jit.recording.value_traces import trace_with_value_sizes

    named = dynamic if isinstance(dynamic, Mapping) else None
    program, *others = trace_with_value_sizes(fn, args, kwargs, named)
    for what, why in zip(("numbers of elements", "sizes of inputs", "sizes: these are fixed"),
                         others, strict=True):
        if why:
            warnings.warn(f"trace(): the program is not known to be right for all {what}, and "
                          f"will not refuse others; {why.removeprefix('; ')}", stacklevel=3)
    return program


def _trace_again(fn: Callable[..., Any], *args: Any, dynamic: Dynamic, check: bool,
                 **kwargs: Any) -> Program:
    """A program for arguments that the first one refuses."""
    return trace(fn, args, example_kwarg_inputs=kwargs, dynamic=dynamic, check=check)


class Session:
    """One function, recorded at several sizes."""

    def __init__(
        self, fn: Callable[..., Any], takes: Spec, examples: Sequence[Tensor], marks: Marks,
        compute: bool,
    ) -> None:
        self.fn = fn
        self.takes = takes
        self.examples = examples
        self.marks = marks
        self.compute = compute
        self.is_named = False
        self.leaves: list[Tensor] = []
        self.steps: list[Stepped] = []
        self.names = tensor_names(fn)

    def graph(self, base: dict[str, int]) -> tuple[Graph, Spec]:
        """The graph for all sizes that give the same; others are left out, and said why.

        Gradients that are there before may not matter: then the function does the same whether
        there are some or none. What it does must be the same twice in any case.
        """
        graph, _ = self.record(choose_sizes(base)[0])
        self.leaves = [grad.tensor for grad in graph.grads if grad.leaf not in graph.inputs]
        if self.leaves:
            try:
                return self.sized(base)
            except EscapeError:
                raise
            except TraceError:
                self.leaves = []
        return self.sized(base)

    def sized(self, base: dict[str, int]) -> tuple[Graph, Spec]:
        """The graph with sizes nearby; with fixed ones where no others give the same."""
        if not base:
            return self.recordings([{}, {}]).joined()
        why: Exception | None = None
        for steps in STEPS:
            samples = choose_sizes(base, steps)
            if min(size for sizes in samples for size in sizes.values()) < 1:
                continue
            try:
                found = self.recordings(samples)
                graph, gives = found.joined()
            except EscapeError:         # what Python kept is NaN now
                raise
            except Exception as error:
                why = why or error
                continue
            self.mark_inputs(graph)
            graph.limits = {name: found.limits(name, self.most(name)) for name in base}
            if all(size in graph.range_of(name) for name, size in base.items()):
                return graph, gives
            why = why or TraceError("the example's size is one that the function treats apart")
        assert why is not None
        if not self.is_named:
            return self.fixed(why)
        if isinstance(why, TraceError):
            raise why
        names = ", ".join(f"{name} (here {size})" for name, size in base.items())
        raise TraceError(
            f"{location(self.fn)}: dynamic= lets {names} vary, but with other sizes than the "
            f"example's this raises {type(why).__name__}: {why}. What has a size of its own, such "
            "as a buffer, has to follow the inputs' sizes; or leave out the sizes that cannot vary"
        ) from why

    def recordings(self, samples: list[dict[str, int]]) -> Recordings:
        return Recordings(self.record, self.leaves, samples, location(self.fn))

    def fixed(self, why: Exception) -> tuple[Graph, Spec]:
        """The graph for the example's sizes alone."""
        marks, self.marks = self.marks, [{} for _ in self.marks]
        try:
            graph, gives = self.recordings([{}, {}]).joined()
        except Exception as error:
            self.marks = marks
            if not isinstance(why, TraceError):     # of sizes that nobody gave
                raise error from None
            raise why from None
        graph.fixed = str(why)
        return graph, gives

    def most(self, name: str) -> int:
        """The largest size that is tried for a symbol."""
        rest = [tensor.numel() // max(tensor.shape[d], 1)
                for tensor, dims in zip(self.examples, self.marks, strict=True)
                for d, other in dims.items() if other == name]
        return min(4096, 2**24 // max([1, *rest]))

    def mark_inputs(self, graph: Graph) -> Graph:
        """Check that the inputs got the symbols they were given."""
        for value, dims in zip(graph.inputs, self.marks, strict=True):
            assert all(value.shape[d] == symbol(name) for d, name in dims.items())
        return graph

    def recorder(self) -> Recorder:
        return Recorder(names=self.names, compute=self.compute)

    def record(
        self, sizes: Mapping[str, int], free_grads: Sequence[Tensor] = ()
    ) -> tuple[Graph, Spec]:
        """One recording."""
        recorder = self.recorder()
        inputs = [
            self.copy(example) if self.compute else resize(example, dims, sizes)
            for example, dims in zip(self.examples, self.marks, strict=True)
        ]
        outputs: list[Tensor] = []
        packed = unflatten(self.takes, inputs)
        events = recorder.events
        try:
            for tensor in inputs:
                recorder.add_input(tensor)
            if free_grads:
                events.exchange_grads(free_grads)
            with bridge.interpose(recorder.call, events.on_read, events.on_change), \
                    recording(recorder):
                gives = self.result(packed, outputs)
                graph = recorder.finish(outputs)
        finally:
            recorder.busy = True
            recorder.restore()
            self.steps += recorder.graph.steps
        memories = [memory for memory in recorder.memories.values() if memory.where]
        del outputs, inputs, packed, events
        recorder.events.leaves.clear()
        _refuse_escapes(memories)
        return graph, gives

    def check_arrays(self, graph: Graph, sizes: Mapping[str, int]) -> None:
        """Refuse a function that writes to captured memory through NumPy or a buffer.

        It computes nothing while it is recorded: what changes in memory was changed by Python.
        """
        shared = [capture.tensor.data for capture in graph.captures
                  if not capture.constant and not bridge.is_private(capture.tensor)
                  and bridge.is_writable(capture.tensor)]
        if self.compute or not shared:
            return
        before = [bridge.clone(tensor) for tensor in shared]
        other = [bridge.flipped(tensor) for tensor in shared]
        bridge.copy_all(shared, other)
        try:
            with suppress(Exception):       # Python may have read it
                self.record(sizes)
            written = [not bridge.same_bits(*pair) for pair in zip(shared, other, strict=True)]
        finally:
            bridge.copy_all(shared, before)
        if any(written):
            raise TraceError(
                f"{location(self.fn)}: memory of a captured tensor is written through NumPy or a "
                "buffer, which a program does not repeat; write with operators, or outside what is "
                "traced")

    def restore(self) -> None:
        """Set optimizers back to where they were; their counts differ from recording to recording,
        so that what depends on them shows."""
        for step in reversed(self.steps):
            step.restore()

    def copy(self, example: Tensor) -> Tensor:
        copy = bridge.clone(example.detach())
        if example.requires_grad:
            copy.requires_grad = True
        return copy

    def result(self, packed: Any, outputs: list[Tensor]) -> Spec:
        args, kwargs = unpack(packed)
        result = self.fn(*args, **kwargs)
        try:
            return flatten(result, outputs)
        except TypeError as error:
            raise TraceError(f"{location(self.fn)}: {error}") from None


def _refuse_escapes(memories: list[Memory]) -> None:
    """Raise when Python kept a tensor that was never computed, after making it NaN."""
    if not any(memory.is_held for memory in memories):
        return
    gc.collect()
    held = [memory for memory in memories if memory.is_held]
    for memory in held:
        bridge.poison(memory.root)
    for memory in held:
        raise EscapeError(
            f"{memory.where}: the tensor made here is still held after the call, in an "
            "attribute, a list or an optimizer's state, but it was never computed (it is NaN now): "
            "return it instead; take an optimizer's first step before tracing; or use "
            "flambeau.compile, which computes what Python keeps"
        )


def tensor_names(fn: Callable[..., Any]) -> dict[int, str]:
    """Names of a module's parameters and buffers, by ``id``."""
    module = fn if hasattr(fn, "named_parameters") else getattr(fn, "__self__", None)
    names: dict[int, str] = {}
    for kind in ("named_parameters", "named_buffers"):
        for name, tensor in getattr(module, kind, tuple)():
            names.setdefault(id(tensor), name)
    return names


__all__ = ["Dynamic", "Session", "tensor_names", "trace"]
