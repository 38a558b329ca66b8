"""``flambeau.cuda`` where flambeau-cuda-backend is not installed: questions have answers.

Programs for a CPU or a GPU ask ``cuda.is_available()`` first. Everything else says what to install,
and so does ``import flambeau.cuda``.
"""
from __future__ import annotations

from types import ModuleType
from typing import Any

from flambeau import rooms


def _is_available() -> bool:
    """False."""
    return False


def _device_count() -> int:
    """0."""
    return 0


def _nothing(*arguments: Any) -> None:
    """Do nothing, as there is no GPU."""


class _StandIn(ModuleType):
    """Answers what can be answered without the package."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise rooms.missing("cuda")


stand_in = _StandIn("flambeau.cuda", __doc__)
vars(stand_in).update(
    is_available=_is_available, is_initialized=_is_available, device_count=_device_count,
    manual_seed=_nothing, manual_seed_all=_nothing, empty_cache=_nothing,
    memory_allocated=_device_count, max_memory_allocated=_device_count,
    memory_reserved=_device_count, max_memory_reserved=_device_count,
    OutOfMemoryError=MemoryError,
)
