"""What programs say to PyTorch's compiler; here compiled functions are right without it.

Most are rows of the core's ``compat/table.py``.
"""

from __future__ import annotations

from flambeau.core.compat.modules import functions
from flambeau.jit.compiling import is_recording

__all__ = ["allow_in_graph", "assume_constant_result", "disable", "is_compiling",
           "is_dynamo_compiling", "is_exporting", "list_backends", "reset"]

_said = functions("compiler")
allow_in_graph, assume_constant_result = _said["allow_in_graph"], _said["assume_constant_result"]
disable, reset = _said["disable"], _said["reset"]
is_exporting, list_backends = _said["is_exporting"], _said["list_backends"]


def is_compiling() -> bool:
    """Whether a compiled function is being called.

    Example:
        >>> from flambeau import compiler
        >>> compiler.is_compiling()
        False
    """
    return is_recording()


is_dynamo_compiling = is_compiling
