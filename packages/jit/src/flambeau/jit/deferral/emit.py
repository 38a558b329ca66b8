"""Groups as the core's steps."""

from __future__ import annotations

import math

from flambeau.core._core import least_waiting
from flambeau.jit.deferral.blocks import add_rows, add_streamed
from flambeau.jit.deferral.device_rows import describe, rows_on_device
from flambeau.jit.deferral.devices import add_on_device
from flambeau.jit.deferral.epilogues import place_of
from flambeau.jit.deferral.fused import add_fused
from flambeau.jit.deferral.groups import Group, Kernel, ProductGroup
from flambeau.jit.deferral.loops import Loop, code_of
from flambeau.jit.deferral.pieces import Piece
from flambeau.jit.deferral.plan import Plan

#: Instructions of a formula that memory keeps waiting: code made for it alone is no faster than the
#: core's kernel.
MOST_CHEAP = 24
#: Calls over fewer times the elements that wait at least gain little, which noting them may cost.
SMALL_TIMES = 8


def add_group(plan: Plan, group: Group, needed: set[int], apart: bool = False) -> None:
    """Append a group's steps.

    Args:
        plan: what they are appended to.
        group: the group; each item has a result that is needed later.
        needed: the storages that are, after the group.
        apart: whether small loops are code of their own, and run apart from their rows.
    """
    stored = _stored(group, needed)
    if group.items[0].device:
        _add_device_group(plan, group, stored, needed)
        return
    if not apart and isinstance(group, ProductGroup) and _add_product(plan, group, stored, needed):
        return
    in_rows = group.rows and len(group.items) > 1 and not (apart and is_small(group))
    if in_rows and (add_fused(plan, group, needed) or add_rows(plan, group, stored, needed)):
        return
    for item, pieces in zip(group.items, stored, strict=True):
        if isinstance(item, Kernel):
            plan.steps.append((item.call.number,))
            plan.about.append(f"{item.name}: as it stands")
            plan.alone += (item.call.number,)
        elif item.is_copy or (not apart and math.prod(item.shape) < least_waiting()):
            plan.steps += [(call.number,) for call in item.calls]
            plan.about += [f"{call.op}: as it stands" for call in item.calls]
            plan.alone += tuple(call.number for call in item.calls)
        elif not add_streamed(plan, item, pieces):
            code = code_of(item, pieces)
            plan.steps.append(code.step)
            plan.kept.append(code.kernel)
            if len(item.calls) == 1 and code.length <= MOST_CHEAP and not item.is_unrolled:
                plan.alone += (item.calls[0].number,)
            else:
                plan.doubtful |= code.moves or item.is_unrolled
            plan.about.append(f"{item.name}; reads {len(item.loads)}, writes {len(pieces)}")


def _add_device_group(plan: Plan, group: Group, stored: list[list[Piece]],
                      needed: set[int]) -> None:
    """Append kernels of its device: over rows where items share these, else for each loop."""
    read_later = {id(item): {piece.storage for piece in pieces}
                  for item, pieces in zip(group.items, stored, strict=True)}
    for items, step in rows_on_device(group, needed):
        if step is None:
            add_on_device(plan, items[0], read_later[id(items[0])])
        else:
            describe(plan, group, items, step)


def is_small(group: Group, times: int = 1) -> bool:
    """Whether no piece has so many times the elements that wait at least."""
    most = times * least_waiting()
    return all(math.prod(piece.shape) < most for piece in (*group.reads, *group.writes))


def _add_product(plan: Plan, group: ProductGroup, stored: list[list[Piece]],
                 needed: set[int]) -> bool:
    """Append a product and its loop as one step, if it has one and that is worth while."""
    if len(group.items) == 1:
        return False
    product, loop = group.items
    assert isinstance(product, Kernel) and isinstance(loop, Loop)
    place = place_of(product.call, loop, stored[1], needed)
    if place is None:
        return False
    read, written = place
    code = code_of(loop, stored[1], {written: read})
    plan.steps.append((product.call.number, code.step, loop.made[written]))
    plan.kept.append(code.kernel)
    plan.about.append(f"{product.name}, and over what it makes {loop.name}")
    return True


def _stored(group: Group, needed: set[int]) -> list[list[Piece]]:
    """For each item the results that others read."""
    later = set(needed)
    found = []
    for item in reversed(group.items):
        found.append([piece for piece in item.writes if piece.storage in later])
        later |= {piece.storage for piece in item.reads}
    return found[::-1]
