"""No operator keeps memory: tensors, Python's blocks and errors are flat over repeated calls."""

from __future__ import annotations

import contextlib
import gc
import sys

import pytest
from calls import CALLS
from pointwise_opdefs import POINTWISE, operands, operator

import flambeau
from flambeau.core import memory_stats

TIMES = 40
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def _quick_collections():
    """Put what other tests left out of the collector's sight: it is called thousands of times."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def _forget_attributes() -> None:
    """Empty CPython's cache of attributes, which keeps names that nobody else holds.

    It has 4096 slots, found by the address of the name: an attribute looked up by a new string
    each time fills one after the other, some blocks at a time, over thousands of calls.
    """
    getattr(sys, "_clear_internal_caches", getattr(sys, "_clear_type_cache", int))()


def _held() -> tuple[int, int]:
    _forget_attributes()
    gc.collect()
    return memory_stats()["live_bytes"], sys.getallocatedblocks()


def _stays_flat(run) -> None:
    """Three tries: another thread or a cache of Python's can add some blocks once."""
    for _ in range(5):
        run()
    for _ in range(3):
        bytes_, blocks = _held()
        for _ in range(TIMES):
            run()
        now, blocks_now = _held()
        assert now == bytes_
        if blocks_now - blocks < TIMES // 2:
            return
    raise AssertionError(f"{blocks_now - blocks} blocks more after {TIMES} calls")


@pytest.mark.parametrize("key", CALLS)
def test_calls_keep_no_memory(key):
    for call in CALLS[key]:
        dtype = "float32" if "float32" in call.dtypes else call.dtypes[0]
        inputs = call.inputs(flambeau, dtype)
        _stays_flat(lambda call=call, inputs=inputs: call.function(flambeau, *inputs))


@pytest.mark.parametrize("opdef", POINTWISE, ids=lambda opdef: opdef.key)
def test_pointwise_rows_keep_no_memory(opdef):
    inputs = [flambeau.rand(3, 4) for _ in range(operands(opdef))]

    def run():
        with contextlib.suppress(TypeError, RuntimeError, NotImplementedError):
            operator(opdef)(*inputs)

    _stays_flat(run)


@pytest.mark.parametrize("key", CALLS)
def test_calls_that_fail_keep_no_memory(key):
    function = CALLS[key][0].function
    wrong = flambeau.empty(0, 3, 0, 7, dtype=flambeau.bool)

    def run():
        with contextlib.suppress(Exception):
            function(flambeau, wrong)

    _stays_flat(run)
