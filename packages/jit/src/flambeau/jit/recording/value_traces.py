"""Programs with sizes that depend on values: what ``onnx.export`` writes of such functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flambeau.jit import bridge
from flambeau.jit.dims import Dim, Size, evaluate, shape_for, symbol
from flambeau.jit.errors import TraceError
from flambeau.jit.interpreter import Executor, Scalars
from flambeau.jit.ir import Arg, Graph, values_in
from flambeau.jit.locations import location
from flambeau.jit.opset import NMS, NUMBER
from flambeau.jit.programs.program import Program, pack
from flambeau.jit.recording.recorder import Recorder
from flambeau.jit.recording.tracing import Session
from flambeau.jit.recording.unify import Fit, Sizes, unify, unwrap
from flambeau.jit.recording.value_sizes import FINDERS, Key, ValueSizes, answered
from flambeau.jit.recording.verify import verify
from flambeau.jit.tree import Spec, flatten, text_of

#: Recordings with invented sizes: in so many no number equals a multiple of a size by chance.
RECORDINGS = 8

#: How often they are made anew, since what is found to depend on sizes changes others.
ROUNDS = 6

#: Numbers of elements that are tried in any case, and where comparisons are lost sight of.
TRIED, UNSEEN = (0, 1, 2, 203), (5, 9, 17, 33, 65, 129, 257, 513, 1025)

Recording = tuple[Graph, Spec, ValueSizes]


def trace_with_value_sizes(fn: Callable[..., Any], args: Sequence[Any],
                           kwargs: Mapping[str, Any]) -> tuple[Program, str]:
    """Record a function of tensors of fixed sizes, whose results may have sizes that values decide.

    It is recorded with several invented sizes, and with all of them 0, 1, large, and around what
    Python compares them with.

    Returns:
        The program, and what it does otherwise for which of these sizes; empty where nothing.

    Raises:
        TraceError: something else depends on values, or a size that they decide has no form.
    """
    examples: list[Any] = []
    takes = flatten(pack(list(args), dict(kwargs)), examples)
    session = _Session(fn, takes, examples, [{} for _ in examples], False)
    try:
        graph, gives, why = session.with_value_sizes()
        session.check_arrays(graph, {})
        program = Program(graph, takes, gives, getattr(fn, "training", None))
        verify(fn, program, examples, session.marks, {}, thorough=False)
    finally:
        session.restore()
    return program, why


class _Session(Session):
    """One function, recorded with several sizes that its values may have."""

    value_sizes = ValueSizes(0)

    def recorder(self) -> Recorder:
        return Recorder(names=self.names, value_sizes=self.value_sizes)

    def recorded(self, value_sizes: ValueSizes) -> Recording:
        """One recording, and the sizes in it."""
        self.value_sizes = value_sizes
        graph, gives = self.record({})
        return graph, gives, value_sizes

    def with_value_sizes(self) -> tuple[Graph, Spec, str]:
        """The graph for all sizes that give the same, and what is otherwise for others."""
        answers: dict[Key, bool] = {}
        self.recorded(ValueSizes(0))        # what a module computes once is there afterwards
        for _ in range(ROUNDS):
            found = [self.recorded(ValueSizes(seed, answers)) for seed in range(RECORDINGS)]
            asked = [sizes.questions for _, _, sizes in found]
            before, answers = answers, {
                key: answered([each[key] for each in asked])
                for key in asked[0] if all(key in each for each in asked)}
            if answers == before:
                graph, fit = self.joined(found)
                return graph, found[0][1], self.differences(found, graph, fit, answers)
        raise TraceError(f"{location(self.fn)}: what depends on sizes that values decide changes "
                         "from call to call")

    def joined(self, found: Sequence[Recording]) -> tuple[Graph, Fit]:
        """One graph for several recordings, and what found the sizes in it."""
        sizes = [each.sizes for _, _, each in found]
        if len({tuple(each) for each in sizes}) > 1 or len({text_of(g) for _, g, _ in found}) > 1:
            raise TraceError(f"{location(self.fn)}: Python takes another path where values find "
                             "other numbers of elements")
        fit = _ValueFit(sizes)
        return unify([graph for graph, _, _ in found], sizes, fit), fit

    def differences(self, found: Sequence[Recording], graph: Graph, fit: Fit,
                    answers: Mapping[Key, bool]) -> str:
        """What Python does otherwise, for numbers of elements from small to large."""
        why = ""
        for number, where in sorted(_numbers(found, fit).items()):
            try:
                other = self.recorded(ValueSizes(0, answers, number, len(found[0][2].sizes)))
                if number > 1 or not _gives_alike(graph, other[0], number):
                    self.joined([*found, other])
                elif not number:
                    _run_on_none(graph, self.examples)
            except Exception as error:
                at = f"Python takes another path at {where}" if where else str(error)
                why += f"; for {number} elements {at}"
                if number > 1:
                    break
        return why


def _numbers(found: Sequence[Recording], fit: Fit) -> dict[int, str]:
    """The numbers of elements at which Python may do something else, with the line."""
    numbers = dict.fromkeys(TRIED, "")
    for column in zip(*(each.compared for each, _, _ in found), strict=False):
        shapes = {tuple(value.shape[d] for value, d in each.sources) for each in column}
        if len(shapes) == 1:
            continue
        left, right = (unwrap(fit.number([getattr(each, side) for each in column]))
                       for side in ("left", "right"))
        turns = _turns(left, right) if all(each.is_linear for each in column) else set(UNSEEN)
        for number in turns:
            numbers[number] = numbers.get(number) or column[0].where
    return numbers


def _gives_alike(graph: Graph, other: Graph, number: int) -> bool:
    """Whether results are of the same types where values find no elements, or one.

    None is a case of its own in many functions, which then give nothing; and the memory of one
    lies in another order, so that other operators may be called for it.
    """
    sizes = dict.fromkeys(graph.symbols, number)
    shapes = [tuple(evaluate(size, sizes) for size in value.shape) for value in graph.outputs]
    return (number > 0 or all(0 in shape for shape in shapes)) and [
        (value.shape, value.dtype) for value in other.outputs] == [
        (shape, value.dtype) for shape, value in zip(shapes, graph.outputs, strict=True)]


def _run_on_none(graph: Graph, inputs: Sequence[Any]) -> None:
    """Run a graph on inputs in which its values find nothing, whatever there is.

    Raises:
        Exception: an operator refuses it, or gives another shape than the graph says.
    """
    executor, sizes = Executor(graph), dict.fromkeys(graph.symbols, 0)
    values: dict[Any, Any] = dict(zip(
        executor.outside, [*inputs, *(each.tensor for each in graph.captures)], strict=True))
    values.update({value: bridge.clone(values[value]) for value in executor.copied})
    for node, step in zip(graph.nodes, executor.steps, strict=True):
        shapes = [shape_for(value.shape, sizes) for value in node.outputs]
        if node.op in (*FINDERS, NMS, NUMBER):
            results: Sequence[Any] = [bridge.empty_on(shape, value.dtype, value.device)
                                      for shape, value in zip(shapes, node.outputs, strict=True)]
        elif node.op == "view":         # with no -1, which is none of no elements
            results = bridge.call("view", [values[node.args[0]], shapes[0]])
        else:
            results = bridge.without_history(step.run, values, Scalars(sizes))
        if [tuple(each.shape) for each in results] != shapes:
            raise TraceError(f"{node.where}: {node.op}() gives another shape")
        values.update(zip(node.outputs, results, strict=True))


def _turns(left: Any, right: Any) -> set[int]:
    """Numbers around the one at which a size and a number, or a multiple of it, are equal."""
    if isinstance(right, Dim):
        left, right = right, left
    if not isinstance(left, Dim) or not isinstance(right, int | float):
        return set(UNSEEN)
    at = (right - left.offset) // sum(factor for _, factor in left.terms)
    return {int(at) + by for by in (-1, 0, 1) if 0 <= at + by}


class _ValueFit(Fit):
    """Finds the size, or the sum of sizes that an operator made, of which a number is a multiple.

    Args:
        sizes: the invented sizes of each recording.
    """

    def __init__(self, sizes: Sequence[Sizes]) -> None:
        super().__init__(sizes)
        self.by_growth: dict[tuple[int, ...], Dim] = {}
        for name in sizes[0]:
            self.learn(symbol(name))

    def learn(self, dim: Dim) -> None:
        """Know a sum of sizes by how it differs from recording to recording."""
        growth, unit = _growth([int(dim.evaluate(sizes)) for sizes in self.sizes])
        if unit and self.by_growth.setdefault(growth, dim).names != dim.names:
            raise TraceError(f"the sizes {dim} and {self.by_growth[growth]} depend on values, and "
                             "recordings did not tell them from each other")

    def expression(self, values: list[int], form: str) -> Dim | None:
        growth, unit = _growth(values)
        known = self.by_growth.get(growth)
        if known is None:
            return None
        _, own = _growth([int(known.evaluate(sizes)) for sizes in self.sizes])
        factor, rest = divmod(unit, own)
        terms = tuple((name, factor * each) for name, each in known.terms)
        offset = values[0] - int(Dim(terms).evaluate(self.sizes[0]))
        found = Dim(terms, offset, form)
        return found if not rest and self.gives(Dim(terms, offset), values) else None

    def expect(self, op: str, args: tuple[Arg, ...]) -> None:
        """Joined tensors have the sum of their sizes."""
        if op != "cat":
            return
        shapes = [value.shape for value in values_in(args)]
        for column in zip(*shapes, strict=False):
            if any(isinstance(size, Dim) for size in column):
                self.learn(_sum(column))


def _sum(sizes: Sequence[Size]) -> Dim:
    terms: dict[str, int] = {}
    offset = 0
    for size in sizes:
        offset += size.offset if isinstance(size, Dim) else size
        for name, factor in size.terms if isinstance(size, Dim) else ():
            terms[name] = terms.get(name, 0) + factor
    return Dim(tuple(sorted(terms.items())), offset)


def _growth(values: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """How numbers differ from the first, by the greatest unit; and this unit, with a sign."""
    steps = [value - values[0] for value in values[1:]]
    unit = math.gcd(*steps)
    if next((step for step in steps if step), 0) < 0:
        unit = -unit
    return tuple(step // unit for step in steps) if unit else (), unit
