"""Graph modules that keep packed weights, which their states have."""

from __future__ import annotations

from typing import Any

from flambeau.ao.operators.products import Convolution, PackedLinear
from flambeau.fx.graph_module import GraphModule

_PACKED = (PackedLinear, Convolution)


class QuantizedGraphModule(GraphModule):
    """A graph of integers; weights that functions take are packed, and part of the state."""

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Write packed weights, too."""
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name, value in self.__dict__.items():
            if isinstance(value, _PACKED):
                destination[prefix + name] = tuple(value)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        """Read packed weights, too."""
        for name, value in list(self.__dict__.items()):
            if isinstance(value, _PACKED) and prefix + name in state_dict:
                self.__dict__[name] = type(value)(*state_dict.pop(prefix + name))
        super()._load_from_state_dict(state_dict, prefix, *args)
