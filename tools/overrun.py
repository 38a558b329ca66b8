"""Prove that the sanitizer watches our memory: write one element past a tensor and be caught.

Runs under the environment of the `asan` session. A child process writes past the end of a
storage; the check passes when AddressSanitizer stops it, for a small and for a large tensor.
"""

from __future__ import annotations

import subprocess
import sys

OVERRUN = """
import ctypes
import flambeau

x = flambeau.zeros({numel})
ctypes.memset(x.data_ptr() + 4 * {numel}, 1, 4)
"""
EXPECTED = "heap-buffer-overflow"


def main() -> int:
    """Return 1 when an overrun went unnoticed."""
    for numel in (3, 1000):
        command = [sys.executable, "-c", OVERRUN.format(numel=numel)]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode == 0 or EXPECTED not in run.stderr:
            print(f"An overrun of one element after {numel} went unnoticed.", run.stderr, sep="\n")
            return 1
    print("Planted overruns are caught.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
