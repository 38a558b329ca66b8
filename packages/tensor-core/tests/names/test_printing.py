"""Texts of tensors, sizes, dtypes and devices."""

from __future__ import annotations

import pytest

import flambeau

GOLDEN = [
    (lambda: flambeau.tensor(7.0), "tensor(7.)"),
    (lambda: flambeau.tensor([1, 2, 3]), "tensor([1, 2, 3])"),
    (lambda: flambeau.tensor([[1.5, -2.25], [10.0, 0.0]]),
     "tensor([[ 1.5000, -2.2500],\n        [10.0000,  0.0000]])"),
    (lambda: flambeau.tensor([True, False]), "tensor([ True, False])"),
    (lambda: flambeau.tensor([1 + 2j]), "tensor([1.+2.j])"),
    (lambda: flambeau.tensor([1e-6, 1.0]), "tensor([1.0000e-06, 1.0000e+00])"),
    (lambda: flambeau.tensor([]), "tensor([])"),
    (lambda: flambeau.zeros(0, 3), "tensor([], size=(0, 3))"),
    (lambda: flambeau.ones(2, dtype=flambeau.bfloat16),
     "tensor([1., 1.], dtype=flambeau.bfloat16)"),
    (lambda: flambeau.tensor([float("nan"), float("inf")]), "tensor([nan, inf])"),
    (lambda: flambeau.arange(2000), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"),
    (lambda: flambeau.zeros(2, 3).shape, "flambeau.Size([2, 3])"),
    (lambda: flambeau.float32, "flambeau.float32"),
    (lambda: flambeau.device("cpu"), "device(type='cpu')"),
    (lambda: flambeau.zeros(2, device="meta"), "tensor(..., device='meta', size=(2,))"),
]


@pytest.mark.parametrize(("make", "text"), GOLDEN, ids=[t[:30] for _, t in GOLDEN])
def test_texts(make, text):
    assert repr(make()) == text


def test_formats():
    assert f"{flambeau.tensor(3.14159):.2f}" == "3.14"
    assert f"{flambeau.tensor([1.0])}" == "tensor([1.])"
    assert str(flambeau.tensor(1)) == "tensor(1)"


def test_a_format_shows_the_number_of_a_tensor_without_dimensions():
    assert f"{flambeau.tensor(2.5)}" == "2.5"
    assert f"{flambeau.tensor(3)} {flambeau.tensor(True)}" == "3 True"
    assert f"{flambeau.tensor(2.5):>6.2f}" == "  2.50"
    assert f"{flambeau.tensor([1.5])}" == "tensor([1.5000])"
    assert f"{flambeau.ones((), device='meta')}" == "tensor(..., device='meta', size=())"
    assert str(flambeau.tensor(2.5)) == "tensor(2.5000)"
