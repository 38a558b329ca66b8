"""From recordings at several sizes to one graph for all sizes.

The function is recorded with several sizes of each symbol. Where a number in the recordings is
the same, it is a constant; where it is a sum of multiples of the sizes, or a multiple of a product
of two or three of them, it becomes a ``Dim``; anything else, and any other difference, is an error
that names the line. The sizes are chosen so that a counter, a square or a rounded half cannot pass
for a multiple.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from flambeau.jit import bridge
from flambeau.jit.dims import Dim, factors
from flambeau.jit.errors import TraceError
from flambeau.jit.ir import Arg, Capture, Grad, Graph, Node, Value
from flambeau.jit.literals import show
from flambeau.jit.opset import find_opdef
from flambeau.jit.recording.fit import Fit, Same, Sizes, evaluate_at, unwrap


@dataclass
class Bounds:
    """Where Python may begin to do something else.

    Args:
        lines: for each symbol the sizes at which a comparison turns, and the line.
        uncertain: a line that compares what is no sum of multiples of sizes; empty: there is none.
    """

    lines: dict[str, dict[int, str]]
    uncertain: str = ""


def find_bounds(graphs: Sequence[Graph], sizes: Sequence[Sizes]) -> Bounds:
    """What the comparisons in recordings that agree say of other sizes."""
    unifier = _Unifier(graphs, sizes)
    unifier.run()
    return unifier.bounds()


def unify(graphs: Sequence[Graph], sizes: Sequence[Sizes], fit: Fit | None = None) -> Graph:
    """One graph for all sizes.

    Args:
        graphs: recordings of the same function.
        sizes: the symbols' sizes in each.
        fit: finds expressions of them; those of sizes that are chosen one by one if not given.

    Raises:
        TraceError: the recordings differ in more than sizes.
    """
    return _Unifier(graphs, sizes, fit).run()


class _Unifier:
    def __init__(self, graphs: Sequence[Graph], sizes: Sequence[Sizes], fit: Fit | None = None,
                 is_inside: bool = False) -> None:
        self.graphs = graphs
        self.is_inside = is_inside
        self.sizes = sizes
        self.fit = fit or Fit(sizes)
        self.new: list[dict[Value, Value]] = [{} for _ in graphs]

    def run(self) -> Graph:
        first = self.graphs[0]
        inputs = [self.value(c, "an input") for c in self.columns("inputs")]
        captures = [self.capture(c) for c in self.columns("captures")]
        nodes: list[Node] = []
        for column in self.columns("nodes"):
            made = self.node(column)
            nodes += [made] if self.is_inside else [*self.fit.needed(), made]
        self.same_count("outputs")
        grads = [self.grad(column) for column in self.columns("grads")]
        return Graph(
            inputs=inputs,
            captures=captures,
            nodes=nodes,
            outputs=[self.new[0][value] for value in first.outputs],
            requires=first.requires,
            input_requires=first.input_requires,
            grads=grads,
            reads=first.reads,
            steps=self.steps(),
            no_history=first.no_history,
            defaults=first.defaults,
            symbols={name: tuple(s[name] for s in self.sizes) for name in self.sizes[0]},
        )

    def bounds(self) -> Bounds:
        found = Bounds({name: {} for name in self.sizes[0]})
        logs = [graph.compared for graph in self.graphs]
        if len({len(log) for log in logs}) > 1:
            varied = [c for log in logs for c in log if self.varies(c, logs)]
            found.uncertain = varied[0].where if varied else ""
            return found
        for column in zip(*logs, strict=True):
            first = column[0]
            if not self.varies(first, logs):
                continue
            left = self.fit.number([each.left for each in column])
            right = self.fit.number([each.right for each in column])
            if not first.is_linear or not (_is_sum(left) and _is_sum(right)):
                found.uncertain = found.uncertain or first.where
                continue
            self.add_places(found, unwrap(left), unwrap(right), first.where)
        return found

    def varies(self, comparison: Any, logs: Sequence[Any]) -> bool:
        """Whether a size went into it that is not the same in every run."""
        for value, d in comparison.sources:
            unified = next((new[value] for new in self.new if value in new), None)
            if unified is None or isinstance(unified.shape[d], Dim):
                return True
        return False

    def add_places(self, found: Bounds, left: Any, right: Any, where: str) -> None:
        base = self.sizes[0]
        for name in base:
            at = [evaluate_at(side, {**base, name: size}) for size in (0, 1)
                  for side in (left, right)]
            offset, slope = at[0] - at[1], (at[2] - at[3]) - (at[0] - at[1])
            if slope:
                found.lines[name].setdefault(int(-offset // slope), where)

    def columns(self, name: str) -> list[tuple[Any, ...]]:
        """The n-th part of every recording together, up to where one ends."""
        parts = [getattr(graph, name) for graph in self.graphs]
        shortest = min(map(len, parts))
        if max(map(len, parts)) > shortest:
            if name == "nodes":
                for column in zip(*parts, strict=False):
                    self.node(column)  # the first difference is the better message
            longest = max(parts, key=len)
            self.fail(getattr(longest[shortest], "where", ""), "Python did more for some sizes")
        return list(zip(*parts, strict=True))

    def same_count(self, *names: str) -> None:
        for name in names:
            for graph, new in zip(self.graphs, self.new, strict=True):
                found = [_through(item, new) for item in getattr(graph, name)]
                base = [_through(item, self.new[0]) for item in getattr(self.graphs[0], name)]
                if found != base:
                    self.fail("", f"the {name} are not the same tensors for all sizes")

    def value(self, column: Sequence[Value], what: str, where: str = "",
              is_result: bool = False) -> Value:
        first = column[0]
        shape = self.fit.shape([value.shape for value in column], is_result)
        if shape is None or any(v.dtype != first.dtype for v in column):
            shapes = ", ".join(f"{v.dtype}{list(v.shape)}" for v in column)
            self.fail(where, f"{what} is {shapes}, which no sums of multiples of the sizes, and no "
                      "products of two or three, give")
        found = Value(shape, first.dtype, first.device)
        for old, new in zip(column, self.new, strict=True):
            new[old] = found
        self.fit.met(first, found)
        return found

    def capture(self, column: Sequence[Capture]) -> Capture:
        first = column[0]
        value = self.value([c.value for c in column], f"the captured tensor {first.name!r}")
        if not first.constant and len({bridge.extent(c.tensor) for c in column}) == 1:
            return replace(first, value=value)
        where = self.first_use(first)
        if any(isinstance(size, Dim) for size in value.shape) or not all(
            bridge.equal(c.tensor, first.tensor) for c in column[1:]
        ):
            self.fail(
                where,
                "a tensor made from Python numbers differs from run to run; make it with an "
                "operator on the inputs, such as arange(x.shape[0]) or x.new_full(...)",
            )
        return replace(first, value=value, constant=True)

    def grad(self, column: Sequence[Grad]) -> Grad:
        """What is left in a leaf; what has to be there before, unless it never matters."""
        leaves = {new[grad.leaf] for grad, new in zip(column, self.new, strict=True)}
        values = {None if grad.value is None else new[grad.value]
                  for grad, new in zip(column, self.new, strict=True)}
        if len(leaves) > 1 or len(values) > 1:
            self.fail("", "the gradients that are left are not the same for all recordings")
        needs = {grad.needs for grad in column}
        return Grad(leaves.pop(), values.pop(), needs.pop() if len(needs) == 1 else "",
                    column[0].before)

    def steps(self) -> list[Any]:
        """The optimizers that took steps, in the same way each time."""
        for column in self.columns("steps"):
            first = column[0]
            if any((each.optimizer, each.grown, each.options) != (
                    first.optimizer, first.grown, first.options) for each in column):
                self.fail(first.where, f"{first.kind} does not count the same for all recordings")
        return self.graphs[0].steps

    def first_use(self, capture: Capture) -> str:
        users = (n.where for n in self.graphs[0].nodes if capture.value in n.inputs)
        return next(users, "")

    def node(self, column: Sequence[Node]) -> Node:
        first = column[0]
        other = next((n for n in column if n.op != first.op or len(n.into) != len(first.into)),
                     None)
        if other is not None:
            self.fail(
                first.where,
                f"{first.op}() is called here, but {other.op}() at {other.where} for another "
                "size: Python takes another path",
            )
        args = tuple(
            self.argument([n.args[i] for n in column], first, i) for i in range(len(first.args))
        )
        self.fit.expect(first.op, args)
        outputs = tuple(
            self.value(values, f"a result of {first.op}()", first.where, not self.is_inside)
            for values in zip(*(n.outputs for n in column), strict=True)
        )
        into = tuple(self.argument(values, first, 0)
                     for values in zip(*(n.into for n in column), strict=True))
        regions = tuple(_Unifier(graphs, self.sizes, self.fit, is_inside=True).run()
                        for graphs in zip(*(n.regions for n in column), strict=True))
        return replace(first, args=args, outputs=outputs, into=into, regions=regions)

    def argument(self, column: Sequence[Any], node: Node, number: int) -> Arg:
        first = column[0]
        if any(type(arg) is not type(first) for arg in column):
            self.differ(column, node, number)
        if isinstance(first, Value):
            values = {new.get(arg) for arg, new in zip(column, self.new, strict=True)}
            if len(values) != 1:
                self.fail(node.where, f"{node.op}() takes other tensors for another size")
            return values.pop()
        if isinstance(first, tuple):
            if len({len(arg) for arg in column}) != 1:
                self.differ(column, node, number)
            return tuple(
                self.argument(part, node, number) for part in zip(*column, strict=True)
            )
        found = self.fit.number(column)
        if found is None and all(type(arg) is int for arg in column):
            found = self.fit.calculated(column)
        if found is None:
            self.differ(column, node, number)
        return unwrap(found)

    def differ(self, column: Sequence[object], node: Node, number: int) -> NoReturn:
        opdef = find_opdef(node.op)
        name = opdef.params[number].name if opdef is not None else f"number {number}"
        values = ", ".join(map(show, column))
        steps = [step for step in self.graphs[0].steps if node.op.startswith("optim_")]
        if steps:
            kind = next((step.kind for step in steps if step.where == node.where), steps[0].kind)
            self.fail(node.where, f"{kind} computes the argument {name!r} of {node.op}() from its "
                      f"count of steps in Python, so that it changes from call to call ({values}), "
                      "which a program cannot hold; call optimizer.step() outside what is traced, "
                      "or use flambeau.compile")
        self.fail(
            node.where,
            f"the argument {name!r} of {node.op}() is {values}: only sums of multiples of a size, "
            "multiples of a product of two or three, and one over them, can be kept; compute it "
            "with operators on the inputs, write y / x.shape[0] instead of y * (c / x.shape[0]), "
            "or fix the size with dynamic=False",
        )

    def fail(self, where: str, why: str) -> NoReturn:
        at = f"{where}: " if where else ""
        tried = "; ".join(
            ", ".join(f"{name}={size}" for name, size in sizes.items()) for sizes in self.sizes
        )
        raise TraceError(f"{at}{why} (recorded with {tried or 'the same sizes'})")


def _is_sum(found: Same | Dim | None) -> bool:
    """Whether something was found, and it grows with each symbol alone."""
    return found is not None and not (
        isinstance(found, Dim) and any(len(factors(name)) > 1 for name, _ in found.terms))


def _through(item: Any, new: dict[Value, Value]) -> object:
    return tuple(new[v] for v in item) if isinstance(item, tuple) else new[item]
