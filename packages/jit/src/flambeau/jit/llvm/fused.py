"""Fused nodes on tensors: memory for the results, operands as the loops see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.jit import bridge
from flambeau.jit.dims import shape_for
from flambeau.jit.interpreter import Scalars, run_node
from flambeau.jit.ir import Node
from flambeau.jit.llvm.grid import broadcast_strides, make_grid, result_strides
from flambeau.jit.llvm.launch import RegionCode
from flambeau.jit.llvm.memory import SIZE
from flambeau.jit.region import Region, flatten

Tensor = Any


class FusedRunner:
    """Runs fused nodes as machine code; each node's region is lowered once."""

    def __init__(self) -> None:
        self._codes: dict[Node, RegionCode] = {}

    def code(self, node: Node) -> RegionCode:
        """The code of a node's region."""
        found = self._codes.get(node)
        if found is None:
            assert node.body is not None
            region = flatten(node.body)
            found = self._codes[node] = RegionCode(region, region_key(region))
        return found

    def __call__(
        self, node: Node, inputs: Sequence[Tensor], scalars: Scalars
    ) -> Sequence[Tensor]:
        """Compute a node's results; away from the CPU the interpreter does."""
        if not all(tensor.is_cpu for tensor in inputs):
            return run_node(node, dict(zip(node.inputs, inputs, strict=True)), scalars)
        code = self.code(node)
        shape = shape_for(node.outputs[0].shape, scalars.sizes)
        geometry = [(tuple(t.shape), t.stride()) for t in inputs]
        strides = result_strides(shape, geometry)
        results = [bridge.empty(shape, strides, value.dtype) for value in node.outputs]
        sizes = [SIZE[v.dtype] for v in (*node.inputs, *node.outputs)]
        steps = [
            broadcast_strides(shape, own, stride, size)
            for (own, stride), size in zip(geometry, sizes, strict=False)
        ]
        steps += [tuple(s * size for s in strides) for size in sizes[len(inputs):]]
        addresses = [tensor.data_ptr() for tensor in (*inputs, *results)]
        numbers = [scalars.resolve(leaf) for leaf, _ in code.region.scalars]
        code.run(make_grid(shape, steps, sizes), addresses, numbers)
        return results


def region_key(region: Region) -> str:
    """The same for regions that compute the same on the same dtypes, whatever their shapes."""
    kinds = [kind for _, kind in region.scalars]
    program = region.program
    return repr((region.inputs, region.outputs, kinds, program.instrs, program.outputs))
