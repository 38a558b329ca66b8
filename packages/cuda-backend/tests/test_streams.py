"""Streams, events and graphs, on a simulation that does nothing before somebody waits for it."""
from __future__ import annotations

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


def test_memory_that_another_stream_still_reads(simulated):
    """Without record_stream a new tensor overwrites what the other stream is still to read."""
    from test_launch import Counting

    from flambeau.core import backends
    from flambeau.cuda.runtime import speaking_of

    class Kept(Counting):
        name = "cudastreams"

    kept = Kept()
    backends.register(kept)

    def read(recorded):
        x, side = fl.full((64,), 3.0, device=kept.name), cuda.Stream()
        side.wait_stream(cuda.current_stream())
        with cuda.stream(side):
            y = x * 2
        if recorded:
            x.record_stream(side)
        del x
        fl.full((64,), 100.0, device=kept.name)
        cuda.current_stream().synchronize()
        side.synchronize()
        return y.tolist()[0]

    with speaking_of(kept.name):
        kept.late(True)
        try:
            assert read(recorded=True) == 6.0
            assert read(recorded=False) == 200.0
        finally:
            kept.late(False)


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
