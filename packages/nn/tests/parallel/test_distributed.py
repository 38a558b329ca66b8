"""One network in several processes, beside the same network in one with all examples."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import world_processes

import flambeau
from flambeau import distributed as dist
from flambeau import nn

SIZE = 2
ROWS = 4


def run(folder: Path, function: Callable[..., Any], *args: Any) -> list[Any]:
    """Call the function in each process, with its rank and the arguments."""
    return world_processes.run(SIZE, folder, function, *args)


class Net(nn.Module):
    """A part that is only used on demand, and a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 8)
        self.last = nn.Linear(8, 2)
        self.extra = nn.Linear(2, 2)
        self.register_buffer("count", flambeau.zeros(()))

    def forward(self, x: Any, extra: bool = False) -> Any:
        y = self.last(flambeau.tanh(self.first(x)))
        return {"y": self.extra(y) if extra else y}


def batch(step: int) -> Any:
    """All processes' examples."""
    rows = np.random.default_rng(step).standard_normal((SIZE * ROWS, 3))
    return flambeau.tensor(rows).float()


def trained(net: nn.Module, rows: Callable[[int], Any], steps: int = 4) -> list[bytes]:
    """Steps with momentum, of which each second uses all parts."""
    optimizer = flambeau.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for step in range(steps):
        optimizer.zero_grad()
        net(rows(step), step % 2 == 1)["y"].square().mean().backward()
        optimizer.step()
    return [p.detach().numpy().tobytes() for p in net.parameters()]


def beside(rank: int, options: dict[str, Any]) -> list[bytes]:
    flambeau.manual_seed(rank)              # processes begin with different numbers
    net = nn.parallel.DistributedDataParallel(Net(), find_unused_parameters=True, **options)
    return trained(net, lambda step: batch(step)[rank * ROWS:(rank + 1) * ROWS])


@pytest.mark.parametrize("options", [
    {}, {"gradient_as_bucket_view": True}, {"bucket_cap_mb": 1e-4}, {"static_graph": True}])
def test_training_is_that_of_one_process_with_all_examples(tmp_path, options):
    pytest.importorskip("flambeau.optim", reason="needs flambeau-optim")
    first, second = run(tmp_path, beside, options)
    assert first == second
    flambeau.manual_seed(0)
    for found, wanted in zip(first, trained(Net(), batch), strict=True):
        np.testing.assert_allclose(np.frombuffer(found, np.float32),
                                   np.frombuffer(wanted, np.float32), rtol=1e-4, atol=1e-6)


def accumulated(rank: int) -> list[float]:
    flambeau.manual_seed(0)
    net = nn.parallel.DistributedDataParallel(nn.Linear(3, 1, bias=False))
    weight = net.module.weight
    with net.no_sync():
        net(flambeau.full((1, 3), float(rank))).sum().backward()
    local = weight.grad.tolist()
    net(flambeau.full((1, 3), 10.0 + rank)).sum().backward()
    return [local[0][0], weight.grad[0, 0].item()]


def test_gradients_accumulate_without_exchange(tmp_path):
    assert run(tmp_path, accumulated) == [[0.0, 11.0], [1.0, 11.0]]


def unused(rank: int) -> list[Any]:
    told: list[Any] = []
    net = nn.parallel.DistributedDataParallel(Net())
    x = flambeau.ones(ROWS, 3)
    net(x)["y"].sum().backward()
    with pytest.raises(RuntimeError, match=r"2 parameters had no gradient.*extra.weight"):
        net(x)
    found = nn.parallel.DistributedDataParallel(Net(), find_unused_parameters=True)
    found(x, extra=rank == 1)["y"].sum().backward()        # in one process alone
    told.append(found.module.extra.bias.grad.tolist())
    found.zero_grad()
    found(x)["y"].sum().backward()                         # in none
    told.append(found.module.extra.bias.grad)
    return told


def test_parameters_without_a_part_in_the_outputs(tmp_path):
    assert run(tmp_path, unused) == [[[2.0, 2.0], None]] * SIZE


def buffered(rank: int) -> list[float]:
    net = nn.parallel.DistributedDataParallel(Net(), find_unused_parameters=True)
    kept = nn.parallel.DistributedDataParallel(Net(), broadcast_buffers=False)
    for each in (net, kept):
        each.module.count.fill_(rank + 1)
        with flambeau.no_grad():
            each(flambeau.ones(1, 3))
    return [net.module.count.item(), kept.module.count.item()]


def test_buffers_are_those_of_the_first_process(tmp_path):
    assert run(tmp_path, buffered) == [[1.0, 1.0], [1.0, 2.0]]


