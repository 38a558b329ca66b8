"""Training with checkpoints gives the weights of plain training, bit for bit."""

from __future__ import annotations

import pytest
from uses import fill, flat, library, numbers

import flambeau

OURS = library("flambeau")


def network(lib):
    """Blocks with dropout, whose random numbers must be drawn again when it is recomputed."""
    nn = lib.nn

    class Blocks(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList(
                nn.Sequential(nn.LayerNorm(12), nn.Linear(12, 24), nn.GELU(), nn.Dropout(0.2),
                              nn.Linear(24, 12))
                for _ in range(3))
            self.score = nn.Linear(12, 4)

        def forward(self, x, recompute):
            for block in self.blocks:
                change = lib.checkpoint(block, x, use_reentrant=False) if recompute else block(x)
                x = x + change
            return self.score(x)

    return fill(lib, Blocks())


def train(lib, recompute):
    """Train ten steps; return losses, weights and the random numbers that come next."""
    lib.base.manual_seed(7)
    model = network(lib)
    optimizer = lib.optim.AdamW(model.parameters(), lr=0.01)
    x, classes = numbers(lib, 16, 12, seed=70), lib.base.arange(16) % 4
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        loss = lib.F.cross_entropy(model(x, recompute), classes)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, flat(model.parameters()), lib.base.rand(3).tolist()


def test_checkpointed_training_is_plain_training_to_the_bit():
    plain, recomputed = train(OURS, False), train(OURS, True)
    assert plain == recomputed
    assert plain[0][-1] < plain[0][0]


def test_dropout_was_at_work():
    """Two calls differ, so that equal training proves that the same numbers were drawn."""
    model = network(OURS)
    x = numbers(OURS, 16, 12, seed=70)
    assert not flambeau.equal(model(x, True), model(x, True))


@pytest.mark.oracle
def test_without_dropout_the_weights_are_those_of_pytorch():
    pytest.importorskip("torch")
    found, expected = (train(calm(library(name)), True) for name in ("flambeau", "torch"))
    assert found[0] == pytest.approx(expected[0], rel=1e-7)
    assert found[1] == pytest.approx(expected[1], rel=1e-6, abs=1e-9)


def calm(lib):
    """Return the library with a dropout that drops nothing: the two draw different numbers."""
    names = {name: getattr(lib.nn, name) for name in
             ("Module", "ModuleList", "Sequential", "LayerNorm", "Linear", "GELU")}
    lib.nn = type("nn", (), {**names, "Dropout": lambda p: lib.nn.GELU()})
    return lib
