"""The version of the core, and which GPU libraries it was built with: none.

The cuda backend brings its own; see ``flambeau.cuda``.
"""
from __future__ import annotations

from importlib import metadata

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "xpu"]


def own_version() -> str:
    """The version of the installed package."""
    try:
        return metadata.version("flambeau-tensor-core")
    except metadata.PackageNotFoundError:  # imported from a source tree
        return "0.0.0"


__version__ = own_version()
debug = False
cuda = hip = xpu = git_version = None
