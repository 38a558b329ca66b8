"""The graph: values, and nodes in single-assignment order.

A ``Graph`` holds the calls that a traced function makes, in order: a value is a tensor, views share
memory, and a node with ``into`` writes its results into tensors that are there. A graph without
such nodes is *pure*: only what a node computes matters, and passes may rewrite it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from flambeau.jit.dims import Size
from flambeau.jit.literals import Opaque


@dataclass(frozen=True, eq=False)
class Value:
    """One tensor: assigned once, equal only to itself."""

    shape: tuple[Size, ...]
    dtype: str
    device: str = "cpu"

    def like(self) -> Value:
        """Another value of the same type."""
        return replace(self)

    @property
    def type(self) -> tuple[object, ...]:
        """Shape, dtype and device."""
        return self.shape, self.dtype, self.device


#: What a node holds for a parameter: a ``Value``, a literal (``literals``), or a tuple of these.
Arg = Any


@dataclass(eq=False)
class Node:
    """One operator applied.

    Args:
        op: key of the definition, ``name`` or ``name.overload``.
        args: one entry per parameter of the definition: a value, a tuple of values, or a literal.
        outputs: the values it assigns: the definition's outputs, then the new value of each
            parameter that the definition writes to.
        body: the region a ``fused`` node stands for.
        where: ``file:line`` of the call that was recorded.
        into: the values it writes its results to; nothing where the results are new tensors.
        history: which of ``inputs`` required grad, where history was recorded.
        regions: what a ``branch`` does where its condition holds and where not, or the condition
            and the step of a ``loop``.
    """

    op: str
    args: tuple[Arg, ...]
    outputs: tuple[Value, ...]
    body: Graph | None = None
    where: str = ""
    into: tuple[Value, ...] = ()
    history: tuple[int, ...] = ()
    regions: tuple[Graph, ...] = ()

    @property
    def inputs(self) -> tuple[Value, ...]:
        """The values among the arguments, in order, then those it writes to."""
        return (*values_in(self.args), *self.into)


@dataclass(eq=False)
class Capture:
    """A tensor the function used without being given it, or one that a pass computed.

    Args:
        value: the value that stands for it.
        name: what it is called in print and in files.
        tensor: the tensor itself.
        constant: no one else holds it, so its contents never change.
    """

    value: Value
    name: str
    tensor: Any = None
    constant: bool = False


@dataclass(eq=False)
class Grad:
    """A gradient that a run leaves behind.

    Args:
        leaf: the input or captured tensor.
        value: what its ``grad`` is afterwards; ``None``: it has none.
        needs: what must be there before: ``"none"``, the ``"same"`` tensor as when recorded, or
            anything (empty).
        before: that tensor.
        tensor: the leaf itself, while recording.
    """

    leaf: Value
    value: Value | None
    needs: str = ""
    before: Any = None
    tensor: Any = None


@dataclass(eq=False)
class Read:
    """Values that Python read from a tensor outside, on which what was recorded may depend.

    Args:
        tensor: the tensor.
        copy: what it held.
        where: the line.
    """

    tensor: Any
    copy: Any
    where: str


#: The end of a reason where nothing is known but of the sizes that were tried.
TRIED = "so that only sizes that were tried are known"

#: The beginning of a reason where the function fails.
RAISES = "the function raises "

#: The beginning of a reason that the caller gave.
SAID = "it was traced with "


@dataclass
class Limits:
    """Between which sizes a symbol may be.

    Args:
        first: the least.
        last: the greatest; ``None``: there is none.
        below: what decides there, with its line; empty where nothing does.
        above: the same for sizes above.
    """

    first: int
    last: int | None = None
    below: str = ""
    above: str = ""

    @property
    def is_found(self) -> bool:
        """Whether a size above the last one was seen to be another case, or to fail."""
        return self.last is not None and _is_seen(self.above)

    @property
    def is_found_below(self) -> bool:
        """Whether a size below the first one was seen to be another case."""
        return _is_seen(self.below) and not self.below.startswith(RAISES)


def _is_seen(why: str) -> bool:
    return bool(why) and not why.endswith(TRIED) and not why.startswith(SAID)


@dataclass(eq=False)
class Graph:
    """Inputs, captured tensors, nodes in order, outputs.

    Args:
        inputs: the values given at each run.
        captures: tensors from outside.
        nodes: each uses only what stands before it.
        outputs: the values a run gives.
        writes: pairs of an input's or capture's value and what is copied into it at the end.
        symbols: the numbers each symbol stood for while the graph was recorded; it may stand
            for anything from the least of them on.
        requires: for each output whether it required grad.
        input_requires: the same for each input.
        grads: the gradients that a run leaves behind.
        reads: what Python read while it was recorded; not saved.
        steps: the optimizers that took steps while it was recorded; not saved.
        limits: for each symbol the sizes it may stand for.
        defaults: the default dtype and device, on which operators' results depend.
        compared: while recording, what sizes were compared with.
        fixed: why sizes that could vary do not; empty where they do.
        no_history: why a run cannot record history; empty where it can.
    """

    inputs: list[Value] = field(default_factory=list)
    captures: list[Capture] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)
    writes: list[tuple[Value, Value]] = field(default_factory=list)
    symbols: dict[str, tuple[int, ...]] = field(default_factory=dict)
    requires: list[bool] = field(default_factory=list)
    input_requires: list[bool] = field(default_factory=list)
    grads: list[Grad] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    steps: list[Any] = field(default_factory=list)
    no_history: str = ""
    limits: dict[str, Limits] = field(default_factory=dict)
    compared: list[Any] = field(default_factory=list)
    fixed: str = ""
    defaults: str = ""

    def __str__(self) -> str:
        from flambeau.jit.printing import show_graph

        return show_graph(self)

    def results(self) -> list[Value]:
        """Everything a run must have computed at its end: outputs and what is written."""
        grads = [grad.value for grad in self.grads if grad.value is not None]
        return [*self.outputs, *(new for _, new in self.writes), *grads]

    def generators(self) -> list[Any]:
        """The random generators that nodes name."""
        found = (arg.value for node in self.nodes for arg in node.args if isinstance(arg, Opaque))
        return list({id(generator): generator for generator in found}.values())

    def range_of(self, name: str) -> range:
        """The sizes a symbol may stand for."""
        limits = self.limits.get(name) or Limits(min(self.symbols[name]))
        return range(limits.first, 2**62 if limits.last is None else limits.last + 1)

    def is_pure(self) -> bool:
        """Whether it only computes: no node writes, and nothing but its outputs is left."""
        from flambeau.jit.opset import has_effects

        return not self.grads and not any(node.into or has_effects(node) for node in self.nodes)

    def replaces_strides(self) -> bool:
        """Whether it reads memory by strides of its own (``as_strided``), but for that captured."""
        captured = {capture.value for capture in self.captures}
        return any(node.op == "as_strided" and node.args[0] not in captured for node in self.nodes)

    def shown(self) -> set[Value]:
        """What shares memory with an output, by way of views: others may write there."""
        found = set(self.outputs)
        from flambeau.jit.opset import is_view

        for node in reversed(self.nodes):
            if found.isdisjoint(node.outputs):
                continue
            if is_view(node.op):
                found.add(node.args[0])
            elif node.regions:      # what a branch returns may be what it was given
                found.update(node.inputs)
        return found

    def producers(self) -> dict[Value, Node]:
        """The node that assigns each value."""
        return {value: node for node in self.nodes for value in node.outputs}

    def users(self) -> dict[Value, list[Node]]:
        """The nodes that use each value, in order; each node once."""
        found: dict[Value, list[Node]] = {}
        for node in self.nodes:
            for value in dict.fromkeys(node.inputs):
                found.setdefault(value, []).append(node)
        return found


def values_in(args: tuple[Arg, ...]) -> Iterator[Value]:
    """The values in a tree of arguments, in order."""
    for arg in args:
        if isinstance(arg, Value):
            yield arg
        elif isinstance(arg, tuple):
            yield from values_in(arg)


def map_args(args: tuple[Arg, ...], function: Callable[[Any], Any]) -> tuple[Arg, ...]:
    """Replace every leaf of a tree of arguments."""
    return tuple(
        map_args(arg, function) if isinstance(arg, tuple) else function(arg) for arg in args
    )


def rename(args: tuple[Arg, ...], new: Mapping[Value, Value]) -> tuple[Arg, ...]:
    """Replace values in a tree of arguments."""
    return map_args(args, lambda leaf: new.get(leaf, leaf) if isinstance(leaf, Value) else leaf)
