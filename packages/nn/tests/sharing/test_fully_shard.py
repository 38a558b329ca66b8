"""``fully_shard``, beside the same network in one process."""
from __future__ import annotations

import copy
import gc
from typing import Any

import pytest
from world_processes import run

import flambeau
from flambeau import distributed as dist
from flambeau import nn
from flambeau.core import _core
from flambeau.distributed.fsdp import (
    CPUOffloadPolicy,
    FSDPModule,
    MixedPrecisionPolicy,
    fully_shard,
    register_fsdp_forward_method,
    share_comm_ctx,
)
from flambeau.distributed.tensor import DTensor, Replicate, Shard, init_device_mesh
from flambeau.utils.checkpoint import checkpoint

ROWS = 2
F: Any = nn.functional


class Block(nn.Module):
    """A layer that is called twice, two that share a weight, and one that is used on demand."""

    def __init__(self, recompute: str = "") -> None:
        super().__init__()
        self.recompute = recompute
        self.norm = nn.LayerNorm(7)
        self.twice = nn.Linear(7, 7)
        self.other = nn.Linear(7, 7, bias=False)
        self.other.weight = self.twice.weight
        self.frozen = nn.Linear(7, 7).requires_grad_(False)
        self.unused = nn.Linear(3, 3)

    def body(self, x: Any) -> Any:
        y = self.twice(self.twice(self.norm(x)).tanh())
        return x + self.frozen(self.other(y).tanh())

    def forward(self, x: Any) -> Any:
        if self.recompute:
            return checkpoint(self.body, x, use_reentrant=self.recompute == "reentrant")
        return self.body(x)


class Net(nn.Module):
    def __init__(self, recompute: str = "") -> None:
        super().__init__()
        self.recompute = recompute
        inner = "" if recompute == "outside" else recompute
        self.first = nn.Linear(5, 7)
        self.blocks = nn.ModuleList([Block(inner), Block(inner)])
        self.last = nn.Linear(7, 1)

    def forward(self, x: Any) -> Any:
        x = self.first(x)
        for block in self.blocks:
            if self.recompute == "outside":
                x = checkpoint(block, x, use_reentrant=False)
            else:
                x = block(x)
        return self.last(x)


def net(recompute: str = "") -> Any:
    flambeau.manual_seed(0)
    return Net(recompute).double()


def batch(step: int, size: int) -> Any:
    flambeau.manual_seed(100 + step)
    return flambeau.randn(size * ROWS, 5, dtype=flambeau.float64)


def divided(network: Any, **options: Any) -> Any:
    for block in network.blocks:
        fully_shard(block, **options)
    return fully_shard(network, **options)


def step_of(network: Any, x: Any) -> None:
    network(x).square().mean().backward()


def differing(alone: Any, shared: Any) -> list[str]:
    return [name for (name, p), q in zip(alone.named_parameters(), shared.parameters(), strict=True)
            if not flambeau.allclose(p, q.full_tensor(), 1e-9, 1e-12)]


def trained(rank: int, size: int, options: dict[str, Any], recompute: str, kind: str) -> Any:
    if options.get("mesh"):
        options["mesh"] = init_device_mesh("cpu", options["mesh"])
    alone, shared = net(), divided(net(recompute), **options)
    assert all(isinstance(p, DTensor) for p in shared.parameters())
    steppers = [getattr(flambeau.optim, kind)(each.parameters(), lr=0.05)
                for each in (alone, shared)]
    for step in range(3):
        x = batch(step, size)
        step_of(alone, x)
        step_of(shared, x[rank * ROWS:(rank + 1) * ROWS])
        norms = [nn.utils.clip_grad_norm_(each.parameters(), 0.3) for each in (alone, shared)]
        assert flambeau.allclose(norms[0], norms[1].full_tensor(), 1e-9)
        for stepper in steppers:
            stepper.step()
            stepper.zero_grad()
        with flambeau.no_grad():
            assert flambeau.allclose(alone(x), shared(x))
    for module in shared.modules():                 # some keep whole parameters without gradients
        if isinstance(module, FSDPModule):
            module.reshard()
    return differing(alone, shared)


@pytest.mark.parametrize(("size", "options", "recompute", "kind"), [
    (3, {}, "", "AdamW"),
    pytest.param(2, {"reshard_after_forward": False}, "", "SGD", marks=pytest.mark.slow),
    (2, {"reshard_after_forward": True, "offload_policy": CPUOffloadPolicy()}, "inside", "SGD"),
    pytest.param(2, {"reshard_after_forward": 2}, "reentrant", "SGD", marks=pytest.mark.slow),
    pytest.param(3, {}, "outside", "SGD", marks=pytest.mark.slow),
    pytest.param(4, {"mesh": (2, 2)}, "", "SGD", marks=pytest.mark.slow),
    pytest.param(2, {"mesh": (2, 1)}, "", "SGD", marks=pytest.mark.slow)])
