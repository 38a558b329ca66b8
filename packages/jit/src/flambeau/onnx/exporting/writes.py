"""In-place writes: ONNX has values only, so a write gives everything that shares memory anew."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from flambeau.jit.ir import Node, Value
from flambeau.jit.opset import is_view
from flambeau.onnx.exporting.builder import Builder, Name
from flambeau.onnx.exporting.table import EMITTERS, refuse


class Memory:
    """Which values share memory, and what each one's name is after a write.

    Args:
        builder: the graph that is written.
        held: inputs and captured tensors, which ONNX writes nothing into.
    """

    def __init__(self, builder: Builder, held: Collection[Value]) -> None:
        self.builder = builder
        self.held = held
        self._source: dict[Value, tuple[Node, Value]] = {}   # a view: its node and what it views
        self._views: dict[Value, list[Value]] = {}           # memory: its views, oldest first

    def note(self, node: Node) -> None:
        """Remember a view that was written."""
        if is_view(node.op) and len(node.outputs) == 1 and isinstance(node.args[0], Value):
            self._add(node.outputs[0], node, node.args[0])

    def _add(self, value: Value, node: Node, source: Value) -> None:
        self._source[value] = node, source
        self._views.setdefault(self._root(value), []).append(value)

    def _root(self, value: Value) -> Value:
        while value in self._source:
            value = self._source[value][1]
        return value

    def write(self, node: Node) -> None:
        """Give memory the values that a node has written into it."""
        b = self.builder
        for new, target in zip(node.outputs, node.into, strict=True):
            root = self._root(target)
            if root in self.held:
                refuse(node, "it writes into an input or into a parameter or buffer, which ONNX "
                             "cannot; write into a copy (x = x.clone()), and return it")
            name = b.cast(b.names[new], new.dtype, root.dtype)
            b.names[root] = name if self._is_whole(target) else self._with(root, target, name)
            # What the node gives is the memory itself from now on.
            alias = Node("alias", (target,), (new,))
            self._add(new, alias, target)
            for view in self._views[root]:
                made, source = self._source[view]
                b.names[view] = b.names[source] if made.op == "alias" else self._viewed(made)

    def _is_whole(self, value: Value) -> bool:
        """Whether a value is all of its memory, in its order."""
        while value in self._source:
            node, value = self._source[value]
            if node.op != "alias":
                return False
        return True

    def _viewed(self, node: Node) -> Name:
        name = EMITTERS[node.op](self.builder, node, *node.args)
        return name if isinstance(name, str) else name[0]

    def _with(self, root: Value, target: Value, name: Name) -> Name:
        """All elements of memory with some of them written, found by the numbers of elements."""
        b = self.builder
        count = b.add("Size", b.names[root])
        zero, one, flat = (b.constant(0, "int64"), b.constant(1, "int64"), b.whole(-1))
        numbers = b.add("Reshape", b.add("Range", zero, count, one), b.shape(root.shape))
        places = b.add("Reshape", self._numbers(root, target, numbers), flat)
        written = b.add("ScatterElements", b.add("Reshape", b.names[root], flat), places,
                        b.add("Reshape", name, flat), axis=0)
        return b.add("Reshape", written, b.shape(root.shape))

    def _numbers(self, root: Value, target: Value, numbers: Name) -> Name:
        """The numbers of the elements that a view has, by the same views of the numbers."""
        path = []
        while target is not root:
            node, target = self._source[target]
            path.append(node)
        value = replace(root, dtype="int64")
        self.builder.names[value] = numbers
        for node in reversed(path):
            if node.op == "alias":
                continue
            result = replace(node.outputs[0], dtype="int64")
            moved = Node(node.op, (value, *node.args[1:]), (result,), where=node.where)
            self.builder.names[result] = self._viewed(moved)
            value = result
        return self.builder.names[value]
