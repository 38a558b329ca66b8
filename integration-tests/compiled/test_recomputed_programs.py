"""Programs under a budget for what they save for backward do what they do without.

One difference is right: where memory that a graph needs was written to in place, an uncompiled
program may refuse what a recomputed one knows, and the other way round.
"""

from __future__ import annotations

import os

import pytest
from random_programs import WIDE, Program, differences, run, snapshot, world

from flambeau import jit
from flambeau.autograd import _engine
from flambeau.jit import compiling

COUNT = int(os.environ.get("RANDOM_PROGRAMS", "100"))
BATCH = max(COUNT // 10, 1)
REFUSED = "has been modified by an inplace operation"
#: Chains of what is cheap, read by what is not, with writes between the two passes.
TAPE = (
    "N = A * w.leaf", "N = (A * w.leaf).tanh()", "N = (w.leaf + A).exp().sigmoid()",
    "N = F.layer_norm(A * w.leaf, (4,), w.spread, w.mean)", "N = F.gelu(A * 2) @ w.leaf.T",
    "N = F.relu(w.leaf * A)[:, 1:] * A[:, 1:]", "N = (A.exp().T * 2) @ w.leaf",
    "N = A.double() * w.leaf.double().exp()", "N = F.relu(w.leaf * 2).relu_() * A",
    "N = F.batch_norm(A * w.leaf, w.mean, w.spread, training=True).relu() * w.leaf",
    "N = (w.leaf.exp() + A).softmax(-1) @ w.leaf.T", "N = F.dropout(w.leaf.exp(), 0.4) * A",
    "N = w.leaf.exp()\nN.mul_(2)\nM = N * A\nM.add_(1)\nN = M.exp()",
    "N = w.leaf * 2\nN.data.mul_(2)\nN = N * w.leaf", "N = w.model(A.float())",
    "N = w.leaf.exp()\nN.detach().mul_(2)\nN = N * w.leaf",
    "N = (w.leaf * 2).exp().tanh()\nw.leaf.data.mul_(1.1)",
    "N = (w.leaf * A).sin() * w.leaf\nw.leaf.detach().numpy()[...] += 1",
    "with flambeau.autocast('cpu'):\n    N = (w.leaf.exp() @ w.leaf.T).exp().float()",
    "A.sum().backward(retain_graph=True)", "(A * A.exp()).sum().backward()",
    "N = autograd.grad(A.exp().sum(), w.leaf, create_graph=True)[0]",
    "w.mean.add_(1)", "w.spread.mul_(1.5)", "with flambeau.no_grad():\n    w.leaf.mul_(1.1)",
    "A.register_hook(lambda g: g * 2)", "A.retain_grad()",
    "with autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t):\n"
    "    N = A.exp().tanh() * w.leaf",
    "N = flambeau.utils.checkpoint.checkpoint(lambda t: t.exp().sin() * w.leaf, A * w.leaf,"
    " use_reentrant=False)",
    "N = flambeau.func.grad(lambda t: (t.exp() * w.leaf).tanh().sum())(A.detach())",
    "N = flambeau.vmap(lambda t: (t.exp() * w.leaf[0]).tanh())(w.leaf)")
TABLE = {**WIDE, "tape": (120, TAPE)}


@pytest.fixture(autouse=True)
def small_results_are_recomputed(small_kernels_wait, monkeypatch):
    """As large ones are."""
    monkeypatch.setattr(compiling, "recompute_within",
                        lambda part: _engine.recompute_within(part, 1))


def test_programs_whose_gradients_lend_their_memory():
    for seed in range(COUNT):
        program = Program(seed, table=TABLE)
        function = program.function()
        for rows, dtype in [(3, "float32"), (5, "float64")]:
            wanted = snapshot(run(function, world(seed, rows, dtype)))
            before = _engine.reuse_gradients(1)
            found = snapshot(run(function, world(seed, rows, dtype)))
            _engine.reuse_gradients(before)
            wrong = differences(wanted, found)
            assert not wrong, f"seed {seed}, {rows} rows: {wrong}\n{program.source()}"


def refused(ran):
    """Whether a run met an error about writes in place, at its end or in a ``try``."""
    return REFUSED in ran["error"] or any(
        isinstance(note, str) and note == "RuntimeError" for note in ran["notes"])


@pytest.mark.parametrize("first", range(0, COUNT, BATCH))
def test_programs_under_a_budget(first):
    for seed in range(first, min(first + BATCH, COUNT)):
        program = Program(seed, table=TABLE)
        function = program.function()
        compiled = jit.compile(program.function(jit.compile),
                               options={"activation_memory_budget": (0.0, 0.5)[seed % 2]})
        for rows, dtype in [(3, "float32"), (3, "float32"), (5, "float64"), (seed % 2, "float32")]:
            one, other = (run(f, world(seed, rows, dtype)) for f in (function, compiled))
            if refused(one) or refused(other):
                continue
            wrong = differences(snapshot(one), snapshot(other))
            assert not wrong, f"seed {seed}, {rows} rows: {wrong}\n{program.source()}"
