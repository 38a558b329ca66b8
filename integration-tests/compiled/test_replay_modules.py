"""Modules that are replayed: all of Flambeau's own are, and whatever is changed in them is seen."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

import flambeau
from flambeau import jit, nn
from flambeau.jit.replay.call import (
    EXCHANGE,
    MOST_PROGRAMS,
    MOST_STATES,
    REPLAYS_FOR_RECORDING,
    Replayed,
)


def encoder():
    layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def decoder():
    return nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, 0.0, batch_first=True), 1)


OWN = {
    "encoder": (encoder, lambda m, x: m(x)),
    "decoder": (decoder, lambda m, x: m(x, x)),
    "attention": (lambda: nn.MultiheadAttention(8, 2, batch_first=True), lambda m, x: m(x, x, x)),
    "recurrent": (lambda: nn.LSTM(8, 4, batch_first=True), lambda m, x: m(x)[0]),
    "sequence": (lambda: nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8)),
                 lambda m, x: m(x)),
    "table": (lambda: nn.ModuleDict({"a": nn.Linear(8, 8)}), lambda m, x: m["a"](x)),
}


class Listing(nn.Module):
    """Looks at its members as programs do that know how modules hold them."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))
        self.scale = nn.Parameter(flambeau.ones(8))
        self.register_buffer("shift", flambeau.zeros(8))

    def forward(self, x):
        for layer in self.layers._modules.values():
            x = layer(x)
        for name, param in self._parameters.items():
            x = x * param + len(name)
        if self._buffers:
            x = x + sum(dict(**self._buffers).values())
        return x if self._parameters.get("other") is None else x * self._parameters["other"]


def close(module):
    module.requires_grad_(False)
    return module.eval()


@pytest.mark.parametrize("name", OWN)
def test_own_modules_are_replayed(name):
    make, use = OWN[name]
    module = close(make())
    replayed = Replayed(lambda x: use(module, x), 0)
    for length in (3, 3, 3, 3, 5, 5, 5):
        x = flambeau.randn(2, length, 8)
        one, other = use(module, x), replayed(x)
        if isinstance(one, tuple):
            one, other = one[0], other[0]
        assert one.tolist() == other.tolist()
    assert replayed.earned() == 2 and len(replayed.programs) == 2, replayed.explain()


def _deepest(module):
    return [m for m in module.modules() if isinstance(m, nn.Linear)][-1]


def _replace_layer(module):
    module.layers[1] = close(nn.Linear(8, 8))


def _replace_parameter(module):
    _deepest(module).weight = nn.Parameter(flambeau.randn(8, 8), requires_grad=False)


def _write_dict(module):
    module._parameters["scale"] = nn.Parameter(flambeau.randn(8), requires_grad=False)


def _add_parameter(module):
    module.register_parameter("other", nn.Parameter(flambeau.randn(8), requires_grad=False))


