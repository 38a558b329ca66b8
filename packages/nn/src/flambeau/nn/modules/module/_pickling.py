"""Modules from pickles and files: their own, and those that PyTorch wrote."""

from __future__ import annotations

import warnings
from typing import Any

from ._attributes import Attributes, put
from ._members import KINDS, PLACES, hold, members_of

_HOOKS = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_hooks",
    "_forward_pre_hooks",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)
_OF_HOOKS = (
    "_is_full_backward_hook",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks_with_kwargs",
)


class Pickling(Attributes):
    """Takes the state that a pickle or a file has."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the attributes of a module that was pickled, here or by PyTorch."""
        if "_hook_table" not in state:
            self._take_pytorch(state)
            return
        self.__dict__.update(state)
        for place in PLACES:
            hold(self, place, state[place])
        for place in PLACES:
            members_of(self, place).show()

    def _take_pytorch(self, state: dict[str, Any]) -> None:
        """Take PyTorch's layout, where members lie in three dicts, and hooks in others."""
        Attributes.__init__(self)
        for place, kind in KINDS.items():
            for name, value in state[place].items():
                put(self, name, value, kind)
        for name, value in state.items():
            if name in _HOOKS:
                if value:
                    warnings.warn(
                        f"{type(self).__name__}: hooks of a pickled module of PyTorch are left "
                        f"out ({name}); register them again",
                        stacklevel=2,
                    )
            elif name not in KINDS and name not in _OF_HOOKS:
                self._take_attribute(name, value)

    def _take_attribute(self, name: str, value: Any) -> None:
        computed = getattr(type(self), name, None)
        if not isinstance(computed, property):  # what is computed here needs no memory
            self.__dict__[name] = value
