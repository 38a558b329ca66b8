"""Running graphs node by node."""

from __future__ import annotations

import inspect
from contextlib import AbstractContextManager
from typing import Any

import flambeau.fx.traceback as fx_traceback
from flambeau import nn
from flambeau.fx._symbolic_trace import Tracer
from flambeau.fx.graph import Graph
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Argument, Node, Target, map_arg
from flambeau.fx.proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a graph; subclasses change what a node does.

    Args:
        module: Where modules and attributes are looked up.
        garbage_collect_values: Let go of values after their last use.
        graph: The graph; None means the module's.

    Example:
        >>> import flambeau
        >>> from flambeau import fx
        >>> module = fx.symbolic_trace(lambda x: flambeau.relu(x) + 1)
        >>> class Loud(fx.Interpreter):
        ...     def run_node(self, n):
        ...         print(n.name)
        ...         return super().run_node(n)
        >>> Loud(module).run(flambeau.ones(2))
        x
        relu
        add
        output
        tensor([2., 2.])
    """

    def __init__(self, module: nn.Module, garbage_collect_values: bool = True,
                 graph: Graph | None = None) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = graph if graph is not None else module.graph
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        if garbage_collect_values:
            seen: set[Node] = set()
            for node in reversed(self.graph.nodes):
                for used in node._input_nodes:
                    if used not in seen:
                        seen.add(used)
                        self.user_to_last_uses.setdefault(node, []).append(used)

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None,
            enable_io_processing: bool = True) -> Any:
        """Run the graph.

        Args:
            args: Its arguments.
            initial_env: Values of nodes that are not run.
            enable_io_processing: Take and give what the function of the graph does.

        Returns:
            The result.
        """
        self.env = dict(initial_env or {})
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            self.env[node] = self._run_named(node)
            for used in self.user_to_last_uses.get(node, ()):
                del self.env[used]
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """Run the graph on the arguments of a list, which is emptied.

        Args:
            args_list: The arguments.
        """
        args = list(args_list)
        args_list.clear()
        return self.run(*args)

    def _run_named(self, node: Node) -> Any:
        try:
            return self.run_node(node)
        except Exception as error:
            if self.extra_traceback:
                note = f"\nWhile executing {node.format_node()}\nOriginal traceback:\n" \
                       f"{node.stack_trace}"
                text = f"{error.args[0]}\n{note}" if error.args else note
                error.args = (text, *error.args[1:])
                if isinstance(error, KeyError):
                    raise RuntimeError(*error.args) from error
            raise

    def run_node(self, n: Node) -> Any:
        """The value of a node.

        Args:
            n: The node.
        """
        with self._set_current_node(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def _set_current_node(self, node: Node) -> AbstractContextManager[None]:
        return fx_traceback.set_current_meta(node, f"Interpreter_{type(self).__name__}")

    def placeholder(self, target: Target, args: tuple[Argument, ...],
                    kwargs: dict[str, Any]) -> Any:
        """The value of a parameter.

        Args:
            target: Its name.
            args: Its default.
            kwargs: Empty.
        """
        if isinstance(target, str) and target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(f"Expected positional argument for parameter {target}, but one was "
                               "not passed in!") from None

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The value of an attribute of the module.

        Args:
            target: Its path.
            args: Empty.
            kwargs: Empty.
        """
        return self.fetch_attr(str(target))

    def call_function(self, target: Target, args: tuple[Argument, ...],
                      kwargs: dict[str, Any]) -> Any:
        """The result of a function.

        Args:
            target: The function.
            args: Its positional arguments.
            kwargs: Its named arguments.
        """
        return target(*args, **kwargs)  # type: ignore[operator]

    def call_method(self, target: Target, args: tuple[Argument, ...],
                    kwargs: dict[str, Any]) -> Any:
        """The result of a method.

        Args:
            target: Its name.
            args: The object, and positional arguments.
            kwargs: Named arguments.
        """
        return getattr(args[0], str(target))(*args[1:], **kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...],
                    kwargs: dict[str, Any]) -> Any:
        """The result of a module.

        Args:
            target: Its path.
            args: Its positional arguments.
            kwargs: Its named arguments.
        """
        return self.fetch_attr(str(target))(*args, **kwargs)

    def output(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The result of the graph.

        Args:
            target: Unused.
            args: The result.
            kwargs: Empty.
        """
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """An attribute of the module.

        Args:
            target: Its path.

        Raises:
            RuntimeError: there is none.
        """
        at: Any = self.module
        parts = target.split(".")
        for depth, part in enumerate(parts):
            if not hasattr(at, part):
                raise RuntimeError("Node referenced nonexistent target "
                                   f"{'.'.join(parts[:depth + 1])}")
            at = getattr(at, part)
        return at

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[Any, Any]:
        """The arguments of a node, with values for nodes.

        Args:
            n: The node.
        """
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Argument, n: Node) -> Argument:
        """An argument with values for nodes.

        Args:
            args: The argument.
            n: The node that it is of.
        """
        def value(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(f"Node {n} referenced nonexistent value {node}! Run "
                                   "Graph.lint() to diagnose such issues")
            return self.env[node]

        return map_arg(args, value)


class Transformer(Interpreter):
    """Makes a graph from another one; subclasses change what becomes of a node.

    Args:
        module: The module with the graph.
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)

        class Appending(Tracer):
            def __init__(self, graph: Graph) -> None:
                super().__init__()
                self.graph = graph
                self._tensor_paths = {}

            def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
                return True

        self.tracer = Appending(self.new_graph)
        self.tracer._set_root(module)

    def placeholder(self, target: Target, args: tuple[Argument, ...],
                    kwargs: dict[str, Any]) -> Proxy:
        """A parameter of the new graph.

        Args:
            target: Its name.
            args: Its default.
            kwargs: Empty.
        """
        default = args[0] if args else inspect.Signature.empty
        return Proxy(self.new_graph.placeholder(
            str(target), default_value=... if default is inspect.Signature.empty else default),
            self.tracer)

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Proxy:
        """An attribute in the new graph.

        Args:
            target: Its path.
            args: Empty.
            kwargs: Empty.
        """
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...],
                    kwargs: dict[str, Any]) -> Any:
        """A call of a module in the new graph.

        Args:
            target: Its path.
            args: Its positional arguments.
            kwargs: Its named arguments.
        """
        module = self.fetch_attr(str(target))
        return self.tracer.call_module(module, module.forward, args, kwargs)

    def call_function(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a function in the new graph.

        Args:
            target: The function.
            args: Its positional arguments.
            kwargs: Its named arguments.
        """
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The new module."""
        with fx_traceback.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:
            def node_of(x: Any) -> Any:
                return x.node if isinstance(x, Proxy) else x

            from flambeau.fx.node import map_aggregate

            old = self.graph.output_node()
            made = self.new_graph.output(map_aggregate(result, node_of), type_expr=old.type)
            made.meta.update(old.meta)
        return GraphModule(self.module, self.new_graph, type(self.module).__name__)


