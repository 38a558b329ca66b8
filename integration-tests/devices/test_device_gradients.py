"""Autograd's samples, through second order, and nn's modules give on a device the CPU's results."""
from __future__ import annotations

import shutil
from functools import partial

import pytest
from device_calls import DEVICE
from device_gradients import SAMPLES, is_chosen, outcome, row_results, rows, sample_results

if DEVICE == "cudasim" and not shutil.which("g++"):
    pytest.skip("needs g++", allow_module_level=True)

_ROWS = {name: row for name, row in rows().items() if is_chosen(name)}


def _judge(found: list[str]) -> None:
    wrong = [text for text in found if text.startswith("wrong")]
    assert not wrong, "\n".join(wrong)
    missing = [text for text in found if text.startswith("unsupported")]
    if found and len(missing) == len(found):
        pytest.skip(f"needs a kernel: {missing[0]}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", SAMPLES)
def test_gradients_are_those_of_the_cpu(key):
    names = {f"{key}-{i}": make for i, make in enumerate(SAMPLES[key])}
    _judge([outcome(name, partial(sample_results, make), "float64")
            for name, make in names.items() if is_chosen(name)])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", _ROWS)
def test_modules_compute_what_they_do_on_the_cpu(name):
    _judge([outcome(name, partial(row_results, _ROWS[name]), "float32")])
