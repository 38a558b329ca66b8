"""The rules of the representation, as a program: ``check`` runs between passes.

Every operator is known and its arguments fit their parameters' roles; every value is assigned
once and before it is used; dtypes and shapes are what the operator's ``infer`` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from flambeau.core.opdefs import OpDef, Param
from flambeau.jit.dims import Dim, shape_for, symbol
from flambeau.jit.errors import GraphError
from flambeau.jit.inference import infer_values
from flambeau.jit.ir import Graph, Node, Value, map_args, values_in
from flambeau.jit.literals import (
    GET_STATE,
    SET_SEED,
    SET_STATE,
    Device,
    DType,
    Opaque,
    Slot,
    is_literal,
)
from flambeau.jit.opset import (
    BRANCH,
    FUSED,
    LOOP,
    VIEW_WRITE,
    find_opdef,
    is_functional,
    written_params,
)
from flambeau.jit.printing import name_values, show_node, show_type
from flambeau.jit.selected import SELECTING, selected_types

Infer = Callable[[str, tuple[object, ...]], list[Value]]


def check(graph: Graph, infer: Infer | None = None, is_region: bool = False) -> None:
    """Raise unless a graph keeps every rule.

    Args:
        graph: the graph.
        infer: gives the types of an operator's results from its arguments, with a ``Value`` of
            known sizes for each tensor; the core's own by default.
        is_region: whether it is the graph of a node, whose symbols come from the one around it.

    Raises:
        GraphError: a rule is broken; the message shows the node and the rule.
    """
    checker = _Checker(graph, infer or infer_values, is_region)
    if not is_region:
        checker.check_outside()
    checker.run()


class _Checker:
    def __init__(self, graph: Graph, infer: Infer, is_region: bool = True) -> None:
        self.graph = graph
        self.infer = infer
        self.names = name_values(graph)
        self.known: set[Value] = set()
        #: The symbols whose sizes inputs have, or results so far.
        self.sizes = set(graph.symbols) if is_region else {
            str(size) for value in graph.inputs for size in value.shape}

    def run(self) -> None:
        self.check_symbols()
        for value in [*self.graph.inputs, *(c.value for c in self.graph.captures)]:
            self.assign(value, "the inputs and captures")
        for node in self.graph.nodes:
            self.check_node(node)
        self.check_results()

    def fail(self, index: Node | str, why: str) -> NoReturn:
        text = index if isinstance(index, str) else show_node(index, self.names)[0]
        where = f" (from {index.where})" if isinstance(index, Node) and index.where else ""
        raise GraphError(f"in {text}{where}: {why}")

    def assign(self, value: Value, index: Node | str) -> None:
        if value in self.known:
            self.fail(index, f"{self.names[value]} is assigned twice")
        for size in value.shape:
            self.check_size(size, index)
        self.known.add(value)

    def check_size(self, size: object, index: Node | str) -> None:
        if isinstance(size, Dim):
            for name in size.names:
                if name not in self.graph.symbols:
                    self.fail(index, f"the size {name} is not declared by the graph")
                if name not in self.sizes:
                    self.fail(index, f"the size {name} is used before a result has it")
        elif not isinstance(size, int) or size < 0:
            self.fail(index, f"{size!r} is not a size")

    def check_symbols(self) -> None:
        for name, sizes in self.graph.symbols.items():
            if not name.isidentifier() or not sizes or min(sizes) < 0:
                self.fail("the graph's symbols", f"{name!r} needs a name and sizes")
        for name, limits in self.graph.limits.items():
            if name not in self.graph.symbols or limits.first < 1:
                self.fail("the graph's limits", f"{name!r} is no symbol, or may be less than 1")

    def check_outside(self) -> None:
        """What holds for a whole graph, and not for a region of it."""
        alone = {symbol(name) for name in self.graph.symbols}
        sizes = {size for value in self.graph.inputs for size in value.shape}
        results = {size for node in self.graph.nodes for value in node.outputs
                   for size in value.shape}
        for name, found in self.graph.symbols.items():
            if symbol(name) not in sizes and symbol(name) not in results:
                self.fail("the graph's symbols",
                          f"{name!r} is no size of an input or result by itself")
            if symbol(name) in sizes and min(found, default=0) < 1:
                self.fail("the graph's symbols", f"{name!r} needs sizes of at least 1")
        for size in sizes - alone:
            if isinstance(size, Dim) and set(size.names) <= set(self.graph.symbols):
                self.fail("the inputs", f"the size {size} cannot be read from an input by itself")
        names = [capture.name for capture in self.graph.captures]
        for name in names:
            if names.count(name) > 1:
                self.fail("the captures", f"two are called {name!r}")

    def check_node(self, node: Node) -> None:
        opdef = find_opdef(node.op)
        if opdef is None:
            self.fail(node, f"there is no operator {node.op!r}: import the package that registers "
                      "it, before the program is loaded")
        for value in node.inputs:
            if value not in self.known:
                self.fail(node, "an argument is used before it is assigned")
        if len(node.args) != len(opdef.params):
            expected = ", ".join(p.name for p in opdef.params)
            self.fail(node, f"{len(node.args)} arguments for the parameters ({expected})")
        for param, arg in zip(opdef.params, node.args, strict=True):
            self.check_argument(node, param, arg)
        if (node.body is not None) != (node.op == FUSED):
            self.fail(node, "a region belongs to fused nodes, and to no other")
        if len(node.regions) != (2 if node.op in (BRANCH, LOOP) else 0):
            self.fail(node, "branches and loops have two graphs, and no other nodes have any")
        own = {str(size) for value in node.outputs for size in value.shape
               if str(size) in self.graph.symbols} - self.sizes
        self.sizes |= own
        for value in node.outputs:
            self.assign(value, node)
        self.check_types(node, opdef, own)

    def check_argument(self, node: Node, param: Param, arg: object) -> None:
        if arg is None and (param.optional or param.default is None):
            return
        if not ROLES[param.role](arg):
            shown = self.names.get(arg) if isinstance(arg, Value) else repr(arg)
            self.fail(node, f"{shown} does not fit the parameter {param.name!r} ({param.role})")
        for leaf in _leaves(arg):
            if isinstance(leaf, Dim):
                self.check_size(leaf, node)

    def check_types(self, node: Node, opdef: OpDef, own: set[str]) -> None:
        if node.op == FUSED:
            self.check_region(node)
            return
        if node.regions:
            self.check_regions(node)
            return
        for sizes in self.samples():
            try:
                expected = self.expected(node, opdef, sizes)
            except ArithmeticError as error:
                self.fail(node, f"{error}, for {sizes}")
            found = [concrete(value, sizes) for value in node.outputs]
            if own:     # these sizes are what the operator gives
                expected = [_with_sizes(value, declared, own, sizes) for value, declared in zip(
                    expected, node.outputs, strict=True)]
            if [v.type for v in expected] != [v.type for v in found]:
                at = f" for {sizes}" if sizes else ""
                self.fail(node, f"the operator gives {_types(expected)}{at}, not {_types(found)}")

    def expected(self, node: Node, opdef: OpDef, sizes: dict[str, int]) -> list[Value]:
        args = map_args(node.args, lambda leaf: concrete(leaf, sizes))
        if node.op == VIEW_WRITE:
            self.check_steps(node, *args)
            return [args[0]]
        if node.op in SELECTING:
            shape = concrete(node.outputs[0], sizes).shape
            return selected_types(node.op, args, shape[0] if shape else 0)
        if node.op in (SET_STATE, SET_SEED):
            return []
        if node.op == GET_STATE:
            return [Value((2,), "uint64")]
        written = written_params(opdef.key) if is_functional(node) else ()
        try:
            found = [*self.infer(node.op, args), *(args[i] for i in written if args[i] is not None)]
            if not node.into:
                return found
            return [Value(new.shape, target.dtype, target.device)
                    for new, target in zip(found, node.into, strict=True)]
        except Exception as error:
            self.fail(node, f"{type(error).__name__}: {error}")

    def check_steps(self, node: Node, base: Value, new: Value, steps: Any) -> None:
        """The views that lead to where something is written."""
        shown = base
        if not isinstance(steps, tuple):
            self.fail(node, f"{steps!r} is no list of views")
        for step in steps:
            key = step[0] if isinstance(step, tuple) and step else step
            opdef = find_opdef(key) if isinstance(key, str) else None
            if opdef is None or opdef.category != "view" or len(step) != len(opdef.params):
                self.fail(node, f"{step!r} is no view")
            for param, arg in zip(opdef.params[1:], step[1:], strict=True):
                self.check_argument(node, param, arg)
            try:
                (shown,) = self.infer(key, (shown, *step[1:]))
            except Exception as error:
                self.fail(node, f"{type(error).__name__}: {error}")
        if shown.type != new.type:
            self.fail(node, f"{show_type(new)} is written into a view that is {show_type(shown)}")

    def check_region(self, node: Node) -> None:
        body = node.body
        assert body is not None
        outer = [v.type for v in node.inputs]
        inner = [v.type for v in body.inputs]
        if outer != inner or [v.type for v in body.outputs] != [v.type for v in node.outputs]:
            self.fail(node, "the region's inputs and outputs are not those of the node")
        if body.captures or body.writes or body.symbols != self.graph.symbols:
            self.fail(node, "a region has no captures and no writes, and the graph's symbols")
        for inside in body.nodes:
            opdef = find_opdef(inside.op)
            if opdef is None or opdef.category != "pointwise":
                self.fail(node, f"{inside.op} is not pointwise and cannot be fused; an "
                          "operator of a package is there once the package is imported")
        _Checker(body, self.infer).run()

    def check_regions(self, node: Node) -> None:
        """The graphs of a branch or loop: what goes in and what comes out."""
        assigned = [value.type for value in node.outputs]
        given = [value.type for value in values_in(node.args)]
        one = [] if node.op == LOOP else given[:1]
        wanted = [assigned, assigned]
        if node.op == LOOP:
            wanted[0] = [value.type for value in node.regions[0].outputs[:1]]
            if [value.type for value in values_in((node.args[0],))] != assigned:
                self.fail(node, "what a loop carries is not what it gives")
        for region, results in zip(node.regions, wanted, strict=True):
            outputs = [value.type for value in region.outputs]
            if [value.type for value in region.inputs] != given[len(one):] or outputs != results:
                self.fail(node, "a graph's inputs and outputs are not those of the node")
            if region.captures or region.writes or region.grads \
                    or region.symbols != self.graph.symbols:
                self.fail(node, "a graph in a node has no captures, writes or gradients, and the "
                                "symbols of the one around it")
            _Checker(region, self.infer).run()
        conditions = node.args[:1] if node.op == BRANCH else node.regions[0].outputs
        if len(conditions) != 1 or any(size != 1 for size in conditions[0].shape):
            self.fail(node, "a condition is one tensor of one element")

    def check_results(self) -> None:
        for value in self.graph.results():
            if value not in self.known:
                self.fail("the results", "a value is returned or written that was never assigned")
        outside = {*self.graph.inputs, *(c.value for c in self.graph.captures)}
        targets = [target for target, _ in self.graph.writes]
        for target, value in self.graph.writes:
            if target not in outside or targets.count(target) > 1:
                self.fail("the writes", "each goes to an input or a captured tensor, once")
            if target.type != value.type:
                wrong = f"{show_type(value)} is written into {show_type(target)}"
                self.fail("the writes", wrong)

    def samples(self) -> list[dict[str, int]]:
        """The least and the greatest sizes the graph was recorded with, or two recordings."""
        inputs = {str(size) for value in self.graph.inputs for size in value.shape}
        columns = list(self.graph.symbols.values())
        if not inputs >= set(self.graph.symbols) and len({len(each) for each in columns}) == 1:
            return [{name: sizes[k] for name, sizes in self.graph.symbols.items()}
                    for k in (0, -1)]
        least = {name: min(sizes) for name, sizes in self.graph.symbols.items()}
        greatest = {name: max(sizes) for name, sizes in self.graph.symbols.items()}
        return [least] if least == greatest else [least, greatest]


def _with_sizes(value: Value, declared: Value, own: set[str], sizes: dict[str, int]) -> Value:
    """A type in which sizes of these names are as they were recorded."""
    if len(value.shape) != len(declared.shape):
        return value
    shape = tuple(sizes[str(size)] if str(size) in own else found
                  for found, size in zip(value.shape, declared.shape, strict=True))
    return Value(shape, value.dtype, value.device)


def concrete(leaf: Any, sizes: dict[str, int]) -> Any:
    """A value or number of a graph, with known sizes."""
    if isinstance(leaf, Value):
        return Value(shape_for(leaf.shape, sizes), leaf.dtype, leaf.device)
    return leaf.evaluate(sizes) if isinstance(leaf, Dim) else leaf


def _leaves(arg: object) -> Iterable[object]:
    if isinstance(arg, tuple):
        for item in arg:
            yield from _leaves(item)
    else:
        yield arg


def _types(values: Iterable[Value]) -> str:
    return ", ".join(map(show_type, values))


def _is_int(arg: object) -> bool:
    return isinstance(arg, int) and not isinstance(arg, bool) or _is_dim(arg, "int")


def _is_dim(arg: object, *forms: str) -> bool:
    return isinstance(arg, Dim) and arg.form in forms


def _is_number(arg: object) -> bool:
    return isinstance(arg, bool | int | float | complex | Dim | Slot)


def _is_float(arg: object) -> bool:
    return isinstance(arg, int | float | Slot) and not isinstance(arg, bool) or _is_dim(
        arg, "int", "float", "reciprocal"
    )


def _all(rule: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda arg: isinstance(arg, tuple) and all(map(rule, arg))


def _one_or_all(rule: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda arg: rule(arg) or _all(rule)(arg)


def _is_value(arg: object) -> bool:
    return isinstance(arg, Value)


def _is_object(arg: object) -> bool:
    return is_literal(arg) and not list(values_in((arg,)))


#: What an argument may be, by its parameter's role.
ROLES: dict[str, Callable[[object], bool]] = {
    "Tensor": _is_value,
    "Operand": lambda arg: _is_value(arg) or _is_number(arg),
    "Mask": _is_value,
    "Tensors": _all(lambda arg: arg is None or _is_value(arg)),
    "Scalar": _is_number,
    "Int": _is_int,
    "Float": _is_float,
    "Bool": lambda arg: isinstance(arg, bool),
    "Dim": _is_int,
    "Dims": _one_or_all(_is_int),
    "Shape": _all(_is_int),
    "Ints": _one_or_all(_is_int),
    "DType": lambda arg: isinstance(arg, DType),
    "Device": lambda arg: isinstance(arg, Device),
    "Str": lambda arg: isinstance(arg, str),
    "Generator": lambda arg: isinstance(arg, Opaque),
    "Object": _is_object,
    "Floats": _one_or_all(_is_float),
    "Index": _is_int,
    "Bools": _all(lambda arg: isinstance(arg, bool)),
}
