"""Memory: flat over millions of tensors, given back, and the allocator's modes."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

import flambeau
from flambeau.core import memory_stats


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _churn(count: int) -> None:
    x = flambeau.ones(4)
    for _ in range(count):
        x + 1


def _grows(count: int) -> int:
    _churn(count // 10)
    gc.collect()
    before = _resident()
    _churn(count)
    return _resident() - before


def test_a_million_small_tensors_leave_nothing():
    assert _grows(1_000_000) < 1 << 20


@pytest.mark.slow
def test_ten_million_small_tensors_leave_nothing():
    assert _grows(10_000_000) < 1 << 20


@pytest.mark.parametrize("make", [
    lambda: flambeau.zeros(100_000), lambda: flambeau.zeros(3)[1:], lambda: flambeau.zeros(4).t(),
    lambda: flambeau.zeros([1] * 10), lambda: flambeau.tensor([1.0, 2.0]),
    lambda: flambeau.zeros(3).numpy(), lambda: flambeau.zeros(3).__dlpack__(),
    lambda: flambeau.zeros(5, 5).sort(), lambda: flambeau.zeros(3).split(1),
    lambda: repr(flambeau.zeros(3)), lambda: flambeau.cat([flambeau.zeros(3)] * 4),
    lambda: flambeau.zeros(3)[flambeau.tensor([0, 1])], lambda: flambeau.zeros(5).data,
])
def test_every_byte_comes_back(make):
    make()
    gc.collect()
    before = memory_stats()["live_bytes"]
    for _ in range(50):
        make()
    gc.collect()
    assert memory_stats()["live_bytes"] == before


def test_errors_leak_nothing():
    x = flambeau.ones(2, 3)
    gc.collect()
    before = memory_stats()["live_bytes"], sys.getrefcount(x)
    for _ in range(200):
        for bad in (lambda: x @ x, lambda: x.view(7), lambda: x + flambeau.ones(5),
                    lambda: x.sum(9), lambda: x[7], lambda: flambeau.exp(x, out=x.int())):
            with pytest.raises((RuntimeError, IndexError)):
                bad()
    gc.collect()
    assert (memory_stats()["live_bytes"], sys.getrefcount(x)) == before


def test_a_cycle_through_an_attribute_is_collected():
    import weakref

    x = flambeau.ones(2)
    x.me = x
    alive = weakref.ref(x)
    del x
    gc.collect()
    assert alive() is None


def _child(mode: str, code: str) -> str:
    done = subprocess.run([sys.executable, "-c", "import flambeau\n" + code], check=True, text=True,
                          capture_output=True, env={**os.environ, "FLAMBEAU_ALLOC": mode})
    return done.stdout.strip()


def test_poison_fills_fresh_memory_with_nan():
    code = "print(all(v != v for v in flambeau.empty(1000).tolist()))"
    assert _child("poison", code) == "True"
    again = ("x = flambeau.ones(1000); del x;"
             "print(all(v != v for v in flambeau.empty(1000).tolist()))")
    assert _child("poison", again) == "True"


@pytest.mark.parametrize("mode", ("plain", "poison"))
def test_modes_compute_the_same(mode):
    code = ("x = flambeau.arange(5000.).view(50, 100); "
            "print((x @ x.t()).sum().item(), x.softmax(1).sum().item(), x[3:, ::7].sort()[0])")
    assert _child(mode, code) == _child("", code)


def test_plain_keeps_no_cache():
    code = ("from flambeau.core import memory_stats\nx = flambeau.ones(100000)\ndel x\n"
            "print(memory_stats()['cached_bytes'])")
    assert _child("plain", code) == "0"


def test_an_impossible_size_is_an_error_and_not_a_crash():
    for size in (2 ** 50, 2 ** 62, 2 ** 63 - 1):
        with pytest.raises((MemoryError, RuntimeError, ValueError, OverflowError)):
            flambeau.zeros(size)
    with pytest.raises((MemoryError, RuntimeError, ValueError, OverflowError)):
        flambeau.zeros(2 ** 40, 2 ** 40)


def test_every_failed_allocation_is_an_error_that_says_what_was_asked_and_held():
    script = str(Path(__file__).parents[1] / "kit" / "out_of_memory.py")
    done = subprocess.run([sys.executable, script], text=True, capture_output=True, check=False,
                          env={**os.environ, "FLAMBEAU_ALLOC": "plain"})
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout.split()[0]) > 1000
