"""``flambeau.compiler``: what PyTorch's programs ask of a compiler."""

import numpy
import pytest

import flambeau
from flambeau import compiler, jit
from flambeau.core import _core
from flambeau.jit import compiling

ONE = flambeau.ones(3)


@pytest.fixture
def small_kernels_wait():
    _core.configure_deferral(compiling.make_plan, 1)
    yield
    _core.configure_deferral(compiling.make_plan)


def asks(x):
    return x * 2, compiler.is_compiling()


compiled_asks = jit.compile(asks)


def test_disabled_functions_run_as_uncompiled(small_kernels_wait):
    @compiler.disable
    def plain(x):
        y = x.add_(1) * 2
        return y, compiler.is_compiling(), compiled_asks(y)[1]

    @jit.compile
    def outer(x):
        before = x * 3
        x.mul_(2)
        found = plain(x)
        return before + x, found, compiler.is_compiling()

    total, (doubled, *states), after = outer(flambeau.ones(3))
    assert (total.tolist(), doubled.tolist()) == ([6.0] * 3, [6.0] * 3)
    assert states == [False, False]
    assert after
    assert plain.__name__ == "plain"
    assert "turned off" in plain.explain()


def test_disabling_one_function_alone():
    @compiler.disable(recursive=False, reason="for a look")
    def plain(x):
        return compiler.is_compiling(), compiled_asks(x)[1], compiler.is_compiling()

    assert jit.compile(lambda x: (plain(x), compiler.is_compiling()))(ONE) == (
        (False, True, False), True)


def test_errors_leave_disabled_functions():
    @compiler.disable
    def fails():
        raise KeyError("stop")

    @jit.compile
    def outer():
        with pytest.raises(KeyError):
            fails()
        return compiler.is_compiling()

    assert outer()
    assert not compiler.is_compiling()


def test_disabled_methods_and_classes():
    class Thing:
        @compiler.disable
        def method(self):
            return compiler.is_compiling()

        def __call__(self):
            return compiler.is_compiling()

    thing = Thing()
    assert not jit.compile(thing.method)()
    assert jit.compile(thing)()
    assert compiler.disable(Thing) is Thing
    assert not jit.compile(thing)()


def test_stances():
    assert compiled_asks(ONE)[1]
    with compiler.set_stance("force_eager"):
        assert not compiled_asks(ONE)[1]
        with compiler.set_stance("default"):
            assert compiled_asks(ONE)[1]
        assert not compiled_asks(ONE)[1]
    assert compiled_asks(ONE)[1]

    @compiler.set_stance("force_eager")
    def eagerly():
        return compiled_asks(ONE)[1]

    assert not eagerly()
    assert compiled_asks(ONE)[1]
    compiler.set_stance(force_backend="eager")
    assert not compiled_asks(ONE)[1]
    compiler.set_stance("default")
    assert compiled_asks(ONE)[1]
    for stance in ("fail_on_recompile", "eager_on_recompile", "eager_then_compile"):
        with compiler.set_stance(stance):
            assert compiled_asks(ONE)[1]
    with pytest.raises(ValueError, match="no stance 'lazy'; there are 'default'"):
        compiler.set_stance("lazy")


def test_replays_end_where_compiling_is_turned_off():
    fn = jit.compile(lambda x: x + 1 if compiler.is_compiling() else x - 1, replay=True)
    for _ in range(4):
        assert fn(ONE).tolist() == [2.0] * 3
    with compiler.set_stance("force_eager"):
        for _ in range(3):
            assert fn(ONE).tolist() == [0.0] * 3
    assert fn(ONE).tolist() == [2.0] * 3
    plain = compiler.disable(lambda x: fn(x))
    for _ in range(3):
        assert plain(ONE).tolist() == [0.0] * 3
    assert fn(ONE).tolist() == [2.0] * 3


def test_default_backend():
    assert compiler.get_default_backend() == "inductor"
    compiler.set_default_backend("eager")
    try:
        assert not jit.compile(asks)(ONE)[1]
        assert jit.compile(asks, backend="inductor")(ONE)[1]
    finally:
        compiler.set_default_backend(None)
    assert jit.compile(asks)(ONE)[1]
    assert compiler.list_backends() == ["inductor"]
    assert compiler.list_backends(None) == ["aot_eager", "eager", "inductor"]
    for name in compiler.list_backends(None):
        jit.compile(asks, backend=name)


def test_reset_forgets_what_was_compiled(small_kernels_wait):
    made = []

    def planner(*args):
        made.append(args)
        return compiling.make_plan(*args)

    _core.configure_deferral(planner, 1)
    for _ in range(2):
        assert compiled_asks(ONE)[0].tolist() == [2.0] * 3
    count = len(made)
    compiler.reset()
    assert compiled_asks(ONE)[0].tolist() == [2.0] * 3
    assert len(made) == count + 1


def test_functions_of_arrays():
    @compiler.wrap_numpy
    def split(x, *, more):
        return {"sum": x.sum(), "rows": list(x), "n": 3, "all": (x, more["y"] * 2)}

    found = jit.compile(split)(flambeau.ones(2, 2), more={"y": ONE})
    assert isinstance(found["all"], tuple)
    assert found["sum"].item() == 4.0
    assert [row.tolist() for row in found["rows"]] == [[1.0, 1.0]] * 2
    assert (found["n"], found["all"][1].tolist()) == (3, [2.0] * 3)
    assert compiler.wrap_numpy(numpy.sum)(ONE).item() == 3.0


def test_marks_that_change_nothing():
    def double(x):
        return 2 * x

    for mark in (compiler.allow_in_graph, compiler.disallow_in_graph,
                 compiler.assume_constant_result, compiler.nested_compile_region,
                 compiler.substitute_in_graph(print)):
        assert mark(double) is double
    assert compiler.cudagraph_mark_step_begin() is None
    assert compiler.is_dynamo_compiling is compiler.is_compiling is compiling.is_compiling


def test_reset_forgets_graphs_of_other_backends():
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    made = []

    def backend(module, inputs):
        made.append(module)
        return module.forward

    fn = compiler.compile(lambda x: x + 1, backend=backend)
    for _ in range(2):
        assert fn(flambeau.ones(2)).tolist() == [2, 2]
    assert len(made) == 1
    compiler.reset()
    assert fn(flambeau.ones(2)).tolist() == [2, 2] and len(made) == 2
