"""Loops on devices: kernels that their backends make of them (``Backend.fuse``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.core import backends
from flambeau.jit.bridge import device_name
from flambeau.jit.deferral.groups import Kernel
from flambeau.jit.deferral.loops import Loop, body_of
from flambeau.jit.deferral.pieces import Piece
from flambeau.jit.deferral.plan import Plan
from flambeau.jit.literals import Slot
from flambeau.jit.region import flatten

#: Values and results of one kernel (``FL_MAX_PARAMS``, ``FL_MAX_OUTS``).
MAX_VALUES = 16
MAX_RESULTS = 8


def add_on_device(plan: Plan, item: Loop | Kernel, needed: set[int]) -> None:
    """Append a loop as its device's kernel, or several where it has too many operands.

    What cannot be a kernel runs as it stands. A call by itself gains nothing.

    Args:
        plan: what it is appended to.
        item: the loop, or a call.
        needed: the storages whose values somebody reads after it.
    """
    calls = [item.call] if isinstance(item, Kernel) else item.calls
    if isinstance(item, Kernel) or len(calls) == 1:
        _add_calls(plan, item)
        return
    stored = [piece for piece in item.writes if piece.storage in needed]
    if _values(item) > MAX_VALUES or len(stored) > MAX_RESULTS:
        first, second = _halves(item)
        add_on_device(plan, first, needed | {piece.storage for piece in second.reads})
        add_on_device(plan, second, needed)
        return
    step = _kernel_of(item, stored)
    if step is None:
        _add_calls(plan, item)
        return
    plan.steps.append(step)
    plan.about.append(f"{item.name}; reads {len(item.loads)}, writes {len(stored)}")


def _add_calls(plan: Plan, item: Loop | Kernel) -> None:
    for call in [item.call] if isinstance(item, Kernel) else item.calls:
        plan.steps.append((call.number,))
        plan.about.append(f"{call.op}: as it stands")
        plan.alone += (call.number,)


def _values(loop: Loop) -> int:
    """The most tensors and numbers that a loop's kernel takes."""
    numbers = sum(1 for call in loop.calls for arg in call.args
                  if arg is not None and not isinstance(arg, Piece))
    return len(loop.loads) + numbers


def _halves(loop: Loop) -> tuple[Loop, Loop]:
    middle = len(loop.calls) // 2
    found = Loop(loop.shape), Loop(loop.shape)
    for half, calls in zip(found, (loop.calls[:middle], loop.calls[middle:]), strict=True):
        for call in calls:
            half.add(call)
    return found


def _kernel_of(loop: Loop, stored: Sequence[Piece]) -> tuple[Any, ...] | None:
    """The step of a loop: the kernel, and the numbers of what it takes and gives."""
    region = flatten(body_of(loop, stored))
    backend = backends.adapter(device_name(loop.device))
    kernel = backend.fuse(region.program, region.inputs, region.outputs,
                          [kind for _, kind in region.scalars])
    if kernel is None:
        return None
    scalars = tuple(leaf.index for leaf, _ in region.scalars if isinstance(leaf, Slot))
    return (kernel, (*loop.loads.values(), *scalars),
            tuple(loop.made[piece] for piece in stored))
