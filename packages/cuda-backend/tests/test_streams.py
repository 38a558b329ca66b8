"""Streams, events and graphs, on a simulation that does nothing before somebody waits for it."""
from __future__ import annotations

import gc
from functools import partial

import pytest

import flambeau as fl
from flambeau import cuda
from flambeau.cuda import _launch


def test_work_waits_in_its_stream(late):
    x = fl.zeros(4, device=late.name)
    side = cuda.Stream()
    cuda.synchronize()
    with cuda.stream(side):
        x += 1
        assert cuda.current_stream() == side
    assert cuda.current_stream() == cuda.default_stream() != side
    assert late.waiting(0, side.cuda_stream) == 1 and not side.query()
    side.synchronize()
    assert side.query() and x.tolist() == [1.0] * 4


def test_a_missing_event_shows_in_the_numbers(late):
    def produce_and_read(ordered):
        x, side = fl.zeros(4, device=late.name), cuda.Stream()
        side.wait_stream(cuda.current_stream())
        with cuda.stream(side):
            x.fill_(7)
        if ordered:
            cuda.current_stream().wait_stream(side)
        y = (x + 1).tolist()
        side.synchronize()
        return y

    assert produce_and_read(ordered=True) == [8.0] * 4
    assert produce_and_read(ordered=False) == [1.0] * 4


@pytest.fixture
def keeping():
    """A device that keeps memory as a GPU does, as that of ``flambeau.cuda``; its work is late."""
    from test_launch import Counting

    from flambeau.core import backends
    from flambeau.cuda.runtime import speaking_of

    class Kept(Counting):
        name = "cudastreams"

    kept = Kept()
    backends.register(kept)
    with speaking_of(kept.name):
        kept.late(True)
        yield kept
        kept.late(False)


def test_memory_that_another_stream_still_reads(keeping):
    """Without record_stream a new tensor overwrites what the other stream is still to read."""
    def read(recorded):
        x, side = fl.full((64,), 3.0, device=keeping.name), cuda.Stream()
        side.wait_stream(cuda.current_stream())
        with cuda.stream(side):
            y = x * 2
        if recorded:
            x.record_stream(side)
        del x
        fl.full((64,), 100.0, device=keeping.name)
        cuda.current_stream().synchronize()
        side.synchronize()
        return y.tolist()[0]

    assert read(recorded=True) == 6.0
    assert read(recorded=False) == 200.0


def test_memory_goes_back_to_the_driver_when_work_is_done(keeping):
    """The driver may give it to another stream, which knows of no event."""
    side = cuda.Stream()
    with cuda.stream(side):
        x = fl.full((5000,), 3.0, device=keeping.name)
        y = x * 2
    del x
    assert not side.query()
    cuda.empty_cache()
    assert side.query() and y.tolist()[0] == 6.0


def test_memory_of_a_stream_that_ends(keeping):
    """It is the default stream's, once the work there is done; tensors of the stream live on."""
    side = cuda.Stream()
    with cuda.stream(side):
        x = fl.full((7000,), 3.0, device=keeping.name)
        y, z = x * 2, fl.full((7000,), 1.0, device=keeping.name)
    x.record_stream(side)
    z.record_stream(cuda.current_stream())
    del x, side
    gc.collect()
    statistics = partial(_launch.statistics, keeping.device_type, 0)
    before = statistics()["reserves"]
    again = fl.full((7000,), 9.0, device=keeping.name)      # where x was
    assert statistics()["reserves"] == before
    assert y.tolist()[0] == 6.0 and z.tolist()[0] == 1.0 and again.tolist()[0] == 9.0
    del y, z
    cuda.synchronize()
    more = [fl.full((7000,), k, device=keeping.name) for k in (1.0, 2.0)]
    assert statistics()["reserves"] == before and [t.tolist()[0] for t in more] == [1.0, 2.0]


def test_memory_of_a_graph_that_other_streams_used(keeping):
    """It is given back with the graph's, though their work was to come when the graph went."""
    captured, side = cuda.CUDAGraph(), cuda.Stream()
    statistics = partial(_launch.statistics, keeping.device_type, 0)
    with cuda.graph(captured):
        x = fl.full((9000,), 2.0, device=keeping.name)
        y = x + 1
    cuda.empty_cache()
    captured.replay()
    side.wait_stream(cuda.current_stream())
    with cuda.stream(side):
        z = y * 2
    y.record_stream(side)
    del x, y
    captured.reset()
    side.synchronize()
    assert z.tolist()[0] == 6.0
    del z
    cuda.empty_cache()
    assert statistics()["allocated"] == 0 and statistics()["reserved"] == 0


