"""Modules, parameters and optimizers on their way to other processes and back."""

import multiprocessing
import pickle
from multiprocessing.reduction import ForkingPickler

import child_targets
import pytest

import flambeau
from flambeau import nn
from flambeau.core import copying


@pytest.fixture(params=("pickle", "multiprocessing"))
def again(request):
    dumps = {"pickle": pickle.dumps, "multiprocessing": ForkingPickler.dumps}[request.param]
    return lambda value: pickle.loads(dumps(value))


class Step:
    """The least of an optimizer: it must come with the parameters of the model."""

    def __init__(self, params):
        self.params = list(params)

    def step(self):
        with flambeau.no_grad():
            for param in self.params:
                param -= param.grad


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_model_as_argument_of_a_process(method, monkeypatch):
    monkeypatch.setattr(copying, "sent_are_shared", False)  # flambeau.multiprocessing sets it
    context = multiprocessing.get_context(method)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    answers = context.Queue()
    child = context.Process(target=child_targets.train,
                            args=(model, Step(model.parameters()), answers))
    child.start()
    there, step, loss = answers.get(timeout=60)
    child.join(60)
    assert child.exitcode == 0
    assert loss.item() == pytest.approx(model(flambeau.ones(2, 3)).sum().item(), rel=1e-5)
    # Each of the two samples adds one to the gradient of the last bias.
    assert there[2].bias.item() == pytest.approx(model[2].bias.item() - 2, rel=1e-5)
    assert step.params[-1] is there[2].bias
    assert isinstance(there[2].bias, nn.Parameter)
    assert there[1].num_batches_tracked.item() == 1


def test_attributes_and_types_of_parameters_and_buffers(again):
    class_of = {nn.Parameter: {"note": 3}, nn.Buffer: {"note": 3, "persistent": False}}
    for made, expected in zip(
        (nn.Parameter(flambeau.ones(2), False), nn.Buffer(flambeau.ones(2), persistent=False)),
        class_of.values(), strict=True,
    ):
        made.note = 3
        got = again(made)
        assert (type(got), got.__dict__, got.requires_grad) == (type(made), expected, False)
        assert got.tolist() == [1, 1]


class Scaled(nn.Parameter):
    """A subclass whose constructor takes other arguments."""

    def __new__(cls, scale, size):
        """Fill with the scale."""
        made = nn.Parameter.__new__(cls, flambeau.full((size,), scale))
        made.scale = scale
        return made


def test_parameters_of_other_constructors(again):
    got = again(Scaled(2.0, 3))
    assert (type(got), got.tolist(), got.scale, got.requires_grad) == (Scaled, [2, 2, 2], 2.0, True)


def test_parameters_that_share_memory(again):
    layer = nn.Linear(2, 2, bias=False)
    layer.tied = nn.Parameter(layer.weight.detach().t())
    got = again(layer)
    got.tied.detach()[0, 1] = 7
    assert got.weight[1, 0].item() == 7


def test_hooks_of_modules_go_along_or_raise(again):
    layer = nn.Linear(2, 2)
    layer.register_full_backward_hook(child_targets.halve)
    assert list(again(layer)._backward_hooks.values()) == [child_targets.halve]
    layer.register_forward_hook(lambda *args: None)
    with pytest.raises((pickle.PicklingError, AttributeError), match="<lambda>"):
        again(layer)


def test_a_mark_for_hooks_that_stay_behind(recwarn):
    from flambeau.utils.hooks import unserializable_hook

    x = flambeau.ones(2, requires_grad=True)
    assert x.register_hook(unserializable_hook(lambda grad: grad)) is not None
    pickle.dumps(x)
    assert not recwarn.list
