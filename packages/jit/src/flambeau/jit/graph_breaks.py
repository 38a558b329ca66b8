"""``fullgraph=True``: which reads of values end a graph."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from flambeau.jit.errors import GraphBreakError

#: Reads of numbers and arrays that Python computes with; that is part of PyTorch's graphs as well.
_COMPUTED_WITH = frozenset({"item()", "int()", "float()", "index", "tolist()", "numpy()",
                            "memoryview()", "format", "tensor()", "data_ptr()"})


#: Of these, the ones that Python may decide by.
_NUMBERS = frozenset({"item()", "int()", "float()"})


def ends_graph(what: str, reader: FrameType) -> bool:
    """Whether a graph of PyTorch's compiler would end where values are read.

    Args:
        what: How, ``"item()"``.
        reader: The frame that reads.
    """
    return _prints(reader) or not _is_part_of_graph(what, reader)


def _prints(reader: FrameType) -> bool:
    return reader.f_globals.get("__name__") == "flambeau.core.printing"


def _is_part_of_graph(what: str, reader: FrameType) -> bool:
    if what not in _COMPUTED_WITH and what != "bool()":
        return False
    from flambeau.jit import branches
    from flambeau.jit.locations import caller_frame, is_ours

    user = caller_frame()
    if what in _NUMBERS:
        return is_ours(reader.f_code.co_filename) or not branches.decides_branch(reader)
    if what != "bool()":
        return True
    if branches.is_membership(user):
        return not branches.decides_branch(user)
    return branches.is_extremum(user)


def refuse_read(tensor: Any, what: str) -> None:
    """Raise where a tensor's values are read and decide what Python does.

    Args:
        tensor: what is read.
        what: how, ``"item()"``.

    Raises:
        GraphBreakError: a graph of PyTorch's compiler would end here.
    """
    reader = sys._getframe(1)
    if not ends_graph(what, reader):
        return
    from flambeau.jit.locations import caller

    raise GraphBreakError(
        f"compile(fullgraph=True): at {caller()} {'repr()' if _prints(reader) else what} takes "
        f"values of a tensor of shape {list(tensor.shape)} to Python, "
        f"{'where they decide a branch, ' if what in _NUMBERS else ''}which ends the graph. "
        "Compute with tensors instead (flambeau.where for a condition), read behind the call, or "
        "leave out fullgraph")
