"""Every module, compiled: outputs, gradients, buffers and generator as uncompiled, bit for bit."""

from __future__ import annotations

import pytest
from compiled_modules import arguments, names, rows
from random_programs import describe, without_version

import flambeau
from flambeau import jit
from flambeau.jit import bridge, compiling

ROWS = rows()
FIRST = [each for number, each in enumerate(ROWS) if each.name != ROWS[number - 1].name]
HALF = ("float16", "bfloat16")


pytestmark = pytest.mark.usefixtures("small_kernels_wait")


def flat(outputs):
    """The tensors of an output."""
    if isinstance(outputs, flambeau.Tensor):
        return [outputs]
    return [t for each in outputs for t in flat(each)] if isinstance(outputs, tuple | list) else []


def step(module, given, call):
    """Forward and backward; some modules write in place, which leaves refuse."""
    given = [each * 1 if getattr(each, "requires_grad", False) else each for each in given]
    outs = flat(module(*given, **call))
    total = sum((out * out.detach().cos()).sum() for out in outs if out.requires_grad)
    if isinstance(total, flambeau.Tensor):
        total.backward()
    return outs


def step_outside(module, given, call):
    """Forward alone is compiled."""
    return step(jit.compile(lambda *args, **options: module(*args, **options)), given, call)


def outcome(row, dtype, training, run):
    """All that a call leaves behind, or its error."""
    flambeau.manual_seed(0)
    module = row.make(flambeau).to(getattr(flambeau, dtype)).train(training)
    given = arguments(row, dtype)
    try:
        for _ in range(2):
            outs = run(module, given, row.call)
    except (RuntimeError, TypeError, NotImplementedError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    leaves = [*(each for each in given if isinstance(each, flambeau.Tensor)), *module.parameters()]
    grads = [each.grad for each in leaves if each.grad is not None]
    left = [*outs, *grads, *module.buffers(), flambeau.get_rng_state()]
    return [len(grads), *(without_version(describe(each)) for each in left)]


def check(row, dtype):
    for training in (True, False):
        wanted = outcome(row, dtype, training, step)
        assert outcome(row, dtype, training, jit.compile(step)) == wanted
        assert outcome(row, dtype, training, step_outside) == wanted
        assert isinstance(wanted, list) or dtype in HALF, wanted


def test_every_module_is_here():
    assert names() <= {row.name for row in ROWS}


@pytest.mark.parametrize("row", FIRST, ids=str)
def test_modules(row):
    check(row, "float32")


@pytest.mark.filterwarnings("ignore:kl_div:UserWarning")
@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64", *HALF])
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_all_rows(row, dtype):
    check(row, dtype)


@pytest.mark.parametrize("row", FIRST, ids=str)
def test_modules_as_they_are(row):
    """Most kernels of these sizes do not wait."""
    bridge.configure_deferral(compiling.make_plan)
    check(row, "float64")
