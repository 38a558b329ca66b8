"""A program with types of transforms, derivatives, schedules, data and compiled functions.

``test_typed.py`` checks it with mypy and pyright, and runs it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import flambeau
import flambeau.backends.cudnn as cudnn
from flambeau import Tensor, compiler, func, jit, nn, optim
from flambeau.autograd import forward_ad, functional
from flambeau.func import functional_call, stack_module_state, vmap
from flambeau.optim import lr_scheduler
from flambeau.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    Subset,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    get_worker_info,
    random_split,
)


# ---- transforms --------------------------------------------------------------------------------
def energy(x: Tensor, scale: float = 1.0) -> Tensor:
    """A number of a vector."""
    return scale * (x.sin() * x**2).sum()


def mapped(x: Tensor) -> Tensor:
    """Energies of rows; a mapped function takes and gives what the function does."""
    each = vmap(energy, in_dims=(0,), randomness="different", chunk_size=2)
    return each(x)


def derivatives(x: Tensor) -> list[Tensor]:
    """Derivatives in both modes."""
    slope: Tensor = func.grad(energy)(x)
    value: Tensor
    slope, value = func.grad_and_value(energy, argnums=0)(x)
    value, pull = func.vjp(energy, x)
    (back,) = pull(flambeau.ones_like(value))
    value, tangent = func.jvp(energy, (x,), (flambeau.ones_like(x),))
    curvature: Tensor = func.hessian(energy)(x)
    forward: Tensor = func.jacfwd(func.grad(energy))(x)
    reverse: Tensor = func.jacrev(func.grad(energy), chunk_size=2)(x)
    value, push = func.linearize(energy, x)
    assert flambeau.allclose(push(flambeau.ones_like(x)), tangent)
    assert flambeau.allclose(slope, back)
    return [curvature, forward, reverse]


def per_sample(model: nn.Module, x: Tensor, y: Tensor) -> dict[str, Tensor]:
    """The gradient of each sample."""
    parameters = {name: p.detach() for name, p in model.named_parameters()}

    def loss(values: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        scores: Tensor = functional_call(model, values, (x.unsqueeze(0),))
        return (scores.squeeze(0) - y).square().mean()

    found: dict[str, Tensor] = vmap(func.grad(loss), in_dims=(None, 0, 0))(parameters, x, y)
    return found


def ensemble(models: Sequence[nn.Module], x: Tensor) -> Tensor:
    """All models at once."""
    parameters, buffers = stack_module_state(list(models))

    def call(parameters: dict[str, Tensor], buffers: dict[str, Tensor], x: Tensor) -> Tensor:
        result: Tensor = functional_call(models[0], (parameters, buffers), (x,))
        return result

    return vmap(call, in_dims=(0, 0, None))(parameters, buffers, x)


# ---- derivatives of autograd.functional --------------------------------------------------------
def products(x: Tensor) -> float:
    """Jacobians, Hessians, and products with them."""
    value, gradient = functional.vjp(energy, x)
    _, tangent = functional.jvp(energy, x, flambeau.ones_like(x))
    jacobian = functional.jacobian(lambda v: v**2, x, vectorize=True)
    hessian = functional.hessian(energy, x)
    _, hvp = functional.hvp(energy, x, flambeau.ones_like(x))
    _, vhp = functional.vhp(energy, x, flambeau.ones_like(x))
    assert isinstance(jacobian, Tensor) and isinstance(hessian, Tensor)
    assert isinstance(gradient, Tensor) and isinstance(hvp, Tensor) and isinstance(vhp, Tensor)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, flambeau.ones_like(x))
        primal, direction = forward_ad.unpack_dual(dual.exp())
        assert direction is not None and flambeau.allclose(primal, direction)
    with flambeau.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        energy(x.clone().requires_grad_()).backward()
    assert flambeau.autograd.gradcheck(energy, (x.double().requires_grad_(),))
    return float(gradient.sum()) - float(tangent)


# ---- schedules ---------------------------------------------------------------------------------
def schedules(model: nn.Module) -> list[float]:
    """Learning rates of several schedules in turn."""
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    warm = lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
    decay = lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    chain = lr_scheduler.SequentialLR(optimizer, schedulers=[warm, decay], milestones=[2])
    plateau = lr_scheduler.ReduceLROnPlateau(optimizer, mode="min", patience=1)
    rates: list[float] = []
    for epoch in range(5):
        optimizer.zero_grad(set_to_none=True)
        model(flambeau.ones(1, 3)).sum().backward()
        optimizer.step()
        chain.step()
        plateau.step(float(epoch))
        rates += chain.get_last_lr()
    state: dict[str, Any] = optimizer.state_dict()
    optimizer.load_state_dict(state)
    other = optim.Adam([{"params": list(model.parameters()), "lr": 1e-3}], betas=(0.9, 0.99))
    warmer = lr_scheduler.LambdaLR(other, lr_lambda=lambda epoch: 1 / (1 + epoch))
    cycle = lr_scheduler.OneCycleLR(other, max_lr=0.1, total_steps=10)
    cosine = lr_scheduler.CosineAnnealingWarmRestarts(other, T_0=3)
    steps = lr_scheduler.MultiStepLR(other, milestones=[1, 2], gamma=0.5)
    assert all(isinstance(s, lr_scheduler.LRScheduler) for s in (warmer, cycle, cosine, steps))
    return [group["lr"] for group in other.param_groups] + rates


# ---- data --------------------------------------------------------------------------------------
class Squares(Dataset[Tensor]):
    """Squares of numbers."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> Tensor:
        return flambeau.tensor(float(index**2))


