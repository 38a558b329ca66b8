"""From recordings at several sizes to one graph for all sizes.

The function is recorded with several sizes of each symbol. Where a number in the recordings is
the same, it is a constant; where it is a sum of multiples of the sizes, or a multiple of a product
of two or three of them, it becomes a ``Dim``; anything else, and any other difference, is an error
that names the line. The sizes are chosen so that a counter, a square or a rounded half cannot pass
for a multiple.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Any, NoReturn

from flambeau.jit import bridge
from flambeau.jit.dims import Dim, Size, factors
from flambeau.jit.errors import TraceError
from flambeau.jit.ir import Arg, Capture, Grad, Graph, Node, Value
from flambeau.jit.literals import show
from flambeau.jit.opset import find_opdef

Sizes = dict[str, int]


@dataclass
class Fit:
    """Finds the expression over the symbols that gives a number in every recording.

    Args:
        sizes: the sizes of each recording; the first is the base, and for every symbol there is
            one in which it alone differs from the base.
    """

    sizes: Sequence[Sizes]

    def number(self, values: Sequence[Any]) -> Same | Dim | None:
        """The common literal, or a ``Dim``; ``None`` when there is no such expression."""
        first = values[0]
        if any(type(value) is not type(first) for value in values):
            return None
        if all(_same(value, first) for value in values):
            return Same(first)
        if isinstance(first, bool):
            return None
        if isinstance(first, int):
            return self.expression(list(values), "int")
        if isinstance(first, float):
            return self.floating(list(values))
        return None

    def floating(self, values: list[float]) -> Dim | None:
        whole = [int(v) for v in values if abs(v) < 2**53]
        found = self.expression(whole, "float") if len(whole) == len(values) else None
        if found is not None and self.gives(found, values):
            return found
        if any(not v or abs(v) > 1 for v in values):
            return None
        found = self.expression([round(1 / v) for v in values], "reciprocal")
        return found if found is not None and self.gives(found, values) else None

    def expression(self, values: list[int], form: str) -> Dim | None:
        return self.affine(values, form) or self.product(values, form)

    def product(self, values: list[int], form: str) -> Dim | None:
        """A multiple of two or three symbols' product."""
        for count in (2, 3):
            for names in combinations_with_replacement(sorted(self.sizes[0]), count):
                factor, rest = divmod(values[0], math.prod(self.sizes[0][n] for n in names))
                found = Dim((("*".join(names), factor),))
                if factor and not rest and self.gives(found, values):
                    return replace(found, form=form)
        return None

    def affine(self, values: list[int], form: str) -> Dim | None:
        base = self.sizes[0]
        terms = []
        for name in base:
            slope = self.slope(name, values)
            if slope is None:
                return None
            if slope:
                terms.append((name, slope))
        offset = values[0] - sum(slope * base[name] for name, slope in terms)
        found = Dim(tuple(sorted(terms)), offset)
        return replace(found, form=form) if self.gives(found, values) else None

    def slope(self, name: str, values: list[int]) -> int | None:
        """How much the number grows with one symbol, when that is an integer."""
        base = self.sizes[0]
        for sizes, value in zip(self.sizes, values, strict=True):
            if {n for n in base if sizes[n] != base[n]} == {name}:
                slope, rest = divmod(value - values[0], sizes[name] - base[name])
                return None if rest else slope
        return 0

    def gives(self, dim: Dim, values: Sequence[float]) -> bool:
        pairs = zip(self.sizes, values, strict=True)
        return all(dim.evaluate(sizes) == value for sizes, value in pairs)

    def expect(self, op: str, args: tuple[Arg, ...]) -> None:
        """Be told which operator's results come next, where its arguments say their sizes."""

    def shape(self, shapes: Sequence[tuple[Size, ...]]) -> tuple[Size, ...] | None:
        """A shape for all sizes."""
        if len({len(shape) for shape in shapes}) > 1:
            return None
        found = [self.number(column) for column in zip(*shapes, strict=True)]
        return None if None in found else tuple(unwrap(item) for item in found)


@dataclass(frozen=True)
class Same:
    """A literal that does not change; kept apart from "nothing fits"."""

    value: object


def evaluate_at(side: Any, sizes: Sizes) -> float:
    """A literal or ``Dim`` for given sizes."""
    return side.evaluate(sizes) if isinstance(side, Dim) else side


def unwrap(found: Same | Dim | None) -> Any:
    """The literal or ``Dim`` that ``Fit.number`` found."""
    return found.value if isinstance(found, Same) else found


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
    def __init__(self, graphs: Sequence[Graph], sizes: Sequence[Sizes], fit: Fit | None = None
                 ) -> None:
        self.graphs = graphs
        self.sizes = sizes
        self.fit = fit or Fit(sizes)
        self.new: list[dict[Value, Value]] = [{} for _ in graphs]

    def run(self) -> Graph:
        first = self.graphs[0]
        inputs = [self.value(c, "an input") for c in self.columns("inputs")]
        captures = [self.capture(c) for c in self.columns("captures")]
        nodes = [self.node(column) for column in self.columns("nodes")]
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

    def value(self, column: Sequence[Value], what: str, where: str = "") -> Value:
        first = column[0]
        shape = self.fit.shape([value.shape for value in column])
        if shape is None or any(v.dtype != first.dtype for v in column):
            shapes = ", ".join(f"{v.dtype}{list(v.shape)}" for v in column)
            self.fail(where, f"{what} is {shapes}, which no sums of multiples of the sizes, and no "
                      "products of two or three, give")
        found = Value(shape, first.dtype, first.device)
        for old, new in zip(column, self.new, strict=True):
            new[old] = found
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
            self.value(values, f"a result of {first.op}()", first.where)
            for values in zip(*(n.outputs for n in column), strict=True)
        )
        into = tuple(self.argument(values, first, 0)
                     for values in zip(*(n.into for n in column), strict=True))
        regions = tuple(_Unifier(graphs, self.sizes, self.fit).run()
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


def _same(one: object, other: object) -> bool:
    if isinstance(one, float | complex):
        return repr(one) == repr(other)
    return one == other
