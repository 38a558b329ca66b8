"""``DTensor``: operators on shared tensors give what they give on whole ones."""
from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from world_processes import run

import flambeau
from flambeau import distributed as dist
from flambeau import nn
from flambeau.distributed.tensor import (
    DTensor,
    Partial,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
    init_device_mesh,
)
from flambeau.distributed.tensor.experimental import implicit_replication, local_map

F: Any = nn.functional
SIZE = 4
A, B, V = (5, 4), (4, 6), (4,)
TALL, ROW, NONE, SCALAR, BATCH = (8, 4), (1, 4), (0, 4), (), (2, 3, 4)
HEADS = (2, 4, 3, 2)


def _written(x: Any) -> Any:
    y = x * 2
    y.add_(x).mul_(3)
    y.sub_(x.sum())
    return y


def _indexed(x: Any) -> Any:
    return x[1:, :2] * x[0, 1] + x[:-1, None, -1]


#: Functions of tensors of the shapes beside them.
CALLS: dict[str, tuple[Any, list[Any]]] = {
    "pointwise": (lambda x, y: (x * y + x / (y * y + 2) - 3).exp(), [A, A]),
    "broadcast": (lambda x, y, z: (x + y) * z - y, [A, V, SCALAR]),
    "row": (lambda x, y: x * y, [A, ROW]),
    "empty": (lambda x: (x * 2).sum(0) + x.sum(), [NONE]),
    "activations": (lambda x: F.gelu(x) + F.silu(x) + x.relu() + x.sigmoid().clamp(0.1, 0.6), [A]),
    "where": (lambda x, y: flambeau.where(x > 0, x, y).masked_fill(y < 0, 2.0), [A, A]),
    "written": (_written, [A]),
    "mm": (lambda x, y: x @ y, [A, B]),
    "mv": (lambda x, y: (x @ y, y @ x.T), [A, V]),
    "dot": (lambda x: x @ x, [V]),
    "matmul": (lambda x, y, z: x @ y + (x @ z)[..., None], [BATCH, B, V]),
    "bmm": (lambda x: x @ x.transpose(1, 2), [BATCH]),
    "linear": (F.linear, [BATCH, (6, 4), (6,)]),
    "sums": (lambda x: (x.sum(), x.sum(0), x.sum(1, keepdim=True), x.mean(), x.mean(-1)), [A]),
    "means of even parts": (lambda x: (x.mean(), x.mean(0, keepdim=True)), [TALL]),
    "extremes": (lambda x: (x.amax(), x.amin(0), x.max(1).values, x.max(), x.argmax(1) * 1.0,
                            x.amax([0, 1])), [TALL]),
    "statistics": (lambda x: (x.var(0), x.std(1), x.prod(1), x.logsumexp(0)), [A]),
    "norms": (lambda x: (x.norm(), flambeau.linalg.vector_norm(x, 3, 0), x.norm(dim=1)), [A]),
    "greatest": (lambda x: flambeau.linalg.vector_norm(x, float("inf")), [TALL]),
    "softmax": (lambda x: (x.softmax(0), x.log_softmax(-1), x.cumsum(0)), [A]),
    "layer norm": (lambda x, w, b: F.layer_norm(x, (4,), w, b), [BATCH, V, V]),
    "rms norm": (lambda x, w: F.rms_norm(x, (4,), w), [BATCH, V]),
    "attention": (lambda q, k: F.scaled_dot_product_attention(q, k, q * 2), [HEADS, HEADS]),
    "causal": (lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), [HEADS]),
    "views": (lambda x: (x.view(4, 8), x.reshape(2, 4, 4), x.flatten(), x.T, x.t()[None],
                         x.permute(1, 0), x.expand(3, 8, 4), x.unsqueeze(1).squeeze(1)), [TALL]),
    "views of uneven parts": (lambda x: (x.view(4, 5), x[:, None].view(5, 1, 2, 2)), [A]),
    "heads": (lambda x: x.view(2, 3, 2, 2).transpose(1, 2).reshape(2, 2, 6), [BATCH]),
    "indexed": (_indexed, [A]),
    "joined": (lambda x, y: (flambeau.cat([x, y * 2]), flambeau.stack([x, y], 1),
                             flambeau.cat([x, y], 1)), [A, A]),
    "cut": (lambda x: (*x.split(3), *x.chunk(2, 1), *x.unbind(1)), [A]),
    "repeated": (lambda x: x.repeat(2, 3), [A]),
    "no rule": (lambda x: (x.tril(), x.flip(0), x.roll(1, 0), x.gather(0, x.argsort(0))), [A]),
    "convolution": (lambda x, w: F.conv2d(x, w), [(4, 2, 4, 4), (3, 2, 2, 2)]),
    "in another dtype": (lambda x: (x.float() * 2).double() + x, [A]),
    "constants": (lambda x: x + flambeau.ones_like(x) * x.new_full((), 2.0), [A]),
    "truths": (lambda x: (x + ((x > 0).any() & (x > 9).any(0)) * 1.0,
                          x * (x < 9).all(1, keepdim=True)), [A]),
    "number": (lambda x: x * x.sum().item() * (2.0 if flambeau.equal(x, x) else 1.0), [A]),
}


