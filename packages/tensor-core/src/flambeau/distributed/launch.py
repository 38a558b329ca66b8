"""The older name of the launcher: ``python -m flambeau.distributed.launch``."""
from __future__ import annotations

from .run import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
