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
    assert dist.is_available() and not dist.is_initialized()
    with pytest.raises(ValueError, match="call init_process_group"):
        dist.get_rank()
    with pytest.raises(AttributeError, match="no attribute 'rpc'"):
        dist.rpc  # noqa: B018


def test_beginnings_that_cannot_be(monkeypatch):
    with pytest.raises(ValueError, match="rank 2 of 2 processes; ranks are from 0 to 1"):
        dist.init_process_group("nccl", world_size=2, rank=2)
    with pytest.raises(ValueError, match="'http://x' is not known"):
        dist.init_process_group(init_method="http://x", world_size=2, rank=0)
    with pytest.raises(ValueError, match="lacks a host or a port"):
        dist.init_process_group(init_method="tcp://x", world_size=2, rank=0)
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    with pytest.raises(ValueError, match="MASTER_ADDR expected, but not set"):
        dist.init_process_group()
    assert not dist.is_initialized()


def test_collectives_are_identities(world):
    assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "gloo")
    x = flambeau.tensor([1.0, 2.0])
    assert dist.all_reduce(x) is None
    work = dist.all_reduce(x, op=dist.ReduceOp.MAX, async_op=True)
    assert work.wait() is True and work.result()[0] is x and work.get_future().wait()[0] is x
    dist.broadcast(x, src=0)
    dist.barrier()
    dist.monitored_barrier()
    assert x.tolist() == [1.0, 2.0]
    outputs = [flambeau.zeros(2)]
    dist.all_gather(outputs, x)
    assert outputs[0].tolist() == [1.0, 2.0]
    row = flambeau.zeros(1, 2)
    dist.all_gather_into_tensor(row, x)
    assert row.tolist() == [[1.0, 2.0]]
    dist.reduce_scatter(x, [flambeau.tensor([3.0, 4.0])])
    assert x.tolist() == [3.0, 4.0]
    dist.all_to_all_single(x, flambeau.tensor([5.0, 6.0]))
    assert x.tolist() == [5.0, 6.0]
    objects = [None]
    dist.all_gather_object(objects, "one")
    assert objects == ["one"]
    dist.broadcast_object_list(objects)
    dist.scatter_object_list(objects, ["two"])
    assert objects == ["two"]


def test_mistakes_are_refused(world):
    x = flambeau.ones(2)
    with pytest.raises(ValueError, match="rank 1 is not in the group"):
        dist.broadcast(x, src=1)
    with pytest.raises(ValueError, match="no rank 3"):
        dist.broadcast(x, group_src=3)
    with pytest.raises(ValueError, match="not by both"):
        dist.reduce(x, 0, group_dst=0)
    with pytest.raises(ValueError, match="must have 1 element, .* not 2"):
        dist.all_gather([x, x], x)
    with pytest.raises(ValueError, match=r"shape \(3,\).* is not like"):
        dist.all_gather([flambeau.ones(3)], x)
    with pytest.raises(ValueError, match="do not make 3 elements"):
        dist.all_gather_into_tensor(flambeau.ones(3), x)
    with pytest.raises(ValueError, match="do not divide 2 rows"):
        dist.all_to_all_single(x, x, [1], [2])
    with pytest.raises(TypeError, match="ReduceOp.SUM, not 'sum'"):
        dist.all_reduce(x, op="sum")
    with pytest.raises(ValueError, match="BAND is for integers"):
        dist.all_reduce(x, op=dist.ReduceOp.BAND)
    with pytest.raises(ValueError, match="means of flambeau.int64"):
        dist.all_reduce(x.long(), op=dist.ReduceOp.AVG)
    with pytest.raises(TypeError, match="dense tensors"):
        dist.all_reduce([1.0])
    with pytest.raises(ValueError, match="rank 0 of the group, this one rank 0"):
        dist.send(x, 0)
    with pytest.raises(ValueError, match="twice; call destroy_process_group"):
        dist.init_process_group()
    with pytest.raises(ValueError, match="different ones of"):
        dist.new_group([0, 1])


def test_writes_count_as_such(world):
    x = flambeau.ones(3)
    dist.all_reduce(x)
    assert x._version == 1


def test_groups(world):
    group = dist.new_group([0])
    assert dist.get_rank(group) == 0 and dist.get_process_group_ranks(group) == [0]
    assert dist.get_global_rank(group, 0) == dist.get_group_rank(group, 0) == 0
    assert dist.get_pg_count() == 2
    assert dist.new_group([]) == dist.GroupMember.NON_GROUP_MEMBER
    assert dist.get_rank(dist.GroupMember.NON_GROUP_MEMBER) == -1
    dist.destroy_process_group(group)
    assert dist.get_pg_count() == 1
    assert dist.new_subgroups(1)[0].size() == 1


def test_processes_that_are_in_no_group():
    assert dist._rank_not_in_group(dist.GroupMember.NON_GROUP_MEMBER)
    assert not dist._rank_not_in_group(None) and "_rank_not_in_group" not in dist.__all__
