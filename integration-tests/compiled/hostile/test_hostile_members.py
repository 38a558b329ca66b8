"""Compiled functions that look at the members of modules in all ways, which change between calls.

Members lie in dicts and are attributes, too: what is seen of them is what Python would see.
"""

import functools

from agreeing import agree, each_way, numbers

import flambeau
import flambeau.nn.functional as F
from flambeau import nn


def layer(scale=1.0):
    made = nn.Linear(4, 4)
    for param in made.parameters():
        param.data.copy_(flambeau.linspace(-scale, scale, param.numel()).view_as(param))
    return made.requires_grad_(False)


def gain(value):
    return nn.Parameter(flambeau.full((4,), value), requires_grad=False)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = layer()
        self.b = nn.Sequential(layer(0.5), nn.Tanh())
        self.g = gain(1.0)
        self.register_buffer("s", flambeau.zeros(4))
        self.k = 2.0


def chained(layers, x):
    return functools.reduce(lambda y, each: each(y), layers, x)


def total(tensors, x):
    return sum((each.mean() for each in tensors), x)


def replaced_buffer(m, x):
    m.s = m.s + x.mean(0)
    return x + m.s


def written_dict(m, x):
    m._buffers["s"] = m._buffers["s"] + 1
    return x + m.s


def updated_dict(m, x):
    m._buffers.update(s=m.s * 2 + 1)
    return x + m.s


def taken_out(m, x):
    taken = m._buffers.pop("s", None)
    m._buffers["s"] = m.g + 1 if taken is None else taken
    return x if taken is None else x + taken


def trained(m, x):
    m.apply(lambda each: each.train(m.k > 2))
    return x + m.b.training


LOOKS = {
    "length": lambda m, x: x * len(m._parameters) + len(m._modules),
    "contains": lambda m, x: x + ("h" in m._parameters) + 2 * ("g" in m._parameters)
    + 3 * ("c" in m._modules),
    "get": lambda m, x: x if m._parameters.get("h") is None else x * m._parameters.get("h"),
    "get_or": lambda m, x: x * m._buffers.get("t", 3.0),
    "names": lambda m, x: functools.reduce(lambda y, name: y + len(name), m._parameters, x),
    "list": lambda m, x: x + len(list(m._parameters)) + sum(len(n) for n in m._modules.keys()),
    "stars": lambda m, x: x * {**m._parameters}["g"] + len({**m._buffers}),
    "copy": lambda m, x: x * m._parameters.copy()["g"],
    "dict": lambda m, x: x * dict(m._parameters)["g"] + len(dict(m._buffers)),
    "enumerate": lambda m, x: sum((p * k for k, p in enumerate(m._parameters.values())), x),
    "zip": lambda m, x: sum((p * len(name) for name, p in zip(
        m._parameters.keys(), m._buffers.values(), strict=False)), x),
    "sorted": lambda m, x: x + sum(len(n) * k for k, n in enumerate(sorted(m._modules))),
    "truth": lambda m, x: x + 1 if m._buffers else x - 1,
    "not": lambda m, x: x + (not m._parameters),
    "class": lambda m, x: x + isinstance(m._modules, dict),
    "items": lambda m, x: sum((v * len(name) for name, v in m._buffers.items()), x),
    "union": lambda m, x: x + len(m._parameters | m._buffers),
    "difference": lambda m, x: x + len(m._modules.keys() - {"a"}),
    "equal": lambda m, x: x + (m._buffers.keys() == {"s"}),
    "modules": lambda m, x: chained(m._modules.values(), x),
    "children": lambda m, x: chained(m.children(), x),
    "parameters": lambda m, x: total((p for _, p in m.named_parameters()), x),
    "buffers": lambda m, x: total(m.buffers(), x),
    "first": lambda m, x: x + next(iter(m.parameters())).sum(),
    "submodule": lambda m, x: m.get_submodule("b.0")(x),
    "getattr": lambda m, x: m.g * x + getattr(m, "nothing", 4.0),
    "hasattr": lambda m, x: x * 2 if hasattr(m, "h") else x * 3,
    "vars": lambda m, x: x + len(vars(m)["_parameters"]),
    "attributes": lambda m, x: x * m.__dict__["g"] + len(m.__dict__["_modules"]),
    "state": lambda m, x: total(m.state_dict().values(), x),
    "training": lambda m, x: x + m.training + 2 * m.b.training + 4 * m.b[1].training,
    "classes": lambda m, x: x + isinstance(m.a, nn.Linear) + 2 * (type(m.b[0]) is nn.Linear),
    "settings": lambda m, x: x + m.a.in_features + len(m.b),
    "own": lambda m, x: x + (m.k if "k" in m.__dict__ else 9.0),
    "default": lambda m, x: x + m._buffers.setdefault("z", flambeau.full((4,), m.k)),
    "network": lambda m, x: m.b(m.a(x)) * m.g + m.s,
    "slices": lambda m, x: m.b[:1](x) + m.b[-1](x),
    "text": lambda m, x: x + len(repr(m.a)),
    "unbound": lambda m, x: nn.Linear.forward(m.a, x),
    "weights": lambda m, x: F.linear(x, m.a.weight, m.a._parameters["bias"]),
    **{look.__name__: look for look in (replaced_buffer, written_dict, updated_dict, taken_out,
                                        trained)},
}

CHANGES = (
    lambda m: m.register_parameter("h", gain(2.0)),
    lambda m: setattr(m, "c", layer(0.2)),
    lambda m: m._parameters["g"].mul_(2),
    lambda m: m._parameters.update(g=gain(3.0)),
    lambda m: m.__dict__.update(g=flambeau.full((4,), 5.0)),
    lambda m: m.__dict__.pop("g", None),
    lambda m: delattr(m, "h"),
    lambda m: m.register_buffer("t", flambeau.full((4,), 7.0)),
    lambda m: m._buffers.clear(),
    lambda m: m.register_buffer("s", flambeau.ones(4)),
    lambda m: m.b.__setitem__(0, layer(0.1)),
    lambda m: m.b.append(nn.Sigmoid()),
    lambda m: m.eval(),
    lambda m: m.b[1].train(),
    lambda m: setattr(m, "a", nn.Identity()),
    lambda m: setattr(m, "a", layer(2.0)),
    lambda m: setattr(m, "k", 4.0),
    lambda m: setattr(m, "_parameters", {"g": gain(1.5)}),
    lambda m: m._modules.update({"a": m._modules.pop("a")}),
    lambda m: setattr(m.a, "in_features", 5),
    lambda m: m.a.weight.data.add_(1),
    lambda m: setattr(m.a, "bias", None),
    lambda m: m.b.register_forward_hook(lambda module, given, y: y * 2),
    lambda m: m.load_state_dict({name: v * 1.5 for name, v in m.state_dict().items()}),
)


def tried(work, *args):
    try:
        return work(*args)
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def program(name):
    def use(compiled, rows):
        network, x = Network(), numbers(rows)
        work = compiled(lambda x: LOOKS[name](network, x))
        seen = [work(x) for _ in range(3)]
        for change in CHANGES:
            seen.append(isinstance(tried(change, network), str))
            seen += [tried(work, x) for _ in range(3)]
        return seen
    use.__name__ = name
    return use


@each_way([program(name) for name in LOOKS])
def test_members_agree(use, way):
    agree(use, way)
