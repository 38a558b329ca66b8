"""Ten families of networks train on a device with the losses of the CPU, and copy nothing to it."""
from __future__ import annotations

import shutil
from functools import partial

import pytest
from copied import copied
from device_calls import DEVICE
from trainings import FAMILIES, train

if DEVICE == "cudasim" and not shutil.which("g++"):
    pytest.skip("needs g++", allow_module_level=True)


@pytest.mark.parametrize("name", FAMILIES)
def test_losses_are_those_of_the_cpu_and_no_step_reads_the_device(name):
    losses, seen = train(name, DEVICE, watch=partial(copied, DEVICE))
    expected, _ = train(name, "cpu")
    assert losses == pytest.approx(expected, rel=2e-3)
    assert losses[:3] == pytest.approx(expected[:3], rel=1e-4)
    assert losses[-1] < losses[0]
    for before, after in zip(seen[::2], seen[1::2], strict=True):
        assert after["to_host"] == before["to_host"], f"{name} copied to the host"
        if name != "vae":       # whose random numbers are drawn by the CPU
            assert after["to_device"] == before["to_device"], f"{name} copied from the host"
