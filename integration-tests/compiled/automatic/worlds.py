"""Worlds that tests change between calls: a network, its optimizer, and functions around them."""

from __future__ import annotations

import flambeau
import flambeau.nn.functional as F
from flambeau import nn

FACTOR = 2.0
TABLE = {"shift": 0.5}


def activation(x):
    return F.relu(x)


class Block(nn.Module):
    """What a user writes: members, numbers, a branch on a mode, globals."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 6), nn.Linear(6, 4)
        self.norm, self.drop = nn.LayerNorm(4), nn.Dropout(0.3)
        self.more = nn.ModuleList()
        self.rate = 0.5
        self.register_buffer("seen", flambeau.zeros(4))

    def forward(self, x):
        y = self.second(activation(self.first(x))) * self.rate
        for module in self.more:
            y = module(y)
        y = self.norm(self.drop(y) + x * FACTOR + TABLE["shift"])
        return y + self.seen if not self.training else y * 1.5


class Other(Block):
    def forward(self, x):
        return super().forward(x) - 1


class World:
    """A network, its optimizer, and functions around them, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        flambeau.manual_seed(seed)
        self.net = nn.Sequential(Block(), nn.BatchNorm1d(4), Block())
        self.optimizer = flambeau.optim.SGD(self.net.parameters(), lr=0.1)
        self.handles: list[object] = []
        scale = 1.0

        def predict(x):
            return self.net(x) * scale

        def rescale(value):
            nonlocal scale
            scale = value

        def learn(x):
            self.optimizer.zero_grad()
            loss = (self.net(x) ** 2).mean() * scale
            if loss.requires_grad:
                loss.backward()
                self.optimizer.step()
            return loss.detach()

        self.functions = {"predict": predict, "learn": learn, "net": self.net}
        self.rescale = rescale


def _forward_of_first(world):
    block = world.net[0]
    block.forward = lambda x: type(block).forward(block, x) + 0.25


def _hook(world):
    world.handles.append(world.net[2].first.register_forward_hook(lambda m, x, y: y * 2))


def _pre_hook(world):
    world.handles.append(world.net[0].register_forward_pre_hook(lambda m, x: (x[0] + 1,)))


def _backward_hook(world):
    world.handles.append(world.net[0].second.register_full_backward_hook(
        lambda m, x, y: tuple(g * 2 if g is not None else None for g in x)))


def _grad_hook(world):
    weight = world.net[0].first.weight
    if weight.requires_grad:
        world.handles.append(weight.register_hook(lambda g: g * 3))


def _unhook(world):
    while world.handles:
        world.handles.pop().remove()


def _replace(world):
    flambeau.manual_seed(7)
    world.net[0].first.weight = nn.Parameter(flambeau.randn(6, 4))


def _replace_data(world):
    with flambeau.no_grad():
        world.net[2].second.weight.data = world.net[2].second.weight * 0.5


def _write(world):
    with flambeau.no_grad():
        world.net[2].second.bias.add_(0.25)


def _tie(world):
    world.net[2].first.weight = world.net[0].first.weight


def _add_module(world):
    flambeau.manual_seed(9)
    world.net[0].more.append(nn.Linear(4, 4))


def _remove_module(world):
    if len(world.net[0].more):
        del world.net[0].more[-1]


def _swap_member(world):
    world.net[2].drop = nn.Identity() if isinstance(world.net[2].drop, nn.Dropout) \
        else nn.Dropout(0.2)


def _exchange_class(world):
    world.net[0].__class__ = Other if type(world.net[0]) is Block else Block


#: Changes of one world.
CHANGES = {
    "rate": lambda w: setattr(w.net[0], "rate", w.net[0].rate + 0.125),
    "buffer": lambda w: w.net[0].seen.add_(1),
    "buffer replaced": lambda w: setattr(w.net[2], "seen", flambeau.ones(4)),
    "eval": lambda w: w.net.eval(),
    "train": lambda w: w.net.train(),
    "a part in eval": lambda w: w.net[0].eval(),
    "dropout": lambda w: setattr(w.net[2].drop, "p", 0.6),
    "frozen": lambda w: w.net[0].requires_grad_(False),
    "thawed": lambda w: w.net.requires_grad_(True),
    "one frozen": lambda w: w.net[2].first.bias.requires_grad_(False),
    "forward": _forward_of_first,
    "forward again": lambda w: w.net[0].__dict__.pop("forward", None),
    "hook": _hook, "pre hook": _pre_hook, "backward hook": _backward_hook, "grad hook": _grad_hook,
    "no hooks": _unhook, "parameter": _replace, "data": _replace_data, "written": _write,
    "tied": _tie, "added": _add_module, "removed": _remove_module, "swapped": _swap_member,
    "class": _exchange_class,
    "closure": lambda w: w.rescale(0.75), "closure again": lambda w: w.rescale(1.0),
    "gradients": lambda w: [setattr(p, "grad", flambeau.ones_like(p))
                            for p in w.net.parameters() if p.requires_grad],
    "learning rate": lambda w: w.optimizer.param_groups[0].update(lr=0.05),
    "momentum": lambda w: w.optimizer.param_groups[0].update(momentum=0.5),
}
