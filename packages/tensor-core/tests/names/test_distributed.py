"""A world of one process: what moves tensors between processes leaves them as they are."""
from __future__ import annotations

import pytest

import flambeau
from flambeau import distributed as dist


@pytest.fixture
def world():
    dist.init_process_group("gloo", world_size=1, rank=0)
    yield
    dist.destroy_process_group()


def test_without_a_world_functions_say_so():
    assert not dist.is_available()      # who asks, does without
    assert not dist.is_initialized()
    with pytest.raises(ValueError, match="call init_process_group"):
        dist.get_rank()
    with pytest.raises(AttributeError, match="no training on several machines"):
        dist.rpc  # noqa: B018


def test_more_processes_are_refused(monkeypatch):
    with pytest.raises(RuntimeError, match="rank 1 of 2 processes"):
        dist.init_process_group("nccl", world_size=2, rank=1)
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(RuntimeError, match="rank 0 of 4 processes"):
        dist.init_process_group()
    assert not dist.is_initialized()


def test_collectives_are_identities(world):
    assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "gloo")
    x = flambeau.tensor([1.0, 2.0])
    assert dist.all_reduce(x) is None
    assert dist.all_reduce(x, op=dist.ReduceOp.MAX, async_op=True).wait() is True
    dist.broadcast(x, src=0)
    dist.barrier()
    assert x.tolist() == [1.0, 2.0]
    outputs = [flambeau.zeros(2)]
    dist.all_gather(outputs, x)
    assert outputs[0].tolist() == [1.0, 2.0]
    row = flambeau.zeros(1, 2)
    dist.all_gather_into_tensor(row, x)
    assert row.tolist() == [[1.0, 2.0]]
    dist.reduce_scatter(x, [flambeau.tensor([3.0, 4.0])])
    assert x.tolist() == [3.0, 4.0]
    objects = [None]
    dist.all_gather_object(objects, "one")
    assert objects == ["one"]


def test_mistakes_are_refused(world):
    x = flambeau.ones(2)
    with pytest.raises(ValueError, match="no rank 1"):
        dist.broadcast(x, src=1)
    with pytest.raises(ValueError, match="must have 1 element"):
        dist.all_gather([x, x], x)
    with pytest.raises(ValueError, match="twice"):
        dist.init_process_group("gloo")
