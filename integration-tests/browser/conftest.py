"""Runs where the session `browser` says that a browser and a linker for WebAssembly are there."""

import os

collect_ignore_glob = [] if os.environ.get("TESTED_BROWSER") else ["test_*.py"]
