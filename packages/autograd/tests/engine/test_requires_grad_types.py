"""``requires_grad`` is True or False; what else means something is a mistake, as in PyTorch."""

import pytest

import flambeau
import flambeau.autograd


@pytest.mark.parametrize("wrong", (3, 1, "no", 1.0))
def test_creation_takes_bools(wrong):
    for make in (lambda **k: flambeau.tensor([1.0], **k), lambda **k: flambeau.ones(2, **k),
                 lambda **k: flambeau.randn(2, **k)):
        with pytest.raises(TypeError, match="'requires_grad' must be bool"):
            make(requires_grad=wrong)
        assert make(requires_grad=True).requires_grad
        assert not make(requires_grad=False).requires_grad


@pytest.mark.parametrize("wrong", (None, 1, 0, "yes"))
def test_tensors_take_bools(wrong):
    x = flambeau.ones(2)
    with pytest.raises(TypeError, match=f"must be bool, not {type(wrong).__name__}"):
        x.requires_grad_(wrong)
    with pytest.raises(RuntimeError, match="requires_grad must be a bool"):
        x.requires_grad = wrong
    assert not x.requires_grad
    assert x.requires_grad_().requires_grad
    assert not x.requires_grad_(False).requires_grad


def test_the_private_name_of_a_gradient_is_the_gradient():
    x = flambeau.ones(2, requires_grad=True)
    x._grad = flambeau.ones(2)
    assert x.grad is x._grad and x.grad.tolist() == [1, 1]
