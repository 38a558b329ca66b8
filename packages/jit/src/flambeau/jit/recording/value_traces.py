"""Programs with sizes that depend on values: what ``onnx.export`` writes of such functions."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from flambeau.jit import bridge
from flambeau.jit.dims import Dim, evaluate
from flambeau.jit.errors import TraceError
from flambeau.jit.interpreter import Executor, Scalars
from flambeau.jit.ir import Graph, Limits
from flambeau.jit.locations import location
from flambeau.jit.opset import NMS, NUMBER
from flambeau.jit.programs.program import Program, pack
from flambeau.jit.recording.copies import align_copies
from flambeau.jit.recording.fit import unwrap
from flambeau.jit.recording.matching import check_alike
from flambeau.jit.recording.recorder import Recorder
from flambeau.jit.recording.traced_sizes import Log
from flambeau.jit.recording.tracing import Session
from flambeau.jit.recording.unify import unify
from flambeau.jit.recording.value_fit import ValueFit
from flambeau.jit.recording.value_sizes import FINDERS, Answer, Key, ValueSizes, answered
from flambeau.jit.recording.verify import verify
from flambeau.jit.sizes import mark_sizes
from flambeau.jit.tree import Spec, flatten, text_of

#: Recordings with invented sizes: in so many no number equals a multiple of a size by chance.
RECORDINGS = 8

#: With how many choices of the named sizes of inputs, and how often each.
CHOICES, TIMES = 8, 2

#: The range of these sizes as parts of the example's, and what they are multiples of beside it:
#: each is tried where the function raises for the ones before.
RANGES = ((0.25, 4, 1), (0.5, 2, 1), (1, 2, 1), (0.5, 3, 32), (1, 3, 64))

#: How often they are made anew, since what is found to depend on sizes changes others.
ROUNDS = 6

#: Numbers of elements that are tried in any case, and where comparisons are lost sight of.
TRIED, UNSEEN = (0, 1, 2, 203), (5, 9, 17, 33, 65, 129, 257, 513, 1025)

#: Sizes of inputs that are tried in any case, and where comparisons are lost sight of.
SMALL, FAR = (1, 2, 3), (9, 17, 65, 257, 513)

#: At how many sizes of one name a function is tried.
TRIALS = 20

Recording = tuple[Graph, Spec, ValueSizes]


class Found(NamedTuple):
    """A program, and where the function does something else.

    Args:
        program: the program.
        elements: for which numbers of elements that values find; empty where for none.
        sizes: for which sizes of inputs.
        fixed: the named sizes that do not vary.
    """

    program: Program
    elements: str
    sizes: str
    fixed: str


def trace_with_value_sizes(fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any],
                           dynamic: Mapping[int, Mapping[int, str]] | None = None
                           ) -> Found:
    """Record a function whose results may have sizes that values decide, or any of the inputs'.

    It is recorded with several invented sizes, and with all of them 0, 1, large, and around what
    Python compares them with; with inputs of several sizes where these are named.

    Raises:
        TraceError: something else depends on values, or a size that they decide has no form.
    """
    examples: list[Any] = []
    takes = flatten(pack(list(args), dict(kwargs)), examples)
    marks, base = mark_sizes(examples, dynamic or False)
    session = _Session(fn, takes, examples, marks, False)
    session.sums = _sums(base)
    try:
        graph, gives = session.with_value_sizes(base)
        session.check_arrays(graph, base)
        program = Program(graph, takes, gives, getattr(fn, "training", None))
        verify(fn, program, [each.contiguous() for each in examples], [{} for _ in examples], {},
               thorough=False, to_bits=not session.value_sizes.is_told)
    finally:
        session.restore()
    return Found(program, session.elements, session.sizes, session.fixed_sizes)


class _Session(Session):
    """One function, recorded with several sizes that its values may have."""

    value_sizes = ValueSizes(0)
    elements = sizes = fixed_sizes = ""
    #: Sizes that are another one and a number: ``past+1``.
    sums: dict[str, tuple[str, int]] = {}

    def recorder(self) -> Recorder:
        return Recorder(names=self.names, value_sizes=self.value_sizes)

    def recorded(self, value_sizes: ValueSizes) -> Recording:
        """One recording, and the sizes in it."""
        self.value_sizes = value_sizes
        named = value_sizes.named
        graph, gives = self.record({**named, **{
            name: named[of] + more for name, (of, more) in self.sums.items() if of in named}})
        return graph, gives, value_sizes

    def with_value_sizes(self, base: dict[str, int]) -> tuple[Graph, Spec]:
        """The graph for all sizes that give the same, and what is otherwise for others."""
        self.recorded(ValueSizes(0, named=base))    # what a module computes once is there then
        if not base:
            return self.chosen([{}] * RECORDINGS)
        self.fix(base)
        why: Exception | None = None
        for choice in RANGES:
            named = _choices(base, *choice)
            try:
                for sizes in named:
                    self.recorded(ValueSizes(0, named=sizes))
            except Exception as error:
                why = why or error
                continue
            return self.chosen(named * TIMES)
        assert why is not None
        if isinstance(why, TraceError):
            raise why
        raise TraceError(f"{location(self.fn)}: with other sizes than the example's this raises "
                         f"{type(why).__name__}: {why}") from why

    def fix(self, base: dict[str, int]) -> None:
        """Leave out the sizes that cannot vary, and make one of those that vary together alone."""
        found: dict[Any, list[str]] = {}
        for dims in self.marks:
            for dim, name in dims.items():
                if name in base:
                    found.setdefault((base[name], dim), []).append(name)
        alone = {name for name in base if self.varies(base, [name])}
        for names in found.values():
            names = list(dict.fromkeys(names))
            stuck = [name for name in names if name not in alone]
            group = next((each for each in (stuck, names) if len(each) > 1 and stuck
                          and self.varies(base, each)), [])
            for dims in self.marks:
                dims.update((dim, group[0]) for dim, name in dims.items() if name in group)
            alone.update(group[:1])
        for name in list(base):
            if not any(name in dims.values() for dims in self.marks):
                del base[name]
        fixed = {name: base.pop(name) for name in list(base) if name not in alone}
        if not base:
            raise TraceError(f"{location(self.fn)}: no size that is named can vary")
        self.marks[:] = [{dim: name for dim, name in dims.items()
                          if self.sums.get(name, (name, 0))[0] in base} for dims in self.marks]
        self.fixed_sizes = ", ".join(f"{name} is {size}" for name, size in fixed.items())

    def varies(self, base: Mapping[str, int], names: Sequence[str]) -> bool:
        """Whether Python does the same for some other size."""
        done: list[list[str]] = []
        for factor, more in ((1, 0), (2, 0), (1, 1), (1, 32), (3, 0), (1, 3)):
            sizes = {**base, **{name: factor * base[name] + more for name in names}}
            try:
                graph = self.recorded(ValueSizes(0, named=sizes))[0]
            except Exception:       # whatever it raises, it is no size for this function
                continue
            done.append([node.op for node in graph.nodes])
            if done[-1] in done[:-1]:
                return True
        return False

    def chosen(self, named: Sequence[Mapping[str, int]]) -> tuple[Graph, Spec]:
        """The graph for these sizes of inputs, each recorded as often as it is there."""
        answers: dict[Key, Answer] = {}
        for _ in range(ROUNDS):
            found = [self.recorded(ValueSizes(seed, answers, named=sizes))
                     for seed, sizes in enumerate(named)]
            asked = [sizes.questions for _, _, sizes in found]
            before, answers = answers, {
                key: answered([each[key] for each in asked], named)
                for key in asked[0] if all(key in each for each in asked)}
            if answers == before:
                graph, fit = self.joined(found)
                graph.limits = {name: Limits(1) for name in named[0]}
                self.elements = self.differences(found, graph, fit, answers)
                self.sizes = "".join(self.other_sizes(found, graph, fit, answers, name)
                                     for name in named[0])
                return graph, found[0][1]
        raise TraceError(f"{location(self.fn)}: what depends on sizes that values decide changes "
                         "from call to call")

    def joined(self, found: Sequence[Recording]) -> tuple[Graph, ValueFit]:
        """One graph for several recordings, and what found the sizes in it."""
        sizes = [{**each.named, **each.sizes} for _, _, each in found]
        align_copies([graph for graph, _, _ in found])
        if len({tuple(each) for each in sizes}) > 1 or len({text_of(g) for _, g, _ in found}) > 1:
            raise TraceError(f"{location(self.fn)}: Python takes another path where values find "
                             "other numbers of elements")
        fit = ValueFit(sizes, cast(Log, found[0][0].compared).computed)
        return unify([graph for graph, _, _ in found], sizes, fit), fit

    def differences(self, found: Sequence[Recording], graph: Graph, fit: ValueFit,
                    answers: Mapping[Key, Answer]) -> str:
        """What Python does otherwise, for numbers of elements from small to large."""
        why = ""
        first = found[0][2]
        if not first.sizes:
            return why
        for number, where in sorted(_numbers(found, fit).items()):
            try:
                other = self.recorded(ValueSizes(0, answers, number, len(first.sizes),
                                                 first.named))
                if number > 1 or not _gives_alike(graph, other[0], {
                        **first.named, **dict.fromkeys(first.sizes, number)}, number):
                    self.check(found, graph, fit, other)
                elif not number:
                    _run_on_none(graph, self.examples, first.sizes)
            except Exception as error:
                at = f"Python takes another path at {where}" if where else str(error)
                why += f"; for {number} elements {at}"
                if number > 1:
                    break
        return why


    def other_sizes(self, found: Sequence[Recording], graph: Graph, fit: ValueFit,
                    answers: Mapping[Key, Answer], name: str) -> str:
        """What Python does otherwise for sizes of inputs with this name."""
        why = ""
        first = found[0][2].named
        for size in _sizes_near(found, fit, name)[:TRIALS]:
            try:
                other = self.recorded(ValueSizes(0, answers, named={**first, name: size}))
            except Exception:       # the function itself has no result for it
                continue
            try:
                self.check(found, graph, fit, other)
            except TraceError as error:
                why += f"; for {name} = {size}: {error}"
        return why

    def check(self, found: Sequence[Recording], graph: Graph, fit: ValueFit, other: Recording
              ) -> None:
        """Raise where a recording is not what the graph says of its sizes."""
        align_copies([found[0][0], other[0]])
        if text_of(other[1]) != text_of(found[0][1]):
            raise TraceError("the result is built in another way")
        check_alike(graph, fit, other[0], {**other[2].named, **other[2].sizes})


def _sums(base: dict[str, int]) -> dict[str, tuple[str, int]]:
    """Take the sizes out of the named ones that are others and a number.

    Raises:
        TraceError: they are not, in the example.
    """
    found: dict[str, tuple[str, int]] = {}
    for name in [name for name in base if "+" in name]:
        of, more = name.split("+")
        found[name] = of, int(more)
        if base.pop(name) != base.get(of, -1) + int(more):
            raise TraceError(f"the size {name} is no other one of the example and {more}")
    return found


def _choices(base: Mapping[str, int], least: float, most: float, step: int
             ) -> list[dict[str, int]]:
    """Sizes around the example's, the same never twice: nothing is a multiple by chance."""
    draw = random.Random(0)
    ranges = {name: range(max(2, int(size * least)), max(int(size * most), size + 9))
              for name, size in base.items()}
    if step > 1:
        ranges = {name: range(size % step or step, max(int(size * most), size + 10 * step), step)
                  for name, size in base.items()}
    columns = {name: [max(base[name], 2)] + draw.sample(
        [size for size in sizes if size != max(base[name], 2)], CHOICES - 1)
        for name, sizes in ranges.items()}
    return [{name: column[k] for name, column in columns.items()} for k in range(CHOICES)]


