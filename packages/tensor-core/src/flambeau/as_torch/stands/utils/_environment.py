"""What programs ask `torch.utils.collect_env` of a machine; None where no program answers."""
from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from typing import Any

Run = Callable[[str], tuple[int, str, str]]


def run(command: Any) -> tuple[int, str, str]:
    """The exit status of a command, what it printed, and its errors."""
    done = subprocess.run(command, shell=isinstance(command, str), capture_output=True, text=True)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def _printed(run_lambda: Run, command: str) -> str | None:
    status, printed, _ = run_lambda(command)
    return None if status else printed


def _version(run_lambda: Run, command: str, pattern: str) -> str | None:
    found = re.search(pattern, _printed(run_lambda, command) or "")
    return found and found.group(1)


def get_cpu_info(run_lambda: Run) -> str | None:
    """The processor, ``name: value`` in each line."""
    return _printed(run_lambda, "lscpu")


def get_gpu_info(run_lambda: Run) -> str | None:
    """The GPUs, a line for each."""
    return _printed(run_lambda, "nvidia-smi -L")


def get_nvidia_driver_version(run_lambda: Run) -> str | None:
    """The version of the driver."""
    return _version(run_lambda, "nvidia-smi", r"Driver Version: (\S+)")


def get_gcc_version(run_lambda: Run) -> str | None:
    """The compiler and its version."""
    return _version(run_lambda, "gcc --version", r"gcc (.*)")
