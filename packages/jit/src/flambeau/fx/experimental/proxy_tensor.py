"""Functions recorded as graphs of operators, while they compute."""

from __future__ import annotations

import contextlib
import inspect
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import flambeau
from flambeau.core import _core, pytree
from flambeau.fx._concrete import NestedCode
from flambeau.fx._symbolic_trace import Tracer
from flambeau.fx.experimental import _operators
from flambeau.fx.graph import Graph
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node
from flambeau.jit import bridge

__all__ = ["make_fx"]

#: What the core says before copy.deepcopy and pickle read memory.
COPYING = "pickling or copying a tensor"
Tensor = Any
Place = tuple[Any, ...]


def make_fx(f: Callable[..., Any], decomposition_table: Any = None, tracing_mode: str = "real",
            _allow_non_fake_inputs: bool = False, *, pre_dispatch: bool = False,
            record_module_stack: bool = False, **ignored: Any) -> Callable[..., GraphModule]:
    """Record which operators a function calls, gradients included.

    The function runs on real tensors. What it reads from them (``item()``, ``if x.sum() > 0``)
    becomes part of the graph; random numbers are drawn anew in each run.

    Args:
        f: A function of tensors, numbers, and tuples, lists and dicts of them.
        decomposition_table: Operator -> a function that is recorded in its place.
        tracing_mode: ``"real"``; ``"fake"`` and ``"symbolic"`` record the same.
        _allow_non_fake_inputs: Has no effect.
        pre_dispatch: Has no effect.
        record_module_stack: Has no effect.
        ignored: What PyTorch takes besides.

    Returns:
        A function of example arguments that gives a module, whose ``graph`` is the recording.

    Raises:
        RuntimeError: ``f`` reads a value that depends on its arguments, as in ``if x.sum() > 0``.
        NotImplementedError: A result is sparse.

    Example:
        >>> import flambeau
        >>> from flambeau.fx.experimental.proxy_tensor import make_fx
        >>> def slope(x):
        ...     return flambeau.func.grad(lambda y: (y * y).sum())(x)
        >>> module = make_fx(slope)(flambeau.tensor([1., 2.]))
        >>> module(flambeau.tensor([3., 4.]))
        tensor([6., 8.])
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(f"make_fx(): tracing_mode must be 'real', 'fake' or 'symbolic', not "
                             f"{tracing_mode!r}")

    def record(*args: Any) -> GraphModule:
        leaves, spec = pytree.tree_flatten(tuple(args))
        root = flambeau.nn.Module()
        recorder = Recorder(root, _operators.Decompositions(decomposition_table))
        names = _parameters(f, len(args))
        given = [recorder.parameter(leaf, name)
                 for leaf, name in zip(leaves, _leaf_names(names, args), strict=True)]
        with recorder.running():
            result = f(*pytree.tree_unflatten(given, spec))
        if len(leaves) != len(args) or any(leaf is not arg for leaf, arg
                                           in zip(leaves, args, strict=True)):
            codegen = NestedCode(names, spec)
            result, codegen.out_spec = pytree.tree_flatten(result)
            recorder.graph.set_codegen(codegen)
        recorder.finish(result)
        return GraphModule(root, recorder.graph, getattr(f, "__name__", "recorded"))

    return record


def _parameters(f: Any, count: int) -> list[str]:
    """What the arguments of a function are called."""
    code = getattr(inspect.unwrap(f), "__code__", None)
    if code is None or code.co_flags & inspect.CO_VARARGS:
        return [f"arg{at}" for at in range(count)]
    first = 1 if inspect.ismethod(f) else 0
    return list(code.co_varnames[first:first + count])


def _leaf_names(names: list[str], args: tuple[Any, ...]) -> list[str]:
    """A name for each leaf of the arguments: ``x_1``, ``x_2``."""
    return [f"{name}_{at + 1}" for name, arg in zip(names, args, strict=True)
            for at in range(len(pytree.tree_leaves(arg)))]


class Recorder:
    """The graph being recorded.

    Args:
        root: The module that gets constants.
        table: Operator -> a function that is recorded in its place.
    """

    def __init__(self, root: Any, table: _operators.Decompositions) -> None:
        self.root = root
        self.table = table
        self.replacing: set[str] = set()
        self.start = 0
        self.graph = Graph(tracer_cls=Tracer)
        self.nodes: dict[Place, Node] = {}
        self.made: dict[int, weakref.ref[Tensor]] = {}
        self.kept: list[Tensor] = []
        self.busy = False

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Record what is called within a ``with`` block."""
        self.start = _core.enter_births()
        try:
            with bridge.interpose(self.call, self.read, self.change):
                yield
        finally:
            _core.exit_births()

    def parameter(self, leaf: Any, name: str) -> Any:
        """A parameter of the graph."""
        node = self.graph.placeholder(name)
        if bridge.is_tensor(leaf):
            self.note(leaf, node)
        return leaf

    # ---- what the core calls -------------------------------------------------------------------

    def call(self, op: object, args: Sequence[Any], outs: Sequence[Tensor] | None) -> list[Tensor]:
        """Run an operator, and record it."""
        key = bridge.key_of(op)
        if self.busy:
            return bridge.call_below(key, args, outs)
        target, given, named = _operators.call_of(key, args, outs)
        function = self.table.find(key, target) if outs is None else None
        if function is not None and key not in self.replacing:
            self.replacing.add(key)
            try:
                result = function(*given, **named)
            finally:
                self.replacing.discard(key)
            return list(result) if isinstance(result, list | tuple) else [result]
        self.busy = True
        try:
            packet = getattr(target, "overloadpacket", None)
            node = self.graph.create_node(
                "call_function", target, self.argument(given), self.argument(named),
                name=None if packet is None else self.graph._target_to_str(packet))
            results = bridge.call_below(key, args, outs)
            self.note_results(node, key, results)
            return results
        finally:
            self.busy = False

    def read(self, tensor: Tensor, what: str) -> None:
        """Called before Python reads values: those of what the parameters give are refused.

        They would be constants of the graph, whatever it is called with.
        """
        node = self.nodes.get(place(tensor))
        if self.busy or node is None or not self.depends(node):
            return
        raise RuntimeError(
            f"make_fx(): {what} asks for a value that depends on the arguments, and the graph "
            "would hold the value of this call forever. Compute with the tensor itself: "
            "flambeau.where(condition, a, b) or flambeau.jit.cond instead of a branch, x * y "
            "instead of x * y.item()")

    def depends(self, node: Node) -> bool:
        """Whether a parameter leads to a node."""
        open_nodes, seen = [node], {node}
        while open_nodes:
            at = open_nodes.pop()
            if at.op == "placeholder":
                return True
            fresh = [each for each in at.all_input_nodes if each not in seen]
            seen.update(fresh)
            open_nodes += fresh
        return False

    def change(self, subject: Any, what: str, value: Any) -> Any:
        """Called before a tensor or generator changes: it does; memory is not copied by Python."""
        if what == COPYING:
            raise RuntimeError(f"make_fx(): {what} would put its values into the graph; write "
                               "x.clone() for a copy")
        return False

    # ---- values --------------------------------------------------------------------------------

    def note(self, tensor: Tensor, node: Node) -> None:
        """Remember what a tensor is."""
        before, self.busy = self.busy, True
        self.nodes[place(tensor)] = node
        self.kept.append(tensor.detach())       # so that nothing else is allocated there
        node.meta.setdefault("val", self.kept[-1])
        self.busy = before

    def note_results(self, node: Node, key: str, results: Sequence[Tensor]) -> None:
        """Remember what the results of a call are: itself, or items of it."""
        if len(results) == 1 and not _operators.gives_list(key):
            self.note(results[0], node)
            return
        import operator

        for at, tensor in enumerate(results):
            self.note(tensor, self.graph.call_function(operator.getitem, (node, at)))

    def value(self, tensor: Tensor) -> Node:
        """The node of a tensor; one from outside is a constant."""
        found = self.nodes.get(place(tensor))
        if found is not None:
            return found
        if _core.is_born_since(tensor, self.start):     # flambeau.tensor(...): new in each run
            kept = self.graph.get_attr(self.constant(bridge.clone(tensor)))
            node = self.graph.call_function(flambeau.clone, (kept,))
        else:
            node = self.graph.get_attr(self.constant(tensor))
        self.note(tensor, node)
        return node

    def constant(self, tensor: Tensor) -> str:
        """A new attribute of the module."""
        at = 0
        while hasattr(self.root, f"_tensor_constant{at}"):
            at += 1
        name = f"_tensor_constant{at}"
        if isinstance(tensor, flambeau.nn.Parameter):
            setattr(self.root, name, tensor)
        else:
            self.root.register_buffer(name, tensor)
        return name

    def argument(self, arg: Any) -> Any:
        """An argument as it stands in a node."""
        if _core.is_sparse_object(arg):
            raise NotImplementedError(
                f"make_fx(): a tensor of layout {arg.layout} stands for several tensors, which "
                "the graph would hold as they are now; record x.to_dense(), or its indices and "
                "values")
        if bridge.is_tensor(arg):
            return self.value(arg)
        if isinstance(arg, dict):
            return {key: self.argument(each) for key, each in arg.items()}
        if isinstance(arg, tuple) and not isinstance(arg, flambeau.Size):
            return tuple(self.argument(each) for each in arg)
        return [self.argument(each) for each in arg] if isinstance(arg, list | tuple) else arg

    def finish(self, result: Any) -> None:
        """Give the graph its result; nothing that it does not need stays."""
        before, self.busy = self.busy, True
        self.graph.output(self.argument(_plain(result)))
        self.busy = before
        self.graph.eliminate_dead_code(_operators.is_needed)


def _plain(tree: Any) -> Any:
    if isinstance(tree, list):
        return [_plain(each) for each in tree]
    if isinstance(tree, dict):
        return {key: _plain(each) for key, each in tree.items()}
    if isinstance(tree, tuple):
        items = [_plain(each) for each in tree]
        return type(tree)(*items) if hasattr(tree, "_fields") else tuple(items)
    return tree


def place(tensor: Tensor) -> Place:
    """Where a tensor lies and how: equal for two objects over the same elements."""
    return (*bridge.extent(tensor), bridge.dtype_name(tensor.dtype))
