"""Build and run the house on a machine with nothing but Python 3.11, pip and gcc.

    python3 tools/bootstrap.py demo     build the six packages, train on real digits
    python3 tools/bootstrap.py test     build them and pass the tests
    python3 tools/bootstrap.py SESSION  any other nox session, with its arguments

It makes a virtual environment in `.nox/bootstrap`, installs nox there and runs the sessions of
`noxfile.py`, which put everything else they need below `.nox` as well. Nothing is installed
outside this folder. It uses the standard library only.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".nox" / "bootstrap"
NOX = "nox>=2025.2.9"
SHORT = {"demo": ["--session", "demo"], "test": ["--tags", "ci"]}


def check_machine() -> None:
    """Stop with advice when the machine lacks what pip cannot install."""
    if sys.version_info < (3, 11):  # noqa: UP036, an older one may well run this file
        sys.exit(f"Python 3.11 or newer is needed; this is {sys.version.split()[0]}.")
    if not (os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")):
        sys.exit("A C++ compiler is needed: install g++ (Debian: apt install g++).")
    pip = subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True)
    if pip.returncode:
        sys.exit(f"pip is needed for {sys.executable} (Debian: apt install python3-pip).")


def nox_command() -> list[str]:
    """Return the command that runs nox, installing it on the first call."""
    python = HOME / "bin" / "python"
    if not (HOME / "bin" / "nox").exists():
        # Debian keeps ensurepip in a package of its own, so the caller's pip installs instead.
        venv.create(HOME, clear=True, with_pip=False)
        pip = [sys.executable, "-m", "pip", "--python", str(python)]
        install = ["install", "--quiet", "--disable-pip-version-check", NOX]
        subprocess.run([*pip, *install], check=True)
    return [str(python), "-m", "nox", "--noxfile", str(ROOT / "noxfile.py")]


def main() -> int:
    """Run the sessions that the command line names."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0
    check_machine()
    first, *rest = arguments
    sessions = SHORT.get(first, [first] if first.startswith("-") else ["--session", first])
    return subprocess.run([*nox_command(), *sessions, *rest], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
