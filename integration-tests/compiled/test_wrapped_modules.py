"""A compiled module is a module: what is done to it is done to the module it was made of."""

import copy
import pickle

import pytest

import flambeau
from flambeau import compiler, nn

X = flambeau.randn(3, 4)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.register_buffer("scale", flambeau.ones(1))
        self.compiles = []

    def forward(self, x):
        self.compiles.append(compiler.is_compiling())
        return self.norm(self.body(x)) * self.scale

    def twice(self, x):
        return self(self(x))


@pytest.fixture
def pair():
    flambeau.manual_seed(0)
    model = Net()
    return model, flambeau.compile(model)


def test_names_and_children(pair):
    model, compiled = pair
    assert isinstance(compiled, nn.Module)
    assert compiled._orig_mod is model
    assert list(compiled.state_dict()) == [f"_orig_mod.{name}" for name in model.state_dict()]
    assert [name for name, _ in compiled.named_modules()] == [
        "", "_orig_mod", "_orig_mod.body", "_orig_mod.norm"]
    assert all(a is b for a, b in zip(compiled.parameters(), model.parameters(), strict=True))
    assert {"twice", "body", "forward"} <= set(dir(compiled))
    other = flambeau.compile(Net())
    other.load_state_dict(compiled.state_dict())
    assert flambeau.equal(other.eval()(X), compiled.eval()(X))


def test_it_is_called_compiled(pair):
    model, compiled = pair
    compiled(X)
    model(X)
    assert model.compiles == [True, False]
    assert compiled.twice(X).shape == (3, 4)
    with pytest.raises(AttributeError, match="missing"):
        _ = compiled.missing


def test_what_is_set_is_set_on_the_module(pair):
    model, compiled = pair
    compiled.label = "mine"
    compiled.scale = flambeau.tensor([2.0])
    compiled.body = nn.Linear(4, 4, bias=False)
    compiled.extra = nn.Parameter(flambeau.zeros(2))
    assert (model.label, model.scale.item()) == ("mine", 2.0)
    assert "bias" not in dict(model.body.named_parameters())
    assert "extra" in dict(model.named_parameters())
    assert "_orig_mod.extra" in compiled.state_dict()
    del compiled.extra
    assert not hasattr(model, "extra")
    compiled.training = False
    assert not model.training
    assert model.norm.training, "a flag of one module, as in PyTorch"


def test_modes_reach_the_module(pair):
    model, compiled = pair
    for mode in (False, True):
        compiled.train(mode)
        assert compiled.training is model.training is model.norm.training is mode
        model.train(not mode)
        assert compiled.training is not mode
        model.train(mode)
    compiled.eval()
    flambeau.compile(model)
    assert not model.training, "compiling changes no mode"
    compiled.requires_grad_(False)
    assert not any(p.requires_grad for p in model.parameters())
    compiled.double()
    assert model.body.weight.dtype == flambeau.float64


def test_hooks_of_both_run_once(pair):
    model, compiled = pair
    seen = []
    model.register_forward_hook(lambda *_: seen.append("inner"))
    compiled.register_forward_hook(lambda *_: seen.append("outer"))
    compiled.register_forward_pre_hook(lambda *_: seen.append("before"))
    compiled(X)
    assert seen == ["before", "inner", "outer"]


def test_copies_belong_to_their_own_module(pair):
    _, compiled = pair
    compiled.eval()
    wanted = compiled(X)
    for twin in (copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled)),
                 copy.copy(compiled)):
        assert flambeau.equal(twin(X), wanted)
        assert not twin.training
        assert twin._orig_mod.compiles[-1]
    twin = copy.deepcopy(flambeau.compile(Net(), fullgraph=True))
    assert type(twin._compiled).__name__ == "CompiledWithin"
    assert twin._orig_mod is twin._modules["_orig_mod"]
    replayed = flambeau.compile(Net(), replay=True, check_every=7)
    for twin in (copy.deepcopy(replayed), pickle.loads(pickle.dumps(replayed))):
        assert twin._compiled.check_every == 7


