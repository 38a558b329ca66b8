"""Long chains and many rounds: no recursion, no growth."""

import os
import subprocess
import sys

import pytest

#: Rounds of the slow tests.
ROUND_COUNT = int(os.environ.get("FLAMBEAU_MEMORY_ROUNDS", "1_000_000"))

CHAIN = """
import flambeau, resource, gc
x = flambeau.ones(4, requires_grad=True)
y = x
for _ in range({n}):
    y = {step}
z = y.sum()
{walk}
print(x.grad.tolist() if x.grad is not None else None)
"""


def run(text, timeout=120):
    """The output of a program with the system's usual small stack."""
    result = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True,
                            env=dict(os.environ), timeout=timeout)
    assert result.returncode == 0, result.stderr[-2000:]
    return result.stdout


@pytest.mark.parametrize(("step", "expected"), [
    ("y + 1e-9", [1.0] * 4), ("y * 1.0", [1.0] * 4), ("y * ONE", [1.0] * 4)])
def test_a_chain_of_a_million_nodes(step, expected):
    text = CHAIN.format(n=1_000_000, step=step.replace("ONE", "one"), walk="z.backward(); del y, z")
    assert run("import flambeau; one = flambeau.ones(4)\n" + text).strip() == str(expected)


def test_a_long_chain_is_dropped_without_backward():
    assert run(CHAIN.format(n=1_000_000, step="y * 1.0", walk="del y, z")).strip() == "None"


CUSTOM = """
class Twice(flambeau.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x * 2
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        return g * 0.5
"""


@pytest.mark.parametrize(("walk", "expected"), [
    ("z.backward(); del y, z", "[0.0, 0.0, 0.0, 0.0]"), ("del y, z", "None")])
def test_a_long_chain_of_custom_functions(walk, expected):
    text = "import flambeau, flambeau.autograd" + CUSTOM
    text += CHAIN.format(n=100_000, step="Twice.apply(y)", walk=walk)
    assert run(text).strip() == expected


def test_a_long_chain_through_saved_tensors_is_collected():
    """Only the garbage collector can free this one: the chain hangs on a cycle."""
    text = CHAIN.format(n=200_000, step="y * y", walk="y.me = y; del y, z; gc.collect()")
    assert run(text).strip() == "None"


ROUNDS = """
import flambeau, resource, gc
{setup}
def rounds(n):
    for _ in range(n):
        {step}
def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096
rounds(2000)
gc.collect(); gc.disable()
before = resident()
rounds({n})
print(resident() - before)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads Linux's /proc")
@pytest.mark.parametrize(("setup", "step"), [
    ("x = flambeau.ones(8, requires_grad=True)", "y = (x * x).exp().sum()"),
    ("x = flambeau.ones(8, requires_grad=True)",
     "y = (x * x).exp().sum(); y.backward(); x.grad = None"),
    ("x = flambeau.ones(8, requires_grad=True)",
     "y = x * 2; y[1:].mul_(3); y.sum().backward()"),
    ("from flambeau.autograd import grad; x = flambeau.ones(8, requires_grad=True)",
     "g, = grad((x ** 3).sum(), x, create_graph=True); g.sum().backward(); x.grad = None"),
])
def test_resident_memory_is_flat(setup, step):
    """The collector is off: nothing may need it."""
    grown = int(run(ROUNDS.format(setup=setup, step=step, n=100_000)))
    assert grown < 2_000_000, f"{grown} bytes more after 100,000 rounds"


CUSTOM_LEAF = "import flambeau.autograd" + CUSTOM + "x = flambeau.ones(8, requires_grad=True)"


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads Linux's /proc")
@pytest.mark.parametrize(("setup", "step"), [
    (CUSTOM_LEAF, "Twice.apply(x)"),
    (CUSTOM_LEAF, "Twice.apply(Twice.apply(x)).sum().backward(); x.grad = None"),
    (CUSTOM_LEAF, "x.grad = None; y = Twice.apply(x).sum(); y.backward(retain_graph=True); "
                  "y.backward()"),
    ("x = flambeau.ones(8, requires_grad=True)",
     "y = (x * x).sum(); y.backward(); x.grad = None; del y"),
])
def test_a_million_rounds_leave_resident_memory_flat(setup, step):
    """A leak of four bytes a round would be seen; the collector is off."""
    text = ROUNDS.format(setup=setup, step=step, n=ROUND_COUNT)
    grown = int(run(text, timeout=900))
    assert grown < 2_000_000, f"{grown} bytes more after {ROUND_COUNT:,} rounds"
