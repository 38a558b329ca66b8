"""Machine code of single operators and of regions against the core's kernels, bit for bit."""

import itertools
import math

import pytest

import flambeau
from flambeau.core.opdefs import OPDEFS
from flambeau.jit import bridge
from flambeau.jit.inference import infer_values
from flambeau.jit.interpreter import Scalars, run_graph
from flambeau.jit.ir import Graph, Node
from flambeau.jit.llvm.fused import FusedRunner
from flambeau.jit.opset import FUSED
from flambeau.jit.region import can_lower

FLOATS = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-45, -1e-40, 1.2e-38, 3e38, -3e38,
          0.5, -0.5, 1.5, 2.5, -2.5, 88.8, -103.9, 89.1, 709.8, -745.2, 2.0**31, -(2.0**31),
          2.0**63, 1e10, 7e22, 1e300, -1e300, 5e-324, 3.14159265, 1e-7, 0.999999, 1.0000001]
INTEGERS = [0, 1, -1, 2, -2, 3, 7, 10, -10, 63, 64, 65, -64, 127, -128, 255, 2**31 - 1, -(2**31),
            2**62, -(2**63), 2**63 - 1]
#: int8 and uint8 wrap, bfloat16 rounds, int64 becomes floating where the definition says so.
DTYPES = ("float32", "float64", "bfloat16", "float16", "int64", "int32", "int8", "uint8", "uint64",
          "bool", "complex64", "complex128")
POINTWISE = [opdef for opdef in OPDEFS if opdef.category == "pointwise"]


def specials(name):
    dtype = getattr(flambeau, name)
    if name == "bool":
        return flambeau.tensor([True, False, True])
    if dtype.is_complex:
        parts = [0.0, -0.0, 1.0, -2.5, math.inf, math.nan, 3e19]
        numbers = [complex(a, b) for a, b in itertools.product(parts, parts)]
        return flambeau.tensor(numbers, dtype=dtype)
    numbers = FLOATS if dtype.is_floating_point else INTEGERS
    wide = flambeau.tensor(numbers, dtype=flambeau.float64 if numbers is FLOATS else flambeau.int64)
    return wide.to(dtype)


def operands(opdef, name):
    """One tensor per operand, so that every pair of special values meets."""
    tensors = []
    count = len(opdef.operands)
    for index, param in enumerate(opdef.operands):
        base = specials("bool" if param.role == "Mask" else name)
        shape = [1] * count
        shape[index] = base.shape[0]
        tensors.append(base.view(shape))
    shape = [max(t.shape[d] for t in tensors) for d in range(count)]
    tensors = [t.expand(shape).clone() for t in tensors]
    if opdef.refuses_integer_zeros and not tensors[1].dtype.is_floating_point:
        tensors[1][tensors[1] == 0] = 3     # the core raises there
    return tensors


def region_of(opdef, args, inputs):
    """A graph of one node; ``None`` where the core has no kernel or the region no rule."""
    values = [bridge.value_of(t) for t in inputs]
    indices = iter(values)
    full = tuple(next(indices) if bridge.is_tensor(a) else a for a in args)
    try:
        outputs = tuple(infer_values(opdef.key, full))
    except (RuntimeError, TypeError, NotImplementedError):
        return None
    node = Node(opdef.key, full, outputs)
    return Graph(inputs=values, nodes=[node], outputs=list(outputs)) if can_lower(node) else None


def run_both(body, inputs):
    node = Node(FUSED, (tuple(body.inputs),), tuple(v.like() for v in body.outputs), body)
    by_machine = FusedRunner()(node, inputs, Scalars({}))
    by_operator = run_graph(body, inputs, (), Scalars({}))
    return by_machine, by_operator


def same_bits(one, other):
    """Equal bit for bit; every NaN counts as the same."""
    if one.dtype.is_complex:
        one, other = flambeau.view_as_real(one), flambeau.view_as_real(other)
    if not one.dtype.is_floating_point:
        return bool((one == other).all())
    both_nan = one.isnan() & other.isnan()
    equal = (one == other) & (one.signbit() == other.signbit())
    return bool((both_nan | equal).all())


@pytest.mark.parametrize("opdef", POINTWISE, ids=lambda opdef: opdef.key)
def test_operator_on_every_dtype(opdef):
    """Special values in all combinations; what has a kernel and a rule must agree bit for bit."""
    lowered = []
    for name in DTYPES:
        tensors = operands(opdef, name)
        indices = iter(tensors)
        args = [
            next(indices) if p.is_operand else p.default if p.has_default else 2
            for p in opdef.params
        ]
        body = region_of(opdef, args, tensors)
        if body is None:
            continue
        lowered.append(name)
        found, wanted = run_both(body, tensors)
        for one, other in zip(found, wanted, strict=True):
            assert one.dtype == other.dtype
            assert same_bits(one, other), name
    assert lowered, "no dtype of this definition has machine code"
