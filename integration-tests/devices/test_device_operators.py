"""Each operator gives on a device what it gives on the CPU: every dtype and layout, NaN, gradients.

A third of the cases, chosen by their names; ``TESTED_SHARE=1`` runs all, ``TESTED_DEVICE=cuda``
runs them on a GPU.
"""
from __future__ import annotations

import shutil

import pytest
from device_calls import DEVICE, all_calls, cases, outcome

if DEVICE == "cudasim" and not shutil.which("g++"):
    pytest.skip("needs g++", allow_module_level=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", all_calls())
def test_results_are_those_of_the_cpu(key):
    found = [outcome(case) for case in cases(key) if case.is_chosen()]
    wrong = [text for text in found if text.startswith("wrong")]
    assert not wrong, f"{len(wrong)} of {len(found)} cases\n" + "\n".join(wrong[:5])
    missing = [text for text in found if text.startswith("unsupported")]
    if len(missing) == len(found) and found:
        pytest.skip(f"needs a kernel: {missing[0]}")
