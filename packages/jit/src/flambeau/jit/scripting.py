"""``script`` and the marks that go with it: annotations for a compiler that reads Python's source.

There is no such compiler here. What it would compile runs as Python, with the same results; to run
faster it is recorded, by ``compile`` or ``trace``. The marks are rows of the core's
``compat/table.py``.
"""

from __future__ import annotations

from typing import Final

from flambeau.core.compat.modules import functions
from flambeau.jit.compiling import is_recording

__all__ = ["Final", "annotate", "export", "ignore", "interface", "is_scripting", "is_tracing",
           "script", "script_if_tracing", "unused"]

_marks = functions("jit")
script, script_if_tracing, ignore = (
    _marks["script"], _marks["script_if_tracing"], _marks["ignore"])
unused, export, interface = _marks["unused"], _marks["export"], _marks["interface"]
annotate, is_scripting = _marks["annotate"], _marks["is_scripting"]


def is_tracing() -> bool:
    """Whether operators are being recorded by a compiled function."""
    return is_recording()
