"""Types of arguments, for annotations."""
from __future__ import annotations

import os
from collections.abc import Callable
from typing import IO, Any, TypeAlias

import flambeau

FILE_LIKE: TypeAlias = str | os.PathLike[str] | IO[bytes]
MAP_LOCATION: TypeAlias = (Callable[[Any, str], Any] | flambeau.device | str | dict[str, str]
                           | None)