def test_memory_that_another_stream_reads_in_a_graph(keeping):
    """No other tensor of the graph gets it, and it is given back when the graph goes."""
    captured, side = cuda.CUDAGraph(), cuda.Stream()
    with cuda.graph(captured):
        here = cuda.current_stream()
        x = fl.full((11_000,), 3.0, device=keeping.name)
        side.wait_stream(here)
        x.record_stream(side)
        where = x.data_ptr()
        del x
        other = fl.full((11_000,), 100.0, device=keeping.name)
        here.wait_stream(side)
    assert other.data_ptr() != where
    captured.replay()
    assert other.tolist()[0] == 100.0
    captured.reset()
    del other
    fl.ones(3, device=keeping.name)         # looks after what was given back
    cuda.empty_cache()
    assert _launch.statistics(keeping.device_type, 0)["reserved"] == 0


def test_freed_memory_is_given_back_in_order(late):
    for _ in range(3):
        x = fl.ones(100, device=late.name)
        x = x + 1
        x = x * x
    assert x.sum().item() == 400.0


def test_events(late):
    start, end = (cuda.Event(enable_timing=True) for _ in range(2))
    assert start.query()
    start.record()
    fl.ones(1000, device=late.name) * 2
    end.record()
    assert not end.query()
    end.synchronize()
    assert start.query() and end.query() and start.elapsed_time(end) > 0
    with pytest.raises(ValueError, match="enable_timing=True"):
        cuda.Event().elapsed_time(end)
    with pytest.raises(ValueError, match="recorded"):
        start.elapsed_time(cuda.Event(enable_timing=True))
    other = cuda.Stream(f"{late.name}:1")
    with pytest.raises(RuntimeError, match="event for each device"):
        start.record(other)


def test_two_devices(late):
    x = fl.arange(6.0).to(f"{late.name}:1")
    with cuda.device(1):
        assert cuda.current_device() == 1
        side = cuda.Stream()
        assert side.device_index == 1
    assert cuda.current_device() == 0
    moved = (x * 2).to(f"{late.name}:0")
    assert (moved.device.index, moved.tolist()) == (0, [0.0, 2.0, 4.0, 6.0, 8.0, 10.0])
    with pytest.raises(RuntimeError, match="device"):
        moved + x
    with pytest.raises(RuntimeError, match="has 2"):
        cuda.set_device(2)
    with cuda.stream(side):
        assert cuda.current_device() == 1 and cuda.current_stream() == side
        assert cuda.current_stream(0) != side
    assert cuda.can_device_access_peer(0, 1)


def test_graphs_do_their_work_again(late):
    x = fl.zeros(3, device=late.name)
    captured = cuda.CUDAGraph()
    with cuda.graph(captured):
        assert cuda.is_current_stream_capturing()
        y = x * 2 + 1
        z = y.sum()
    assert not cuda.is_current_stream_capturing()
    for value in (1.0, 5.0):
        x.fill_(value)
        captured.replay()
        assert y.tolist() == [2 * value + 1] * 3 and z.item() == 3 * (2 * value + 1)
    captured.reset()
    with pytest.raises(RuntimeError, match="nothing was captured"):
        captured.replay()


def test_what_cannot_be_captured(late):
    x, captured = fl.ones(3, device=late.name), cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="non-default stream"):
        captured.capture_begin()
    with pytest.raises(RuntimeError, match="graph is being captured"), cuda.graph(captured):
        x.sum().item()
    assert x.sum().item() == 3.0


def test_failures_of_late_work_reach_who_waits(late, monkeypatch):
    from flambeau.cuda.simulation import KernelError

    x = fl.ones(4, device=late.name)
    late.lose()
    try:
        with pytest.raises(RuntimeError, match="start it anew from its last checkpoint"):
            x + 1
    finally:
        late.lose(0)
    assert issubclass(KernelError, RuntimeError) and (x + 1).tolist() == [2.0] * 4


def test_wrong_devices_are_refused(late):
    with pytest.raises(ValueError, match="expected a cudasim device"):
        cuda.Stream("cpu")
    with pytest.raises(ValueError, match="no device 99"):
        _launch.make_stream(late.device_type, 99)
