"""Run the examples in the docstrings of every installed Flambeau module, compiled ones too."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import sys
from collections.abc import Iterator
from types import ModuleType

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


def modules(package: ModuleType) -> Iterator[ModuleType]:
    """Yield a package and all modules below it."""
    yield package
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def main() -> int:
    """Print the count; return 1 when an example failed."""
    attempted = failed = 0
    for module in modules(importlib.import_module("flambeau")):
        result = doctest.testmod(module, optionflags=FLAGS)
        attempted += result.attempted
        failed += result.failed
    print(f"{attempted - failed} passed, {failed} failed")
    return 1 if failed or not attempted else 0


if __name__ == "__main__":
    sys.exit(main())
