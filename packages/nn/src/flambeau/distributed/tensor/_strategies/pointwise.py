"""Operators on elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.core import _core

from .._call import SUM, Call, R, Strategy, rule
from ..placement_types import Partial, Placement, Replicate, Shard

#: PyTorch's names of operators on elements that are made of others here.
_MADE_OF_OTHERS = (
    "_to_copy clamp clamp_max clamp_min copy fill gelu masked_fill threshold_backward to zero "
    "nan_to_num softplus hardtanh celu selu logit angle true_divide floor_divide where elu "
    "isposinf isneginf deg2rad rad2deg"
).split()
#: Operators with a meaning of rows among those that the table of operators has.
_BY_ROW = ("channel_affine", "prelu_rows")


def _names() -> list[str]:
    found = [key for key in _core.op_keys() if _core.find_op(key).category == "pointwise"]
    return [*(key for key in found if not key.startswith(_BY_ROW)), *_MADE_OF_OTHERS]


def aligned(x: Any, shape: Sequence[int], dim: int) -> Placement:
    """How a tensor is shared whose elements belong to the rows of a result along a dimension."""
    own = dim - (len(shape) - x.ndim)
    return R if own < 0 or x.shape[own] != shape[dim] else Shard(own)


def sharded(call: Call) -> list[Strategy]:
    """Rows of results from rows of tensors."""
    shape = call.outs[0].shape
    return [Strategy((Shard(dim),) * len(call.outs),
                     tuple(aligned(x, shape, dim) for x in call.inputs))
            for dim in range(len(shape))]


@rule(*_names())
def elements(call: Call) -> list[Strategy]:
    """Elements are computed where they are."""
    return sharded(call)


@rule("clone", "detach", "alias", "contiguous", "lift_fresh")
def same(call: Call) -> list[Strategy]:
    """The same tensor, also where it is partial."""
    return [*sharded(call), *_passed(call)]


def _passed(call: Call) -> list[Strategy]:
    now = {p for p in call.inputs[0]._spec.placements if isinstance(p, Partial)}
    return [Strategy((each,), (each,)) for each in now]


@rule("neg", "_to_copy")
def linear(call: Call) -> list[Strategy]:
    """Linear maps go through sums."""
    return [*sharded(call), Strategy((SUM,), (SUM,)), Strategy((_AVG,), (_AVG,))]


@rule("add", "sub")
def sums(call: Call) -> list[Strategy]:
    """Sums of what is partial are partial."""
    count = len(call.inputs)
    partial = [] if count == 1 else [Strategy((SUM,), (SUM,) * count)]
    return [*sharded(call), *partial]


@rule("mul", "div")
def factors(call: Call) -> list[Strategy]:
    """Products of what is partial with factors that all have are partial."""
    found = sharded(call)
    others: tuple[Replicate, ...] = (R,) * (len(call.inputs) - 1)
    if call.args and call.args[0] is call.inputs[0]:
        for each in (SUM, _AVG):
            found.append(Strategy((each,), (each, *others)))
    if call.name == "mul" and len(call.inputs) == 2:
        found.append(Strategy((SUM,), (R, SUM)))
    elif call.name == "mul" and call.args[0] is not call.inputs[0]:
        found.append(Strategy((SUM,), (SUM,)))
    return found


_AVG = Partial("avg")
