"""The CPU is one device, whatever number a program gives it, and so is `meta`."""
from __future__ import annotations

import pytest

import flambeau


@pytest.mark.parametrize("where", ["cpu:1", flambeau.device("cpu", 7), "cpu:0"], ids=str)
def test_tensors_of_numbered_cpus_are_on_the_cpu(where):
    x = flambeau.ones(2, 3)
    made = [flambeau.zeros(2, device=where), flambeau.tensor([1], device=where),
            flambeau.zeros_like(x, device=where), x.to(where), x.to(where, flambeau.int32),
            x.to(device=where, non_blocking=True), flambeau.randn(2, device=where)]
    assert [each.device for each in made] == [flambeau.device("cpu")] * len(made)
    assert flambeau.equal(x.to(where), x) and (x.to(where) + x).tolist() == [[2.0] * 3] * 2
    with flambeau.device(where):
        assert flambeau.ones(1).device == flambeau.device("cpu")


def test_a_device_keeps_its_number():
    device = flambeau.device("cpu:1")
    assert str(device) == "cpu:1" and device.index == 1 and device != flambeau.device("cpu")


def test_numbered_meta_devices_are_one():
    made = flambeau.zeros(2, device="meta:1")
    assert str(made.device) == "meta" and str(made.to("meta:3").device) == "meta"