CHANGES = {
    "a layer is replaced": _replace_layer,
    "a layer is added": lambda m: m.layers.append(close(nn.Linear(8, 8))),
    "a layer is taken out": lambda m: m.layers.pop(0),
    "layers change places": lambda m: m.layers._modules.update(
        {"0": m.layers[1], "1": m.layers[0]}),
    "a parameter is replaced": _replace_parameter,
    "a parameter is written to": lambda m: _deepest(m).weight.mul_(2),
    "its data is replaced": lambda m: setattr(_deepest(m).weight, "data", flambeau.randn(8, 8)),
    "the dict is written to": _write_dict,
    "a parameter is added": _add_parameter,
    "a buffer is replaced": lambda m: setattr(m, "shift", flambeau.randn(8)),
    "a buffer is taken out": lambda m: delattr(m, "shift"),
    "a hook is added": lambda m: _deepest(m).register_forward_hook(lambda m, x, y: y * 2),
    "forward is replaced": lambda m: setattr(_deepest(m), "forward", lambda x: x - 1),
    "a class is exchanged": lambda m: setattr(_deepest(m), "__class__", nn.Identity),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changes_of_members_are_seen(change):
    module = close(Listing())
    replayed = Replayed(module, 0)
    x = flambeau.randn(2, 8)
    for _ in range(4):
        assert replayed(x).tolist() == module(x).tolist()
    assert replayed.earned() >= 2, replayed.explain()
    CHANGES[change](module)
    for _ in range(3):
        assert replayed(x).tolist() == module(x).tolist()


def test_settings_of_layers_are_seen():
    module = close(encoder())
    replayed = Replayed(module, 0)
    x = flambeau.randn(2, 3, 8)
    for _ in range(4):
        replayed(x)
    assert replayed.earned() >= 2, replayed.explain()
    for change in (lambda layer: setattr(layer, "norm_first", True),
                   lambda layer: setattr(layer.norm1, "eps", 0.5),
                   lambda layer: setattr(layer, "activation", flambeau.tanh),
                   lambda layer: setattr(layer.self_attn, "num_heads", 1)):
        change(module.layers[1])
        for _ in range(2):
            assert replayed(x).tolist() == module(x).tolist()


def test_a_program_for_each_length():
    """As replays pay for them; a recording of the same arguments drops the oldest of these."""
    module, table = close(nn.Sequential(nn.Linear(8, 8), nn.Tanh())), {"by": 0.0}
    replayed = Replayed(lambda x: module(x) * table["by"], 0)
    for _ in range(12):
        for length in range(1, 81):
            x = flambeau.randn(length, 8)
            assert replayed(x).tolist() == (module(x) * table["by"]).tolist()
    assert 40 < len(replayed.programs) <= MOST_PROGRAMS
    x = flambeau.randn(3, 8)
    for by in range(12):
        table["by"] = float(by)
        for _ in range(8 * EXCHANGE * REPLAYS_FOR_RECORDING):
            assert replayed(x).tolist() == (module(x) * by).tolist()
    alike = replayed._alike((x,), {})
    assert 1 < len(alike) <= MOST_STATES and len(replayed.programs) <= MOST_PROGRAMS
    assert len(replayed.records) == len(replayed.programs)


def test_recordings_share_what_they_know_of_modules():
    """Until something is changed: the recordings that follow see the change, and share that."""
    net = close(encoder())
    compiled, found = Replayed(net, 0), []

    def called_over(lengths):
        for length in lengths:
            x = flambeau.randn(1, length, 8)
            with flambeau.no_grad():
                for _ in range(3):
                    assert compiled(x).tolist() == net(x).tolist()
            found.append(compiled.records[id(compiled.programs[0])].trees[id(net)])

    called_over((3, 4, 5))
    net.layers[1].norm1.eps = 0.5
    called_over((6, 7))
    net.layers[0].linear1.bias = nn.Parameter(flambeau.ones(16))
    called_over((8, 9))
    assert [found.index(each) for each in found] == [0, 0, 0, 3, 3, 5, 5]


def test_threads_call_with_many_lengths():
    """Programs are recorded, dropped and used at the same time."""
    module = close(nn.Sequential(nn.Linear(8, 8), nn.Tanh()))
    replayed = Replayed(module, 5)
    given = [flambeau.randn(length, 8) for length in range(1, 81)]
    wanted = [module(x).tolist() for x in given]

    def work(start):
        turns = [*range(start, 80), *range(start)] * 6
        return all(replayed(given[k]).tolist() == wanted[k] for k in turns)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, (0, 20, 40, 60)))
    assert len(replayed.records) == len(replayed.programs) <= MOST_PROGRAMS


def test_members_are_arguments():
    """As a dict is, of functions that are traced and replayed."""
    net = close(nn.Linear(8, 8))

    def fn(params, x):
        return x @ params["weight"] + params["bias"]

    x = flambeau.randn(2, 8)
    assert jit.trace(fn, (net._parameters, x))(net._parameters, x).tolist() == \
        fn(net._parameters, x).tolist()
    replayed = Replayed(fn, 0)
    for scale in (1.0, 1.0, 1.0, 2.0, 2.0, 2.0):
        net.weight = nn.Parameter(net.weight * scale, requires_grad=False)
        assert replayed(net._parameters, x).tolist() == fn(net._parameters, x).tolist()
