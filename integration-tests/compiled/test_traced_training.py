"""Traced programs with autograd, modules and optimizers: whole steps, history, modes, state."""

from __future__ import annotations

from collections import namedtuple

import pytest

import flambeau
import flambeau.nn.functional as F
from flambeau import jit, nn, optim
from flambeau.utils.checkpoint import checkpoint

X = flambeau.randn(6, 4)
Pair = namedtuple("Pair", "total rest")


def network():
    flambeau.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(inplace=True),
                         nn.Dropout(0.2), nn.Linear(8, 3))


def train(momentum, traced, accumulate=False):
    """Losses, state and gradients after a few steps, the first of which is never traced."""
    model = network()
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=momentum, weight_decay=1e-3)

    def step(x, y):
        if not accumulate:
            optimizer.zero_grad()
        loss = F.cross_entropy(checkpoint(model, x, use_reentrant=False), y)
        loss.backward()
        optimizer.step()
        return loss

    flambeau.manual_seed(1)
    batches = [(flambeau.randn(n, 4), flambeau.randint(0, 3, (n,))) for n in (6, 6, 9, 6)]
    losses = []
    for number, (x, y) in enumerate(batches):
        if number == 1 and traced:
            step = jit.trace(step, (x, y))
        losses.append(step(x, y).item())
    return losses, [*model.state_dict().values(), *(p.grad for p in model.parameters())]


@pytest.mark.parametrize("momentum", [0, 0.9])
@pytest.mark.parametrize("accumulate", [False, True])
def test_whole_training_steps(momentum, accumulate):
    """zero_grad, forward with checkpointed dropout and statistics, backward, update."""
    wanted, found = (train(momentum, traced, accumulate) for traced in (False, True))
    assert found[0] == wanted[0]
    for one, other in zip(found[1], wanted[1], strict=True):
        assert flambeau.equal(one, other)


def test_gradients_that_matter_are_guarded():
    w = flambeau.ones(4, requires_grad=True)
    program = jit.trace(lambda x: (x * w).sum().backward(), X)
    assert w.grad is None, "tracing leaves nothing"
    program(X)
    assert flambeau.equal(w.grad, X.sum(0))
    with pytest.raises(jit.ProgramError, match="zero_grad"):
        program(X)


def test_numbers_that_an_optimizer_counts_are_refused():
    model = network()
    optimizer = optim.Adam(model.parameters())

    def step(x):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

    with pytest.raises(jit.TraceError, match="first step of Adam makes its state"):
        jit.trace(step, X)
    assert not any(optimizer.state.values()), "tracing leaves nothing"
    step(X)
    before = optimizer.state_dict()
    with pytest.raises(jit.TraceError, match="Adam computes .* from its count of steps"):
        jit.trace(step, X)
    assert repr(optimizer.state_dict()) == repr(before)


def trained(kind, **options):
    """A parameter, its optimizer after a step, and a function that takes another."""
    w = nn.Parameter(flambeau.ones(4))
    optimizer = kind([w], **options)

    def step(x):
        optimizer.zero_grad()
        (w * x).square().sum().backward()
        optimizer.step()

    step(X)
    return w, optimizer, step


@pytest.mark.parametrize("kind", [optim.SGD, optim.RMSprop, optim.Adagrad, optim.Adadelta,
                                  optim.Rprop])
def test_steps_are_counted_as_the_optimizer_counts(kind):
    options = {"momentum": 0.9} if kind is optim.SGD else {}
    (w, traced, step), (other, plain, same) = trained(kind, **options), trained(kind, **options)
    program = jit.trace(step, X, dynamic=False)
    assert repr(traced.state_dict()) == repr(plain.state_dict()), "tracing leaves nothing"
    for k in range(3):
        program(X * k)
        same(X * k)
    assert flambeau.equal(w, other)
    assert repr(traced.state_dict()) == repr(plain.state_dict())
    assert traced._step_count == plain._step_count


def test_options_and_state_of_an_optimizer_are_guarded():
    _, optimizer, step = trained(optim.SGD, lr=0.1, momentum=0.9)
    program = jit.trace(step, X, dynamic=False)
    optimizer.param_groups[0]["lr"] = 0.5
    with pytest.raises(jit.ProgramError, match="options of SGD, such as its learning rate"):
        program(X)
    optimizer.param_groups[0]["lr"] = 0.1
    program(X)
    optimizer.load_state_dict(optimizer.state_dict())
    with pytest.raises(jit.ProgramError, match="the state of SGD was replaced"):
        program(X)


def test_schedules_are_refused():
    _, optimizer, step = trained(optim.SGD, lr=0.1)
    schedule = optim.lr_scheduler.StepLR(optimizer, 30)
    with pytest.raises(jit.TraceError, match="learning rate schedule cannot be part"):
        jit.trace(lambda x: (step(x), schedule.step())[0], X)


