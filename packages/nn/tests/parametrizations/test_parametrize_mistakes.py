"""What parametrizations, and weight and spectral norm refuse, and in which words."""

import pytest
from modules_kit import refuses

import flambeau
from flambeau import nn
from flambeau.nn.utils import parametrizations, parametrize


class Wrong(nn.Module):
    def __init__(self, forward, inverse=None):
        super().__init__()
        self.forward = forward
        if inverse is not None:
            self.right_inverse = inverse


MISTAKES = [
    (Wrong(lambda x: 3), "must return a tensor, not int"),
    (Wrong(lambda x: x.double()), "may not change the dtype"),
    (Wrong(lambda x: x[0]), "may not change the shape"),
    (Wrong(lambda x: x, lambda x: 3), "sequence of tensors, not int"),
    (Wrong(lambda x: x, lambda x: x.double()), "right_inverse.. may not change the dtype"),
]


@pytest.mark.parametrize(("wrong", "text"), MISTAKES)
def test_mistakes(wrong, text):
    layer = nn.Linear(4, 3)
    with pytest.raises(ValueError, match=text):
        parametrize.register_parametrization(layer, "weight", wrong)
    assert type(layer) is nn.Linear
    assert isinstance(layer.weight, nn.Parameter)


def test_mistakes_with_one_more():
    layer = parametrizations.weight_norm(nn.Linear(4, 3))
    for wrong, text in (
        (Wrong(lambda x: x[0]), "shape"),
        (Wrong(lambda x: x, lambda x: x[0]), "after the first"),
    ):
        with pytest.raises(ValueError, match=text):
            parametrize.register_parametrization(layer, "weight", wrong)
    parametrize.register_parametrization(layer, "weight", Wrong(lambda x: x[0]), unsafe=True)
    assert tuple(layer.weight.shape) == (4,)
    with pytest.raises(RuntimeError, match="has no right_inverse"):
        layer.weight = flambeau.zeros(4)


READY_MISTAKES = [
    (
        lambda p: p.nn.utils.parametrize.register_parametrization(
            p.nn.Linear(2, 2), "x", p.nn.Tanh()
        ),
        ValueError,
        "'weight', 'bias'|not have",
    ),
    (
        lambda p: p.nn.utils.parametrize.remove_parametrizations(p.nn.Linear(2, 2), "weight"),
        ValueError,
        "no parametrization|not have",
    ),
    (
        lambda p: p.nn.utils.parametrizations.orthogonal(p.nn.Linear(2, 2), "bias"),
        ValueError,
        "matrix",
    ),
    (
        lambda p: p.nn.utils.parametrizations.orthogonal(p.nn.Linear(2, 2), "weight", "qr"),
        ValueError,
        "one of",
    ),
    (
        lambda p: p.nn.utils.parametrizations.orthogonal(
            p.nn.Linear(2, 2, dtype=p.complex64), "weight", "householder"
        ),
        ValueError,
        "complex",
    ),
    (
        lambda p: p.nn.utils.parametrizations.spectral_norm(p.nn.Linear(2, 2), dim=2),
        IndexError,
        "dim",
    ),
    (
        lambda p: p.nn.utils.parametrizations.spectral_norm(
            p.nn.Linear(2, 2), n_power_iterations=0
        ),
        ValueError,
        "positive",
    ),
    (
        lambda p: p.nn.utils.parametrizations.spectral_norm(p.nn.Linear(2, 2), "x"),
        ValueError,
        "no parameter or buffer",
    ),
    (
        lambda p: p.nn.utils.spectral_norm(p.nn.utils.spectral_norm(p.nn.Linear(2, 2))),
        (RuntimeError, KeyError, ValueError),
        "already|two",
    ),
    (lambda p: p.nn.utils.remove_weight_norm(p.nn.Linear(2, 2)), ValueError, "not found"),
    (lambda p: p.nn.utils.remove_spectral_norm(p.nn.Linear(2, 2)), ValueError, "not found"),
    (lambda p: p.nn.utils.skip_init(p.nn.ReLU), RuntimeError, "device"),
    (lambda p: p.nn.utils.skip_init(int), RuntimeError, "Module|modules"),
]


@pytest.mark.parametrize(("make", "error", "text"), READY_MISTAKES)
def test_mistakes_of_the_ready_ones(make, error, text):
    refuses(make, error, text, same_type=False)


@pytest.mark.oracle
@pytest.mark.parametrize(("make", "error", "text"), READY_MISTAKES)
def test_mistakes_are_those_of_torch(make, error, text):
    refuses(make, error, text)
