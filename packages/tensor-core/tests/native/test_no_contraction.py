"""Compilers fuse no product with a sum where the source does not."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess

import pytest

from flambeau.core import _core


@pytest.mark.skipif(platform.machine() != "x86_64", reason="needs x86-64")
@pytest.mark.skipif(not shutil.which("objdump"), reason="needs objdump")
def test_no_sums_and_differences_of_fused_products():
    """GCC 12 makes them of complex products in spite of -ffp-contract=off."""
    command = ["objdump", "-d", "--no-show-raw-insn", _core.__file__]
    code = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "vfmadd" in code
    assert re.findall(r"vfm(?:addsub|subadd).*", code) == []
