"""Older names of functions, which warn when they are called."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any


def renamed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of ``nn.init`` under the name without an underscore, which warns.

    Args:
        function: Its name ends in an underscore.
    """
    name = function.__name__
    old = name.removesuffix("_")

    @functools.wraps(function)
    def warned(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            f"nn.init.{old} is deprecated in favor of nn.init.{name}", FutureWarning, stacklevel=2
        )
        return function(*args, **kwargs)

    warned.__name__ = warned.__qualname__ = old
    warned.__doc__ = f"The older name of ``{name}``."
    return warned
