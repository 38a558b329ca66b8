"""Networks and batches on several devices, of which the CPU may be any."""
from __future__ import annotations

from collections import namedtuple

import pytest

import flambeau
from flambeau import nn

Pair = namedtuple("Pair", "a b")


def test_a_step_in_parts_is_a_step():
    flambeau.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4).eval(), nn.Linear(4, 2))
    x = flambeau.randn(5, 3)
    net(x).square().sum().backward()
    wanted = [p.grad.clone() for p in net.parameters()]
    net.zero_grad()
    replicas = nn.parallel.replicate(net, ["cpu", "cpu"])
    parts = nn.parallel.scatter((x,), ["cpu", "cpu"])
    found = nn.parallel.gather(nn.parallel.parallel_apply(replicas, parts), "cpu")
    assert flambeau.equal(found, net(x))
    found.square().sum().backward()
    for p, grad in zip(net.parameters(), wanted, strict=True):
        assert flambeau.allclose(p.grad, grad, atol=1e-5)
    assert not list(replicas[0][0].children()) and replicas[0][0] is not net[0]
    detached, = nn.parallel.replicate(net, ["cpu"], detach=True)
    assert not detached(x).requires_grad


def test_structures():
    x = flambeau.arange(5)
    cut = nn.parallel.scatter([Pair(x, "name"), {"x": x, "none": None}, ()], ["cpu"] * 2)
    assert [part[0].a.tolist() for part in cut] == [[0, 1, 2], [3, 4]]
    assert type(cut[0][0]) is Pair and cut[1][0].b == "name" and cut[1][2] == ()
    joined = nn.parallel.gather([[each[0].a, {"x": each[1]["x"], "n": None}] for each in cut], -1)
    assert joined[0].tolist() == joined[1]["x"].tolist() == x.tolist() and joined[1]["n"] is None
    assert len(nn.parallel.scatter(x[:1], ["cpu"] * 3)) == 1
    with pytest.warns(UserWarning, match="scalars"):
        assert nn.parallel.gather([x[1], x[2]], "cpu").tolist() == [1, 2]
    with pytest.raises(ValueError, match="same number of keys"):
        nn.parallel.gather([{"a": x}, {"b": x}], "cpu")
    inputs, named = nn.parallel.scatter_gather.scatter_kwargs((), {"x": x}, ["cpu"] * 2)
    assert inputs == ((), ()) and [each["x"].tolist() for each in named] == [[0, 1, 2], [3, 4]]


def test_errors_come_out_of_threads():
    with pytest.raises(TypeError):
        nn.parallel.parallel_apply([nn.ReLU(), nn.ReLU()], [flambeau.ones(1), "text"])
    with pytest.raises(ValueError, match="2 modules, 1 inputs"):
        nn.parallel.parallel_apply([nn.ReLU(), nn.ReLU()], [flambeau.ones(1)])


def test_gradients_are_recorded_in_threads_as_outside():
    nets = [nn.Linear(1, 1) for _ in range(2)]
    with flambeau.no_grad():
        assert not any(y.requires_grad
                       for y in nn.parallel.parallel_apply(nets, [flambeau.ones(1)] * 2))
