"""Plants every fault in turn and says which test finds it: ``python tests/planted/run.py``.

Exits with 1 when a fault stays unseen.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from plugin import FAULTS  # noqa: E402


def found_by(fault: str, tests: str) -> list[str]:
    """Names of the tests that fail with a fault planted."""
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "plugin", "-p", "no:cacheprovider",
               "-m", "not slow", *(str(next(HERE.parent.rglob(name))) for name in tests.split())]
    done = subprocess.run(command, env={**os.environ, "PLANTED_FAULT": fault, "PYTHONPATH": path},
                          text=True, capture_output=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stdout + done.stderr)
    return re.findall(r"^FAILED .*?(test_\w+\.py::[^ ]+)", done.stdout, re.M)


def main() -> int:
    unseen = 0
    for fault, tests in FAULTS.items():
        names = found_by(fault.__name__, tests)
        unseen += not names
        print(f"{fault.__name__}: {len(names)} tests red, first {names[0] if names else 'NONE'}")
    return int(unseen > 0)


if __name__ == "__main__":
    sys.exit(main())
