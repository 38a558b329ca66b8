"""Shared tensors and parameters beside PyTorch's, over Gloo."""
from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from world_processes import run

import flambeau

SIZE = 2


def part_of(library: Any, name: str) -> Any:
    return importlib.import_module(f"{library.__name__}.{name}")


def numbers(*shape: int) -> Any:
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def network(library: Any) -> Any:
    nn = library.nn
    net = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Sequential(nn.LayerNorm(7), nn.Linear(7, 3)),
                        nn.Linear(3, 1))
    with library.no_grad():
        for p in net.parameters():
            p.copy_(library.from_numpy(numbers(*p.shape)) / 3)
    return net


def steps(library: Any, net: Any, optimizer: Any, rank: int) -> None:
    for step in range(3):
        x = library.from_numpy(numbers(4, 5) + step)[2 * rank:2 * rank + 2]
        net(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def fully_sharded(library: Any, rank: int) -> Any:
    fsdp = part_of(library, "distributed.fsdp")
    mesh = part_of(library, "distributed.device_mesh").init_device_mesh("cpu", (SIZE,))
    told = []
    for policy in ((), (library.bfloat16, library.float32)):
        net = network(library)
        for layer in (net[0], net[2], net):
            fsdp.fully_shard(layer, mesh=mesh, mp_policy=fsdp.MixedPrecisionPolicy(*policy))
        if policy:
            steps(library, net, library.optim.SGD(net.parameters(), lr=0.05), rank)
        else:
            steps(library, net, library.optim.AdamW(net.parameters(), lr=0.05), rank)
        told.append({
            name: [str(p.placements), tuple(p.to_local().shape), p.full_tensor().numpy()]
            for name, p in net.state_dict().items()})
    return told


def wrapped(library: Any, rank: int) -> Any:
    fsdp = part_of(library, "distributed.fsdp")
    wrap = part_of(library, "distributed.fsdp.wrap")
    told = []
    for strategy in ("FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD"):
        net = fsdp.FullyShardedDataParallel(
            network(library), auto_wrap_policy=wrap.ModuleWrapPolicy({library.nn.Sequential}),
            sharding_strategy=fsdp.ShardingStrategy[strategy], use_orig_params=True,
            device_id=library.device("cpu"))
        optimizer = library.optim.AdamW(net.parameters(), lr=0.05)
        steps(library, net, optimizer, rank)
        state = fsdp.FullyShardedDataParallel.optim_state_dict(net, optimizer)
        # PyTorch 2.13 gives these under the name of the first moments, too, on the CPU.
        moments = {name: [each["exp_avg_sq"].sqrt().numpy(), int(each["step"])]
                   for name, each in sorted(state["state"].items())}
        names = [group["params"] for group in state["param_groups"]]
        whole = {name: each.numpy() for name, each in net.state_dict().items()}
        told.append([whole, moments, names])
    return told


def placements(library: Any, rank: int) -> Any:
    """How results of operators are shared."""
    tensor = part_of(library, "distributed.tensor")
    mesh = tensor.init_device_mesh("cpu", (SIZE,))
    shard, replicate = tensor.Shard, tensor.Replicate()
    a, b = library.from_numpy(numbers(4, 6)), library.from_numpy(numbers(6, 2))
    told = []
    for x, y in ((shard(0), replicate), (shard(1), shard(0)), (replicate, shard(1)),
                 (replicate, replicate)):
        p = tensor.distribute_tensor(a, mesh, [x])
        q = tensor.distribute_tensor(b, mesh, [y])
        for made in (p @ q, p.sum(0), p.sum(), p * 2 + p, p.exp(), p.T, p.view(2, 2, 6), p.mean(1),
                     p.softmax(1) if x != shard(1) else p, library.nn.functional.relu(p)):
            local = made.redistribute(placements=[replicate]).to_local()
            told.append([str(made.placements), made.to_local().shape, local.numpy()])
    return told


def layers(library: Any, rank: int) -> Any:
    parallel = part_of(library, "distributed.tensor.parallel")
    mesh = part_of(library, "distributed.device_mesh").init_device_mesh("cpu", (SIZE,))
    net = library.nn.Sequential(library.nn.Linear(4, 6), library.nn.ReLU(),
                                library.nn.Linear(6, 4))
    with library.no_grad():
        for p in net.parameters():
            p.copy_(library.from_numpy(numbers(*p.shape)))
    parallel.parallelize_module(net, mesh, {"0": parallel.ColwiseParallel(),
                                            "2": parallel.RowwiseParallel()})
    y = net(library.from_numpy(numbers(3, 4)))
    y.square().sum().backward()
    return [[str(p.placements), str(p.grad.placements), p.full_tensor().detach().numpy(),
             p.grad.full_tensor().numpy()] for p in net.parameters()]


def both(rank: int, function: Any, folder: str) -> str:
    import torch
    torch.distributed.init_process_group("gloo", f"file://{folder}/other", rank=rank,
                                         world_size=SIZE)
    torch.set_num_threads(1)
    try:
        wanted, found = function(torch, rank), function(flambeau, rank)
    finally:
        torch.distributed.destroy_process_group()
    return "\n".join(differing("", wanted, found))


def differing(at: str, wanted: Any, found: Any) -> list[str]:
    if isinstance(wanted, dict):
        if wanted.keys() != found.keys():
            return [f"{at}: {list(found)} instead of {list(wanted)}"]
        return [d for key in wanted for d in differing(f"{at}/{key}", wanted[key], found[key])]
    if isinstance(wanted, list):
        return [d for i, (a, b) in enumerate(zip(wanted, found, strict=True))
                for d in differing(f"{at}/{i}", a, b)]
    if isinstance(wanted, np.ndarray):
        same = wanted.shape == found.shape and np.allclose(wanted, found, 2e-3, 2e-4)
    else:
        same = str(wanted).replace("torch", "") == str(found).replace("flambeau", "")
    return [] if same else [f"{at}: {found} instead of {wanted}"]


@pytest.mark.oracle
@pytest.mark.parametrize("function", [fully_sharded, wrapped, placements, layers])
def test_what_pytorch_gives(tmp_path: Path, function: Any) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("flambeau.optim", reason="needs flambeau-optim")
    assert run(SIZE, tmp_path, both, function, str(tmp_path)) == [""] * SIZE
