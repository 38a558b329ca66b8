"""What importing costs: time above bare Python, and what must not happen at import time."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

CORE_BUDGET = 0.030
ALL_BUDGET = 0.120
ALL_ROOMS = "import flambeau, flambeau.autograd, flambeau.nn, flambeau.optim, flambeau.jit"
HEAVY = {"numpy", "scipy_openblas32", "cupy", "llvmlite", "importlib.metadata"}

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


def best_seconds(code: str) -> float:
    """Return the least time of several fresh interpreters."""
    times = []
    for _ in range(12):
        start = time.perf_counter()
        python(code)
        times.append(time.perf_counter() - start)
    return min(times)


@pytest.mark.parametrize(
    ("code", "budget"),
    [("import flambeau", CORE_BUDGET), (f"{ALL_ROOMS}, flambeau.cuda", ALL_BUDGET)],
    ids=["core", "all"],
)
def test_import_time(code, budget):
    cost = best_seconds(code) - best_seconds("pass")
    assert cost <= budget, f"`{code}` costs {cost * 1e3:.1f} ms above bare Python"


def test_the_core_loads_nothing_heavy():
    loaded = set(python(f"{WATCH}\nimport flambeau\nprint(*set(sys.modules) - old)").split())
    assert not loaded & (HEAVY | {"subprocess", "flambeau.nn", "flambeau.jit"})


def test_no_room_imports_numpy():
    loaded = set(python(f"{WATCH}\n{ALL_ROOMS}\nprint(*set(sys.modules) - old)").split())
    assert not loaded & {"numpy", "scipy_openblas32", "cupy"}


def test_no_process_and_no_device_at_import():
    assert python(f"{WATCH}\n{ALL_ROOMS}, flambeau.cuda\nprint(seen)").strip() == "[]"
