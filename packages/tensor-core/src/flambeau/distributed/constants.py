"""How long processes wait for each other."""
from __future__ import annotations

from .groups import DEFAULT_TIMEOUT

__all__ = ["default_pg_timeout"]

default_pg_timeout = DEFAULT_TIMEOUT
