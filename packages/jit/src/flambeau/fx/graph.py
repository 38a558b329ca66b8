"""The graph: nodes in order, and how they are made, moved and checked."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from flambeau.fx._codegen import CodeGen, PythonCode, TransformCodeFunc
from flambeau.fx._infix import inplace_methods, magic_methods, reflectable_magic_methods
from flambeau.fx._lint import lint
from flambeau.fx._making import Making
from flambeau.fx._names import Namespace as _Namespace
from flambeau.fx.node import Argument, Node, Target, map_arg

if TYPE_CHECKING:
    from flambeau.fx.graph_module import GraphModule

__all__ = ["CodeGen", "Graph", "PythonCode", "inplace_methods", "magic_methods",
           "reflectable_magic_methods"]


class _Nodes:
    """The nodes of a graph, in order; nodes may be erased and moved on the way."""

    def __init__(self, graph: Graph, forward: bool = True) -> None:
        self.graph = graph
        self.forward = forward

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Any]:
        root = self.graph._root
        node = root._next if self.forward else root._prev
        while node is not root:
            if not node._erased:
                yield node
            node = node._next if self.forward else node._prev

    def __reversed__(self) -> Iterator[Any]:
        return iter(_Nodes(self.graph, not self.forward))

    def __contains__(self, node: object) -> bool:
        return isinstance(node, Node) and node.graph is self.graph and not node._erased


class _InsertPoint:
    """Puts the former insertion point back when a ``with`` block ends."""

    def __init__(self, graph: Graph, insert: Callable[[Node], None]) -> None:
        self.graph = graph
        self.former = graph._insert
        graph._insert = insert

    def __enter__(self) -> None:
        """The point was set when this object was made."""

    def __exit__(self, *error: object) -> None:
        self.graph._insert = self.former


class Graph(Making):
    """A function as a list of nodes.

    Args:
        owning_module: The module that names of modules and attributes are looked up in.
        tracer_cls: The class that recorded the graph.
        tracer_extras: What is given to that class to make it again.

    Example:
        >>> import flambeau
        >>> from flambeau import fx
        >>> graph = fx.Graph()
        >>> x = graph.placeholder("x")
        >>> graph.output(graph.call_function(flambeau.relu, (x,)))
        output
        >>> print(graph)
        graph():
            %x : [num_users=1] = placeholder[target=x]
            %relu : [num_users=1] = call_function[target=flambeau.relu](args = (%x,), kwargs = {})
            return relu
    """

    def __init__(self, owning_module: GraphModule | None = None, tracer_cls: Any = None,
                 tracer_extras: dict[str, Any] | None = None) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0
        self._graph_namespace = _Namespace()
        self._owning_module = owning_module
        self._owners = 1 if owning_module is not None else 0
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._origin = ""
        self._codegen: CodeGen = CodeGen()
        self._order: dict[Node, int] = {}
        self._order_known = False

    # ---- what is in it -----------------------------------------------------------------------

    @property
    def owning_module(self) -> Any:
        """The module that the graph belongs to, or None."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, mod: GraphModule | None) -> None:
        self._owning_module = mod

    @property
    def nodes(self) -> Any:
        """The nodes, in order; ``reversed(graph.nodes)`` goes the other way."""
        return _Nodes(self)

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind.

        Args:
            op: Their ``op``.
            target: Their ``target``; None means any.
            sort: Has no effect: they are always in order.
        """
        return [node for node in self.nodes
                if node.op == op and (target is None or node.target == target)]

    def output_node(self) -> Node:
        """The node that says what the graph returns."""
        found = next(iter(reversed(self.nodes)))
        if found.op != "output":
            raise AssertionError("output_node(): the last node is no output")
        return found

    def _places(self) -> dict[Node, int]:
        if not self._order_known:
            self._order = {node: at for at, node in enumerate(self.nodes)}
            self._order_known = True
        return self._order

    # ---- moving and erasing ------------------------------------------------------------------

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """Make nodes before another one, within a ``with`` block or from now on.

        Args:
            n: That node; None means the beginning.
        """
        if n is None:
            return self.inserting_after(self._root)
        self._check_own(n)
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """Make nodes behind another one, within a ``with`` block or from now on.

        Args:
            n: That node; None means the end.
        """
        if n is None:
            return self.inserting_before(self._root)
        self._check_own(n)
        return _InsertPoint(self, n.append)

    def _check_own(self, node: Node) -> None:
        if node.graph is not self:
            raise AssertionError("the node is of another graph: insertion points are nodes of the "
                                 "graph that new nodes go to")

    def erase_node(self, to_erase: Node) -> None:
        """Take a node out.

        Args:
            to_erase: A node that nothing uses.

        Raises:
            RuntimeError: nodes use it, or it is of another graph.
        """
        if to_erase.users:
            raise RuntimeError(f"Tried to erase Node {to_erase} but it still had "
                               f"{len(to_erase.users)} users in the graph: {to_erase.users}!")
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            import warnings

            warnings.warn(f"erase_node({to_erase}) on an already erased node", stacklevel=2)
            return
        for hook in getattr(self.owning_module, "_erase_node_hooks", ()):
            hook(to_erase)
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        self._order_known = False
        to_erase._set((), {})

    def _tell_replaced(self, old: Node, new: str, user: Node) -> None:
        for hook in getattr(self.owning_module, "_replace_hooks", None) or ():
            hook(old=old, new=new, user=user)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Argument] = lambda x: x
                  ) -> Node:
        """Add a copy of a node, perhaps of another graph.

        Args:
            node: What is copied.
            arg_transform: Gives for each node among its arguments the one in this graph.

        Returns:
            The copy.
        """
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False
                   ) -> Any:
        """Add copies of all nodes of a graph, but its output.

        Args:
            g: The graph.
            val_map: Node of ``g`` -> the node here; nodes in it are not copied, and the copies
                are added to it.
            return_output_node: Return the output node of ``g``, too.

        Returns:
            What ``g`` returns, in terms of nodes of this graph; None where it has no output.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: Any = None) -> Graph:
        memo = {} if memo is None else memo
        made = Graph(tracer_cls=self._tracer_cls, tracer_extras=self._tracer_extras)
        found: dict[Node, Node] = {}
        result = made.graph_copy(self, found, return_output_node=True)
        made._codegen = copy.deepcopy(self._codegen)
        made._origin = self._origin
        if result is not None:
            output, old = result
            made.output(output, type_expr=old.type).meta = copy.copy(old.meta)
        memo[id(self)] = made
        for old, new in found.items():
            memo[id(old)] = new
        return made

    def __reduce__(self) -> Any:
        from flambeau.fx._pickling import reduce_graph

        return reduce_graph(self)

    # ---- passes ------------------------------------------------------------------------------

    def lint(self) -> None:
        """Check that the graph is well formed.

        Raises:
            RuntimeError: a node is used before it is computed, belongs to another graph, or names
                a module or attribute that the owning module has not.
        """
        lint(self)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Erase what nothing uses and has no effect besides.

        Args:
            is_impure_node: Says of a node whether it is kept; None asks ``Node.is_impure``.

        Returns:
            Whether there was any.
        """
        self.lint()
        keep = is_impure_node or (lambda node: node.is_impure())
        before = self._len
        for node in reversed(self.nodes):
            if not node.users and not keep(node):
                self.erase_node(node)
        return self._len < before

    # ---- text --------------------------------------------------------------------------------

    def python_code(self, root_module: str, *, verbose: bool = False, **kwargs: Any) -> PythonCode:
        """The graph as Python code.

        Args:
            root_module: The name under which the code finds modules and attributes, ``self``.
            verbose: Say in comments where nodes came from.
            kwargs: What PyTorch takes besides, such as ``colored``; without effect.
        """
        namespace = _Namespace()
        former = {node: node._repr_fn for node in self.nodes}
        try:
            for node in self.nodes:
                node._repr_fn = lambda n: namespace.create_name(n.name, n)
            return self._codegen._gen_python_code(self.nodes, root_module, namespace,
                                                  verbose=verbose)
        finally:
            for node, repr_fn in former.items():
                node._repr_fn = repr_fn

    def __str__(self) -> str:
        names: list[str] = []
        returns = [""]
        lines = [node.format_node(names, returns) for node in self.nodes]
        return "\n    ".join([f"graph(){returns[0]}:", *(line for line in lines if line)])

    def print_tabular(self) -> None:
        """Print a table of the nodes."""
        head = ("opcode", "name", "target", "args", "kwargs")
        rows = [[str(each) for each in (n.op, n.name, n.target, n.args, n.kwargs)]
                for n in self.nodes]
        widths = [max(len(row[i]) for row in [list(head), *rows]) for i in range(len(head))]
        for row in [list(head), ["-" * width for width in widths], *rows]:
            print("  ".join(t.ljust(width) for t, width in zip(row, widths, strict=True)).rstrip())

    def set_codegen(self, codegen: CodeGen) -> None:
        """Change how the graph is written as a function.

        Args:
            codegen: An object of a subclass of `CodeGen`.
        """
        self._codegen = codegen

    def on_generate_code(
            self, make_transformer: Callable[[TransformCodeFunc | None], TransformCodeFunc]
    ) -> contextlib.AbstractContextManager[None]:
        """Change the text of generated code.

        Args:
            make_transformer: Gets the function that changes it now, or None; gives the new one,
                which gets and gives the lines of the function's body.

        Returns:
            A context manager that puts the former one back.
        """
        former = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(former)

        @contextlib.contextmanager
        def restore() -> Iterator[None]:
            try:
                yield
            finally:
                self._codegen._body_transformer = former

        return restore()


def erase_all(graph: Graph, nodes: Iterable[Node]) -> None:
    """Erase nodes that use one another, the last first."""
    for node in sorted(nodes, reverse=True):
        graph.erase_node(node)
