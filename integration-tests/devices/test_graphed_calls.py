"""``compile(mode="reduce-overhead")`` on a device: graphs give what uncompiled calls give."""
from __future__ import annotations

import shutil

import pytest
from device_calls import DEVICE

import flambeau as fl

if DEVICE == "cudasim" and not shutil.which("g++"):
    pytest.skip("needs g++", allow_module_level=True)


@pytest.fixture(autouse=True)
def _seeded(on_cuda):
    fl.manual_seed(0)


def compiled(function):
    return fl.compile(function, mode="reduce-overhead")


def is_graphed(function):
    return "as a graph of the device" in function.explain()


def numbers(*shape):
    return fl.randn(*shape).to(DEVICE)


def test_new_numbers_each_time():
    @compiled
    def function(x, y):
        return {"a": (x * 2 + y).sin(), "b": (x.sum(), 3)}

    kept = []
    for _ in range(6):
        x, y = numbers(4, 5), numbers(5)
        kept.append((function(x, y), (x * 2 + y).sin(), x.sum()))
    assert is_graphed(function)
    for found, a, b in kept:
        assert found["a"].tolist() == a.tolist()
        assert (found["b"][0].item(), found["b"][1]) == (b.item(), 3)


def network():
    fl.manual_seed(0)
    return fl.nn.Sequential(fl.nn.Linear(4, 8), fl.nn.BatchNorm1d(8), fl.nn.GELU(),
                            fl.nn.Dropout(0.3), fl.nn.Linear(8, 2)).to(DEVICE)


def test_training_is_that_of_the_network():
    """Gradients, running statistics, dropout's numbers and weights, for ten steps."""
    batches = [numbers(6, 4) for _ in range(10)]
    found = []
    for wrap in (lambda model: model, compiled):
        model = network()
        call, optimizer = wrap(model), fl.optim.SGD(model.parameters(), lr=0.1)
        losses = []
        for x in batches:
            x = x.clone().requires_grad_()
            loss = (call(x) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses += [loss.item(), x.grad.tolist()]
        found.append([losses, [t.tolist() for t in model.state_dict().values()]])
        if call is not model:
            assert is_graphed(call)
    assert found[0] == found[1]


def test_two_calls_before_backward():
    weight = numbers(3).requires_grad_()
    function = compiled(lambda x: (x * weight).exp())
    for _ in range(4):
        function(numbers(2, 3)).sum().backward()
    assert is_graphed(function)
    x, y = numbers(2, 3), numbers(2, 3)
    weight.grad = None
    (function(x).sum() + function(y).sum()).backward()
    got, weight.grad = weight.grad.tolist(), None
    ((x * weight).exp().sum() + (y * weight).exp().sum()).backward()
    assert got == weight.grad.tolist()


SCALE = 2.0


def test_what_changes_is_seen():
    global SCALE
    holder = [numbers(3)]

    class Settings:
        shift = 1.0

    settings = Settings()

    def function(x, factor=1.0):
        return (x * SCALE + holder[0]) * factor + settings.shift

    call = compiled(function)

    def check(*args):
        for _ in range(4):
            assert call(*args).tolist() == function(*args).tolist()

    check(numbers(2, 3))
    assert is_graphed(call)
    SCALE = 3.0
    check(numbers(2, 3))
    holder[0] = numbers(3)
    check(numbers(2, 3))
    holder[0].mul_(2)
    check(numbers(2, 3))
    settings.shift = 5.0
    check(numbers(2, 3))
    check(numbers(2, 3), 2.5)
    check(numbers(4, 3))
    check(numbers(4, 3).double())
    check(numbers(3, 4).t())
    check(numbers(4, 6)[:, ::2])
    SCALE = 2.0


COUNTER = fl.zeros(())


def in_place(x):
    return x.add_(1)


def on_the_cpu(x):
    COUNTER.add_(1)
    return x * 2


def of_values(x):
    return x * 2 if x.sum().item() > 0 else x * 3


def a_number(x):
    return x * 2, x.sum().item()


def itself(x):
    return x


def a_view(x):
    return x[1:]


def two_of_one(x):
    y = x * 2
    return y, y[1:]


def seeded(x):
    fl.manual_seed(1)
    return x + fl.rand(3, device=DEVICE)


def steps(x):
    y = (x * 2).requires_grad_()
    (y * y).sum().backward()
    return y.grad


@pytest.mark.parametrize("function", [in_place, on_the_cpu, of_values, a_number, itself, a_view,
                                      two_of_one, seeded, steps])
def test_what_no_graph_can_do_runs_as_it_stands(function):
    call = compiled(function)
    COUNTER.zero_()
    for _ in range(6):
        x = numbers(3)
        y = x.clone()
        got, want = call(x), function(y)
        for g, w in zip(*(t if isinstance(t, tuple) else (t,) for t in (got, want)), strict=True):
            assert g == w if isinstance(w, float) else g.tolist() == w.tolist()
        assert x.tolist() == y.tolist()
    assert not is_graphed(call)
    assert COUNTER.item() in (0.0, 12.0)


def test_writes_to_what_the_function_holds():
    """Buffers change once for each call, also in the one that is captured, and count it."""
    total, weight = fl.zeros(3, device=DEVICE), numbers(3).requires_grad_()

    @compiled
    def function(x):
        total.add_(x)
        return x * 2

    for k in range(1, 7):
        y = (total * weight).sum()          # keeps `total` for its gradient
        function(fl.ones(3, device=DEVICE))
        assert total.tolist() == [float(k)] * 3
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.backward()
    assert is_graphed(function)


def test_random_numbers_are_those_of_python():
    def function(x):
        return x + fl.rand(5, device=DEVICE)

    found = []
    for call in (function, compiled(function)):
        fl.manual_seed(3)
        found.append([call(fl.zeros(5, device=DEVICE)).tolist() for _ in range(6)])
        fl.manual_seed(3)
        found[-1].append(call(fl.zeros(5, device=DEVICE)).tolist())
    assert found[0] == found[1] and is_graphed(call)


def test_modes():
    weight = numbers(3).requires_grad_()
    function = compiled(lambda x: (x @ weight).sin())
    for _ in range(3):
        assert function(numbers(2, 3)).requires_grad
    with fl.no_grad():
        for _ in range(4):
            assert not function(numbers(2, 3)).requires_grad
    with fl.autocast(DEVICE, dtype=fl.bfloat16):
        assert function(numbers(2, 3)).dtype == fl.bfloat16
    assert function(numbers(2, 3)).requires_grad
    assert is_graphed(function)
