"""Plans for kernels that waited: which of them run together, and what they leave in memory.

Inside a compiled call the core notes kernels instead of running them
(``core/native/deferral/deferral.h``). When somebody needs what they compute, they arrive here, if
calls of their structure were not met before. Each reads and writes pieces of memory (``pieces``),
so a plan is right whatever views, aliases and writes in place there are: pointwise calls share a
loop only where each element depends on elements of the same index alone (``loops``), and loops and
kernels share blocks of rows only where each row depends on the same rows alone (``groups``,
``rows``).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from flambeau.jit.deferral.emit import SMALL_TIMES, add_group, is_small
from flambeau.jit.deferral.groups import Group, gather
from flambeau.jit.deferral.pieces import Call, calls_of
from flambeau.jit.deferral.plan import Plan
from flambeau.jit.deferral.unrolled import unroll


def make_plan(noted: Sequence[tuple[str, list[Any], list[Any]]], needed: bytes,
              apart: bool = False) -> Plan:
    """Plan for calls that waited.

    Args:
        noted: for each its key, arguments and results, from the core.
        needed: a byte for each storage, not 0 where somebody holds it.
        apart: whether small loops are code of their own, too, as replays want them, which save
            the calls and not only the passes over memory.

    Returns:
        The plan.
    """
    held = {number for number, byte in enumerate(needed) if byte}
    planned: list[tuple[Group, set[int]]] = []
    calls = unroll(_needed(calls_of(noted), held), held)
    for group in reversed(gather(calls, frozenset(held))):
        planned.append((group, set(held)))
        held |= {piece.storage for piece in group.reads}
    plan = Plan()
    for group, after in reversed(planned):
        add_group(plan, group, after, apart)
    plan.alone = tuple(sorted(plan.alone))
    plan.doubtful |= all(is_small(group, SMALL_TIMES) and not group.items[0].device
                         for group, _ in planned)
    return plan


def _needed(calls: Sequence[Call], held: Collection[int]) -> list[Call]:
    """The calls whose results somebody holds, or that others of these read."""
    kept, read = [], set(held)
    for call in reversed(calls):
        if any(piece.storage in read for piece in call.outs):
            kept.append(call)
            read |= {piece.storage for piece in call.reads}
    return kept[::-1]
