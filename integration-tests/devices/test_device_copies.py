"""Nothing is copied between a device and the host but what these operators must read."""
from __future__ import annotations

import shutil
import warnings

import numpy
import pytest
from copied import copied
from device_calls import DEVICE, all_calls, cases, inputs, made_on

import flambeau as fl

if DEVICE == "cudasim" and not shutil.which("g++"):
    pytest.skip("needs g++", allow_module_level=True)

#: Operators that read the device, once a call, and why.
READS = {
    **dict.fromkeys(("equal", "allclose"), "the result is a Python bool"),
    **dict.fromkeys(("nonzero", "nonzero.tuple", "argwhere", "where.indices", "masked_select",
                     "unique", "unique_consecutive", "combinations"), "values decide the size"),
    **dict.fromkeys(("repeat_interleave", "repeat_interleave.indices", "bincount", "one_hot"),
                    "values decide the size where no argument says it"),
    **dict.fromkeys(("lstm.data", "gru.data", "rnn_tanh.data", "rnn_relu.data", "tensor_split"),
                    "sizes are given by a tensor"),
    **dict.fromkeys(("gaussian_nll_loss", "pdist", "istft"), "values are checked"),
    "ctc_loss": "the longest of concatenated targets decides a size",
    **dict.fromkeys(("histc", "histogram.count", "histogramdd"),
                    "least and greatest values make the bins where no argument does"),
    "linalg_lstsq": "the rank is a condition of what follows",
    **dict.fromkeys(("linalg_ldl_factor", "linalg_ldl_solve"), "a zero in D is an error"),
}


def _copies_of(key: str, device: str) -> list[tuple[int, int]]:
    """Copies to the host, and to the device, of each call of an operator."""
    found, seen = [], set()
    for case in cases(key):
        if case.variant != "contiguous" or case.number in seen:
            continue
        seen.add(case.number)
        with warnings.catch_warnings(), numpy.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            given = inputs(case, device)
            before = copied(device)
            try:
                with made_on(device):
                    case.call.function(fl, *given)
            except (NotImplementedError, RuntimeError, TypeError):
                continue        # what is refused is another test's concern
            after = copied(device)
        found.append((after["to_host"] - before["to_host"],
                      after["to_device"] - before["to_device"]))
    return found


@pytest.mark.parametrize("key", all_calls())
def test_only_listed_operators_read_the_device(key):
    reads = max((to_host for to_host, _ in _copies_of(key, DEVICE)), default=0)
    assert reads <= (key in READS), f"{key} copied {reads} times to the host"


def test_the_counter_counts():
    x = fl.ones(3, device=DEVICE)
    before = copied(DEVICE)
    x.tolist()
    assert fl.ones(5).to(DEVICE).cpu().shape == (5,)
    after = copied(DEVICE)
    assert after["to_host"] - before["to_host"] == 2
    assert after["to_host_bytes"] - before["to_host_bytes"] == 3 * 4 + 5 * 4
    assert after["to_device_bytes"] - before["to_device_bytes"] == 5 * 4
