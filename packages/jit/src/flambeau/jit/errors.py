"""The errors this package raises."""

from __future__ import annotations


class TraceError(RuntimeError):
    """Python did something a trace cannot hold; the message names the file and line."""

    #: Whoever reads values only to check them goes on without them.
    has_no_values = True


class EscapeError(TraceError):
    """Python kept a tensor that was never computed, so that nothing recorded later is right."""


class GraphBreakError(RuntimeError):
    """A function that was to be one graph takes values to Python; the message says where."""


class GraphError(ValueError):
    """A graph breaks the rules of the representation; the message shows the node."""


class ProgramError(ValueError):
    """A saved program cannot be read, or a program was called with what it was not made for."""


class ReplayError(RuntimeError):
    """A replayed call would not have done what Python does; the message names file and line."""