def _numbers(found: Sequence[Recording], fit: ValueFit) -> dict[int, str]:
    """The numbers of elements at which Python may do something else, with the line."""
    numbers = dict.fromkeys(TRIED, "")
    for column in zip(*(each.compared for each, _, _ in found), strict=False):
        if not _depends_on_values(column, [sizes.named for _, _, sizes in found]):
            continue
        left, right = (unwrap(fit.number([getattr(each, side) for each in column]))
                       for side in ("left", "right"))
        turns = _turns(left, right) if all(each.is_linear for each in column) else set(UNSEEN)
        for number in turns:
            numbers[number] = numbers.get(number) or column[0].where
    return numbers


def _sizes_near(found: Sequence[Recording], fit: ValueFit, name: str) -> list[int]:
    """Sizes at which Python may do something else, and some in any case, the likeliest first."""
    near: set[int] = set()
    far: Sequence[int] = ()
    for column in zip(*(each.compared for each, _, _ in found), strict=False):
        left, right = (unwrap(fit.number([getattr(each, side) for each in column]))
                       for side in ("left", "right"))
        own = [side for side in (left, right) if isinstance(side, Dim) and side.names == (name,)]
        if own and all(each.is_linear for each in column):
            near |= _turns(left, right)
        elif len({tuple(value.shape[d] for value, d in each.sources) for each in column}) > 1:
            far = FAR
    most = 2 * max(sizes.named[name] for _, _, sizes in found)
    return [size for size in dict.fromkeys((*SMALL, most, *far, *sorted(near))) if size > 0]


