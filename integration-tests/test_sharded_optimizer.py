"""``ZeroRedundancyOptimizer`` in three processes, against the optimizer alone."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import flambeau
from flambeau import distributed, nn, optim
from flambeau.distributed.optim import ZeroRedundancyOptimizer

distributed.init_process_group("gloo")
rank = distributed.get_rank()


def network():
    flambeau.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3), nn.Linear(3, 2)).double()


def groups(net):
    return [{"params": list(net[0].parameters())},
            {"params": [*net[2].parameters(), *net[3].parameters()], "lr": 0.02}]


def train(net, optimizer, steps, seed):
    schedule = optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    flambeau.manual_seed(seed)
    for _ in range(steps):
        optimizer.zero_grad()
        net(flambeau.randn(4, 5, dtype=flambeau.float64)).square().sum().backward()
        optimizer.step()
        schedule.step()


def check(ours, alone):
    for a, b in zip(ours.parameters(), alone.parameters(), strict=True):
        assert flambeau.equal(a, b), (a, b)


for kind, options in ((optim.Adam, {"lr": 0.1}), (optim.SGD, {"lr": 0.1, "momentum": 0.9}),
                      (optim.AdamW, {"lr": 0.05, "weight_decay": 0.1})):
    ours, alone = network(), network()
    sharded = ZeroRedundancyOptimizer(groups(ours), kind, **options)
    plain = kind(groups(alone), **options)
    train(ours, sharded, 5, 1)
    train(alone, plain, 5, 1)
    check(ours, alone)
    assert 0 < len(sharded.optim.state) < 6       # of six parameters, in three processes
    try:
        sharded.state_dict()
    except RuntimeError as error:
        assert "consolidate_state_dict" in str(error)
    else:
        raise AssertionError("the state of the others is not here")
    sharded.consolidate_state_dict(to=1)
    shared = [sharded.state_dict() if rank == 1 else None]
    distributed.broadcast_object_list(shared, 1)
    assert [g["params"] for g in shared[0]["param_groups"]] == [[0, 1], [2, 3, 4, 5]]
    again = ZeroRedundancyOptimizer(groups(ours), kind, **options)
    again.load_state_dict(shared[0])
    whole = kind(groups(alone), **options)
    whole.load_state_dict(shared[0])              # the optimizer alone reads it, too
    train(ours, again, 3, 2)
    train(alone, whole, 3, 2)
    check(ours, alone)
    extra = flambeau.ones(3, dtype=flambeau.float64, requires_grad=True)
    again.add_param_group({"params": [extra], "lr": 0.5})
    extra.grad = flambeau.ones(3, dtype=flambeau.float64)
    again.step()
    assert (extra < 1).all(), extra
distributed.barrier()
distributed.destroy_process_group()
"""


def test_each_process_keeps_a_part_of_the_state(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    launcher = [sys.executable, "-m", "flambeau.distributed.run", "--standalone"]
    run = subprocess.run([*launcher, "--nproc-per-node", "3", str(program)], check=False,
                         capture_output=True, text=True, timeout=240, cwd=tmp_path,
                         env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert run.returncode == 0, run.stdout + run.stderr


def test_overlap_is_refused():
    from flambeau import optim
    from flambeau.distributed.optim import ZeroRedundancyOptimizer

    with pytest.raises(NotImplementedError, match="overlap_with_ddp"):
        ZeroRedundancyOptimizer([], optim.SGD, overlap_with_ddp=True)
    with pytest.raises(ValueError, match="process group"):
        ZeroRedundancyOptimizer([], optim.SGD, lr=0.1)