def hooked(rank: int) -> list[Any]:
    from flambeau.distributed.algorithms.ddp_comm_hooks import default_hooks

    told: list[Any] = []
    hooks = (default_hooks.allreduce_hook, default_hooks.fp16_compress_hook,
             default_hooks.bf16_compress_wrapper(default_hooks.allreduce_hook))
    for hook in hooks:
        net = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
        seen: list[Any] = []

        def noted(state: Any, bucket: Any, hook: Any = hook, seen: Any = seen) -> Any:
            seen.append((bucket.index(), bucket.is_last(), len(bucket.parameters()),
                         [tuple(g.shape) for g in bucket.gradients()]))
            return hook(state, bucket)

        net.register_comm_hook(None, noted)
        net(flambeau.tensor([[1.0 + rank, 2.0]])).sum().backward()
        told.append([net.module.weight.grad.tolist(), seen])
        with pytest.raises(RuntimeError, match="can only be called once"):
            net.register_comm_hook(None, noted)
    return told


def test_functions_that_exchange_gradients(tmp_path):
    wanted = [[[1.5, 2.0]], [(0, True, 2, [(1,), (1, 2)])]]
    assert run(tmp_path, hooked) == [[wanted] * 3] * SIZE


def overlapping(rank: int) -> list[str]:
    from flambeau.distributed.algorithms.ddp_comm_hooks import default_hooks

    log: list[str] = []
    layers = [nn.Linear(300, 300) for _ in range(4)]
    for number, layer in enumerate(layers):
        layer.register_full_backward_hook(lambda *given, name=f"layer {number}": log.append(name))
    net = nn.parallel.DistributedDataParallel(nn.Sequential(*layers), bucket_cap_mb=0.3)

    def noted(state: Any, bucket: Any) -> Any:
        log.append("bucket")
        return default_hooks.allreduce_hook(state, bucket)

    net.register_comm_hook(None, noted)
    for _ in range(2):
        log.clear()
        net(flambeau.ones(1, 300, requires_grad=True)).sum().backward()
    return log


def test_buckets_are_sent_while_the_pass_goes_on(tmp_path):
    for log in run(tmp_path, overlapping):
        assert log.count("bucket") >= 3
        assert log.index("bucket") < log.index("layer 0")


def mistaken(rank: int) -> list[str]:
    told = []
    for make in (lambda: nn.Linear(2, 2 + rank), lambda: nn.ReLU(),
                 lambda: nn.Sequential(*[nn.Linear(1, 1) for _ in range(1 + rank)])):
        try:
            nn.parallel.DistributedDataParallel(make())
        except RuntimeError as error:
            told.append(str(error))
    net = nn.parallel.DistributedDataParallel(nn.Linear(1, 1))
    y = net(flambeau.ones(1, 1)).sum()
    y.backward(retain_graph=True)
    y.backward()                            # gradients of one process: nobody expects them
    return told


def test_networks_that_differ_are_refused(tmp_path):
    for told in run(tmp_path, mistaken):
        assert "rank 0 and rank 1 differ: ('weight', (2, 2)" in told[0]
        assert "doesn't have any parameters" in told[1]
        assert "2 parameters and 4 parameters" in told[2]


def normed(rank: int, dtype: str) -> list[Any]:
    rows = batch(7).to(getattr(flambeau, dtype))
    mine = rows[:3] if rank == 0 else rows[3:]              # batches of two sizes
    x = mine.clone().requires_grad_()
    norm = nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm1d(3, momentum=0.3))
    norm.to(rows.dtype)
    y = norm(x)
    (y * flambeau.arange(1.0, 4.0).to(y.dtype)).square().sum().backward()
    weight = norm.weight.grad.clone()
    dist.all_reduce(weight)
    evaluated = norm.eval()(mine)
    return [y.tolist(), x.grad.tolist(), weight.tolist(), norm.running_mean.tolist(),
            norm.running_var.tolist(), evaluated.tolist()]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_batch_norm_over_all_processes(tmp_path, dtype):
    first, second = run(tmp_path, normed, dtype)
    x = batch(7).to(getattr(flambeau, dtype)).requires_grad_()
    norm = nn.BatchNorm1d(3, momentum=0.3).to(x.dtype)
    y = norm(x)
    (y * flambeau.arange(1.0, 4.0).to(y.dtype)).square().sum().backward()
    joined = [[a + b for a, b in zip(first, second, strict=True)][k] for k in (0, 1, 5)]
    wanted = (y, x.grad, norm.eval()(x))
    for found, expected in zip(joined, wanted, strict=True):
        np.testing.assert_allclose(found, expected.detach().numpy(), rtol=2e-4, atol=2e-5)
    for k, expected in ((2, norm.weight.grad), (3, norm.running_mean), (4, norm.running_var)):
        np.testing.assert_allclose(first[k], expected.numpy(), rtol=1e-4, atol=1e-5)
        assert first[k] == second[k]


