"""Plans on disk, of calls that waited and of update rules, with names of code for addresses."""

from __future__ import annotations

import marshal
from collections.abc import Callable
from typing import Any

from flambeau.jit.cache.kernels import KERNELS, KernelCache
from flambeau.jit.cache.stamp import name_of

#: Numbers beyond this may be addresses, which another process does not have.
MAX_NUMBER = 1 << 40


class StoredPlan:
    """A plan from disk; see ``flambeau.jit.deferral.Plan``."""

    def __init__(self, steps: list[tuple[Any, ...]], about: list[str], kept: list[Any],
                 alone: tuple[int, ...] = (), doubtful: bool = False) -> None:
        self.steps = steps
        self.about = about
        self.kept = kept
        self.alone = alone
        self.doubtful = doubtful


def find_plan(key: bytes, make: Callable[[], Any]) -> Any:
    """The plan for calls, from disk or made now.

    Args:
        key: says all that the plan depends on; empty where no bytes can.
        make: makes it.
    """
    kernels = KERNELS
    if kernels.disk.path is None or not key:
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


def find_update(key: str, dtype: str, make: Callable[[], Any]) -> Any:
    """Code for an update rule, from disk or made now; see ``flambeau.jit.updates.make_update``.

    Args:
        key: the definition's.
        dtype: of all operands.
        make: makes it.
    """
    kernels = KERNELS
    if kernels.disk.path is None:
        return make()
    name = name_of("update", f"{key} {dtype}".encode())
    content = kernels.disk.get(name)
    if content is not None:
        code, numbers = marshal.loads(content)
        kernel = kernels.named(code)
        if kernel is not None:
            return kernel.address, numbers, kernel
    made = make()
    if made is not None:
        _, numbers, kernel = made
        kernels.disk.put(name, marshal.dumps((kernel.name, numbers)))
    return made


def pack(plan: Any) -> bytes | None:
    """A plan as bytes; ``None`` where it has something that only this process has."""
    names = {kernel.address: kernel.name.encode() for kernel in plan.kept}
    try:
        return marshal.dumps((_named(list(plan.steps), names), list(plan.about), plan.alone,
                              plan.doubtful))
    except TypeError:
        return None


def _named(item: Any, names: dict[int, bytes]) -> Any:
    """Steps with names, as bytes, where addresses were.

    Raises:
        TypeError: they hold what is no number, text or address of the plan's code.
    """
    if type(item) in (tuple, list):
        return type(item)(_named(each, names) for each in item)
    if type(item) is int and item in names:
        return names[item]
    if item is None or type(item) in (str, bool, float) or \
            (type(item) is int and abs(item) < MAX_NUMBER):
        return item
    raise TypeError(f"{item!r} is of this process")


def unpack(content: bytes, kernels: KernelCache) -> StoredPlan | None:
    """The plan, with the addresses of this process; ``None`` where code is missing."""
    steps, about, alone, doubtful = marshal.loads(content)
    kept: list[Any] = []

    def addressed(item: Any) -> Any:
        if type(item) is bytes:
            kept.append(kernels.named(item.decode()))
            return kept[-1] and kept[-1].address
        return type(item)(map(addressed, item)) if type(item) in (tuple, list) else item

    steps = addressed(steps)
    return None if None in kept else StoredPlan(steps, about, kept, alone, doubtful)