def test_inside_other_modules(pair):
    model, compiled = pair
    compiled.eval()
    wanted = model(X)
    whole = nn.Sequential(compiled, nn.ReLU())
    assert flambeau.equal(whole(X), wanted.relu())
    assert list(whole.state_dict())[0] == "0._orig_mod.scale" or "0._orig_mod.body.weight" in (
        whole.state_dict())

    class Wrapper(nn.Module):
        def __init__(self, module):
            super().__init__()
            self.module = module

        def forward(self, *args):
            return self.module(*args)

    assert flambeau.equal(Wrapper(compiled)(X), wanted)
    assert flambeau.equal(flambeau.compile(Wrapper(compiled))(X), wanted)
    model.body = flambeau.compile(model.body)
    assert flambeau.equal(compiled(X), wanted)
    assert "_orig_mod.body._orig_mod.weight" in compiled.state_dict()


def test_containers_are_containers():
    layers = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    compiled = flambeau.compile(layers)
    assert len(compiled) == 3
    assert compiled[1] is layers[1]
    assert list(compiled) == list(layers)
    assert layers[2] in compiled
    assert bool(flambeau.compile(nn.Sequential())), "a module without members is still there"
    with pytest.raises(TypeError):
        len(flambeau.compile(nn.ReLU()))


def test_training_steps(pair):
    model, compiled = pair
    twin = copy.deepcopy(model)
    for net, called in ((model, compiled), (twin, twin)):
        step = flambeau.optim.SGD(called.parameters(), 0.1)
        for _ in range(3):
            step.zero_grad()
            called(X).square().sum().backward()
            step.step()
        net.eval()
    for one, other in zip(model.parameters(), twin.parameters(), strict=True):
        assert flambeau.equal(one, other)


def test_compiled_in_place():
    model = Net()
    before = list(model.state_dict())
    assert model.compile(fullgraph=True) is None
    model(X)
    assert model.compiles == [True]
    assert list(model.state_dict()) == before
    assert copy.deepcopy(model)(X).shape == (3, 4)
    model.compile(backend="eager")
    model(X)
    assert model.compiles == [True, False]


def test_disabled_modules(pair):
    model, _ = pair
    plain = compiler.disable(model)
    assert isinstance(plain, nn.Module)
    flambeau.compile(lambda x: plain(x))(X)
    assert model.compiles == [False]
    model.body = compiler.disable(model.body)
    flambeau.compile(model)(X)
    assert model.compiles == [False, True]


def test_classes_of_modules():
    @flambeau.compile
    class Small(nn.Module):
        def forward(self, x):
            return x + 1, compiler.is_compiling()

    assert Small()(X)[1]
    assert isinstance(Small(), nn.Module)


def test_wrong_calls_name_the_module(pair):
    _, compiled = pair
    with pytest.raises(RuntimeError, match="body"):
        compiled(flambeau.ones(3, 5))
    with pytest.raises(TypeError):
        compiled()


def test_the_environment_turns_modules_and_decorators_off(monkeypatch):
    monkeypatch.setenv("FLAMBEAU_COMPILE", "0")
    model = Net()
    assert flambeau.compile(model) is model
    model.compile()
    model(X)

    @flambeau.compile(fullgraph=True)
    def read(x):
        return x.sum().item()

    assert read(flambeau.ones(2)) == 2.0
    assert model.compiles == [False]


def test_hooks_of_all_modules_run_once_around_each(pair):
    model, compiled = pair
    everywhere, seen = nn.modules.module, []
    hooks = [everywhere.register_module_forward_pre_hook(lambda m, args: seen.append(m)),
             everywhere.register_module_forward_hook(lambda m, args, out: seen.append(m)),
             everywhere.register_module_full_backward_hook(lambda m, *grads: seen.append(m))]
    counts = []
    try:
        for each in (model, compiled, compiled):
            seen.clear()
            each(X).sum().backward()
            counts.append([seen.count(m) for m in (model, model.body, model.norm, compiled)])
    finally:
        for hook in hooks:
            hook.remove()
    assert counts == [[3, 3, 3, 0]] * 3


def test_other_functions_are_compiled_in_the_same_way(pair):
    """As Lightning does with the steps of a module that it is given compiled."""
    model, compiled = pair

    def loss(x):
        model.compiles.append(compiler.is_compiling())
        return model.body(x).square().sum()

    step = compiled.dynamo_ctx(loss)
    for _ in range(2):
        found = flambeau.autograd.grad(step(X), list(model.body.parameters()))
        wanted = flambeau.autograd.grad(model.body(X).square().sum(),
                                        list(model.body.parameters()))
        for ours, theirs in zip(found, wanted, strict=True):
            flambeau.testing.assert_close(ours, theirs)
    assert model.compiles and all(model.compiles)
