"""``flambeau.cuda`` where flambeau-cuda-backend is not installed: questions have answers.

Programs for a CPU or a GPU ask ``cuda.is_available()`` first. Everything else says what to install,
and so does ``import flambeau.cuda``.
"""
from __future__ import annotations

from types import ModuleType
from typing import Any

from flambeau import rooms
from flambeau.core.compat.modules import functions


class _StandIn(ModuleType):
    """Answers what can be answered without the package."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise rooms.missing("cuda")


stand_in = _StandIn("flambeau.cuda", __doc__)
vars(stand_in).update(functions("cuda"), OutOfMemoryError=MemoryError)
