"""Machine code for the update rules of optimizers.

In a compiled call the core runs a rule over all parameters as one loop
(``core/native/pointwise/update.cpp``): outside with the interpreter of formulas, inside with code
from here, which computes the same and keeps what it computes in registers.
"""

from __future__ import annotations

from typing import Any

from flambeau.jit.ir import Graph, Node, Value
from flambeau.jit.literals import Slot
from flambeau.jit.llvm.fused import region_key
from flambeau.jit.llvm.launch import RegionCode
from flambeau.jit.llvm.segment import CONTIGUOUS
from flambeau.jit.opset import find_opdef
from flambeau.jit.region import can_lower, flatten


def make_update(key: str, dtype: str) -> tuple[int, tuple[int, ...], Any] | None:
    """Code for a definition that writes to contiguous operands of one dtype.

    Args:
        key: the definition's.
        dtype: of all operands.

    Returns:
        The code's address, the parameters that are its scalars, and what keeps it; ``None`` where
        the rule cannot be lowered.
    """
    opdef = find_opdef(key)
    if opdef is None:
        return None
    operands = {param.name: Value((1,), dtype) for param in opdef.operands}
    args = tuple(operands.get(param.name) or Slot(number, "float")
                 for number, param in enumerate(opdef.params))
    written = [number for number, param in enumerate(opdef.operands) if param.writes]
    node = Node(key, args, tuple(Value((1,), dtype) for _ in written))
    if not can_lower(node):
        return None
    body = Graph(inputs=list(operands.values()))
    body.nodes.append(node)
    body.outputs = list(node.outputs)
    region = flatten(body)
    steps = CONTIGUOUS * (len(operands) + len(written))
    kernel = RegionCode(region, region_key(region)).kernel(steps, tuple(written))
    numbers = tuple(leaf.index for leaf, _ in region.scalars if isinstance(leaf, Slot))
    return kernel.address, numbers, kernel
