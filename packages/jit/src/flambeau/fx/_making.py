"""How nodes are added to a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import flambeau.fx._names as _names
from flambeau.fx._codegen import CodeGen
from flambeau.fx.node import Argument, Node, Target


class Making:
    """The methods of a graph that make nodes."""

    owning_module: Any
    _graph_namespace: _names.Namespace
    _insert: Callable[[Node], None]
    _len: int
    _order_known: bool
    _codegen: CodeGen

    def create_node(self, op: str, target: Target, args: tuple[Any, ...] | None = None,
                    kwargs: dict[str, Any] | None = None, name: str | None = None,
                    type_expr: Any | None = None) -> Node:
        """Add a node at the insertion point.

        Args:
            op: What kind of node; see `Node`.
            target: What it calls or reads.
            args: Positional arguments.
            kwargs: Named arguments.
            name: What its value is called; a number is added where that is taken.
            type_expr: Its type, for annotations.

        Returns:
            The node.

        Raises:
            AssertionError: there is no such kind, or arguments are no tuple and dict.
        """
        if args is not None and not isinstance(args, tuple):
            raise AssertionError(f"create_node(): args must be a tuple, not {type(args).__name__}")
        if kwargs is not None and not isinstance(kwargs, dict):
            raise AssertionError(
                f"create_node(): kwargs must be a dict, not {type(kwargs).__name__}")
        if op == "root":
            raise AssertionError("create_node(): 'root' is not an op of a graph's nodes")
        candidate = name if name is not None else self._target_to_str(target)
        named = self._graph_namespace.create_name(candidate, None)
        node = Node(cast(Any, self), named, op, target, args or (), kwargs or {}, type_expr)
        hooks = getattr(self.owning_module, "_create_node_hooks", ())
        self._graph_namespace.associate_name_with_obj(named, node)
        self._insert(node)
        self._len += 1
        self._order_known = False
        for hook in hooks:
            hook(node)
        return node

    def process_inputs(self, *args: Any) -> Any:
        """The arguments of the graph from those of its function, where they differ.

        Args:
            args: What the function was called with.
        """
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """The function's result from the graph's, where they differ.

        Args:
            out: What the graph gave.
        """
        return self._codegen.process_outputs(out)

    def placeholder(self, name: str, type_expr: Any | None = None,
                    default_value: Any = ...) -> Node:
        """Add a parameter.

        Args:
            name: Its name; ``*args`` and ``**kwargs`` take the rest.
            type_expr: Its annotation.
            default_value: Its default.
        """
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any | None = None) -> Node:
        """Add a reading of an attribute of the owning module.

        Args:
            qualified_name: A dotted path such as ``layer.weight``.
            type_expr: Its type.
        """
        self._warn_about(qualified_name)
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name: str, args: tuple[Any, ...] | None = None,
                    kwargs: dict[str, Any] | None = None, type_expr: Any | None = None) -> Node:
        """Add a call of a module of the owning module.

        Args:
            module_name: A dotted path.
            args: Positional arguments.
            kwargs: Named arguments.
            type_expr: The type of the result.
        """
        if self.owning_module is not None:
            self.owning_module.get_submodule(module_name)
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name: str, args: tuple[Any, ...] | None = None,
                    kwargs: dict[str, Any] | None = None, type_expr: Any | None = None) -> Node:
        """Add a call of a method of the first argument.

        Args:
            method_name: Its name.
            args: The object, then positional arguments.
            kwargs: Named arguments.
            type_expr: The type of the result.
        """
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function: Callable[..., Any], args: tuple[Any, ...] | None = None,
                      kwargs: dict[str, Any] | None = None, type_expr: Any | None = None,
                      name: str | None = None) -> Node:
        """Add a call of a function.

        Args:
            the_function: The function.
            args: Positional arguments.
            kwargs: Named arguments.
            type_expr: The type of the result.
            name: What the value is called.
        """
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result: Argument, type_expr: Any | None = None) -> Node:
        """Add what the graph returns.

        Args:
            result: A node, or tuples, lists and dicts of nodes.
            type_expr: Its annotation.
        """
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def _warn_about(self, path: str) -> None:
        if self.owning_module is None:
            return
        import warnings

        at = self.owning_module
        for part in path.split("."):
            at = getattr(at, part, None)
            if at is None:
                break
        if at is None:
            warnings.warn(
                f"the graph's module has no attribute {path!r} yet: add it as a parameter or "
                "buffer before the graph is run", stacklevel=3)

    def _target_to_str(self, target: Target) -> str:
        if callable(target):
            name = getattr(target, "__name__", type(target).__name__)
        else:
            name = target
            if name.startswith("__") and name.endswith("__"):
                name = name[2:-2]
        return _names.snake_case(name)
