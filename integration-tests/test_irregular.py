"""Graphs that differ in every step: a network over trees, an actor-critic over episodes."""

from __future__ import annotations

import random

import pytest
from uses import fill, flat, library

OURS = library("flambeau")


def grow(draw: random.Random, depth: int):
    """Return a random expression: a word, or a pair of expressions."""
    if depth == 0 or draw.random() < 0.3:
        return draw.randrange(6)
    return grow(draw, depth - 1), grow(draw, depth - 1)


def words(tree) -> int:
    """Return how many words a tree has."""
    return 1 if isinstance(tree, int) else words(tree[0]) + words(tree[1])


def tree_network(lib):
    """A cell that joins the states of two subtrees."""
    nn = lib.nn

    class Tree(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(6, 8)
            self.gates = nn.Linear(16, 16)
            self.score = nn.Linear(8, 2)

        def state(self, tree):
            if isinstance(tree, int):
                return self.embed(lib.base.tensor([tree]))
            both = lib.base.cat([self.state(tree[0]), self.state(tree[1])], 1)
            gate, value = self.gates(both).chunk(2, 1)
            return gate.sigmoid() * value.tanh() + (1 - gate.sigmoid()) * both[:, :8]

        def forward(self, tree):
            return self.score(self.state(tree))

    return fill(lib, Tree())


def learn_trees(lib):
    """Learn whether a tree has more than four words; return losses and weights."""
    draw = random.Random(3)
    trees = [grow(draw, 5) for _ in range(24)]
    model = tree_network(lib)
    optimizer = lib.optim.Adam(model.parameters(), lr=0.03)
    losses = []
    for _ in range(12):
        optimizer.zero_grad()
        scores = lib.base.cat([model(tree) for tree in trees])
        wanted = lib.base.tensor([int(words(tree) > 4) for tree in trees])
        loss = lib.F.cross_entropy(scores, wanted)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, flat(model.parameters())


def test_a_network_over_trees_learns():
    losses, _ = learn_trees(OURS)
    assert losses[-1] < 0.4 * losses[0]


class Corridor:
    """Walk to the right end of a corridor of random length; every step costs a little."""

    def __init__(self, draw: random.Random) -> None:
        self.length = draw.randrange(3, 8)
        self.index = 0
        self.steps = 0

    def seen(self) -> list[float]:
        return [self.index / 8, self.length / 8, 1.0]

    def move(self, right: bool) -> tuple[float, bool]:
        """Return the reward of a move, and whether the episode is over."""
        self.index = max(0, self.index + (1 if right else -1))
        self.steps += 1
        arrived = self.index == self.length
        return (1.0 if arrived else -0.05), arrived or self.steps == 40


def actor_critic(lib):
    """One body, a head for moves and a head for the value of a position."""
    nn = lib.nn

    class ActorCritic(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(3, 16)
            self.moves = nn.Linear(16, 2)
            self.value = nn.Linear(16, 1)

        def forward(self, seen):
            hidden = self.body(seen).tanh()
            return lib.F.log_softmax(self.moves(hidden), -1), self.value(hidden)[0]

    return fill(lib, ActorCritic())


def episode(lib, model, draw):
    """Play one episode; return log probabilities, values and rewards, one for each step."""
    corridor = Corridor(draw)
    log_probs, values, rewards = [], [], []
    over = False
    while not over:
        moves, value = model(lib.base.tensor(corridor.seen(), dtype=lib.base.float64))
        right = draw.random() < moves[1].exp().item()
        reward, over = corridor.move(right)
        log_probs.append(moves[int(right)])
        values.append(value)
        rewards.append(reward)
    return log_probs, values, rewards


def returns(rewards: list[float], discount: float = 0.95) -> list[float]:
    """Return what was still to come at each step."""
    found, total = [], 0.0
    for reward in reversed(rewards):
        total = reward + discount * total
        found.append(total)
    return found[::-1]


def play(lib):
    """Learn to walk; return the length of each episode, losses and weights."""
    draw = random.Random(1)
    model = actor_critic(lib)
    optimizer = lib.optim.Adam(model.parameters(), lr=0.02)
    lengths, losses = [], []
    for _ in range(120):
        log_probs, values, rewards = episode(lib, model, draw)
        wanted = lib.base.tensor(returns(rewards), dtype=lib.base.float64)
        guessed = lib.base.stack(values)
        advantage = (wanted - guessed).detach()
        loss = lib.F.smooth_l1_loss(guessed, wanted)
        loss = loss - (lib.base.stack(log_probs) * advantage).mean()
        optimizer.zero_grad()
        loss.backward()
        lib.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        lengths.append(len(rewards))
        losses.append(loss.item())
    return lengths, losses, flat(model.parameters())


def test_an_actor_critic_learns_to_walk():
    lengths, _, _ = play(OURS)
    assert len(set(lengths)) > 5
    assert sum(lengths[-30:]) < 0.7 * sum(lengths[:30])


@pytest.mark.oracle
@pytest.mark.parametrize("program", [learn_trees, play])
def test_irregular_programs_compute_what_pytorch_does(program):
    pytest.importorskip("torch")
    expected = program(library("torch"))
    for found, wanted in zip(program(OURS), expected, strict=True):
        assert found == pytest.approx(wanted, rel=1e-6, abs=1e-9)