def test_training_is_that_of_one_process(tmp_path, size, options, recompute, kind):
    pytest.importorskip("flambeau.optim", reason="needs flambeau-optim")
    assert run(size, tmp_path, trained, size, options, recompute, kind) == [[]] * size


def accumulated(rank: int) -> Any:
    alone, shared = net(), divided(net())
    for part in range(3):
        x = batch(part, 2)
        step_of(alone, x)
        shared.set_requires_gradient_sync(part == 2)
        if part == 1:
            shared.set_reshard_after_backward(False)
        step_of(shared, x[rank * ROWS:(rank + 1) * ROWS])
        assert part == 2 or shared.last.weight.grad is None
    shared.reshard()
    for block in shared.blocks:
        block.reshard()
    wrong = []
    for (name, p), q in zip(alone.named_parameters(), shared.parameters(), strict=True):
        expected = p.grad is None or not p.requires_grad
        if expected or flambeau.allclose(p.grad, q.grad.full_tensor()):
            continue
        wrong.append(name)
    return wrong


def test_gradients_that_are_not_exchanged_are_added_to_later_ones(tmp_path):
    assert run(2, tmp_path, accumulated) == [[]] * 2


def copied(rank: int) -> Any:
    """Two copies of two parts: gradients of copies are added in the last pass."""
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("copies", "parts"))
    alone, shared = net(), divided(net(), mesh=mesh)
    for part in range(2):
        x = batch(part, 4)
        step_of(alone, x)
        shared.set_requires_all_reduce(part == 1)
        step_of(shared, x[rank * ROWS:(rank + 1) * ROWS])
    weight = shared.first.weight
    assert weight.placements == (Replicate(), Shard(0))
    return flambeau.allclose(weight.grad.full_tensor(), alone.first.weight.grad)


@pytest.mark.slow
def test_gradients_of_copies(tmp_path):
    assert run(4, tmp_path, copied) == [True] * 4