def _depends_on_values(column: Sequence[Any], named: Sequence[Mapping[str, int]]) -> bool:
    """Whether what is compared differs between recordings with the same sizes of inputs."""
    shapes: dict[Any, set[Any]] = {}
    for each, sizes in zip(column, named, strict=True):
        shapes.setdefault(tuple(sizes.items()), set()).add(
            tuple(value.shape[d] for value, d in each.sources))
    return any(len(group) > 1 for group in shapes.values())


def _gives_alike(graph: Graph, other: Graph, sizes: Mapping[str, int], number: int) -> bool:
    """Whether results are of the same types where values find no elements, or one.

    None is a case of its own in many functions, which then give nothing; and the memory of one
    lies in another order, so that other operators may be called for it.
    """
    shapes = [tuple(_size(size, sizes) for size in value.shape) for value in graph.outputs]
    return (number > 0 or all(0 in shape for shape in shapes)) and all(
        one.dtype == value.dtype and len(one.shape) == len(shape) and all(
            size in (None, n) for size, n in zip(shape, one.shape, strict=True))
        for one, value, shape in zip(other.outputs, graph.outputs, shapes, strict=True))


def _size(size: Any, sizes: Mapping[str, int]) -> int | None:
    """A size where its symbols are known."""
    return evaluate(size, sizes) if not isinstance(size, Dim) or {*size.names} <= {*sizes} else None


