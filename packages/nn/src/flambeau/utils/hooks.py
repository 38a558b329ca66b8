"""The handle that registering a hook on a module returns, and a mark for hooks of tensors."""

from collections.abc import Callable
from typing import Any, TypeVar

from flambeau.nn.modules.module import RemovableHandle

__all__ = ["RemovableHandle", "unserializable_hook"]

Hook = TypeVar("Hook", bound=Callable[..., Any])


def unserializable_hook(f: Hook) -> Hook:
    """Mark a hook of tensors as one that pickles leave behind, so that they do not warn of it.

    Args:
        f: What ``Tensor.register_hook`` will be given.

    Returns:
        ``f`` itself.

    Example:
        >>> from flambeau.utils.hooks import unserializable_hook
        >>> @unserializable_hook
        ... def double(grad):
        ...     return 2 * grad
    """
    f.__flambeau_unserializable__ = True  # type: ignore[attr-defined]
    return f
