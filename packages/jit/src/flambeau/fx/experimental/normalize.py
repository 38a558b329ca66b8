"""Graphs whose calls are written in one way."""

from __future__ import annotations

import operator
from typing import Any

import flambeau
from flambeau.fx.experimental.schema_type_annotation import AnnotateTypesWithSchema
from flambeau.fx.interpreter import Transformer
from flambeau.fx.node import Node, map_aggregate
from flambeau.fx.operator_schemas import create_type_hint, normalize_function, normalize_module

__all__ = ["NormalizeArgs", "NormalizeOperators"]


class NormalizeArgs(Transformer):
    """Writes the arguments of functions and of this library's modules as their signatures do.

    Args:
        module: The module.
        normalize_to_only_use_kwargs: Name every argument that can be named.

    Example:
        >>> import flambeau
        >>> from flambeau import fx
        >>> from flambeau.fx.experimental.normalize import NormalizeArgs
        >>> made = NormalizeArgs(fx.symbolic_trace(lambda x: flambeau.cumsum(x, 0))).transform()
        >>> sorted(list(made.graph.nodes)[1].kwargs)
        ['dim', 'dtype', 'input']
    """

    def __init__(self, module: Any, normalize_to_only_use_kwargs: bool = True) -> None:
        super().__init__(module)
        self.node_map: dict[Any, Node] = {}
        self.normalize_to_only_use_kwargs = normalize_to_only_use_kwargs

    def run_node(self, n: Node) -> Any:
        """Copy a node, with its ``meta`` and type.

        Args:
            n: The node.
        """
        args, kwargs = self.fetch_args_kwargs_from_env(n)

        def kind(arg: Any) -> Any:
            return n.meta.get("type") if isinstance(arg, Node) else type(arg)

        kinds: Any = map_aggregate(n.args, kind)
        if n.op == "call_function":
            made = self.call_function(n.target, args, kwargs,
                                      tuple(create_type_hint(each) for each in kinds),
                                      {key: kind(each) for key, each in kwargs.items()})
        else:
            made = super().run_node(n)
        if n.op != "output":
            self.node_map[made] = n
            made.node.meta = n.meta
            made.node.type = n.type
        return made

    def call_function(self, target: Any, args: Any, kwargs: Any, arg_types: Any = None,
                      kwarg_types: Any = None) -> Any:
        """The call of a function.

        Args:
            target: The function.
            args: Positional arguments.
            kwargs: Named arguments.
            arg_types: Types of the former.
            kwarg_types: Types of the latter.
        """
        found = normalize_function(target, args, kwargs, arg_types, kwarg_types,
                                   self.normalize_to_only_use_kwargs)
        if found is None:
            return super().call_function(target, args, kwargs)
        return self.tracer.create_proxy("call_function", target, *found)

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The call of a module.

        Args:
            target: Its path.
            args: Positional arguments.
            kwargs: Named arguments.
        """
        found = normalize_module(self.module, target, args, kwargs,
                                 self.normalize_to_only_use_kwargs)
        return super().call_module(target, *(found or (args, kwargs)))


class NormalizeOperators(AnnotateTypesWithSchema):
    """Writes ``flambeau.add(x, y)`` and the like as ``x + y``.

    Args:
        module: The module.

    Example:
        >>> import flambeau
        >>> from flambeau import fx
        >>> from flambeau.fx.experimental.normalize import NormalizeOperators
        >>> made = NormalizeOperators(fx.symbolic_trace(lambda x: flambeau.add(x, x))).transform()
        >>> list(made.graph.nodes)[1].target
        <built-in function add>
    """

    binary_magic_method_remap = {
        flambeau.add: operator.add, flambeau.mul: operator.mul, flambeau.sub: operator.sub,
        flambeau.div: operator.truediv, flambeau.floor_divide: operator.floordiv,
        flambeau.remainder: operator.mod, flambeau.eq: operator.eq, flambeau.ne: operator.ne,
        flambeau.lt: operator.lt, flambeau.le: operator.le, flambeau.gt: operator.gt,
        flambeau.ge: operator.ge}

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The call of a function, as an operator of Python's where it is one.

        Args:
            target: The function.
            args: Positional arguments.
            kwargs: Named arguments.
        """
        plain = self.binary_magic_method_remap.get(target)
        if plain is not None and len(args) == 2 and not kwargs:
            return super().call_function(plain, args, {})
        return super().call_function(target, args, kwargs)
