"""Training steps under ``activation_memory_budget``: less memory, the same bits."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import flambeau
import flambeau.nn.functional as F
from flambeau import nn, optim
from flambeau.core import memory_stats, reset_peak_memory_stats


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.out = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return self.out(x + self.down(F.dropout(F.gelu(self.up(self.norm(x))), 0.1)))


def make_step():
    flambeau.manual_seed(0)
    model = nn.Sequential(*[Block(64) for _ in range(3)])
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    x = flambeau.randn(512, 64)

    def step():
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), x)
        loss.backward()
        optimizer.step()
        return loss

    return step, model


def peak_of(step):
    flambeau.manual_seed(1)
    for _ in range(3):
        step()
    reset_peak_memory_stats()
    before = memory_stats()["live_bytes"]
    step()
    return memory_stats()["peak_live_bytes"] - before


@pytest.mark.parametrize("replay", [False, True])
def test_steps_keep_less_and_learn_the_same(replay):
    plain, wanted = make_step()
    step, found = make_step()
    compiled = flambeau.compile(step, replay=replay, options={"activation_memory_budget": 0.0})
    assert peak_of(compiled) < 0.85 * peak_of(plain)
    for seed in range(2):
        flambeau.manual_seed(seed)
        loss = compiled()
        flambeau.manual_seed(seed)
        assert flambeau.equal(loss, plain())
    for a, b in zip(wanted.parameters(), found.parameters(), strict=True):
        assert np.array_equal(a.detach().numpy(), b.detach().numpy())
    assert not replay or compiled.earned()


def test_a_backward_pass_outside_the_call():
    model = nn.Sequential(nn.Linear(8, 300), nn.GELU(), nn.Linear(300, 8))
    x = flambeau.randn(200, 8)
    compiled = flambeau.compile(model, options={"activation_memory_budget": 0})
    model(x).sum().backward()
    wanted = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    for _ in range(3):
        model.zero_grad()
        compiled(x).sum().backward()
        assert all(flambeau.equal(p.grad, g)
                   for p, g in zip(model.parameters(), wanted, strict=True))


def test_replays_whose_backward_pass_is_outside():
    model = nn.Sequential(nn.Linear(8, 300), nn.GELU(), nn.Linear(300, 8))
    x = flambeau.randn(200, 8)
    compiled = flambeau.compile(model, replay=True, options={"activation_memory_budget": 0.0})
    for _ in range(4):
        model.zero_grad()
        model(x).sum().backward()
        wanted = [p.grad.clone() for p in model.parameters()]
        model.zero_grad()
        compiled(x).sum().backward()
        assert all(flambeau.equal(p.grad, g)
                   for p, g in zip(model.parameters(), wanted, strict=True))


def named(x):
    return (x * 2).exp()


def test_options_survive_pickling_and_are_checked():
    compiled = flambeau.compile(named, options={"activation_memory_budget": 0.5})
    assert pickle.loads(pickle.dumps(compiled))(flambeau.zeros(2)).tolist() == [1, 1]
    for wrong in (2, -0.1, "half", True):
        with pytest.raises(ValueError, match="from 0 to 1"):
            flambeau.compile(named, options={"activation_memory_budget": wrong})


def test_a_graph_may_not_break_under_a_budget():
    compiled = flambeau.compile(lambda x: bool(x.sum()), fullgraph=True,
                                options={"activation_memory_budget": 0.5})
    with pytest.raises(flambeau.jit.GraphBreakError):
        compiled(flambeau.ones(3))


def _shared_between_the_passes(write):
    """Gradients of a chain whose parameter moves to shared memory before they are computed."""
    def step(w, x):
        made = (x * w).tanh().exp().sum()
        w.share_memory_()
        if write:
            with flambeau.no_grad():
                w.add_(1)
        assert w.is_shared()
        made.backward()
        return w.grad.clone(), w.detach().clone()
    return step


def _operands():
    values = np.random.default_rng(0).standard_normal((2, 300, 60)).astype("float32")
    values[0, ::7] = np.nan
    return flambeau.tensor(values[0], requires_grad=True), flambeau.tensor(values[1])


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize("budget", [0.0, 0.5, 1.0])
def test_memory_moves_to_where_processes_share_it(budget, write):
    """What is computed again reads the memory of before, which writes do not reach."""
    step = _shared_between_the_passes(write)
    wanted = step(*_operands())
    compiled = flambeau.compile(step, options={"activation_memory_budget": budget})
    for _ in range(2):
        found = compiled(*_operands())
        assert all(one.numpy().tobytes() == other.numpy().tobytes()
                   for one, other in zip(found, wanted, strict=True))


@pytest.mark.parametrize("write", [lambda w: w.data.mul_(2),
                                   lambda w: w.detach().numpy().__imul__(2)])
def test_uncounted_writes_between_the_passes(write):
    """What is computed again reads what was there before."""
    def step(w, x):
        made = (x * w).tanh().exp().sum()
        write(w)
        made.backward()
        return w.grad

    compiled = flambeau.compile(step, options={"activation_memory_budget": 0.0})
    wanted, found = step(*_operands()), compiled(*_operands())
    assert found.numpy().tobytes() == wanted.numpy().tobytes()


def test_memory_moves_with_its_views():
    def step(w, x, moves):
        made = (x * w).tanh().exp().sum()
        row = w.detach()[0]
        if moves:
            w.share_memory_()
        made.backward()
        return w.grad.clone(), row.clone(), w.is_shared()

    compiled = flambeau.compile(step, options={"activation_memory_budget": 0.0})
    wanted, found = step(*_operands(), False), compiled(*_operands(), True)
    for one, other in zip(found[:2], wanted[:2], strict=True):
        assert one.numpy().tobytes() == other.numpy().tobytes()
    assert found[2] and not wanted[2]
