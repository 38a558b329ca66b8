"""The handle that registering a hook on a module returns."""

from flambeau.nn.modules.module import RemovableHandle

__all__ = ["RemovableHandle"]
