"""No input to a public function may crash the interpreter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import flambeau

FUZZ = Path(__file__).parent / "fuzz.py"


@pytest.mark.parametrize("seed", range(3))
def test_odd_arguments_raise_and_never_crash(seed):
    command = [sys.executable, "-X", "faulthandler", str(FUZZ), str(seed), "10"]
    done = subprocess.run(command, text=True, capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
def test_many_odd_arguments(seed):
    command = [sys.executable, "-X", "faulthandler", str(FUZZ), str(seed), "100"]
    done = subprocess.run(command, text=True, capture_output=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]


def test_lists_without_tensors_are_refused():
    with pytest.raises(TypeError, match="expected a list of tensors, but element 1 is None"):
        flambeau.cat([flambeau.ones(2), None])


def test_out_on_another_device_is_refused():
    with pytest.raises(RuntimeError, match="give out= a tensor on the same device"):
        flambeau.exp(flambeau.ones(4), out=flambeau.empty(4, device="meta"))
    with pytest.raises(RuntimeError, match="give out= a tensor on the same device"):
        flambeau.flip(flambeau.empty(5, device="meta"), [0], out=flambeau.empty(5))
