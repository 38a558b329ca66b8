"""asarray of tensors that belong to a graph."""
from __future__ import annotations

import flambeau


def test_requires_grad_none_keeps_the_graph():
    x = flambeau.ones(1, requires_grad=True)
    y = x * 2
    assert flambeau.asarray(x) is x and x.requires_grad
    assert flambeau.asarray(y) is y
    copied = flambeau.asarray(x, copy=True)
    assert copied.requires_grad and not copied.is_leaf


def test_requires_grad_false_detaches_or_switches_leaves_off():
    x = flambeau.ones(1, requires_grad=True)
    y = x * 2
    plain = flambeau.asarray(y, requires_grad=False)
    assert not plain.requires_grad and plain.data_ptr() == y.data_ptr()
    assert y.requires_grad
    assert not flambeau.asarray(x, copy=True, requires_grad=False).requires_grad
    assert not flambeau.asarray(x, dtype=flambeau.float64, requires_grad=False).requires_grad
    assert flambeau.asarray(x, requires_grad=False) is x
    assert not x.requires_grad


def test_requires_grad_true_keeps_what_was_computed():
    x = flambeau.ones(1, requires_grad=True)
    y = x * 2
    assert flambeau.asarray(y, requires_grad=True) is y and not y.is_leaf
    z = flambeau.ones(1)
    assert flambeau.asarray(z, requires_grad=True) is z and z.requires_grad
    assert flambeau.frombuffer(bytearray(8), dtype=flambeau.float32,
                               requires_grad=True).requires_grad
