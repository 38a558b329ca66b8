"""Rows on devices: reductions, what they reduce and what uses them, as one kernel.

A backend gets what ``flambeau.jit.rowcode`` makes of a group of calls (``Backend.fuse_rows``). It
reduces in an order of its own, which the shape alone decides: results repeat, and differ from those
of uncompiled calls as two orders of a sum do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from flambeau.core import backends
from flambeau.core.formula import Instr
from flambeau.core.formula.rows import RowProgram as DeviceProgram
from flambeau.jit.bridge import device_name
from flambeau.jit.deferral.groups import Group, Kernel
from flambeau.jit.deferral.loops import Loop
from flambeau.jit.deferral.plan import Plan
from flambeau.jit.literals import Slot
from flambeau.jit.rowcode.orders import ORDERS
from flambeau.jit.rowcode.program import CannotFuseError, RowProgram, program_of

#: Values and results of one kernel: one less than ``FL_MAX_PARAMS``, and ``FL_MAX_OUTS``.
MAX_VALUES = 15
MAX_RESULTS = 8
#: Longer rows are few elements for each thread only where there are many of them: then a block for
#: each leaves no part of the device idle.
MOST_ELEMENTS = 1 << 15
FEWEST_LONG_ROWS = 128

_Item = Loop | Kernel


def rows_on_device(group: Group, needed: set[int]) -> list[tuple[Sequence[_Item], Any]]:
    """A group's items in order, those together that are one kernel.

    Args:
        group: loops and kernels that share rows.
        needed: the storages that are needed after the group.

    Returns:
        Items, and their step for the plan; ``None`` for an item by itself.
    """
    found: list[tuple[Sequence[_Item], Any]] = []
    first, items = 0, group.items
    while first < len(items):
        end, step = len(items), None
        while end - first > 1 and step is None:
            after = {piece.storage for item in items[end:] for piece in item.reads}
            step = _step_of(replace(group, items=items[first:end]), needed | after)
            end -= step is None
        found.append((items[first:end], step))
        first = end
    return found


def describe(plan: Plan, group: Group, items: Sequence[_Item], step: Any) -> None:
    """Append the step of several items."""
    plan.steps.append(step)
    names = "; ".join(item.name for item in items)
    plan.about.append(f"{group.rows} rows of {step[3][1]}, as one kernel: {names}")


def _step_of(group: Group, needed: set[int]) -> tuple[Any, ...] | None:
    """A kernel with the numbers of its values and results, and the geometry; if there is one."""
    if all(isinstance(item, Loop) for item in group.items):
        return None
    try:
        program = program_of(group, needed)
    except CannotFuseError:
        return None
    scalars = program.flattener.scalars
    if (len(program.inputs) + len(scalars) > MAX_VALUES
            or not 0 < len(program.outputs) <= MAX_RESULTS
            or (program.elements > MOST_ELEMENTS and group.rows < FEWEST_LONG_ROWS)):
        return None
    kernel = backends.adapter(device_name(group.items[0].device)).fuse_rows(_for_device(program))
    if kernel is None:
        return None
    geometry = [group.rows, program.elements]
    for each in (*program.inputs, *program.outputs):
        geometry += (each.home.stride, *each.home.turn)
    numbers = tuple(leaf.index for leaf, _ in scalars if isinstance(leaf, Slot))
    return (kernel, (*(each.number for each in program.inputs), *numbers),
            tuple(each.number for each in program.outputs), tuple(geometry))


def _for_device(program: RowProgram) -> DeviceProgram:
    """The program without the CPU's orders of elements."""
    return DeviceProgram(
        tuple(map(_without_order, program.flattener.out.instrs)),
        tuple((each.home.dtype, each.home.is_row) for each in program.inputs),
        tuple((each.home.dtype, each.home.is_row) for each in program.outputs),
        tuple(program.results), tuple(kind for _, kind in program.flattener.scalars))


def _without_order(instr: Instr) -> Instr:
    if instr.op != "reduce":
        return instr
    return Instr("reduce", instr.type, instr.args[:1], ORDERS[str(instr.value)].op)
