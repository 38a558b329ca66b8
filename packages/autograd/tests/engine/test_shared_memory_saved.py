"""Tensors that move to shared memory between the passes: what was saved of them stays true."""

from __future__ import annotations

import pytest

import flambeau


def _operand(requires_grad=False):
    made = flambeau.tensor([0.5, -1.0, 2.0]).add_(1)        # written to: at version 1
    return made.requires_grad_(requires_grad)


@pytest.mark.parametrize("of_leaf", (False, True))
def test_an_input_that_moves(of_leaf):
    x, w = _operand(requires_grad=True), _operand(requires_grad=of_leaf)
    total = (x * w).sum()
    assert w.share_memory_()._version == 1
    total.backward()
    assert x.grad.tolist() == w.tolist() == [1.5, 0.0, 3.0]


def test_a_result_that_moves():
    x = _operand(requires_grad=True)
    y = (x * 2).exp()
    total = (y * y).sum()
    assert y.share_memory_().is_shared()
    total.backward()
    wanted = x.detach().clone().requires_grad_()
    (wanted * 2).exp().square().sum().backward()
    assert x.grad.tolist() == wanted.grad.tolist()


def test_a_result_moves_with_its_views():
    x, wanted = _operand(requires_grad=True), _operand(requires_grad=True)
    y = x.exp()
    row = y.detach()[:1]
    assert y.share_memory_().is_shared() and row.is_shared()
    y.sum().backward()
    wanted.exp().sum().backward()
    assert x.grad.tolist() == wanted.grad.tolist()
    row.zero_()
    assert y[0].sum() == 0


def test_indices_that_move():
    x, index = _operand(requires_grad=True), flambeau.tensor([2, 0, 2]).add_(0)
    total = x[index].sum()
    index.share_memory_()
    total.backward()
    assert x.grad.tolist() == [1, 0, 2]


def test_a_write_after_the_move_is_noticed():
    x, w = _operand(requires_grad=True), _operand()
    total = (x * w).sum()
    w.share_memory_().add_(1)
    with pytest.raises(RuntimeError, match="at version 1, and it is at version 2"):
        total.backward()


def test_a_module_that_moves_between_the_passes():
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    model, x = flambeau.nn.Linear(3, 2), _operand(requires_grad=True)
    total = model(x).tanh().sum()
    model.share_memory()
    total.backward()
    found, model.weight.grad = model.weight.grad, None
    model(x).tanh().sum().backward()
    assert found.tolist() == model.weight.grad.tolist()