def _run_on_none(graph: Graph, inputs: Sequence[Any], invented: Mapping[str, int]) -> None:
    """Run a graph on inputs in which its values find nothing, whatever there is.

    Raises:
        Exception: an operator refuses it, or gives another shape than the graph says.
    """
    executor, sizes = Executor(graph), dict.fromkeys(invented, 0)
    for value, each in zip(graph.inputs, inputs, strict=True):
        sizes.update((str(size), n) for size, n in zip(value.shape, each.shape, strict=True)
                     if isinstance(size, Dim))
    values: dict[Any, Any] = dict(zip(
        executor.outside, [*inputs, *(each.tensor for each in graph.captures)], strict=True))
    values.update({value: bridge.clone(values[value]) for value in executor.copied})
    for node, step in zip(graph.nodes, executor.steps, strict=True):
        shapes = [tuple(_size(size, sizes) for size in value.shape) for value in node.outputs]
        if node.op in (*FINDERS, NMS, NUMBER) and None not in shapes[0]:
            results: Sequence[Any] = [
                bridge.empty_on([n for n in shape if n is not None], value.dtype, value.device)
                for shape, value in zip(shapes, node.outputs, strict=True)]
        elif node.op == "view" and None not in shapes[0]:   # with no -1, which is none of none
            results = bridge.call("view", [values[node.args[0]], shapes[0]])
        else:
            results = bridge.without_history(step.run, values, Scalars(sizes))
        for value, shape, result in zip(node.outputs, shapes, results, strict=True):
            if len(shape) != result.dim() or any(
                    size not in (None, n) for size, n in zip(shape, result.shape, strict=True)):
                raise TraceError(f"{node.where}: {node.op}() gives another shape")
            sizes.update((str(size), int(n)) for size, n in zip(
                value.shape, result.shape, strict=True) if str(size) in graph.symbols)
        values.update(zip(node.outputs, results, strict=True))


def _turns(left: Any, right: Any) -> set[int]:
    """Numbers around the one at which a size and a number, or a multiple of it, are equal."""
    if isinstance(right, Dim):
        left, right = right, left
    if not isinstance(left, Dim) or not isinstance(right, int | float):
        return set(UNSEEN)
    at = (right - left.offset) // sum(factor for _, factor in left.terms)
    return {int(at) + by for by in (-1, 0, 1) if 0 <= at + by}
