"""Statistics, limits, and errors of a full device."""
from __future__ import annotations

import gc

import pytest

import flambeau as fl
from flambeau import cuda
from flambeau.cuda.simulation import as_cuda


@pytest.fixture
def device(simulated):
    gc.collect()
    with as_cuda():
        yield simulated


def test_statistics_by_pytorchs_names(device):
    before = cuda.memory_stats()
    x = fl.empty(1 << 18, device=device.name)
    after = cuda.memory_stats()
    key = "allocated_bytes.all"
    assert after[f"{key}.current"] - before[f"{key}.current"] == 1 << 20
    assert after[f"{key}.allocated"] - before[f"{key}.allocated"] == 1 << 20
    assert cuda.memory_stats_as_nested_dict()["allocated_bytes"]["all"]["current"] == \
        cuda.memory_allocated() == after[f"{key}.current"]
    del x
    freed = cuda.memory_stats()
    assert freed[f"{key}.freed"] - before[f"{key}.freed"] == 1 << 20
    cuda.reset_peak_memory_stats()
    assert cuda.max_memory_allocated() == cuda.memory_allocated()
    cuda.reset_accumulated_memory_stats()
    assert cuda.memory_stats()[f"{key}.allocated"] == 0
    assert "tensors hold" in cuda.memory_summary()


def test_snapshot(device):
    x = fl.empty(100, device=device.name)
    block, = (s for s in cuda.memory_snapshot() if s["address"] == x.data_ptr())
    assert block["total_size"] == 400 and block["blocks"][0]["state"] == "active_allocated"


def test_a_fraction_of_the_memory(device):
    kept = fl.ones(1 << 20, device=device.name)
    cuda.set_per_process_memory_fraction(0.001)
    try:
        assert cuda.get_per_process_memory_fraction() == 0.001
        with pytest.raises(cuda.OutOfMemoryError) as error:
            fl.ones(1 << 23, device=device.name)
    finally:
        cuda.set_per_process_memory_fraction(1.0)
    for words in ("Tried to allocate 32.00 MiB", "cudasim:0", "16.00 GiB", "1 x 4.00 MiB",
                  "set_per_process_memory_fraction", "loss.item()"):
        assert words in str(error.value)
    assert isinstance(error.value, RuntimeError) and kept.sum().item() == 1 << 20
    for wrong, kind in ((2.0, ValueError), (1, TypeError)):
        with pytest.raises(kind):
            cuda.set_per_process_memory_fraction(wrong)


def test_every_request_may_fail(device):
    """What a failed request leaves behind is what was there before it."""
    x = fl.arange(12.0).reshape(3, 4).to(device.name)
    want = ((x + 1) * x).sum(0).cpu().tolist()
    before, failures = cuda.memory_allocated(), 0
    for n in range(1, 20):
        device.fail_after(n)
        try:
            assert ((x + 1) * x).sum(0).cpu().tolist() == want
        except cuda.OutOfMemoryError:
            failures += 1
        finally:
            device.fail_after(0)
        gc.collect()
        assert cuda.memory_allocated() == before
    assert failures == 0        # each is repeated, as what is kept may be enough
    assert cuda.memory_stats()["num_alloc_retries"] > 0


def test_a_device_without_memory(device, monkeypatch):
    x = fl.ones(100, device=device.name)
    monkeypatch.setattr(device, "total_memory", 0)
    with pytest.raises(cuda.OutOfMemoryError, match="out of memory"):
        x + 1
    monkeypatch.undo()
    assert (x + 1).sum().item() == 200.0


def test_memory_for_other_libraries(device):
    before = cuda.memory_allocated()
    address = cuda.caching_allocator_alloc(1000)
    assert cuda.memory_allocated() - before >= 1000
    cuda.caching_allocator_delete(address)
    assert cuda.memory_allocated() == before
    with pytest.raises(ValueError, match="no address"):
        cuda.caching_allocator_delete(address)


def test_states_of_generators(device):
    cuda.manual_seed_all(5)
    states = cuda.get_rng_state_all()
    assert len(states) == 2
    a = [fl.rand(3, device=f"{device.name}:{i}").tolist() for i in range(2)]
    cuda.set_rng_state_all(states)
    assert [fl.rand(3, device=f"{device.name}:{i}").tolist() for i in range(2)] == a
    assert a[0] == a[1]
    cuda.manual_seed(6)
    assert cuda.initial_seed() == 6 == cuda.default_generators[0].initial_seed()
    assert cuda.default_generators[1].initial_seed() == 5