def tuples(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def gradients(results: Any, inputs: Any, weigh: Any) -> Any:
    total = sum((weigh(i, r) * r).sum() for i, r in enumerate(results) if r.requires_grad)
    return flambeau.autograd.grad(total, inputs)


def weights(i: int, r: Any) -> Any:
    return flambeau.arange(1.0, r.numel() + 1, dtype=flambeau.float64).view(r.shape) * (i + 1)


def close(found: Any, wanted: Any) -> bool:
    found = found.full_tensor() if isinstance(found, DTensor) else found
    return found.shape == wanted.shape and flambeau.allclose(found, wanted, 1e-9, 1e-9)


def wrong_with(name: str, mesh: Any, placed: Any) -> str | None:
    function, shapes = CALLS[name]
    flambeau.manual_seed(1)
    whole = [flambeau.randn(shape, dtype=flambeau.float64, requires_grad=True) for shape in shapes]
    shared = [distribute_tensor(x.detach().clone().requires_grad_(), mesh, p)
              for x, p in zip(whole, placed, strict=True)]
    wanted, found = tuples(function(*whole)), tuples(function(*shared))
    if not all(isinstance(each, DTensor) for each in found):
        return f"{name} {placed}: {found}"
    if not all(map(close, found, wanted)):
        return f"{name} {placed}: {found} instead of {wanted}"
    if wanted[0].requires_grad:
        def weigh(i: int, r: Any) -> Any:
            return distribute_tensor(weights(i, r), mesh)

        grads = gradients(wanted, whole, weights)
        mine = gradients(found, shared, weigh)
        if not all(map(close, mine, grads)):
            return f"gradients of {name} {placed}: {mine} instead of {grads}"
    return None


def every_way(rank: int, shape: tuple[int, ...], most: int) -> list[str]:
    mesh = init_device_mesh("cpu", shape)
    rng = random.Random(5)
    wrong = []
    for name, (_, shapes) in CALLS.items():
        each = [[Replicate(), *(Shard(dim) for dim in range(len(s)))] for s in shapes]
        ways = list(itertools.product(*(itertools.product(*[p] * mesh.ndim) for p in each)))
        for placed in rng.sample(ways, min(most, len(ways))):
            try:
                found = wrong_with(name, mesh, placed)
            except Exception as error:
                found = f"{name} {placed}: {type(error).__name__}: {error}"
            if found is not None:
                wrong.append(found)
    return wrong


@pytest.mark.parametrize(("shape", "most"), [
    ((SIZE,), 4),
    *[pytest.param(shape, 9, marks=pytest.mark.slow) for shape in ((SIZE,), (2, 2))]])
def test_operators_give_what_they_give_on_whole_tensors(tmp_path, shape, most):
    assert run(SIZE, tmp_path, every_way, shape, most) == [[]] * SIZE


def exchanges(rank: int) -> list[str]:
    wrong = []
    for shape in ((SIZE,), (2, 2)):
        mesh = init_device_mesh("cpu", shape)
        for size in ((5, 3), (8, 4), (1, 2), (0, 2)):
            x = flambeau.arange(float(size[0] * size[1])).view(size) + 1
            ways = [Replicate(), Shard(0), Shard(1), Shard(-1)]
            for now, then in itertools.product(itertools.product(ways, repeat=mesh.ndim),
                                               repeat=2):
                y = distribute_tensor(x, mesh, now).redistribute(placements=then)
                if not flambeau.equal(y.full_tensor(), x):
                    wrong.append(f"{size} {now} {then}")
                other = distribute_tensor(x, mesh, then)
                if not flambeau.equal(y.to_local(), other.to_local()):
                    wrong.append(f"parts of {size} {now} {then}")
            for op, then in itertools.product(("sum", "avg", "max", "min", "product"), ways):
                placed = [Partial(op)] * mesh.ndim
                y = DTensor.from_local(x + rank, mesh, placed)
                found = y.redistribute(placements=[then] * mesh.ndim).full_tensor()
                every = flambeau.stack([x + r for r in range(SIZE)])
                wanted = {"sum": every.sum(0), "avg": every.mean(0), "max": every.amax(0),
                          "min": every.amin(0), "product": every.prod(0)}[op]
                if not flambeau.allclose(found, wanted):
                    wrong.append(f"{size} {op} {then}")
    return wrong


@pytest.mark.slow
def test_tensors_go_from_any_way_to_any_other(tmp_path):
    assert run(SIZE, tmp_path, exchanges) == [[]] * SIZE


def local(rank: int) -> Any:
    mesh = init_device_mesh("cpu", (2,))
    x = flambeau.full((2, 3), 1.0 + rank, requires_grad=True)
    y = DTensor.from_local(x, mesh, [Shard(0)])
    assert y.shape == (4, 3) and y.requires_grad
    part = (y * y).to_local()
    (part * (10 if rank else 1)).sum().backward()
    told = [x.grad.tolist()]
    z = DTensor.from_local(x, mesh, [Partial()])
    whole = z.full_tensor()                         # gradients of all processes count once
    told.append([whole[0, 0].item(), flambeau.autograd.grad(whole.sum(), x)[0][0, 0].item()])
    with pytest.raises(RuntimeError, match="mixed Tensor and DTensor"):
        y + flambeau.ones(4, 3)
    with implicit_replication():
        assert (y + flambeau.ones(4, 3)).shape == (4, 3)
    assert flambeau.equal((y + flambeau.tensor(1.0)).to_local(), x.detach() + 1)
    with pytest.raises(RuntimeError, match="what is written to it would be lost"):
        y.detach()[3].mul_(2)
    y.detach()[:, 1].mul_(2)
    told.append(y.to_local().tolist())
    with pytest.raises(ValueError, match="same length"):
        distribute_tensor(x.detach(), mesh, [Shard(0), Shard(1)])
    with pytest.raises(RuntimeError, match="Partial"):
        distribute_tensor(x.detach(), mesh, [Partial()])
    with pytest.raises(ValueError, match="shared already"):
        distribute_tensor(y, mesh, [Replicate()])
    with pytest.raises(RuntimeError, match="internal use only"):
        y.redistribute(placements=[Partial()])
    add = local_map(lambda a, b: a + b, [Shard(0)], ([Shard(0)], [Shard(0)]))
    assert add(y, y).placements == (Shard(0),)
    with pytest.raises(ValueError, match="redistribute_inputs"):
        add(y, y.redistribute(placements=[Replicate()]))
    return told


def test_parts_and_what_is_refused(tmp_path):
    for rank, told in enumerate(run(2, tmp_path, local)):
        factor = 2.0 * (1 + rank) * (10 if rank else 1)
        assert told[0] == [[factor] * 3] * 2
        assert told[1] == [3.0, 1.0]
        assert told[2] == [[1.0 + rank, 2.0 + 2 * rank, 1.0 + rank]] * 2


def drawn(rank: int) -> Any:
    flambeau.manual_seed(rank)
    mesh = init_device_mesh("cpu", (2,))
    from flambeau.distributed import tensor

    x = tensor.rand(6, 4, device_mesh=mesh, placements=[Shard(0)])
    made = [x, tensor.randn((3, 2), device_mesh=mesh), flambeau.rand_like(x),
            x.clone().normal_(), nn.init.kaiming_uniform_(x.clone()),
            tensor.full((3,), 2.0, device_mesh=mesh, placements=[Shard(0)]),
            tensor.zeros(3, device_mesh=mesh), F.dropout(x + 1, 0.5)]
    return [each.full_tensor().tolist() for each in made]


def test_random_numbers_are_those_of_the_first_process(tmp_path):
    first, second = run(2, tmp_path, drawn)
    assert first == second
    flambeau.manual_seed(0)
    assert flambeau.tensor(first[0]).equal(flambeau.rand(6, 4))
    assert first[0][0] != first[0][3]               # parts differ
    assert first[5] == [2.0] * 3 and first[6] == [0.0] * 3
    kept = [x == 0 or abs(x - 2 * (y + 1)) < 1e-6
            for a, b in zip(first[7], first[0], strict=True) for x, y in zip(a, b, strict=True)]
    assert all(kept) and 0 < sum(x == 0 for row in first[7] for x in row) < 24


def trained(rank: int, kind: str) -> Any:
    mesh = init_device_mesh("cpu", (2,))

    def partition(name: str, module: Any, mesh: Any) -> None:
        if isinstance(module, nn.Linear):
            for key, p in list(module.named_parameters()):
                module.register_parameter(key, nn.Parameter(distribute_tensor(p, mesh,
                                                                              [Shard(0)])))

    def net() -> Any:
        flambeau.manual_seed(0)
        return nn.Sequential(nn.Linear(3, 5), nn.LayerNorm(5), nn.Tanh(), nn.Linear(5, 2))

    alone, shared = net(), distribute_module(net(), mesh, partition)
    steppers = [getattr(flambeau.optim, kind)(each.parameters(), lr=0.05)
                for each in (alone, shared)]
    for step in range(3):
        flambeau.manual_seed(step)
        x, y = flambeau.randn(6, 3), flambeau.arange(6) % 2
        F.cross_entropy(alone(x), y).backward()
        loss = F.cross_entropy(shared(distribute_tensor(x, mesh, [Shard(0)])),
                               distribute_tensor(y, mesh, [Shard(0)]))
        loss.backward()
        norms = [nn.utils.clip_grad_norm_(each.parameters(), 0.5) for each in (alone, shared)]
        assert flambeau.allclose(norms[0], norms[1].full_tensor(), 1e-4)
        for stepper in steppers:
            stepper.step()
            stepper.zero_grad()
    return [flambeau.allclose(p, q.full_tensor(), 1e-4, 1e-5)
            for p, q in zip(alone.parameters(), shared.parameters(), strict=True)]


@pytest.mark.parametrize("kind", [pytest.param("SGD", marks=pytest.mark.slow), "AdamW"])
def test_networks_of_shared_parameters_train(tmp_path, kind):
    pytest.importorskip("flambeau.optim", reason="needs flambeau-optim")
    assert run(2, tmp_path, trained, kind) == [[True] * 6] * 2


def test_a_mesh_of_one(tmp_path):
    dist.init_process_group("gloo", f"file://{tmp_path}/meeting", rank=0, world_size=1)
    x = distribute_tensor(flambeau.ones(2, 2))
    assert x.placements == (Replicate(),) and "placements=(Replicate(),)" in repr(x)
    assert str(Shard(1)) == "S(1)" and str(Partial("max")) == "P(max)" and Shard(1) != Shard(0)
    assert hash(Partial()) == hash(Partial("sum"))
    dist.destroy_process_group()
