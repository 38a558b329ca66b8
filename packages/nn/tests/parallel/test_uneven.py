"""Processes with different numbers of batches, beside one process with all of them."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_distributed import SIZE, Net, run

import flambeau
from flambeau import distributed as dist
from flambeau import nn
from flambeau.distributed.algorithms import Join

STEPS = (2, 5)      # of each process
ROWS = 3


def rows(rank: int, step: int) -> Any:
    return flambeau.tensor(np.random.default_rng((rank, step)).standard_normal((ROWS, 3))).float()


def values(net: Any) -> list[bytes]:
    return [p.detach().numpy().tobytes() for p in net.parameters()]


def stepper(net: Any, sharded: bool) -> Any:
    options = {"lr": 0.1, "momentum": 0.9}
    if not sharded:
        return flambeau.optim.SGD(net.parameters(), **options)
    from flambeau.distributed.optim import ZeroRedundancyOptimizer

    return ZeroRedundancyOptimizer(net.parameters(), flambeau.optim.SGD, **options)


def uneven(rank: int, by_all: bool, sharded: bool, options: dict[str, Any]) -> Any:
    flambeau.manual_seed(0)
    net = nn.parallel.DistributedDataParallel(Net(), **options)
    optimizer = stepper(net, sharded)
    joined = [net, optimizer] if sharded else [net]
    with Join(joined, divide_by_initial_world_size=by_all):
        for step in range(STEPS[rank]):
            optimizer.zero_grad()
            if not sharded:                               # no step: nothing is exchanged
                with flambeau.no_grad():
                    net(rows(rank, step))
            net.module.count.fill_(10 * rank + step)
            y = net(rows(rank, step), bool(options) and step % 2 == 1)["y"]
            y.square().mean().backward()
            optimizer.step()
    assert not net._join_config.enable
    return values(net), net.module.count.item()


def wanted(by_all: bool, extra: bool) -> list[Any]:
    """What one process computes from the batches of all."""
    flambeau.manual_seed(0)
    net = Net()
    optimizer = stepper(net, False)
    for step in range(max(STEPS)):
        optimizer.zero_grad()
        there = [rank for rank in range(SIZE) if step < STEPS[rank]]
        for rank in there:
            y = net(rows(rank, step), extra and step % 2 == 1)["y"]
            (y.square().mean() / (SIZE if by_all else len(there))).backward()
        optimizer.step()
    return [p.detach().numpy() for p in net.parameters()]


@pytest.mark.parametrize(("by_all", "sharded", "options"), [
    (True, False, {"find_unused_parameters": True}),
    (False, False, {"find_unused_parameters": True, "gradient_as_bucket_view": True}),
    (True, True, {"find_unused_parameters": True, "bucket_cap_mb": 1e-4})])
def test_training_goes_on_without_those_that_have_no_batches(tmp_path, by_all, sharded, options):
    pytest.importorskip("flambeau.optim", reason="needs flambeau-optim")
    (first, count), (second, other) = run(tmp_path, uneven, by_all, sharded, options)
    assert first == second and count == other == 14
    for found, each in zip(first, wanted(by_all, True), strict=True):
        np.testing.assert_allclose(np.frombuffer(found, np.float32), each.ravel(), rtol=1e-4,
                                   atol=1e-6)


def accumulated(rank: int) -> Any:
    """Every second step exchanges, in those with batches."""
    flambeau.manual_seed(0)
    net = nn.parallel.DistributedDataParallel(nn.Linear(3, 1, bias=False))
    with net.join():
        for _ in range(1 + rank):
            with net.no_sync():
                net(flambeau.full((1, 3), 1.0 + rank)).sum().backward()
            net(flambeau.full((1, 3), 10.0)).sum().backward()
    return net.module.weight.grad[0, 0].item()


def test_steps_without_exchange(tmp_path):
    after_one = (11.0 + 12.0) / 2
    after_two = (after_one + 12.0) / 2                # the process without batches has zeros
    assert run(tmp_path, accumulated) == [after_two] * SIZE


def early(rank: int) -> Any:
    net = nn.parallel.DistributedDataParallel(nn.Linear(1, 1))
    steps = 0
    with pytest.raises(RuntimeError, match="exhausted") as error, \
            net.join(throw_on_early_termination=True):
        for _ in range(1 + 2 * rank):
            net(flambeau.ones(1, 1)).sum().backward()
            steps += 1
    with net.join(enable=False):
        net(flambeau.ones(1, 1)).sum().backward()
    return steps, str(error.value)


def test_all_raise_where_one_has_no_batches(tmp_path):
    first, second = run(tmp_path, early)
    assert first == (1, "Rank 0 exhausted all inputs.")
    assert second[0] == 1 and "Detected at least one rank" in second[1]


def grouped(rank: int) -> Any:
    alone = dist.new_group([0]), dist.new_group([1])
    nets = [nn.parallel.DistributedDataParallel(nn.Linear(1, 1), process_group=group)
            for group in (None, alone[rank])]
    with pytest.raises(ValueError, match="multiple process groups"):
        Join(nets)
    with pytest.raises(ValueError, match="at least one joinable"):
        Join([])


def test_groups_that_differ_are_refused(tmp_path):
    run(tmp_path, grouped)
