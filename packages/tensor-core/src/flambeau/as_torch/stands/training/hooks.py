"""Hooks of all modules, as dicts by number: `torch.nn.modules.module._global_...`."""
from __future__ import annotations

from typing import Any

from flambeau import rooms

_module = rooms.import_module(f"{rooms.PREFIX}nn.modules.module")


class _Everywhere:
    """Stands for a module: what has the hooks of all."""

    def __init__(self, hooks: Any) -> None:
        self._hooks = hooks

    @property
    def _hook_table(self) -> Any:
        return self._hooks

    @_hook_table.setter
    def _hook_table(self, table: Any) -> None:
        """An empty table stays."""


def _hooks(table: Any, kind: str) -> Any:
    return _module._hook_table.HooksOfKind(_Everywhere(table), kind)


_global_parameter_registration_hooks = _hooks(_module._everywhere.REGISTRATION, "parameter")
_global_buffer_registration_hooks = _hooks(_module._everywhere.REGISTRATION, "buffer")
_global_module_registration_hooks = _hooks(_module._everywhere.REGISTRATION, "module")
_global_forward_pre_hooks = _hooks(_module._everywhere.EVERYWHERE, "forward_pre")
_global_forward_hooks = _hooks(_module._everywhere.EVERYWHERE, "forward")
_global_backward_pre_hooks = _hooks(_module._everywhere.EVERYWHERE, "backward_pre")
_global_backward_hooks = _hooks(_module._everywhere.EVERYWHERE, "backward")
