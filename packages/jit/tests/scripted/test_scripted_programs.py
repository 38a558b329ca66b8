"""Random functions with control flow on values: programs give what Python gives, bit for bit."""

from __future__ import annotations

import linecache
import os

import pytest
from scripted_sources import Source

import flambeau as fl
from flambeau import jit
from flambeau.jit import bridge

COUNT = int(os.environ.get("RANDOM_SCRIPTS", "40"))
FIRST = int(os.environ.get("FIRST_SCRIPT", "0"))


def inputs(seed: int) -> list[list[fl.Tensor]]:
    generator = fl.Generator().manual_seed(seed)
    return [[fl.randn(size, generator=generator) * scale for _ in range(3)]
            for size, scale in ((4, 1), (4, 3), (4, 0.1), (5, 2), (2, 1))]


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_what_python_gives(seed, tmp_path):
    source = Source(seed)
    function = source.function(tmp_path)
    scripted = jit.script(function)
    first, *rest = inputs(seed)
    scripted(*first)
    program = scripted.program()
    for each in (first, *rest):
        try:
            found = program(*each)
        except jit.ProgramError as error:       # sizes on which Python decides
            assert "numel" in source.text, error
            continue
        for one, other in zip(function(*each), found, strict=True):
            assert bridge.same_bits(one, other), source.text
    linecache.checkcache()


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT, 5))
def test_gradients(seed, tmp_path):
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    source = Source(seed)
    function = source.function(tmp_path)
    first = [each.requires_grad_() for each in inputs(seed)[0]]
    program = jit.script(function, example_inputs=[tuple(first)])
    other = [each.detach().clone().requires_grad_() for each in first]
    for run, leaves in ((function, first), (program, other)):
        sum(each.sum() for each in run(*leaves)).backward()
    for one, two in zip(first, other, strict=True):
        assert (one.grad is None) == (two.grad is None), source.text
        assert one.grad is None or bridge.same_bits(one.grad, two.grad), source.text
    linecache.checkcache()