def different(rank: int) -> Any:
    """Each process uses a layer of its own."""
    layers = nn.ModuleList([nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False)])

    class Either(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = layers

        def forward(self, x: Any) -> Any:
            return self.layers[rank](x)

    shared = fully_shard(Either())
    shared.set_reduce_scatter_unused_params(True)
    shared(flambeau.ones(1, 2)).sum().backward()
    return [p.grad.full_tensor().tolist() for p in shared.parameters()]


def test_processes_that_use_different_parameters(tmp_path):
    assert run(2, tmp_path, different) == [[[[0.5, 0.5]] * 2] * 2] * 2


def mixed(rank: int) -> Any:
    seen: list[Any] = []

    class Seeing(nn.Linear):
        def forward(self, x: Any) -> Any:
            seen.append((x.dtype, self.weight.dtype, isinstance(self.weight, nn.Parameter)))
            return super().forward(x)

    policy = MixedPrecisionPolicy(flambeau.bfloat16, flambeau.float32, flambeau.float32)
    layer = Seeing(4, 3)
    plain = copy.deepcopy(layer).bfloat16()
    fully_shard(layer, mp_policy=policy)
    x = flambeau.arange(8.0).view(2, 4) / 8 + rank
    y = layer(x)
    y.square().sum().backward()
    grads = []
    for r in range(2):
        weight = plain.weight.detach().requires_grad_()
        out = F.linear((flambeau.arange(8.0).view(2, 4) / 8 + r).bfloat16(), weight, plain.bias)
        out.float().square().sum().backward()
        grads.append(weight.grad.float())
    grad = layer.weight.grad
    assert flambeau.equal(grad.full_tensor(), (grads[0] + grads[1]) / 2)
    return [seen, y.dtype, layer.weight.dtype, grad.dtype]


def test_dtypes(tmp_path):
    for seen, *dtypes in run(2, tmp_path, mixed):
        assert seen == [(flambeau.bfloat16, flambeau.bfloat16, True)]
        assert dtypes == [flambeau.float32] * 3


def remembered(rank: int) -> Any:
    """Bytes, in whole layers: of the parts, after a forward pass, most of all, after a step."""
    layer = 512 * 512 * 4
    start = _core.memory_stats()["live_bytes"]
    shared = nn.Sequential(*[nn.Linear(512, 512, bias=False) for _ in range(6)])
    for each in shared:
        fully_shard(each)
    fully_shard(shared, reshard_after_forward=True)
    gc.collect()
    told = [_core.memory_stats()["live_bytes"] - start]
    y = shared(flambeau.ones(1, 512))
    gc.collect()
    told.append(_core.memory_stats()["live_bytes"] - start)
    _core.reset_peak_memory_stats()
    y.sum().backward()
    told.append(_core.memory_stats()["peak_live_bytes"] - start)
    del y
    gc.collect()
    told.append(_core.memory_stats()["live_bytes"] - start)
    return [each / layer for each in told]


def test_a_process_keeps_its_part(tmp_path):
    for parts, forward, most, step in run(3, tmp_path, remembered):
        assert parts < 2.1 and forward < 2.2            # of six layers, in three processes
        assert most < 8.5 and step < 4.3                # gradients, and a layer or two


def moved(rank: int) -> Any:
    shared, alone = divided(net()), net()
    state = shared.state_dict()
    assert list(state) == list(alone.state_dict())
    assert all(each.placements == (Shard(0),) for each in state.values())
    shared(batch(0, 2))                             # the root keeps whole parameters
    assert not isinstance(shared.last.weight, DTensor)
    assert isinstance(shared.state_dict()["last.weight"], DTensor)
    handle = shared.unshard(async_op=True)
    handle.wait()
    assert shared.last.weight.shape == (1, 7) and type(shared.last.weight) is flambeau.Tensor
    with flambeau.no_grad():
        state = {name: each * 2 for name, each in shared.state_dict().items()}
    shared.load_state_dict(state)
    assert flambeau.equal(shared.last.weight.full_tensor(), alone.last.weight * 2)
    shared.set_modules_to_forward_prefetch([shared.blocks[0]])
    shared.blocks[1].set_modules_to_backward_prefetch([shared.blocks[0]])
    step_of(shared, batch(0, 2))
    shared.float()
    assert shared.last.weight.dtype is flambeau.float32
    step_of(shared, batch(0, 2).float())
    parts = [p.to_local().numel() for p in shared.last.parameters()]
    assert parts == ([7, 1] if rank == 0 else [0, 0])   # one row, for two processes
    with pytest.raises(ValueError, match="boom"):
        failing(shared)
    shared.zero_grad()
    shared.reset_iter_state()
    step_of(shared, batch(0, 2).float())
    return isinstance(shared, FSDPModule) and isinstance(shared, Net)


def failing(shared: Any) -> None:
    def boom(*_: Any) -> None:
        raise ValueError("boom")

    handle = shared.blocks[1].norm.register_forward_hook(boom)
    try:
        shared(batch(0, 2).float())
    finally:
        handle.remove()
    assert all(isinstance(p, DTensor) for p in shared.parameters())


def test_states_and_errors(tmp_path):
    assert run(2, tmp_path, moved) == [True] * 2


def chosen(rank: int) -> Any:
    layer, other = nn.Linear(6, 4), nn.Linear(4, 4)
    kept = layer.bias
    alone = copy.deepcopy(nn.Sequential(layer, other))
    fully_shard([layer, other], shard_placement_fn=lambda p: Shard(p.ndim - 1),
                ignored_params={kept})
    assert layer.weight.placements == (Shard(1),) and layer.bias is kept
    register_fsdp_forward_method(layer, "extra_repr")
    x = flambeau.ones(2, 6)
    wanted = alone(x)
    found = other(layer(x))
    wanted.square().sum().backward()
    found.square().sum().backward()
    grads = [flambeau.allclose(p.grad, q.grad.full_tensor(), 1e-4) for p, q in
             ((alone[0].weight, layer.weight), (alone[1].weight, other.weight))]
    share_comm_ctx([layer, other])
    with pytest.raises(ValueError, match="FSDPModules"):
        share_comm_ctx([nn.ReLU()])
    with pytest.raises(AssertionError, match="deepcopy"):
        copy.deepcopy(layer)
    sliced = fully_shard(nn.Sequential(nn.Linear(1, 1), nn.ReLU()))[:1]
    return flambeau.allclose(found, wanted), grads, type(sliced).__name__


def test_dimensions_and_groups(tmp_path):
    assert run(2, tmp_path, chosen) == [(True, [True, True], "Sequential")] * 2


def test_what_is_refused(tmp_path):
    dist.init_process_group("gloo", f"file://{tmp_path}/meeting", rank=0, world_size=1)
    try:
        with pytest.raises(ValueError, match="containers"):
            fully_shard(nn.ModuleList([nn.Linear(1, 1)]))
        layer = fully_shard(nn.Linear(1, 1))
        with pytest.raises(AssertionError, match="only be applied to a module once"):
            fully_shard(layer)
        scalar = nn.Module()
        scalar.p = nn.Parameter(flambeau.tensor(1.0))
        with pytest.raises(ValueError, match="scalar"):
            fully_shard(scalar)
        one, two = nn.Linear(2, 2), nn.Linear(2, 2)
        two.weight = one.weight
        fully_shard(one)
        with pytest.raises(ValueError, match="shared with a parameter"):
            fully_shard(two)
        with pytest.raises(ValueError, match="1D or 2D"):
            fully_shard(nn.Linear(1, 1), mesh=init_device_mesh("cpu", (1, 1, 1)))
        with pytest.raises(NotImplementedError, match="dp_mesh_dims"):
            fully_shard(nn.Linear(1, 1), dp_mesh_dims="dp")
        with pytest.raises(ValueError, match="bool"):
            layer.set_reshard_after_forward(1)
    finally:
        dist.destroy_process_group()
