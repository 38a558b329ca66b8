"""The graph of a module's parts, as TensorBoard draws it."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor, no_grad
from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.versions_pb2 import VersionDef


def _tensors(value: Any) -> list[Tensor]:
    """The tensors in what a module takes or gives."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [each for part in value for each in _tensors(part)]
    return []


class _Drawing:
    """Nodes for the parts that are called, joined where one's result is another's argument."""

    def __init__(self, inputs: tuple[Any, ...]) -> None:
        self.nodes: list[NodeDef] = []
        self.sources: dict[int, str] = {}
        self.kept: list[Tensor] = []    # their numbers stay theirs
        for i, value in enumerate(_tensors(inputs)):
            self.add(f"input/{i}", "IO Node", (), value)

    def add(self, name: str, kind: str, taken: Any, given: Any) -> None:
        """A node, and what comes out of it."""
        sources = [self.sources[id(x)] for x in _tensors(taken) if id(x) in self.sources]
        node = NodeDef(name=name, op=kind, input=list(dict.fromkeys(sources)))
        for value in _tensors(given):
            self.kept.append(value)
            self.sources[id(value)] = name
            dims = [TensorShapeProto.Dim(size=size) for size in value.shape]
            shape = AttrValue(shape=TensorShapeProto(dim=dims))
            node.attr["_output_shapes"].list.shape.append(shape.shape)
        self.nodes.append(node)


def graph_of(module: Any, inputs: Any) -> GraphDef:
    """The graph of the parts that one call of a module uses.

    Args:
        module: A ``Module``.
        inputs: Its argument, or a tuple of them.
    """
    arguments = inputs if isinstance(inputs, tuple) else (inputs,)
    drawing = _Drawing(arguments)
    calls: dict[str, int] = {}
    handles = []
    for path, part in module.named_modules():
        if next(part.children(), None) is None:
            place = "/".join([type(module).__name__, *path.split(".")]).rstrip("/")

            def seen(part: Any, taken: Any, given: Any, place: str = place) -> None:
                calls[place] = calls.get(place, 0) + 1
                name = place if calls[place] == 1 else f"{place}_{calls[place]}"
                drawing.add(name, type(part).__name__, taken, given)

            handles.append(part.register_forward_hook(seen))
    training = module.training
    try:
        module.eval()
        with no_grad():
            drawing.add("output", "IO Node", module(*arguments), ())
    finally:
        module.train(training)
        for handle in handles:
            handle.remove()
    return GraphDef(node=drawing.nodes, versions=VersionDef(producer=22))
