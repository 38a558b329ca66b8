"""Compiled networks that are called with many lengths, masks and caches, and change in between."""

import collections

from agreeing import agree, each_way, numbers

import flambeau
from flambeau import nn, optim
from flambeau.nn.utils import parametrize

USES = []


def use(program):
    USES.append(program)
    return program


def filled(module, scale=1.0):
    for param in module.parameters():
        param.data.copy_(flambeau.linspace(-scale, scale, param.numel()).view_as(param))
    return module


def gradients(module):
    return [None if p.grad is None else p.grad.clone() for p in module.parameters()]


@use
def many_lengths(compiled, rows):
    net, scale, seen = nn.Sequential(filled(nn.Linear(4, 4)), nn.ReLU()), [1.0], []

    @compiled
    def work(x):
        return (net(x) * scale[0]).detach()

    changes = {2: lambda: scale.append(scale.pop() * 2), 3: lambda: net[0].weight.data.mul_(0.5),
               4: lambda: net.__setitem__(0, filled(nn.Linear(4, 4), 0.3))}
    for turn in range(6):
        seen += [work(numbers(length, turn)) for length in range(1, 25)]
        changes.get(turn, lambda: None)()
    return seen


@use
def encoders_with_masks(compiled, rows):
    layer = nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True)
    encoder = filled(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), 0.3)
    work, seen = compiled(encoder.requires_grad_(False)), []
    for turn in range(4):
        for length in (2, 3, 5, 8):
            x = numbers(2 * length, turn).view(2, length, 4)
            mask = nn.Transformer.generate_square_subsequent_mask(length)
            padding = flambeau.zeros(2, length, dtype=flambeau.bool)
            padding[1, -1] = True
            seen += [work(x), work(x, mask=mask), work(x, mask, is_causal=True),
                     work(x, src_key_padding_mask=padding)]
        for dropout in encoder.modules() if turn == 1 else ():
            if isinstance(dropout, nn.Dropout):
                dropout.p = 0.5
        encoder.train(turn == 1)
        encoder.layers[0].norm_first = turn == 2
    return seen


@use
def a_cache_of_keys(compiled, rows):
    project = filled(nn.Linear(4, 12)).requires_grad_(False)
    seen, cache = [], flambeau.zeros(2, 16, 4)

    @compiled
    def step(x, position):
        query, key, value = project(x).split(4, -1)
        cache[0, position], cache[1, position] = key[0], value[0]
        scores = query @ cache[0, : position + 1].T * 0.5
        return scores.softmax(-1) @ cache[1, : position + 1], cache[:, : position + 1].sum()

    for turn in range(3):
        x = numbers(1, turn)
        for position in range(12):
            x, total = step(x, position)
            seen += [x.clone(), total]
        cache.zero_()
    return seen, cache


@use
def recurrent_layers(compiled, rows):
    seen = []
    for make in (lambda: nn.LSTM(4, 3, 2, batch_first=True, bidirectional=True),
                 lambda: nn.GRU(4, 3), lambda: nn.RNN(4, 3, nonlinearity="relu")):
        layer, state = filled(make()), None
        work = compiled(layer)
        for k in range(6):
            x = numbers(6, k).view(2, 3, 4)
            y, state = work(x) if k % 2 else work(x, state)
            is_pair = isinstance(state, tuple)
            state = tuple(t.detach() for t in state) if is_pair else state.detach()
            y.square().sum().backward()
            seen += [y.detach(), state, gradients(layer)]
            if k == 3:
                layer.zero_grad()
    return seen


@use
def convolutions_and_norms(compiled, rows):
    net = filled(nn.Sequential(nn.Conv1d(4, 4, 3, padding=1), nn.BatchNorm1d(4), nn.GELU(),
                               nn.GroupNorm(2, 4), nn.Dropout(0.3)))
    work, optimizer, seen = compiled(net), optim.SGD(net.parameters(), 0.1, momentum=0.5), []
    for k in range(8):
        optimizer.zero_grad()
        y = work(numbers(rows * 4, k).view(rows, 4, 4))
        y.square().mean().backward()
        optimizer.step()
        seen += [y.detach(), [p.detach().clone() for p in net.parameters()],
                 [b.clone() for b in net.buffers()]]
        net.train(k != 4)
        net[1].momentum = None if k > 4 else 0.1
    return seen


@use
def weights_of_other_weights(compiled, rows):
    class Symmetric(nn.Module):
        def forward(self, w):
            return w.triu() + w.triu(1).T

    shared, x, seen = filled(nn.Linear(4, 4)), numbers(rows), []
    net = nn.Sequential(shared, nn.Tanh(), shared)

    @compiled
    def work():
        y = net(x).sum()
        y.backward()
        return y.detach()

    for k in range(8):
        seen += [work(), gradients(net)]
        if k == 2:
            parametrize.register_parametrization(shared, "weight", Symmetric())
        if k == 5:
            parametrize.remove_parametrizations(shared, "weight")
    return seen


@use
def classes_made_of_layers(compiled, rows):
    class Scaled(nn.Linear):
        factor = 1.0

        def forward(self, x):
            return super().forward(x) * self.factor

    class Skipping(nn.Sequential):
        def forward(self, x):
            for name, layer in self._modules.items():
                if name != "skip":
                    x = layer(x)
            return x

    scaled = filled(Scaled(4, 4))
    net = Skipping(collections.OrderedDict(a=scaled, skip=nn.ReLU(), b=nn.Tanh()))
    x, seen, whole, part = numbers(rows), [], compiled(net), compiled(lambda x: scaled(x))
    changes = {2: lambda: setattr(Scaled, "factor", 3.0), 3: lambda: setattr(scaled, "factor", 5.0),
               4: lambda: setattr(net, "skip2", nn.Sigmoid()), 5: lambda: delattr(net, "b"),
               6: lambda: setattr(Scaled, "forward", lambda self, x: x + 1)}
    for k in range(8):
        seen += [whole(x).detach(), part(x).detach()]
        changes.get(k, lambda: None)()
    return seen


@use
def hooks_of_parameters_come_and_go(compiled, rows):
    """Afterwards gradients come to a leaf as a whole, which adds them in another order."""
    net, x, kept = filled(nn.Linear(4, 4)), numbers(rows), []
    optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    @compiled
    def work():
        optimizer.zero_grad()
        loss = (net(x) + net(x * 0.3)).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    def drop(param):
        param.grad = None

    seen = [work() for _ in range(5)]
    for add in (lambda: net.weight.register_hook(lambda g: g * 0.5),
                lambda: net.weight.register_post_accumulate_grad_hook(drop),
                lambda: net.bias.register_hook(lambda g: g + 1)):
        kept.append(add())
        seen += [work() for _ in range(5)]
        kept.pop().remove()
        seen += [work() for _ in range(5)]
    return seen, gradients(net)


@each_way(USES)
def test_networks_agree(use, way):
    agree(use, way)
