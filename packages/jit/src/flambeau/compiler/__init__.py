"""What programs say to PyTorch's compiler; here compiled functions are right without it.

Most are rows of the core's ``compat/table.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from flambeau.core.compat.modules import functions
from flambeau.jit.compiling import is_recording
from flambeau.jit.scripting import Mark

__all__ = ["allow_in_graph", "assume_constant_result", "disable", "is_compiling",
           "is_dynamo_compiling", "is_exporting", "list_backends", "reset"]

_said = functions("compiler")
disable, allow_in_graph, assume_constant_result = (
    cast(Mark, _said[name]) for name in ("disable", "allow_in_graph", "assume_constant_result"))
reset = cast(Callable[[], None], _said["reset"])
is_exporting = cast(Callable[[], bool], _said["is_exporting"])
list_backends = cast(Callable[..., list[str]], _said["list_backends"])


def is_compiling() -> bool:
    """Whether a compiled function is being called.

    Example:
        >>> from flambeau import compiler
        >>> compiler.is_compiling()
        False
    """
    return is_recording()


is_dynamo_compiling = is_compiling