class Numbers(IterableDataset[int]):
    """Numbers one after the other."""

    def __iter__(self) -> Iterator[int]:
        assert get_worker_info() is None
        return iter(range(4))


def join(items: list[Tensor]) -> Tensor:
    """A batch."""
    return flambeau.stack(items)


def data() -> int:
    """How many elements the loaders give."""
    squares = Squares()
    first, second = random_split(squares, [0.5, 0.5], generator=flambeau.Generator())
    both = ConcatDataset([first, second, Subset(squares, [0, 1])])
    sampler = BatchSampler(RandomSampler(both), batch_size=4, drop_last=False)
    count = 0
    for batch in DataLoader(both, batch_sampler=sampler, collate_fn=join):
        count += batch.numel()
    weighted = WeightedRandomSampler([0.1] * 8, num_samples=3, replacement=True)
    for batch in DataLoader(squares, sampler=weighted, num_workers=0):
        count += len(batch)
    pairs = TensorDataset(flambeau.ones(4, 2), flambeau.zeros(4))
    for x, y in DataLoader(pairs, batch_size=2, shuffle=True, drop_last=True):
        count += len(x) + len(y)
    count += sum(1 for _ in DataLoader(ChainDataset([Numbers(), Numbers()]), batch_size=None))
    assert list(SequentialSampler(squares))[-1] == 7
    assert default_collate([1, 2, 3]).sum() == 6
    return count


# ---- compiled functions, settings --------------------------------------------------------------
@compiler.disable
def plain(x: Tensor) -> Tensor:
    """Not compiled."""
    return x + 1


@flambeau.compile
def quick(x: Tensor, y: Tensor) -> Tensor:
    """Compiled; calls have the function's types."""
    return (x * y).tanh() - 1


def compiled(x: Tensor) -> Tensor:
    """Compiled functions, modules and programs."""
    double: Callable[[Tensor], Tensor] = flambeau.compile(lambda t: t * 2, dynamic=True)
    model = flambeau.compile(nn.Linear(3, 2), mode="reduce-overhead")
    scores: Tensor = model(x)
    program = jit.trace(double, (x,))
    assert isinstance(program, jit.Program)
    result: Tensor = program(x)
    cudnn.benchmark = True
    with cudnn.flags(enabled=True, deterministic=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flambeau.set_flush_denormal(True)
        flambeau.set_float32_matmul_precision("high")
    assert flambeau.cpu.device_count() == 1 and flambeau.distributed.is_available()
    return plain(quick(result, result)) + scores.sum()


def main() -> float:
    """Everything."""
    flambeau.manual_seed(0)
    x = flambeau.linspace(0.1, 0.5, 3)
    assert mapped(flambeau.stack([x, x])).shape == (2,)
    assert all(flambeau.allclose(a, derivatives(x)[0], atol=1e-4) for a in derivatives(x))
    model = nn.Linear(3, 2)
    grads = per_sample(model, flambeau.ones(4, 3), flambeau.zeros(4, 2))
    assert grads["weight"].shape == (4, 2, 3)
    assert ensemble([model, nn.Linear(3, 2)], flambeau.ones(5, 3)).shape == (2, 5, 2)
    assert math.isclose(products(x), 0.0, abs_tol=1e-4)
    assert len(schedules(model)) == 6
    assert data() == 29
    return float(compiled(flambeau.ones(1, 3)).sum())


if __name__ == "__main__":
    print(main())
