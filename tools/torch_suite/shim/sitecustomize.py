"""Run when a process of the adapter starts against Flambeau, and when one of its children does."""

import importlib
import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))
_sources = os.environ.get("TORCH_SUITE_SOURCES")
importlib.import_module("torch_suite.alias").install(Path(_sources) if _sources else None)
