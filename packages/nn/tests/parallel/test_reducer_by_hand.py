"""Trainers that prepare the exchange of gradients themselves, after the forward pass."""
from __future__ import annotations

from typing import Any

import pytest
import world_processes

import flambeau
from flambeau import distributed as dist
from flambeau import nn

SIZE = 2


def prepared(rank: int, finds_unused: bool) -> list[Any]:
    flambeau.manual_seed(0)
    net = nn.parallel.DistributedDataParallel(nn.Linear(2, 1, bias=False),
                                              find_unused_parameters=finds_unused)
    found = []
    for prepares in (True, False):
        net.zero_grad()
        net.require_backward_grad_sync = False          # as Lightning does around forward()
        loss = net(flambeau.tensor([[1.0 + rank, 3.0]])).sum()
        net.require_backward_grad_sync = True
        if prepares:
            net.reducer._rebuild_buckets()
            net.reducer.prepare_for_backward([loss] if finds_unused else [])
        loss.backward()
        found.append(net.module.weight.grad.tolist())
    return found


@pytest.mark.parametrize("finds_unused", [False, True])
def test_gradients_are_exchanged_where_the_pass_was_prepared(tmp_path, finds_unused):
    found = world_processes.run(SIZE, tmp_path, prepared, finds_unused)
    assert found == [[[[1.5, 3.0]], [[1.0, 3.0]]], [[[1.5, 3.0]], [[2.0, 3.0]]]]


def synchronized(rank: int) -> list[Any]:
    from flambeau.as_torch.stands.training.processes import _get_default_group, _sync_module_states

    net = nn.BatchNorm1d(2)
    with flambeau.no_grad():
        for each in (*net.parameters(), *net.buffers()):
            each.fill_(rank + 1)
    _sync_module_states(net, _get_default_group(), 1 << 20, 1, {"bias"})
    with flambeau.no_grad():
        net.weight.fill_(rank + 5)
        net.running_var.fill_(rank + 5)
    _sync_module_states(net, _get_default_group(), 1 << 20, 0, (), broadcast_buffers=False)
    return [each.tolist() for each in net.state_dict().values()]


def test_states_of_one_process_are_those_of_all(tmp_path):
    first, second = world_processes.run(SIZE, tmp_path, synchronized)
    assert first == [[5, 5], [1, 1], [2, 2], [5, 5], 2]     # weight, bias, mean, variance, count
    assert second == [[5, 5], [1, 1], [2, 2], [6, 6], 2]


def test_one_process_has_a_reducer_where_it_is_asked_for():
    dist.init_process_group("gloo", world_size=1, rank=0)
    try:
        net = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
        net(flambeau.ones(1, 2)).sum().backward()
        net.reducer.prepare_for_backward([])
        net(flambeau.ones(1, 2)).sum().backward()
        assert net.module.weight.grad.tolist() == [[2.0, 2.0]]
        told = net._get_ddp_logging_data()
        assert (told["world_size"], told["rank"], told["backend_name"]) == (1, 0, "gloo")
        assert (told["module_name"], told["static_graph"]) == ("Linear", False)
    finally:
        dist.destroy_process_group()
