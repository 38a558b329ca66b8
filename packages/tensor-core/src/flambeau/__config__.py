"""What Flambeau was built for and runs with, as text."""
from __future__ import annotations

import os

from flambeau.backends.cpu import get_cpu_capability
from flambeau.core import get_num_threads
from flambeau.version import __version__

__all__ = ["parallel_info", "show"]


def show() -> str:
    """Describe the build and the processor's vector instructions in use."""
    return (f"Flambeau {__version__}\n"
            f"  - CPU capability usage: {get_cpu_capability()}\n")


def parallel_info() -> str:
    """Describe how many threads operators use."""
    return (f"flambeau.get_num_threads() : {get_num_threads()}\n"
            f"processors : {os.cpu_count()}\n"
            "parallel backend: a thread pool of its own\n")
