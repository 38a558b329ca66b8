"""``compile(fn, backend=function)``: what a function calls, as a graph for somebody's compiler.

A call is watched as for a replay: what it reads becomes guards, and each call of Flambeau becomes a
node. So the graph stands for later calls as long as the guards hold; where anything cannot be
followed the function runs as it is.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import Any, NamedTuple, cast
from weakref import WeakSet

import flambeau
from flambeau import fx, nn
from flambeau.core import pytree
from flambeau.jit import bridge
from flambeau.jit.compiling import own_name
from flambeau.jit.errors import GraphBreakError

from . import trust
from .calls import Calls
from .context import ITERATORS
from .depth import room_for_frames
from .reads import Reads
from .warned import guard_filters

#: Graphs of a function, for other arguments or states; then it runs as it is.
MOST_GRAPHS = 8
_EVERY: WeakSet[Graphed] = WeakSet()


class Entry(NamedTuple):
    """A graph that somebody compiled.

    Args:
        guards: when it stands for a call.
        run: what the backend returned.
        spec: how results are put together.
        fixed: results that are no tensors, by their number.
        total: how many results there are.
    """

    guards: Any
    run: Callable[..., Any]
    spec: Any
    fixed: dict[int, Any]
    total: int

    def call(self) -> Any:
        """Run it for the arguments that the guards have just found."""
        results = self.run(*self.guards.sources())
        if type(results) not in (tuple, list) or len(results) + len(self.fixed) != self.total:
            wanted = self.total - len(self.fixed)
            raise TypeError(
                f"jit.compile(): what the backend returned gave an object of class "
                f"{type(results).__name__}, and must give a tuple of {wanted} results, as the "
                "graph does")
        found = iter(results)
        leaves = [self.fixed[k] if k in self.fixed else next(found) for k in range(self.total)]
        return pytree.tree_unflatten(leaves, self.spec)


class GraphCalls(Calls):
    """Notes each call that is not followed as a node.

    Args:
        reads: the guards.
        graph: gets the nodes.
        root: the module of the graph.
    """

    def __init__(self, reads: Reads, graph: Any, root: Any) -> None:
        super().__init__(reads, self._step, strict=True)
        self.graph, self.root = graph, root
        self.nodes: dict[int, Any] = {}
        self.members: dict[int, str] = {}
        self.kept: list[Any] = []

    def add_source(self, tensor: Any, name: str) -> None:
        """An argument of the graph."""
        self._note(self.graph.placeholder(name), tensor)

    def _step(self, obj: Any, name: str, args: tuple[Any, ...]) -> Any:
        self.refuse(f"{name}() of an optimizer is no part of a graph")
        return getattr(obj, name)(*args)

    def native(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call what reads nothing but its arguments, and note it."""
        result = super().native(fn, args, kwargs)
        if trust.is_mode(result):
            self.refuse("a mode is entered, which is no part of a graph")
        if not self.reads.is_refused and (_has_tensors(result) or _has_tensors((args, kwargs))):
            self._note(self._node(fn, self.argument_of(args), self.argument_of(kwargs)), result)
        return result

    def pure(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A builtin function: a node where it makes tensors, as ``sum`` does."""
        result = super().pure(fn, args, kwargs)
        if not self.reads.is_refused and trust.is_tensor(result) and id(result) not in self.nodes:
            self.refuse(f"{fn.__name__}() computes with tensors, which is no part of a graph")
        return result

    def tensor_attribute(self, obj: Any, name: str) -> Any:
        """An attribute of a tensor, which may be another one."""
        value = super().tensor_attribute(obj, name)
        if trust.is_tensor(value) and not self.reads.is_refused:
            if name in ("grad", "data"):
                self.refuse(f"Tensor.{name} is no part of a graph")
            else:
                self._note(self.graph.call_function(getattr, (self.argument_of(obj), name)), value)
        return value

    def _node(self, fn: Any, args: Any, kwargs: Any) -> Any:
        if trust.is_module(fn):
            return self.graph.call_module(self._attribute(fn), args, kwargs)
        name = getattr(fn, "__name__", "")
        if trust.is_method_of_tensors(fn, name):
            return self.graph.call_method(name, args, kwargs)
        return self.graph.call_function(fn, args, kwargs)

    def _note(self, node: Any, result: Any) -> None:
        self.kept.append(result)            # so that nothing else has its address
        if trust.is_tensor(result):
            self.nodes.setdefault(id(result), node)
            node.meta["val"] = flambeau.empty_like(result, device="meta")
        elif isinstance(result, tuple | list):
            for k, each in enumerate(result):
                if isinstance(each, tuple | list) or trust.is_tensor(each):
                    self._note(self.graph.call_function(operator.getitem, (node, k)), each)

    def _attribute(self, value: Any) -> str:
        """The name under which the graph's module has a member."""
        if id(value) not in self.members:
            self.kept.append(value)
            name = self.members[id(value)] = f"member{len(self.members)}"
            if trust.is_module(value) or isinstance(value, nn.Parameter):
                setattr(self.root, name, value)
            else:
                self.root.register_buffer(name, value)
        return self.members[id(value)]

    def argument_of(self, value: Any) -> Any:
        """An argument as it stands in a node."""
        if trust.is_tensor(value):
            return self.node_of(value)
        if type(value) in (tuple, list):
            return type(value)(self.argument_of(each) for each in value)
        if type(value) is dict:
            return {key: self.argument_of(each) for key, each in value.items()}
        if type(value) is slice:
            return slice(*map(self.argument_of, (value.start, value.stop, value.step)))
        if isinstance(value, ITERATORS) or type(value) is set:
            self.refuse(f"a {type(value).__name__} is used up, which no graph can do again")
        return value

    def node_of(self, tensor: Any) -> Any:
        """The node of a tensor; what was read of outside is a member of the graph's module."""
        if id(tensor) not in self.nodes:
            if id(tensor) not in self.reads.tensors:
                self.refuse("a tensor comes from where no graph sees it")
                return None
            self._note(self.graph.get_attr(self._attribute(tensor)), tensor)
        return self.nodes[id(tensor)]


def _has_tensors(value: Any) -> bool:
    if type(value) is dict:
        return any(map(_has_tensors, value.values()))
    return any(map(_has_tensors, value)) if isinstance(value, tuple | list) \
        else bool(trust.is_tensor(value))


class Graphed:
    """What ``compile(fn, backend=function)`` calls.

    Args:
        fn: the function.
        backend: given a graph and example arguments, a function that does the same.
        fullgraph: raise where a call is no graph.
    """

    def __init__(self, fn: Any, backend: Callable[..., Any], fullgraph: bool = False) -> None:
        update_wrapper(cast(Any, self), fn, updated=())
        self.fn, self.backend, self.fullgraph = fn, backend, fullgraph
        self.entries: list[Entry] = []
        self.refusal = ""
        _EVERY.add(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not bridge.may_record():
            return self.fn(*args, **kwargs)
        for entry in self.entries:
            if entry.guards.hold(args, kwargs):
                return entry.call()
        if self.refusal or len(self.entries) >= MOST_GRAPHS:
            return self.fn(*args, **kwargs)
        return self._watch(args, kwargs)

    def __get__(self, obj: Any, cls: Any) -> Any:
        return self if obj is None else MethodType(self, obj)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.fn, name)

    def __reduce__(self) -> str | tuple[Any, ...]:
        return own_name(self) or (Graphed, (self.fn, self.backend, self.fullgraph))

    def explain(self) -> str:
        """The graphs, or why there is none."""
        return self.refusal or f"{len(self.entries)} graphs, compiled by {self.backend!r}"

    def _watch(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that is run and made a graph of."""
        guards, recording = bridge.Guards(), bridge.Recording()
        reads = Reads(recording, guards)
        sources = reads.take_arguments(args, kwargs)
        root = nn.Module()
        calls = GraphCalls(reads, fx.Graph(), root)
        for k, each in enumerate(sources):
            calls.add_source(each, f"x{k}")
        with room_for_frames():
            result = calls.call(reads.read(self.fn), args, kwargs)
        entry = None if reads.is_refused else self._finish(calls, guards, result, (args, kwargs))
        if reads.is_refused or entry is None:
            self._refuse(recording.refusal)
        else:
            self.entries.append(entry)
        return result

    def _finish(self, calls: GraphCalls, guards: Any, result: Any, given: Any) -> Entry | None:
        reads, sources = calls.reads, guards.sources()
        leaves, spec = pytree.tree_flatten(result)
        fixed = {k: each for k, each in enumerate(leaves) if not trust.is_tensor(each)}
        if not all(trust.is_value(each) or trust.is_constant(each) for each in fixed.values()):
            calls.refuse("something is returned that is neither a tensor nor a value")
        nodes = [calls.node_of(each) for each in leaves if trust.is_tensor(each)
                 and not reads.is_refused]
        if reads.goes_back or any(each.grad is not reads.grads[key]
                                  for key, each in reads.tensors.items() if each.is_leaf):
            calls.refuse("gradients are computed, which is no part of a graph")
        reads.end()
        trust.watch_own_names()
        reads.guard("names", None)
        guard_filters(reads)
        if reads.is_refused or not guards.still_hold() or not guards.take_again(*given):
            calls.refuse("something changed during the call")
            return None
        calls.graph.output(tuple(nodes))
        module = fx.GraphModule(calls.root, calls.graph, getattr(self.fn, "__name__", "graph"))
        run = self.backend(module, sources)
        if not callable(run):
            raise TypeError(f"jit.compile(): the backend {self.backend!r} returned an object of "
                            f"class {type(run).__name__}; it must return a function of the "
                            "example arguments that returns a tuple of tensors")
        return Entry(guards, run, spec, fixed, len(leaves))

    def _refuse(self, why: str) -> None:
        self.refusal = f"no graph: {why}"
        name = getattr(self.fn, "__qualname__", repr(self.fn))
        text = f"jit.compile(): {name} runs as it is, without the backend {self.backend!r}: {why}"
        if self.fullgraph:
            raise GraphBreakError(text)
        warnings.warn(text, stacklevel=4)


def forget_graphs() -> None:
    """Have each function be made graphs of anew."""
    for each in list(_EVERY):
        each.entries, each.refusal = [], ""
