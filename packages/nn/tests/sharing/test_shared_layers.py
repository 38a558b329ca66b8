"""Layers that processes share, beside the same layers in one process."""
from __future__ import annotations

from typing import Any

import pytest
from world_processes import run

import flambeau
from flambeau import nn
from flambeau.distributed.tensor import (
    DTensor,
    Replicate,
    Shard,
    distribute_tensor,
    init_device_mesh,
)
from flambeau.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleInputOutput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)

F: Any = nn.functional


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.up = nn.Linear(8, 12)
        self.down = nn.Linear(12, 8)

    def forward(self, x: Any) -> Any:
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(7, 8)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.head = nn.Linear(8, 6)

    def forward(self, x: Any) -> Any:
        x = self.table(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


PLAIN = {"table": RowwiseParallel(input_layouts=Replicate()),
         "blocks.*.up": ColwiseParallel(), "blocks.*.down": RowwiseParallel(),
         "head": ColwiseParallel(output_layouts=Replicate())}
SEQUENCES = {
    "table": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1),
                             use_local_output=False),
    "blocks.*.norm": SequenceParallel(),
    "blocks.*.up": ColwiseParallel(input_layouts=Shard(1), use_local_output=False),
    "blocks.*.down": RowwiseParallel(output_layouts=Shard(1), use_local_output=False),
    "head": ColwiseParallel(input_layouts=Shard(1), use_local_output=False),
}
COLUMNS = {"table": ColwiseParallel(output_layouts=Replicate()),
           "head": RowwiseParallel(input_layouts=Replicate())}


def step(rank: int, plan: Any) -> list[Any]:
    def net() -> Any:
        flambeau.manual_seed(0)
        return Net().double()

    mesh = init_device_mesh("cpu", (2,))
    alone, shared = net(), parallelize_module(net(), mesh, plan)
    assert isinstance(shared.table.weight, DTensor) and isinstance(shared.head.weight, DTensor)
    x, y = flambeau.tensor([[0, 1, 2, 6], [3, 5, 4, 6]]), flambeau.arange(8) % 6
    wanted = F.cross_entropy(alone(x).flatten(0, 1), y)
    wanted.backward()
    with loss_parallel():
        out = shared(x)
        target = distribute_tensor(y, mesh) if isinstance(out, DTensor) else y
        loss = F.cross_entropy(out.flatten(0, 1), target)
        loss.backward()
    found = loss.full_tensor() if isinstance(loss, DTensor) else loss
    wrong = [] if flambeau.allclose(found, wanted) else [(found.item(), wanted.item())]
    for (name, p), q in zip(alone.named_parameters(), shared.parameters(), strict=True):
        grad = q.grad.full_tensor() if isinstance(q.grad, DTensor) else q.grad
        if not flambeau.allclose(grad, p.grad):
            wrong.append(name)
    return wrong


@pytest.mark.parametrize("plan", [
    SEQUENCES, *[pytest.param(each, marks=pytest.mark.slow) for each in (PLAIN, COLUMNS)]],
    ids=["sequences", "plain", "columns"])
def test_a_step_is_that_of_one_process(tmp_path, plan):
    assert run(2, tmp_path, step, plan) == [[]] * 2


def prepared(rank: int) -> Any:
    mesh = init_device_mesh("cpu", (2,))
    seen: list[Any] = []

    class Seeing(nn.Module):
        def forward(self, x: Any, flag: Any, *, y: Any = None) -> Any:
            seen.append([type(x).__name__, tuple(x.shape), flag, tuple(y.shape)])
            return x, flag

    x = flambeau.ones(2, 4)
    inside = {"input_layouts": (Shard(0), None), "desired_input_layouts": (Shard(1), None),
              "input_kwarg_layouts": {"y": Shard(0)},
              "desired_input_kwarg_layouts": {"y": Replicate()}}
    outside = {"output_layouts": (Shard(1), None), "desired_output_layouts": (Replicate(), None)}
    for style in (PrepareModuleInput(**inside), PrepareModuleInputOutput(**inside, **outside)):
        net = parallelize_module(Seeing(), mesh, style)
        out, flag = net(x, "flag", y=x)
        seen.append([type(out).__name__, tuple(out.shape), flag])
    net = parallelize_module(Seeing(), mesh, PrepareModuleOutput(**outside))
    seen.append(tuple(net(x, 1, y=x)[0].shape))
    for wrong in ({"input_layouts": Shard(0)}, {"input_kwarg_layouts": {"y": Shard(0)}}):
        with pytest.raises(ValueError, match="PrepareModuleInput"):
            PrepareModuleInput(**wrong)
    with pytest.raises(NotImplementedError, match=r"nn\.Linear"):
        parallelize_module(nn.ReLU(), mesh, ColwiseParallel())
    with pytest.warns(UserWarning, match="could not be resolved"):
        parallelize_module(Net(), mesh, {"missing": ColwiseParallel()})
    with pytest.warns(UserWarning, match="do nothing"):
        parallelize_module(Net(), mesh)
    return seen


def test_inputs_and_outputs(tmp_path):
    inside = ["DTensor", (4, 4), "flag", (4, 4)]
    wanted = [inside, ["DTensor", (4, 4), "flag"], inside, ["Tensor", (4, 4), "flag"],
              ["Tensor", (2, 4), 1, (2, 4)], (2, 8)]
    assert run(2, tmp_path, prepared) == [wanted] * 2
