"""The launch path: what Python is asked, what memory is kept, and what is an error."""
from __future__ import annotations

import gc
import sys

import pytest

import flambeau as fl
from flambeau.core import backends
from flambeau.cuda import _launch
from flambeau.cuda.simulation import SimulatedBackend


class Counting(SimulatedBackend):
    """A simulated device that keeps memory, and counts what it is asked."""

    name = "cudakept"
    exact = False
    limit = sys.maxsize

    def __init__(self):
        super().__init__()
        self.plans = self.reserves = 0

    def plan(self, op, args, outs):
        self.plans += 1
        return super().plan(op, args, outs)

    def reserve(self, index, nbytes):
        self.reserves += 1
        if nbytes > self.limit:
            raise MemoryError(f"no memory for {nbytes} bytes")
        return super().reserve(index, nbytes)


@pytest.fixture(scope="module")
def kept():
    backend = Counting()
    backends.register(backend)
    return backend


def statistics(backend):
    return _launch.statistics(backend.device_type, 0)


def test_python_decides_once_for_a_kind_of_call(kept):
    x, y = fl.ones(4).to(kept.name), fl.ones(4, 1).to(kept.name)
    x + x
    before = kept.plans
    assert (x + x + x).cpu().tolist() == [3.0] * 4      # the same kind, whatever the shapes
    assert (y + y.t()).cpu().tolist() == [[2.0] * 4] * 4
    assert kept.plans == before
    x + 1
    x + 2.0
    x + fl.tensor(3.0)
    assert kept.plans == before + 3     # integers, floats, tensors of the host


def test_numbers_that_choose_the_kernel(kept):
    x = fl.tensor([1.0, 4.0, 9.0]).to(kept.name)
    for exponent, want in ((0.5, [1, 2, 3]), (2, [1, 16, 81]), (True, [1, 4, 9]),
                           (1.5, [1, 8, 27]), (0.5, [1, 2, 3])):
        assert (x ** exponent).cpu().tolist() == want


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16",
                                   "uint32", "float16", "bfloat16", "float32", "float64",
                                   "complex64", "complex128"])
def test_numbers_on_the_host_among_tensors(kept, dtype):
    number = fl.tensor(1.5 if dtype.startswith(("f", "b", "c")) else 3).to(getattr(fl, dtype))
    x = fl.tensor([1.0, -2.0])
    got, want = (x.to(kept.name) * number).cpu(), x * number
    assert got.dtype == want.dtype and got.tolist() == want.tolist()


def test_more_dimensions_than_a_kernel_takes(kept):
    x = fl.ones(*[2] * 14).to(kept.name)
    y = x.permute(*range(13, -1, -1))
    with pytest.raises(NotImplementedError, match="cudakept"):
        x + y
    assert (x + x).sum().item() == 2 * 2 ** 14


def test_memory_is_kept_for_the_next_tensor(kept):
    x = fl.empty(1000, device=kept.name)
    address, reserves = x.data_ptr(), kept.reserves
    del x
    assert fl.empty(1020, device=kept.name).data_ptr() == address       # of the same class
    assert kept.reserves == reserves
    assert fl.empty(2000, device=kept.name).data_ptr() != address
    assert kept.reserves == reserves + 1


def test_statistics_and_trimming(kept):
    gc.collect()
    _launch.trim(kept.device_type, 0)
    before = statistics(kept)
    assert before["allocated"] == before["reserved"]    # nothing is kept
    x = fl.empty(1 << 18, device=kept.name)
    _launch.reset_peaks(kept.device_type, 0)
    assert statistics(kept)["allocated"] - before["allocated"] == 1 << 20
    assert statistics(kept)["count"] == before["count"] + 1
    del x
    after = statistics(kept)
    assert after["allocated"] == before["allocated"]
    assert after["reserved"] - before["reserved"] == 1 << 20
    assert after["most_allocated"] - before["allocated"] == 1 << 20
    _launch.trim(kept.device_type, 0)
    assert statistics(kept)["reserved"] == before["reserved"]


def test_a_full_device_gives_back_what_it_keeps_and_tries_again(kept, monkeypatch):
    del_me = fl.empty(5000, device=kept.name)
    del del_me
    tries = []

    def reserve(index, nbytes):
        tries.append(statistics(kept)["reserved"])
        if len(tries) == 1:
            raise MemoryError("full")
        return Counting.reserve(kept, index, nbytes)

    monkeypatch.setattr(kept, "reserve", reserve, raising=False)
    assert fl.empty(9000, device=kept.name).numel() == 9000
    assert len(tries) == 2 and tries[1] < tries[0]
    monkeypatch.undo()
    monkeypatch.setattr(kept, "limit", 10)
    with pytest.raises(MemoryError, match="no memory for"):
        fl.empty(90_000, device=kept.name)


def test_views_keep_memory_alive(kept):
    view = fl.arange(3000).to(kept.name)[1:3]
    others = [fl.full((3000,), 7).to(kept.name) for _ in range(3)]
    assert view.cpu().tolist() == [1, 2] and len(others) == 3


def test_a_machine_without_a_driver_says_so():
    try:
        _launch.nvidia_driver()
    except OSError as error:
        assert "driver" in str(error)


def test_wrong_arguments_are_refused(kept):
    with pytest.raises(ValueError, match="no device type"):
        _launch.statistics(200, 0)
    with pytest.raises(TypeError):
        _launch.copy_into(kept.device_type, 1, 2)
