"""Builds C extensions with the plain compiler, and runs programs that use them."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path


def compile_extension(source: Path, target: Path, include: str, *flags: str) -> Path:
    """Build one C file against a folder of headers; returns the extension module."""
    module = target / f"{source.stem}{sysconfig.get_config_var('EXT_SUFFIX')}"
    python = sysconfig.get_path("include")
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers"]
    command = ["gcc", "-std=c11", "-O1", "-shared", "-fPIC", *warnings, f"-I{python}",
               f"-I{include}", *flags, str(source), "-o", str(module), "-lm"]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return module


def run_program(code: str, *folders: Path, **environment: str) -> subprocess.CompletedProcess:
    """Run a program in a fresh interpreter that looks for modules in some folders first."""
    paths = [*map(str, folders), os.environ.get("PYTHONPATH", "")]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **environment}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env=variables, timeout=600)
