"""Errors of PyTorch's tracer, for programs that catch them."""
from __future__ import annotations

from flambeau import rooms

try:
    Unsupported = rooms.import_module(f"{rooms.PREFIX}jit.errors").GraphBreakError
except ModuleNotFoundError:             # without flambeau-jit nothing raises it
    class Unsupported(RuntimeError):    # type: ignore[no-redef]
        """Never raised."""

TorchDynamoException = Unsupported      # the only one of them that is raised here


class BackendCompilerFailed(RuntimeError):
    """Never raised: errors of a backend come as they are."""


class InternalTorchDynamoError(RuntimeError):
    """Never raised."""


class UserError(RuntimeError):
    """Never raised."""
