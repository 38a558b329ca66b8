"""What must not happen at import time; what importing costs is measured by benchmarks."""

from __future__ import annotations

import subprocess
import sys

ALL_ROOMS = "import flambeau, flambeau.autograd, flambeau.nn, flambeau.optim, flambeau.jit"
HEAVY = {"numpy", "scipy_openblas32", "cupy", "llvmlite", "importlib.metadata"}
# Modules of Python that take milliseconds to import, and few programs need.
SLOW = {"ctypes", "dataclasses", "difflib", "inspect", "multiprocessing", "subprocess"}

# Started processes and opened devices, seen through the interpreter's own audit events.
WATCH = """
import sys
seen = []
def watch(event, arguments):
    if event in ("subprocess.Popen", "os.system", "os.posix_spawn", "os.fork", "os.exec"):
        seen.append(event)
    if event == "ctypes.dlopen" and arguments[0]:  # None is the interpreter itself
        seen.append(f"{event} {arguments[0]}")
    if event == "open" and "nvidia" in str(arguments[0]):
        seen.append(f"{event} {arguments[0]}")
sys.addaudithook(watch)
old = set(sys.modules)
"""


def python(code: str) -> str:
    """Return what a fresh interpreter prints."""
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return run.stdout


def test_the_core_loads_nothing_heavy():
    loaded = set(python(f"{WATCH}\nimport flambeau\nprint(*set(sys.modules) - old)").split())
    assert not loaded & (HEAVY | {"subprocess", "flambeau.nn", "flambeau.jit"})


def test_no_room_imports_what_is_slow():
    loaded = set(python(f"{WATCH}\n{ALL_ROOMS}\nprint(*set(sys.modules) - old)").split())
    assert not loaded & (HEAVY | SLOW)


def test_no_process_and_no_device_at_import():
    assert python(f"{WATCH}\n{ALL_ROOMS}, flambeau.cuda\nprint(seen)").strip() == "[]"
