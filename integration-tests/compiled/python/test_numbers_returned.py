"""Numbers that are read from tensors: replayed where they are no more than returned."""

from __future__ import annotations

import math
from collections import OrderedDict, defaultdict

import pytest
from kept import CALLS, check_replayed, flat, same

import flambeau
from flambeau import nn, optim

LIMIT = 3.0


def alone(x):
    return (x * 2).sum().item()


def by_float(x):
    return float(x.mean())


def in_containers(x):
    total = (x * x).sum()
    return {"loss": total.item(), "all": [x + 1, (total / 2).item(), 1.5]}, total


def twice(x):
    value = x.sum().item()
    return value, value


def written_afterwards(x):
    total = x.sum()
    value = total.item()
    total.add_(100)
    return value, total


def of_an_argument(x):
    value = x[0].item()
    return value, x * 2


def of_one_element(x):
    return x.sum(0, keepdim=True).item()


def not_a_number(x):
    return (x * math.nan).sum().item(), (x.sum() * math.inf).item()


def through_functions(x):
    def read(y, *others):
        return y.item(), others

    value, others = read(x.sum(), x.mean().item())
    return [value, *others]


@pytest.mark.parametrize("fn", [alone, by_float, in_containers, twice, written_afterwards,
                                of_an_argument, of_one_element, through_functions],
                         ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_numbers_are_read_after_a_replay(fn, dtype):
    check_replayed(fn, flambeau.arange(1.0, 5).to(getattr(flambeau, dtype)))


def test_nan_and_infinity():
    run = flambeau.compile(not_a_number, replay=True)
    for k in range(CALLS):
        x = flambeau.ones(3) + k
        assert [repr(each) for each in run(x)] == [repr(each) for each in not_a_number(x)]
    assert run.explain().startswith("replayed")


def used(x):
    return x * x.sum().item()


def added(x):
    return x.sum().item() + 1


def compared(x):
    return x + 1 if x.sum().item() > LIMIT else x


def decides(x):
    return x + 1 if x.sum().item() else x


def formatted(x):
    return f"{x.sum().item():.2f}"


def as_key(x):
    return {x.sum().item(): 1}


def as_key_of_get(x):
    return {3.0: x}.get(x.sum().item(), x * 2)


def as_key_of_pop(x):
    return {3.0: x}.pop(x.sum().item(), x * 2)


def as_key_of_setdefault(x):
    return {3.0: x}.setdefault(x.sum().item(), x * 2)


def as_key_of_pairs(x):
    made = OrderedDict([(x.sum().item(), x), (3.0, x * 2)])
    return list(made.values())


def as_key_of_a_default(x):
    made = defaultdict(list, [[x.sum().item(), x], [3.0, x * 2]])
    return list(made.values())


def looked_for(x):
    return x.sum().item() in [3.0, 6.0]


def found_in(x):
    return 6.0 in [x.sum().item()]


def as_index(x):
    return [x, x + 1][int(x.sum().item()) % 2]


def of_integers(x):
    return x.long().sum().item(), 3


def of_truth(x):
    return (x > 1).any().item()


def greatest(x):
    return max(x.sum().item(), 2.0)


def summed(x):
    return sum([x.sum().item(), 1.0])


def rounded(x):
    return round(x.sum().item(), 1)


def of_its_class(x):
    return isinstance(x.sum().item(), float), x.sum().item()


@pytest.mark.parametrize("fn", [
    used, added, compared, decides, formatted, as_key, as_key_of_get, as_key_of_pop,
    as_key_of_setdefault, as_key_of_pairs, as_key_of_a_default, looked_for, found_in, as_index,
    of_integers, of_truth, greatest, summed, rounded, of_its_class], ids=lambda fn: fn.__name__)
def test_numbers_that_decide_something_are_read_by_python(fn):
    """Whether or not such a call is replayed: each gives what Python gives."""
    run = flambeau.compile(fn, replay=True)
    for k in (0, 1, -2, 3, 0, 5, 1):
        x = flambeau.arange(3.0) + k
        assert same(flat(run(x)), flat(fn(x))), k


@pytest.mark.parametrize("fn", [alone, by_float, in_containers, through_functions],
                         ids=lambda fn: fn.__name__)
def test_graphs_for_backends_have_no_numbers(fn):
    run = flambeau.compile(fn, backend=lambda graph, inputs: graph.forward)
    with pytest.warns(UserWarning, match=r"item\(\) looks at values"):
        run(flambeau.ones(4))
    for k in range(3):
        x = flambeau.arange(4.0) + k
        assert same(flat(run(x)), flat(fn(x)))


def test_a_training_step_returns_its_loss():
    """As it is written everywhere, with the same losses and weights."""
    def make():
        flambeau.manual_seed(3)
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        optimizer = optim.Adam(net.parameters(), lr=1e-2)

        def step(x, y):
            optimizer.zero_grad(set_to_none=True)
            loss = nn.functional.mse_loss(net(x), y)
            loss.backward()
            optimizer.step()
            return loss.item()

        return net, step

    (net, step), (other, other_step) = make(), make()
    run = flambeau.compile(step, replay=True)
    for k in range(8):
        x = flambeau.linspace(-1, 1, 12).view(3, 4) + k / 10
        y = x[:, :1] * 2
        assert run(x, y) == other_step(x, y)
    assert run.explain().startswith("replayed")
    for one, two in zip(net.parameters(), other.parameters(), strict=True):
        assert one.equal(two)
        assert one.grad.equal(two.grad)
