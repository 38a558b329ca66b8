"""Fused nodes on tensors: memory for the results, operands as the loops see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flambeau.jit import bridge
from flambeau.jit.dims import Dim, shape_for
from flambeau.jit.inference import infer_specs
from flambeau.jit.interpreter import Scalars, run_graph
from flambeau.jit.ir import Node, Value, map_args
from flambeau.jit.itemsizes import SIZE
from flambeau.jit.literals import Slot
from flambeau.jit.llvm.grid import broadcast_strides, make_grid
from flambeau.jit.llvm.launch import Launch, RegionCode
from flambeau.jit.region import Region, flatten

Tensor = Any


Geometry = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
#: The results' shape, the strides of each, and the code.
Prepared = tuple[tuple[int, ...], list[tuple[int, ...]], Launch]

#: Shapes a node is prepared for at one time.
MAX_LAUNCHES = 64


@dataclass(eq=False)
class _Prepared:
    """A node's region, and how to run it on operands of each geometry met."""

    node: Node
    code: RegionCode
    launches: dict[Geometry, Prepared]

    def launch(self, geometry: Geometry, sizes: Mapping[str, int]) -> Prepared:
        """Shape and strides of the results, and the code, for operands like these."""
        found = self.launches.get(geometry)
        if found is None:
            if len(self.launches) >= MAX_LAUNCHES:
                self.launches.clear()
            found = self.launches[geometry] = self.prepare(geometry, sizes)
        return found

    def prepare(self, geometry: Geometry, sizes: Mapping[str, int]) -> Prepared:
        shape = shape_for(self.node.outputs[0].shape, sizes)
        strides = _strides(self.node, geometry, sizes)
        bytes_of = [SIZE[v.dtype] for v in (*self.node.inputs, *self.node.outputs)]
        steps = [
            broadcast_strides(shape, own, stride, size)
            for (own, stride), size in zip(geometry, bytes_of, strict=False)
        ]
        steps += [tuple(s * size for s in own) for own, size in zip(
            strides, bytes_of[len(geometry):], strict=True)]
        return shape, strides, self.code.prepare(make_grid(shape, steps, bytes_of))


class FusedRunner:
    """Runs fused nodes as machine code; each node's region is lowered once."""

    def __init__(self) -> None:
        self._nodes: dict[Node, _Prepared] = {}

    def code(self, node: Node) -> RegionCode:
        """The code of a node's region."""
        return self._prepared(node).code

    def _prepared(self, node: Node) -> _Prepared:
        found = self._nodes.get(node)
        if found is None:
            assert node.body is not None
            region = flatten(node.body)
            code = RegionCode(region, region_key(region))
            found = self._nodes[node] = _Prepared(node, code, {})
        return found

    def __call__(
        self, node: Node, inputs: Sequence[Tensor], scalars: Scalars
    ) -> Sequence[Tensor]:
        """Compute a node's results; away from the CPU the interpreter does."""
        if not all(tensor.is_cpu for tensor in inputs):
            assert node.body is not None
            return run_graph(node.body, inputs, (), scalars)
        prepared = self._prepared(node)
        geometry = tuple([(tuple(tensor.shape), tensor.stride()) for tensor in inputs])
        shape, strides, launch = prepared.launch(geometry, scalars.sizes)
        results = [bridge.empty(shape, own, value.dtype)
                   for own, value in zip(strides, node.outputs, strict=True)]
        words = [tensor.data_ptr() for tensor in (*inputs, *results)]
        if prepared.code.region.scalars:
            numbers = [scalars.resolve(leaf) for leaf, _ in prepared.code.region.scalars]
            words += prepared.code.scalar_words(numbers)
        launch.run(words)
        return results


def _strides(node: Node, geometry: Geometry, sizes: Mapping[str, int]
             ) -> list[tuple[int, ...]]:
    """The strides that a node's results have where its operators are called one by one."""
    body = node.body
    assert body is not None
    tensors: dict[Value, Tensor] = {
        value: bridge.empty(shape, strides, value.dtype)
        for value, (shape, strides) in zip(body.inputs, geometry, strict=True)}

    def leaf(arg: Any) -> Any:
        if isinstance(arg, Value):
            return tensors[arg]
        if isinstance(arg, Dim):
            return arg.evaluate(sizes)
        return 1 if isinstance(arg, Slot) else bridge.from_literal(arg)

    for each in body.nodes:
        specs = infer_specs(each.op, [list(arg) if isinstance(arg, tuple) else arg
                                      for arg in map_args(each.args, leaf)])
        tensors.update(zip(each.outputs, (spec.allocate() for spec in specs), strict=True))
    return [tuple(tensors[value].stride()) for value in body.outputs]


def region_key(region: Region) -> str:
    """The same for regions that compute the same on the same dtypes, whatever their shapes."""
    kinds = [kind for _, kind in region.scalars]
    program = region.program
    return repr((region.inputs, region.outputs, kinds, program.instrs, program.outputs))
