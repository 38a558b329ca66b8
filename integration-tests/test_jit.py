"""Traced and compiled networks of all packages against eager: same results, same training."""

from __future__ import annotations

import copy
import pickle

import pytest

import flambeau
import flambeau.nn.functional as F
from flambeau import jit, nn, optim
from flambeau.jit import bridge, compiling

X = flambeau.ones(1)


@pytest.fixture(autouse=True)
def small_kernels_wait():
    """As large ones do."""
    bridge.configure_deferral(compiling.make_plan, 1)
    yield
    bridge.configure_deferral(compiling.make_plan)


def cnn():
    """A small network with everything that is awkward to record: statistics, dropout, views."""
    flambeau.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(8 * 16, 32), nn.GELU(), nn.Dropout(0.1), nn.Linear(32, 10))


class Block(nn.Module):
    """A transformer block over tokens."""

    def __init__(self, width=16):
        super().__init__()
        flambeau.manual_seed(0)
        self.tokens = nn.Embedding(11, width)
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        inner = 4 * width
        self.mlp = nn.Sequential(nn.Linear(width, inner), nn.GELU(), nn.Linear(inner, width))
        self.read = nn.Linear(width, 11)

    def forward(self, tokens):
        x = self.tokens(tokens)
        n, t, d = x.shape
        q, k, v = self.qkv(self.norm(x)).view(n, t, 3, 4, d // 4).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + y.transpose(1, 2).reshape(n, t, d)
        return self.read(x + self.mlp(x))


def images(count):
    return flambeau.randn(count, 1, 8, 8)


def tokens(count):
    return flambeau.randint(0, 11, (count, 7))


MODELS = [(cnn, images), (Block, tokens)]


@pytest.mark.parametrize(("make", "data"), MODELS, ids=["cnn", "transformer"])
def test_traced_modules(make, data, tmp_path):
    model = make().eval()
    program = jit.trace(model, data(4), check=True)
    program.save(tmp_path / "p")
    loaded = jit.load(tmp_path / "p")
    for count in (1, 2, 9):
        x = data(count)
        with flambeau.no_grad():
            wanted = model(x)
        assert flambeau.equal(program(x), wanted)
        assert flambeau.equal(program.reference(x), wanted)
        assert flambeau.equal(loaded(x), wanted)


def test_traced_modules_keep_their_names():
    text = str(jit.trace(cnn().eval(), images(2)).graph)
    assert "%1.running_mean: float32[8] captured" in text
    assert "%8.weight: float32[10, 32] captured" in text


def step(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x).flatten(0, -2), y.flatten())
    loss.backward()
    optimizer.step()
    return loss


def train(run, make, make_optimizer, batches):
    model = make()
    optimizer = make_optimizer(model.parameters())
    scheduler = optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.5)
    flambeau.manual_seed(1)
    losses = []
    for x, y in batches:
        losses.append(run(model, optimizer, x, y).item())
        scheduler.step()
    return losses, model


@pytest.mark.parametrize("make_optimizer", [
    lambda p: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=1e-3),
    lambda p: optim.Adam(p, lr=1e-2),
    lambda p: optim.AdamW(p, lr=1e-2),
], ids=["sgd", "adam", "adamw"])
@pytest.mark.parametrize(("make", "data"), MODELS, ids=["cnn", "transformer"])
def test_compiled_training_steps(make, data, make_optimizer):
    """Forward, backward and update in one call, while the learning rate changes."""
    batches = []
    for count in (6, 6, 3, 6, 6, 6):
        x = data(count)
        batches.append((x, x if make is Block else flambeau.randint(0, 10, (count,))))
    compiled = jit.compile(step)
    wanted, model = train(step, make, make_optimizer, batches)
    found, twin = train(compiled, make, make_optimizer, batches)
    assert found == wanted
    for name, tensor in model.state_dict().items():
        assert flambeau.equal(twin.state_dict()[name], tensor), name


