"""What makes nodes and proxies while a program is recorded."""

from __future__ import annotations

import collections
import dataclasses
import enum
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import flambeau.fx.traceback as fx_traceback
from flambeau.fx._proxies import Attribute, ParameterProxy, Proxy
from flambeau.fx.graph import Graph
from flambeau.fx.node import Argument, Node, Target, base_types, map_aggregate

__all__ = ["Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "Scope",
           "ScopeContextManager", "TraceError", "TracerBase"]


class TraceError(ValueError):
    """A program asked for the value of something that is only recorded."""


@dataclasses.dataclass
class Scope:
    """The module that is being called.

    Args:
        module_path: Its dotted path.
        module_type: Its class.
    """

    module_path: str
    module_type: Any


class ScopeContextManager:
    """Within a ``with`` block a scope is another one.

    Args:
        scope: The tracer's scope, which is changed.
        current_scope: What it is inside.
    """

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._former = dataclasses.replace(scope)
        scope.module_path = current_scope.module_path
        scope.module_type = current_scope.module_type
        self._scope = scope

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *error: object) -> None:
        self._scope.module_path = self._former.module_path
        self._scope.module_type = self._former.module_type


_CONTROL_FLOW = (
    "symbolically traced variables cannot be used as inputs to control flow: which way the program "
    "goes would depend on values that are not known while it is recorded. Write flambeau.where(...)"
    ", give the value as concrete_args, or put the branch into a function under flambeau.fx.wrap")
_ITERATED = (
    "Proxy object cannot be iterated: how many items there are is not known while a program is "
    "recorded. Unpack it into a known number of names (a, b = x), index it, or put the loop into "
    "a function under flambeau.fx.wrap")


class TracerBase:
    """Makes nodes and proxies; `flambeau.fx.Tracer` calls modules besides."""

    graph: Graph
    record_stack_traces: bool = False
    check_mutable_operations: bool = False
    trace_asserts: bool = False
    proxy_buffer_attributes: bool = False
    traced_func_name: str = "forward"
    scope: Scope = Scope("", None)
    module_stack: collections.OrderedDict[str, Any] = collections.OrderedDict()
    node_name_to_scope: dict[str, tuple[str, Any]] = {}

    def create_node(self, kind: str, target: Target, args: tuple[Argument, ...],
                    kwargs: dict[str, Argument], name: str | None = None,
                    type_expr: Any | None = None) -> Node:
        """Add a node to the graph.

        Args:
            kind: Its ``op``.
            target: What it calls or reads.
            args: Positional arguments.
            kwargs: Named arguments.
            name: Its name.
            type_expr: Its type.
        """
        if kind == "call_function" and self.check_mutable_operations:
            from flambeau.fx.operator_schemas import check_for_mutable_operation

            check_for_mutable_operation(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        if fx_traceback.has_preserved_node_meta():
            kept = fx_traceback.get_current_meta()
            node.meta.update({key: kept[key] for key in kept if key != "grad_fn_seq_nr"})
        elif self.module_stack:
            node.meta["nn_module_stack"] = dict(self.module_stack)
        return node

    def proxy(self, node: Node) -> Proxy:
        """The proxy of a node.

        Args:
            node: The node.
        """
        return Proxy(node, self)

    def create_proxy(self, kind: str, target: Target, args: tuple[Any, ...],
                     kwargs: dict[str, Any], name: str | None = None,
                     type_expr: Any | None = None,
                     proxy_factory_fn: Callable[[Node], Proxy] | None = None) -> Proxy:
        """Record a call, and return the proxy of its result.

        Args:
            kind: The node's ``op``.
            target: What it calls or reads.
            args: Positional arguments, proxies among them.
            kwargs: Named arguments.
            name: The node's name.
            type_expr: Its type.
            proxy_factory_fn: Makes the proxy; None means `proxy`.
        """
        given, named = self.create_arg(args), self.create_arg(kwargs)
        if not isinstance(given, tuple) or not isinstance(named, dict):
            raise AssertionError("create_arg() must give a tuple for a tuple, a dict for a dict")
        node = self.create_node(kind, target, given, named, name, type_expr)
        made = proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)
        if self.record_stack_traces and not made.node.stack_trace:
            made.node.stack_trace = _user_trace()
        return made

    def create_arg(self, a: Any) -> Argument:
        """What a node keeps of an argument: nodes for proxies.

        Args:
            a: The argument.

        Raises:
            NotImplementedError: graphs cannot hold such objects.
        """
        if isinstance(a, Proxy):
            return a.node
        if type(a) in (int, float, str, bool) or a is None or a is ...:
            return a
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            items = tuple(self.create_arg(each) for each in a)
            if hasattr(a, "_fields"):
                return self.create_node("call_function", type(a), items, {})
            return items
        if isinstance(a, list):
            return [self.create_arg(each) for each in a]
        if isinstance(a, dict):
            return {self._key(key): self.create_arg(each) for key, each in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop),
                         self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop),
                         self.create_arg(a.step))
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            fields = {f.name: self.create_arg(getattr(a, f.name)) for f in dataclasses.fields(a)}
            return self.create_node("call_function", type(a), (), fields)
        if isinstance(a, (*base_types, enum.Enum, Node)):
            return a
        raise NotImplementedError(
            f"argument of type: {type(a)}: graphs hold numbers, strings, dtypes, devices, tensors, "
            "and tuples, lists and dicts of them; make the object in a function under "
            "flambeau.fx.wrap")

    def _key(self, key: Any) -> Any:
        key = self.create_arg(key)

        def refuse(x: Any) -> Any:
            if isinstance(x, Node):
                raise RuntimeError("Keys for dictionaries used as an argument cannot contain a "
                                   f"Node. Got key: {key}")
            return x

        map_aggregate(key, refuse)
        return key

    def to_bool(self, obj: Proxy) -> bool:
        """Called where the truth of a proxy is asked for.

        Args:
            obj: The proxy.

        Raises:
            TraceError: always, unless a subclass answers.
        """
        raise TraceError(_CONTROL_FLOW)

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Called where a proxy is iterated over.

        Args:
            obj: The proxy.

        Raises:
            TraceError: always, unless a subclass answers.
        """
        raise TraceError(_ITERATED)

    def keys(self, obj: Proxy) -> Any:
        """Called where the keys of a proxy are asked for.

        Args:
            obj: The proxy.
        """
        return Attribute(obj, "keys")()


def _user_trace() -> str | None:
    """The frames of the program that is being recorded, as a traceback is printed."""
    frames = [frame for frame in traceback.extract_stack()
              if "/flambeau/fx/" not in frame.filename.replace("\\", "/")]
    return "".join(traceback.StackSummary.from_list(frames[-8:]).format()).strip() or None


class GraphAppendingTracer(TracerBase):
    """Adds nodes to a graph that is there.

    Args:
        graph: The graph.
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.node_name_to_scope = {}
