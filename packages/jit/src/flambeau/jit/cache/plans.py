"""Plans on disk: the steps by which calls that waited run, with names of code for its addresses."""

from __future__ import annotations

import marshal
from collections.abc import Callable
from typing import Any

from flambeau.jit.cache.kernels import KERNELS, KernelCache
from flambeau.jit.cache.stamp import name_of

#: Numbers beyond this may be addresses, which another process does not have.
MAX_NUMBER = 1 << 40
#: Items of a step that runs code; a step of one item is a call as it stands.
CODE_ITEMS = 6


class StoredPlan:
    """A plan from disk; see ``flambeau.jit.deferral.Plan``."""

    def __init__(self, steps: list[tuple[Any, ...]], about: list[str], kept: list[Any]) -> None:
        self.steps = steps
        self.about = about
        self.kept = kept


def find_plan(key: bytes, make: Callable[[], Any]) -> Any:
    """The plan for calls, from disk or made now.

    Args:
        key: says all that the plan depends on.
        make: makes it.
    """
    kernels = KERNELS
    if kernels.disk.path is None:
        return make()
    name = name_of("plan", key)
    content = kernels.disk.get(name)
    plan = None if content is None else unpack(content, kernels)
    if plan is None:
        plan = make()
        packed = pack(plan)
        if packed is not None:
            kernels.disk.put(name, packed)
    return plan


def pack(plan: Any) -> bytes | None:
    """A plan as bytes; ``None`` where it has something that only this process has."""
    names = {kernel.address: kernel.name for kernel in plan.kept}
    steps = []
    for step in plan.steps:
        if len(step) == CODE_ITEMS and step[0] in names:
            step = (names[step[0]], *step[1:])
        elif len(step) != 1:
            return None
        if not all(map(_is_portable, step)):
            return None
        steps.append(step)
    return marshal.dumps((steps, list(plan.about)))


def _is_portable(item: object) -> bool:
    if isinstance(item, tuple):
        return all(map(_is_portable, item))
    return isinstance(item, str) or (isinstance(item, int) and abs(item) < MAX_NUMBER)


def unpack(content: bytes, kernels: KernelCache) -> StoredPlan | None:
    """The plan, with the addresses of this process; ``None`` where code is missing."""
    stored, about = marshal.loads(content)
    steps, kept = [], []
    for step in stored:
        if len(step) == CODE_ITEMS:
            kernel = kernels.named(step[0])
            if kernel is None:
                return None
            kept.append(kernel)
            step = (kernel.address, *step[1:])
        steps.append(step)
    return StoredPlan(steps, about, kept)