def test_backward_outside_of_what_is_compiled():
    model = cnn()
    compiled = jit.compile(lambda x: F.gelu(model(x)).sum())
    x = images(3).requires_grad_(True)
    grads = []
    for run in (compiled, compiled.fn):
        x.grad = None
        model.zero_grad()
        flambeau.manual_seed(2)
        run(x).backward()
        grads.append([x.grad.clone(), *(p.grad.clone() for p in model.parameters())])
    for one, other in zip(*grads, strict=True):
        assert flambeau.equal(one, other)


def test_gradients_inside_a_trace():
    w = flambeau.randn(6, 3, requires_grad=True)

    def fn(x):
        loss = (x @ w).tanh().square().mean(0).sum()
        (grad,) = flambeau.autograd.grad(loss, w)
        return loss.detach(), grad

    program = jit.trace(fn, flambeau.randn(4, 6))
    for count in (1, 2, 5):
        x = flambeau.randn(count, 6)
        for one, other in zip(program(x), fn(x), strict=True):
            assert flambeau.equal(one, other)


def test_writing_what_backward_needs_is_an_error_as_in_eager():
    def fn(x):
        y = x.exp()
        y.add_(1)
        y.sum().backward()

    for run in (fn, jit.compile(fn)):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            run(flambeau.ones(3, requires_grad=True))


def test_writing_to_leaves_is_an_error_as_in_eager():
    x = flambeau.ones(3, requires_grad=True)
    for run in (lambda x: x.add_(1), jit.compile(lambda x: x.add_(1))):
        with pytest.raises(RuntimeError, match="leaf"):
            run(x)


def test_operators_registered_at_run_time():
    operator = flambeau.core.register_op(
        "jit_test_scaled(Tensor self, Scalar by) -> Tensor", float="self * by + 1")
    program = jit.trace(lambda x: operator(x, 3.0).exp() * 2, flambeau.randn(4, 2))
    assert "jit_test_scaled(%0, by=3.0)" in str(program.graph)
    x = flambeau.randn(3, 2)
    assert flambeau.equal(program(x), operator(x, 3.0).exp() * 2)
    assert flambeau.equal(program.reference(x), program(x))


def test_flambeau_compile():
    assert flambeau.compile(lambda x: x + 1)(flambeau.ones(2)).tolist() == [2.0, 2.0]


def test_compiled_modules_are_modules():
    model = cnn()
    compiled = flambeau.compile(model)
    assert isinstance(compiled, nn.Module)
    assert [name for name, _ in compiled.named_children()] == ["_orig_mod"]
    assert set(compiled.state_dict()) == {f"_orig_mod.{name}" for name in model.state_dict()}
    x = images(3)
    compiled.eval()
    assert not model.training
    whole = nn.Sequential(compiled, nn.Softmax(1)).eval()
    wanted = model(x)
    assert flambeau.equal(whole(x), wanted.softmax(1))
    model.label = "mine"
    assert compiled.label == "mine"
    assert "reads" in compiled.explain()
    for twin in (copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled))):
        assert flambeau.equal(twin(x), wanted)
        assert twin._orig_mod is not model


def test_modes_and_backends_have_names():
    def fn(x):
        return x + 1

    assert flambeau.compile(fn, mode="reduce-overhead", backend="inductor")(X).tolist() == [2.0]
    with pytest.raises(ValueError, match=r"no mode 'fast'; there are 'default', 'reduce-overhead'"):
        flambeau.compile(fn, mode="fast")
    with pytest.raises(ValueError, match="no backend 'tensorrt'"):
        flambeau.compile(fn, backend="tensorrt")


def test_the_environment_turns_it_off(monkeypatch):
    monkeypatch.setenv("FLAMBEAU_COMPILE", "0")
    model = cnn()
    assert flambeau.compile(model) is model


def test_profiles_show_loops():
    from flambeau.profiler import profile

    compiled = flambeau.compile(lambda x: (x * 2 + 1).sum())
    with profile() as seen:
        compiled(flambeau.ones(2000))
    names = [event.name for event in seen.events()]
    assert any(name.startswith("compiled: [2000]: mul add") for name in names), names
    compiled(flambeau.ones(2000))
    assert len(seen.events()) == len(names)
