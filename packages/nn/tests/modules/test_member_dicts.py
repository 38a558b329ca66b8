"""The dicts of a module are real ones: read, changed, copied and replaced, as in PyTorch."""

import copy
import gc
import json
import pickle
import random
import weakref
from collections import OrderedDict

import pytest

import flambeau
from flambeau import nn
from flambeau.utils import _pytree

PLACES = ("_parameters", "_buffers", "_modules")
NAMES = ("a", "b", "c")


def made(torch, word):
    """A member, which its number distinguishes."""
    kind, number = word
    values = torch.full((1,), float(number))
    if kind == "module":
        layer = torch.nn.Identity()
        layer.number = number
        return layer
    return {"parameter": torch.nn.Parameter, "tensor": lambda t: t,
            "None": lambda t: None}[kind](values)


def told(value):
    """What distinguishes a member."""
    if value is None:
        return None
    number = getattr(value, "number", None)
    return int(value) if number is None else ("module", number)


def shown(module):
    """All that a program sees of a module's members."""
    dicts = {place: {name: told(each) for name, each in getattr(module, place).items()}
             for place in PLACES}
    inside = {place: [told(each) for each in vars(module)[place].values()] for place in PLACES}
    order = {place: list(reversed(getattr(module, place))) for place in PLACES}
    attributes = {name: told(getattr(module, name, None)) if hasattr(module, name) else "absent"
                  for name in NAMES}
    return dicts, inside, order, attributes, list(module.state_dict())


def steps(seed):
    """A random program: words of what is done, and with what."""
    draw = random.Random(seed)
    for number in range(12):
        kind = draw.choice(("parameter", "tensor", "module", "None"))
        fitting = {"parameter": "_parameters", "tensor": "_buffers", "module": "_modules"}
        place = fitting.get(kind, draw.choice(PLACES))
        if kind == "tensor" and draw.random() < 0.3:
            place = "_parameters"       # as libraries do that compute with other weights
        what = draw.choice(("set attribute", "set item", "set item", "delete attribute",
                            "delete item", "pop", "update", "or", "default", "clear", "replace",
                            "hide", "register", "popitem", "swap"))
        yield what, draw.choice(NAMES), place, (kind, number)


def do(torch, module, what, name, place, word):
    """Take one step."""
    value = made(torch, word)
    members = getattr(module, place)
    is_member = any(name in getattr(module, each) for each in PLACES)
    if what == "set attribute" and (value is not None or is_member):  # one None is as another
        setattr(module, name, value)
    elif what == "set item":
        members[name] = value
    elif what == "delete attribute":
        delattr(module, name)
    elif what == "delete item":
        del members[name]
    elif what == "pop":
        members.pop(name, None)
    elif what == "popitem":
        members.popitem()
    elif what == "update":
        members.update({name: value}, c=value)
    elif what == "or":
        members |= {name: value}
    elif what == "default":
        members.setdefault(name, value)
    elif what == "clear":
        members.clear()
    elif what == "replace":
        setattr(module, place, OrderedDict({name: value}))
    elif what == "swap":
        setattr(module, place, getattr(module, place).copy())
    elif what == "hide" and value is not None:
        object.__setattr__(module, name, value)
    elif what == "register" and word[0] == "parameter":
        module.register_parameter(name, value)
    elif what == "register" and word[0] == "tensor":
        module.register_buffer(name, value)
    elif what == "register":
        module.add_module(name, value if word[0] == "module" else None)


def run(torch, seed):
    """What a program shows after each step, or the errors that it meets."""
    module = torch.nn.Module()
    found = []
    for step in steps(seed):
        try:
            do(torch, module, *step)
            found.append((step, shown(module)))
        except (KeyError, TypeError, AttributeError) as error:
            found.append((step, type(error).__name__))
    return found


@pytest.mark.oracle
@pytest.mark.parametrize("seed", range(150))
def test_random_programs_see_what_they_see_in_pytorch(seed):
    torch = pytest.importorskip("torch")
    for ours, theirs in zip(run(flambeau, seed), run(torch, seed), strict=True):
        assert ours == theirs


def test_they_are_dicts():
    layer = nn.Linear(2, 1)
    members = layer._parameters
    assert isinstance(members, dict) and layer.__dict__["_parameters"] is members
    assert dict(members) == {**members} == members.copy()
    assert type(members.copy()) is type(copy.copy(members)) is type(members | {}) is dict
    assert type(members)({"a": 1}) == type(members)(a=1) == {"a": 1}
    assert json.dumps(dict.fromkeys(members)) == '{"weight": null, "bias": null}'


def test_a_tensor_takes_the_place_of_a_parameter():
    layer = nn.Linear(2, 1)
    weight = flambeau.ones(1, 2, requires_grad=True)
    layer._parameters["weight"] = weight * 2
    layer(flambeau.ones(1, 2)).sum().backward()
    assert weight.grad.tolist() == [[2, 2]]
    assert dict(layer.named_parameters())["weight"] is layer.weight


def test_a_copied_dict_is_of_its_own_module():
    first, second = nn.Linear(2, 1), nn.Module()
    second.__dict__.update(first.__dict__)
    second._parameters["weight"] = None
    assert second.weight is None and first.weight is not None
    shallow = copy.copy(first)
    del shallow.bias
    assert list(first._parameters) == ["weight", "bias"]
    replica = first.__new__(type(first))
    replica.__dict__ = first.__dict__.copy()
    replica._parameters = replica._parameters.copy()
    replica._parameters["weight"] = flambeau.zeros(1, 2)
    assert replica.weight.tolist() == [[0, 0]] and first.weight is not replica.weight


def test_a_pickle_has_each_member_once():
    net = nn.Sequential(nn.Linear(2, 1), nn.BatchNorm1d(1))
    state = net[1].__getstate__()
    assert type(state["_buffers"]) is dict and "running_mean" not in state
    again = pickle.loads(pickle.dumps(net))
    assert again[0].weight is again[0]._parameters["weight"]
    again[0]._parameters["weight"] = None
    assert again[0].weight is None


def test_modules_are_freed_without_the_collector():
    net = nn.Sequential(nn.Linear(2, 1), nn.BatchNorm1d(1))
    net[0]._parameters["weight"] = None
    alive = weakref.ref(net[1])
    gc.disable()
    try:
        del net
        assert alive() is None
    finally:
        gc.enable()


def test_members_outlive_their_module():
    members = nn.Linear(2, 1)._parameters
    members["weight"] = None
    del members["bias"]
    assert members == {"weight": None}


def test_members_are_trees_as_dicts_are():
    net = nn.Linear(2, 2)
    leaves, spec = _pytree.tree_flatten(net._parameters)
    assert [id(leaf) for leaf in leaves] == [id(net.weight), id(net.bias)]
    assert spec == _pytree.tree_flatten(dict(net._parameters))[1]
    assert type(_pytree.tree_unflatten(leaves, spec)) is dict
    zeros = _pytree.tree_map(lambda a, b: (a - b).abs().sum().item(),
                             dict(net._parameters), net._parameters)
    assert zeros == {"weight": 0, "bias": 0}
    grads = flambeau.func.grad(lambda params: flambeau.func.functional_call(
        net, params, (flambeau.ones(1, 2),)).sum())(net._parameters)
    assert {name: grad.tolist() for name, grad in grads.items()} == {
        "weight": [[1, 1], [1, 1]], "bias": [1, 1]}
