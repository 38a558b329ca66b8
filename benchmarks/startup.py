"""What importing costs above bare Python, in milliseconds, the least of several fresh interpreters.

`python startup.py` prints the core alone and all six packages.
"""

from __future__ import annotations

import subprocess
import sys
import time

ROOMS = ("autograd", "nn", "optim", "jit", "cuda")
IMPORTS = {
    "flambeau": "import flambeau",
    "all six": f"import {', '.join(f'flambeau.{room}' for room in ROOMS)}",
}
STARTS = 20


def best_seconds(code: str) -> float:
    """Return the least time of several fresh interpreters that run `code`."""
    times = []
    for _ in range(STARTS):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Print what each import costs."""
    bare = best_seconds("pass")
    for name, code in IMPORTS.items():
        print(f"import {name}: {(best_seconds(code) - bare) * 1e3:.1f} ms above bare Python")


if __name__ == "__main__":
    main()
