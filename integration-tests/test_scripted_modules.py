"""Modules with control flow on values: scripted, saved and loaded, they are what they were."""

import copy
import pickle

import pytest

import flambeau as fl
from flambeau import jit, nn


class Halve(nn.Module):
    def forward(self, x):
        while (x.abs() > 0.5).any():
            x = x / 2
        return x


class Deciding(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.inner = nn.Sequential(Halve(), nn.ReLU())
        self.register_buffer("limit", fl.tensor(0.0))

    def forward(self, x, scale=1.0):
        for _ in range(3):
            h = self.layer(x)
            x = x + self.inner(h) * scale if h.sum() > self.limit else x - h
        return x


class Wider(Deciding):
    def forward(self, x, scale=1.0):
        found = super().forward(x, scale)
        return found if found.max() < 9 else self.inner(found)


@pytest.fixture(params=[Deciding, Wider])
def module(request):
    fl.manual_seed(4)
    return request.param()


def test_a_scripted_module_is_the_module(module):
    scripted = jit.script(module)
    assert isinstance(scripted, type(module)) and isinstance(scripted, jit.ScriptModule)
    assert list(scripted.state_dict()) == list(module.state_dict())
    assert scripted.layer.weight is module.layer.weight
    assert scripted.original_name == type(module).__name__
    x = fl.randn(2, 3)
    for other in (scripted, copy.deepcopy(scripted), nn.Sequential(scripted), fl.compile(scripted)):
        assert fl.equal(other(x), module(x))
    assert not scripted.eval().layer.training and jit.script(scripted) is scripted
    assert module.training and module.layer.training
    again = pickle.loads(pickle.dumps(jit.script(nn.Sequential(nn.ReLU()))))
    assert fl.equal(again(x), x.relu())


def test_programs_of_modules(module, tmp_path):
    scripted = jit.script(module)
    scripted(fl.randn(2, 3), scale=0.5)
    scripted.save(tmp_path / "p")
    loaded = jit.load(tmp_path / "p")
    for size in (1, 2, 7):
        x = fl.randn(size, 3) * size
        assert fl.equal(loaded(x, scale=0.5), module(x, scale=0.5))
    assert "forward" not in vars(module.inner[0])


def test_buffers_and_parameters_stay_shared(module):
    program = jit.script(module, example_inputs=[(fl.ones(2, 3),)])
    x = fl.randn(4, 3)
    for limit in (-100.0, 100.0):
        module.limit.fill_(limit)
        assert fl.equal(program(x), module(x))
    program(x).sum().backward()
    grad = module.layer.weight.grad.clone()
    module.zero_grad()
    module(x).sum().backward()
    assert fl.equal(grad, module.layer.weight.grad)
