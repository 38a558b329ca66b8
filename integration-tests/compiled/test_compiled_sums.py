"""Gradients are added to a sum when they are there, in compiled calls as well."""

import flambeau
from flambeau import jit


def step(w, x):
    for _ in range(6):
        x = (x @ w).tanh()
    x.sum().backward()


def trained(wrap):
    flambeau.manual_seed(0)
    w, x = flambeau.randn(200, 200, requires_grad=True), flambeau.randn(4, 200)
    call = wrap(step)
    call(w, x)
    call(w, x)
    return w.grad, call


def test_sums_do_not_wait_for_each_other():
    """What waits keeps what it reads: six gradients of the weight instead of one."""
    wanted, _ = trained(lambda f: f)
    found, compiled = trained(jit.compile)
    assert flambeau.equal(wanted, found)
    assert "add" not in compiled.explain()


def test_a_sum_of_what_waits_joins_its_loop():
    def twice(x, y):
        with flambeau.no_grad():
            total = x * 2
            total.add_(y)
            return total.relu()
    x, y = flambeau.randn(50_000), flambeau.randn(50_000)
    compiled = jit.compile(twice)
    assert flambeau.equal(compiled(x, y), twice(x, y))
    assert "mul add relu" in compiled.explain()
