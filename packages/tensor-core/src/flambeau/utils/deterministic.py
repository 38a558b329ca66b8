"""Deterministic algorithms: ``fill_uninitialized_memory`` says whether ``empty`` fills memory.

It is a variable to assign to, and matters while ``use_deterministic_algorithms`` is on.
"""
from __future__ import annotations

import sys
from types import ModuleType

from flambeau.core.compat.settings import fill_uninitialized_memory as _setting


class _Deterministic(ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        return bool(_setting())

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError("fill_uninitialized_memory must be a bool, not "
                            f"{type(mode).__name__}")
        _setting(mode)


sys.modules[__name__].__class__ = _Deterministic
