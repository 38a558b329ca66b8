"""What programs say to PyTorch's compilers is accepted."""

import pytest

import flambeau
from flambeau import compiler, jit


@pytest.mark.parametrize(
    "mark", [compiler.allow_in_graph, jit.ignore, jit.ignore(drop=True), jit.unused, jit.export,
             jit.script_if_tracing])
def test_marked_functions_are_what_they_were(mark):
    def double(x):
        return 2 * x

    assert mark(double) is double


def test_compiling_can_be_asked():
    seen = []

    @jit.compile
    def step(x):
        seen.append((compiler.is_compiling(), jit.is_tracing(), jit.is_scripting()))
        return x + 1

    assert step(flambeau.ones(2)).tolist() == [2.0, 2.0]
    assert seen == [(True, True, False)]
    assert not compiler.is_compiling()


def test_options_of_compile_are_accepted():
    def double(x):
        return 2 * x

    fast = flambeau.compile(double, mode="reduce-overhead", fullgraph=True, dynamic=False)
    assert fast(flambeau.ones(1)).tolist() == [2.0]
    assert flambeau.compile(double, disable=True) is double
    assert flambeau.compile(disable=True)(double) is double
