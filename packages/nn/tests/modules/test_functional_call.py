"""``functional_call`` of modules: what it puts in, what it gives back, and what it leaves."""

import pytest

import flambeau
from flambeau import nn
from flambeau.func import functional_call
from flambeau.nn.utils import parametrizations


class Counter(nn.Module):
    """Assigns a buffer anew in every call."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", flambeau.tensor(0.0))
        self.limit = flambeau.tensor(9.0)

    def forward(self, x, fail=False):
        self.count = self.count + 1
        if fail:
            raise ValueError("on purpose")
        return x + self.count + self.limit


def test_what_the_module_assigns_is_given_back():
    module, start = Counter(), flambeau.tensor(2.0)
    values = {"count": start}
    assert functional_call(module, values, flambeau.tensor(0.0)) == 12
    assert module.count == 0
    assert values["count"] == 3
    assert start == 2
    with pytest.raises(ValueError, match="on purpose"):
        functional_call(module, values, (flambeau.tensor(0.0), True))
    assert (values["count"], module.count) == (4, 0)


def test_several_dicts_stay_as_they_are():
    module, start = Counter(), flambeau.tensor(2.0)
    several = [{"count": start}, {"limit": flambeau.tensor(0.0)}]
    assert functional_call(module, several, flambeau.tensor(0.0)) == 3
    assert several[0]["count"] is start
    assert (module.count, module.limit) == (0, 9)


def test_tied_tensors_are_given_back_under_the_name_that_was_given():
    module = Counter()
    module.register_buffer("other", module.count)
    values = {"other": flambeau.tensor(5.0)}
    assert functional_call(module, values, flambeau.tensor(0.0)) == 15
    assert list(values) == ["other"]
    assert values["other"] == 5
    assert module.other is module.count


class Knot(nn.Module):
    """Contains itself."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(1, 1)
        self.inner.outer = self

    def forward(self, x):
        return self.inner(x)


def test_a_module_that_contains_itself():
    module, weight = Knot(), flambeau.tensor([[3.0]])
    before = module.inner.weight
    values = {"inner.outer.inner.weight": weight, "inner.bias": flambeau.zeros(1)}
    result = functional_call(module, values, flambeau.ones(1, 1), tie_weights=False)
    assert result.tolist() == [[3]]
    assert module.inner.weight is before


class Lists(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(flambeau.ones(1))
        self.plain = flambeau.ones(1)

    def forward(self):
        return [name for name, _ in self.named_parameters()]


@pytest.mark.parametrize("name", ["extra", "plain"])
def test_a_parameter_under_another_name_is_a_parameter_meanwhile(name):
    module = Lists()
    kept = dict(vars(module))
    assert functional_call(module, {name: nn.Parameter(flambeau.zeros(1))}) == ["weight", name]
    assert functional_call(module, {name: flambeau.zeros(1)}) == ["weight"]
    assert list(module._parameters) == ["weight"]
    assert vars(module) == kept


def test_strict_without_ties_asks_for_every_name():
    module = nn.Linear(1, 1, bias=False)
    module.other = module.weight
    values = {"weight": flambeau.ones(1, 1)}
    x = flambeau.ones(1)
    assert functional_call(module, values, x, strict=True).tolist() == [1]
    with pytest.raises(RuntimeError, match="other"):
        functional_call(module, values, x, strict=True, tie_weights=False)


def test_a_parametrized_tensor_is_assigned_through_its_parametrization():
    """As in PyTorch: the original follows, and comes back."""
    module = parametrizations.weight_norm(nn.Linear(2, 1, bias=False))
    before = module.weight.tolist()
    x = flambeau.ones(2)
    result = functional_call(module, {"weight": flambeau.tensor([[3.0, 4.0]])}, x)
    assert result.tolist() == pytest.approx([7])
    assert module.weight.tolist()[0] == pytest.approx(before[0])