def test_history_is_that_of_the_function():
    """no_grad(), detach() and frozen parts keep gradients from flowing as they do in eager."""
    w = flambeau.randn(4, requires_grad=True)

    def fn(x):
        with flambeau.no_grad():
            scale = w.exp()
        y = x * w * scale + (x * w).detach() * w
        y[:, 0] *= 2
        return Pair(y.sum(), (scale, y.detach()))

    x = X.clone().requires_grad_()
    program = jit.trace(fn, x)
    for run in (fn, program):
        result = run(x)
        assert type(result) is Pair
        assert [result.total.requires_grad, *(t.requires_grad for t in result.rest)] == \
            [True, False, False]
    one, other = (flambeau.autograd.grad(run(x).total, (x, w)) for run in (fn, program))
    assert all(map(flambeau.equal, one, other))
    with flambeau.no_grad():
        assert not program(x).total.requires_grad
    plain = jit.trace(fn, X)
    with pytest.raises(jit.ProgramError, match="the example did not"):
        plain(x)


class Doubled(flambeau.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 7


def test_gradients_computed_by_python_are_refused():
    x = X.clone().requires_grad_()
    for fn in (lambda x: Doubled.apply(x) + x, lambda x: hooked(x * 2)):
        program = jit.trace(fn, x)
        with pytest.raises(jit.ProgramError, match="which a program does not hold"):
            program(x)
        with flambeau.no_grad():
            assert flambeau.equal(program(x), fn(x))


def hooked(y):
    if y.requires_grad:
        y.register_hook(lambda grad: grad * 3)
    return y


def test_autocast_is_part_of_a_program():
    model = network().eval()

    def halves(x):
        with flambeau.autocast("cpu", flambeau.bfloat16):
            return model(x)

    program = jit.trace(model, X)
    with flambeau.no_grad():
        assert flambeau.equal(jit.trace(halves, X)(X), halves(X))
        wanted = model(X)
        with flambeau.autocast("cpu", flambeau.bfloat16):
            assert flambeau.equal(program(X), wanted)


def test_programs_have_a_state(tmp_path):
    model = network().eval()
    program = jit.trace(model, X)
    assert {name for name, _ in program.named_parameters()} == {
        "0.weight", "0.bias", "1.weight", "1.bias", "4.weight", "4.bias"}
    assert {name for name, _ in program.named_buffers()} == {"1.running_mean", "1.running_var"}
    assert len(list(program.buffers())) == 2
    program.save(tmp_path / "p")
    loaded = jit.load(tmp_path / "p")
    loaded.load_state_dict({name: t + 1 for name, t in program.state_dict().items()})
    assert not flambeau.equal(loaded(X), program(X))
    loaded.load_state_dict(program.state_dict())
    assert flambeau.equal(loaded(X), program(X))
    (loaded(X).sum()).backward()
    (model(X).sum()).backward()
    for one, other in zip(loaded.parameters(), program.parameters(), strict=True):
        assert flambeau.equal(one.grad, other.grad)
    with pytest.raises(jit.ProgramError, match="missing"):
        loaded.load_state_dict({})
    assert program.eval() is program.to("cpu") is program
    with pytest.raises(jit.ProgramError, match="traced in eval mode"):
        program.train()
    with pytest.raises(jit.ProgramError, match="dtypes are part of a program"):
        program.to(flambeau.float64)
    model.half()
    with pytest.raises(jit.ProgramError, match="trace it again"):
        program(X)


def test_keyword_arguments_and_results_with_names():
    def fn(x, *, scale, table):
        return {"max": x.max(1), "scaled": [x * scale, table["a"]]}

    kwargs = {"scale": 2.0, "table": {"a": X + 1}}
    program = jit.trace(fn, X, example_kwarg_inputs=kwargs)
    found = program(X, table={"a": X}, scale=2.0)
    assert flambeau.equal(found["max"].values, X.max(1).values)
    assert flambeau.equal(found["scaled"][1], X)
    for wrong in ({"scale": 2, "table": {"a": X}}, {"scale": 3.0, "table": {"a": X}}, {}):
        with pytest.raises(jit.ProgramError, match="not built like"):
            program(X, **wrong)


def test_functions_that_need_the_history_a_program_cannot_have():
    """A hook is called by Python; without history there is nothing to hook."""
    w = flambeau.ones(3, requires_grad=True)

    def fn(x):
        made = w * x
        made.register_hook(lambda grad: grad * 2)
        return made

    with pytest.raises(jit.TraceError, match="a hook is called by Python.*no_grad"):
        jit.trace(fn, flambeau.ones(3))