def functional(rank: int) -> list[Any]:
    """Gradients of a sum over processes of losses with weights of their own."""
    from flambeau.distributed.nn import functional as fn

    told = []
    calls = {
        "all_reduce": lambda x: fn.all_reduce(x),
        "all_gather": lambda x: flambeau.stack(fn.all_gather(x)),
        "reduce_scatter": lambda x: fn.reduce_scatter(x[0], list(x)),
        "broadcast": lambda x: fn.broadcast(x, 1),
        "reduce": lambda x: fn.reduce(x, 1),
        "all_to_all": lambda x: fn.all_to_all_single(x, x),
        "gather": lambda x: flambeau.stack(fn.gather(x, 1)),
        "scatter": lambda x: fn.scatter(list(x), 1),
        "lists": lambda x: flambeau.cat(fn.all_to_all(
            [x[:1].view(-1)] * 2 if rank == 0 else [x] * 2, [x[0], x])),
        "uneven": lambda x: fn.all_to_all_single(
            x, flambeau.cat([x, x[:1]]), [1 + rank] * 2, [1, 2]),
    }
    for name, call in calls.items():
        x = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=flambeau.float64) + 10 * rank
        x.requires_grad_()
        y = call(x)
        weights = flambeau.arange(float(y.numel())).view(y.shape) + 100 * rank + 1
        grad, = flambeau.autograd.grad((y * weights).sum(), x)
        told.append([name, y.tolist(), grad.tolist()])
    return told


def test_gradients_go_back_through_collectives(tmp_path):
    found = run(tmp_path, functional)
    x = [np.array([[1.0, 2.0], [3.0, 4.0]]) + 10 * rank for rank in range(2)]
    w = [np.arange(4.0).reshape(2, 2) + 100 * rank + 1 for rank in range(2)]
    wide = [np.arange(8.0).reshape(2, 2, 2) + 100 * rank + 1 for rank in range(2)]
    row = [np.arange(2.0) + 100 * rank + 1 for rank in range(2)]
    some = [np.arange(4.0 + 4 * rank).reshape(-1, 2) + 100 * rank + 1 for rank in range(2)]
    tall = np.arange(8.0).reshape(4, 2) + 101
    zero = np.zeros((2, 2))
    back = [np.stack([some[0][rank], some[1][2 * rank]]) for rank in range(2)]
    for rank in range(2):
        back[rank][0] += some[1][2 * rank + 1]      # the row that is sent twice
    flat = np.arange(4.0) + 1                       # of the rows that go to the first process
    lists = [tall[2 * rank:2 * rank + 2].copy() for rank in range(2)]
    for rank in range(2):
        lists[rank][0] += flat[2 * rank:2 * rank + 2]
    wanted = {
        "all_reduce": [(x[0] + x[1], w[0] + w[1])] * 2,
        "all_gather": [(np.stack(x), (wide[0] + wide[1])[rank]) for rank in range(2)],
        "reduce_scatter": [((x[0] + x[1])[rank], np.stack(row)) for rank in range(2)],
        "broadcast": [(x[1], zero), (x[1], w[0] + w[1])],
        "reduce": [(zero, w[1]), (x[0] + x[1], w[1])],
        "all_to_all": [(np.stack([x[0][rank], x[1][rank]]), np.stack([w[0][rank], w[1][rank]]))
                       for rank in range(2)],
        "gather": [(np.stack([zero, zero]), wide[1][0]), (np.stack(x), wide[1][1])],
        "scatter": [(x[1][0], zero), (x[1][1], np.stack(row))],
        "lists": [(np.concatenate([x[0][0], x[1][0]]), lists[0]),
                  (np.concatenate(x), lists[1])],
        "uneven": [(np.stack([x[0][0], x[1][0]]), back[0]),
                   (np.stack([x[0][1], x[0][0], x[1][1], x[1][0]]), back[1])],
    }
    for rank in range(2):
        for name, value, grad in found[rank]:
            np.testing.assert_array_equal(value, wanted[name][rank][0], err_msg=name)
            np.testing.assert_array_equal(grad, wanted[name][rank][1], err_msg=name)
