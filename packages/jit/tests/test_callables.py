"""Whatever can be called can be compiled, and stays what it was."""

import asyncio
import copy
import functools
import inspect
import pickle
import sys
import threading

import pytest

import flambeau
from flambeau import compiler, jit
from flambeau.jit import GraphBreakError

ONE = flambeau.ones(1)


def both(x):
    """Says whether it is compiled."""
    return x + 1, compiler.is_compiling()


@flambeau.compile
def decorated(x):
    return both(x)


class Counter:
    total = 0

    def __call__(self, x):
        self.total += 1
        return both(x)

    @flambeau.compile
    def method(self, x, *, scale=1):
        return self.total, both(x * scale)

    @staticmethod
    @flambeau.compile
    def inner(x):
        return both(x)

    @flambeau.compile
    @staticmethod
    def outer(x):
        return both(x)

    @flambeau.compile
    @classmethod
    def of_class(cls, x):
        return cls, both(x)


@pytest.mark.parametrize("make", [
    lambda: jit.compile(both), lambda: jit.compile(lambda x: both(x)), lambda: decorated,
    lambda: jit.compile(functools.partial(both)), lambda: jit.compile(Counter()),
    lambda: jit.compile(jit.compile(both)), lambda: jit.compile(fullgraph=True)(both),
    lambda: Counter.inner, lambda: Counter().inner, lambda: Counter.outer,
    lambda: Counter().outer])
def test_callables(make):
    assert make()(ONE) == (flambeau.tensor([2.0]), True)
    assert not compiler.is_compiling()


@flambeau.compile(replay=True)
def replayed(x):
    return x * 2


class Scaled:
    scale = 2

    @flambeau.compile(mode="reduce-overhead")
    def method(self, x):
        return x * self.scale

    @flambeau.compile(replay=True)
    @staticmethod
    def outer(x):
        return x + 2


def test_replayed_callables():
    scaled = Scaled()
    for scale in (2, 2, 2, 3, 3):
        scaled.scale = scale
        assert scaled.method(ONE).item() == scale
        assert Scaled().method(ONE).item() == 2
        assert scaled.outer(ONE).item() == Scaled.outer(ONE).item() == 3
        assert replayed(ONE).item() == 2
    assert pickle.loads(pickle.dumps(replayed)) is replayed
    assert [event.title for event in replayed.explain(ONE).events] == ["mul [1]"]
    steps = jit.compile(lambda n: (yield from [ONE * k for k in range(n)]), replay=True)
    assert [x.item() for x in steps(3)] == [0, 1, 2]


def test_replayed_whole_graphs_end_nowhere():
    whole = jit.compile(lambda x: bool(x.sum()), fullgraph=True, replay=True)
    for _ in range(4):
        with pytest.raises(GraphBreakError):
            whole(ONE)
    fine = jit.compile(lambda x: x.sum(), fullgraph=True, replay=True)
    assert [fine(ONE).item() for _ in range(4)] == [1.0] * 4


def test_methods_are_bound():
    counter = Counter()
    assert counter.method(ONE, scale=2) == (0, (3.0, True))
    assert jit.compile(counter.method)(ONE) == (0, (2.0, True))
    assert Counter.of_class(ONE) == (Counter, (2.0, True))
    assert Counter.method(counter, ONE) == (0, (2.0, True))


def test_attributes_are_those_of_the_function():
    both.label = "mine"
    compiled = jit.compile(both)
    assert (compiled.__name__, compiled.__doc__, compiled.label) == (
        "both", "Says whether it is compiled.", "mine")
    assert compiled.__wrapped__ is both
    assert inspect.signature(jit.compile(lambda x, y=2: x)) == inspect.signature(lambda x, y=2: x)
    counter = Counter()
    compiled = jit.compile(counter)
    compiled(ONE)
    assert compiled.total == 1
    assert "compiled <function both" in repr(jit.compile(both))
    with pytest.raises(AttributeError, match="no attribute 'missing'"):
        _ = jit.compile(both).missing


def test_classes_call_compiled():
    class Doubled(Counter):
        pass

    assert jit.compile(Doubled) is Doubled
    assert Doubled()(ONE) == (2.0, True)
    assert Counter()(ONE) == (2.0, False)

    class Plain:
        pass

    assert jit.compile(Plain) is Plain
    assert isinstance(Plain(), Plain)


def test_copies_and_pickles():
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    assert copy.deepcopy(decorated) is decorated
    for twin in (pickle.loads(pickle.dumps(jit.compile(both))), copy.copy(jit.compile(both)),
                 copy.deepcopy(jit.compile(both, fullgraph=True))):
        assert twin(ONE) == (2.0, True)
    twin = copy.deepcopy(jit.compile(both, fullgraph=True))
    assert type(twin) is type(jit.compile(both, fullgraph=True))


def test_generators_are_compiled_step_by_step():
    events = []

    def steps(count):
        try:
            for number in range(count):
                got = yield number, compiler.is_compiling()
                events.append(got)
        except KeyError:
            yield "caught", compiler.is_compiling()
        finally:
            events.append("end")
        return "done"

    compiled = jit.compile(steps)
    assert list(compiled(2)) == [(0, True), (1, True)]
    running = compiled(3)
    assert next(running) == (0, True)
    assert not compiler.is_compiling()
    assert running.send("sent") == (1, True)
    assert running.throw(KeyError("x")) == ("caught", True)
    with pytest.raises(StopIteration) as stopped:
        next(running)
    assert stopped.value.value == "done"
    left = compiled(3)
    next(left)
    left.close()
    assert events == [None, None, "end", "sent", "end", "end"]


def test_coroutines_are_compiled_step_by_step():
    async def wait(x):
        y = x * 2
        await asyncio.sleep(0)
        return y + 1, compiler.is_compiling()

    async def several():
        return await asyncio.gather(*(jit.compile(wait)(ONE * n) for n in range(3)))

    assert asyncio.run(several()) == [(1.0, True), (3.0, True), (5.0, True)]


def test_recursion_and_threads():
    @jit.compile
    def power(x, n):
        return x if n == 0 else power(x * 2, n - 1)

    assert power(ONE, 20).item() == 2.0**20
    found = []
    threads = [threading.Thread(target=lambda: found.append(power(ONE, 10).item()))
               for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1024.0] * 4


def _branch_on_a_variable(x):
    n = x[0].item()
    y = x * 2
    return y if n > 0 and n < 5 else x


def _loop(x):
    while float(x.sum()) > 0:
        x = x - 1
    return x


def _numbers_that_decide_nothing(x):
    n = x[0].item()
    y = x * n
    n = len(x.shape)
    return y if n > 0 else x


@pytest.mark.parametrize(("read", "what"), [
    (lambda x: x if x.sum() > 0 else -x, r"bool\(\)"), (lambda x: not x.sum(), r"bool\(\)"),
    (lambda x: flambeau.equal(x, x), r"bool\(\)"),
    (lambda x: max([x[:1], x[:1]], key=lambda v: -v), r"bool\(\)"),
    (lambda x: sorted([x[:1], x[:1]]), r"bool\(\)"),
    (lambda x: x + 1 if 1.0 in x else x, r"bool\(\)"),
    (lambda x: x if x[0] in [1.0, 2.0] else -x, r"bool\(\)"),
    (lambda x: x if x.sum().item() > 0 else -x, r"item\(\)"),
    (lambda x: x if 5 * int(x[0]) - 1 < len(x.shape) * 10 else -x, r"int\(\)"),
    (lambda x: x if float(x[0]) else -x, r"float\(\)"),
    (lambda x: not x[0].item() or x, r"item\(\)"),
    (_branch_on_a_variable, r"item\(\)"), (_loop, r"float\(\)"),
    (lambda x: x[:1].is_nonzero(), r"bool\(\)"), (lambda x: complex(x[0]), r"complex\(\)"),
    (lambda x: print(x), r"repr\(\)"), (lambda x: str(x), r"repr\(\)"),
    (lambda x: flambeau.allclose(x, x), r"bool\(\)")])
def test_whole_graphs_end_nowhere(read, what):
    """Whether or not a tensor is large enough to wait."""
    line = read.__code__.co_firstlineno + (read.__name__ != "<lambda>")
    for size in (1, 100_000):
        x = flambeau.ones(size)
        jit.compile(read)(x[:1])
        with pytest.raises(GraphBreakError, match=rf"test_callables.py:{line} .*{what}"):
            jit.compile(read, fullgraph=True)(x[:1] if size == 1 else x * 2)
        assert not compiler.is_compiling()
        x.tolist()


@pytest.mark.parametrize("compute", [
    lambda x: x * x.sum().item(), lambda x: x * float(x[0]), lambda x: x[:int(x[1])],
    lambda x: x[:x.long()[1]], lambda x: x[x > 0], lambda x: x.nonzero(), lambda x: x.numpy() * 2,
    lambda x: x.unique(), lambda x: x.repeat_interleave(x.long().abs()),
    lambda x: f"{x.sum():.2f}", lambda x: x.split(x[1:].long().tolist()),
    lambda x: flambeau.arange(x[1]), lambda x: flambeau.zeros(x.long()[1]),
    lambda x: flambeau.bincount(x.long().abs()), lambda x: (x + 1, 2.0 in x),
    lambda x: (x, 5 not in x), lambda x: max(x) + 1, lambda x: min(x) + 1,
    lambda x: max(x[0], x[1] * 2, x[2]), lambda x: max(list(x)) if len(x) > 2 else x,
    lambda x: min(x.abs()[0], x[len(x) - 1], flambeau.add(x[1], x[2])),
    lambda x: min(x.sum().item(), 3.0), lambda x: [x, len(str(x[0].item()))][x.dim() - 1],
    lambda x: (x.sum().item() > 0, x + 1), lambda x: x.add(1, alpha=x[1].item()),
    lambda x: [x * n for n in range(int(x[1]))], _numbers_that_decide_nothing])
def test_whole_graphs_compute_with_numbers(compute):
    """And have shapes that depend on values, as graphs of torch.compile have."""
    x = flambeau.tensor([-3.0, 2.0, 1.0])
    found, wanted = jit.compile(compute, fullgraph=True)(x), compute(x)
    assert repr(found) == repr(wanted)


def test_whole_graphs_compute():
    def fn(x):
        y = flambeau.where(x > 0, x * 2, -x)
        y[1:].add_(1)
        return y.softmax(0), y.reshape(-1)

    x = flambeau.randn(50)
    for one, other in zip(jit.compile(fn, fullgraph=True)(x), fn(x), strict=True):
        assert flambeau.equal(one, other)


def test_whole_graphs_that_are_called_inside():
    whole = jit.compile(lambda x: bool(x.sum()), fullgraph=True)
    outer = jit.compile(lambda x: (bool(x.sum()), whole(x)))
    with pytest.raises(GraphBreakError):
        outer(ONE)
    inner = jit.compile(lambda x: bool(x.sum()))
    with pytest.raises(GraphBreakError):
        jit.compile(lambda x: inner(x), fullgraph=True)(ONE)
    assert inner(ONE)


def test_backends():
    for name in ("eager", "aot_eager"):
        assert jit.compile(both, backend=name)(ONE) == (2.0, False)
        assert jit.compile(backend=name)(both)(ONE) == (2.0, False)
    with pytest.raises(ValueError, match="no backend 'tvm'; there are 'inductor'"):
        jit.compile(both, backend="tvm")


def test_choices_mean_something_or_warn_once(monkeypatch):
    monkeypatch.setattr("flambeau.jit.choices._told", set())
    with pytest.raises(RuntimeError, match="only one of the two"):
        jit.compile(both, mode="default", options={"max_autotune": True})
    for dynamic in (True, False, None):
        assert jit.compile(both, dynamic=dynamic, options={})(ONE) == (2.0, True)
    with pytest.warns(UserWarning, match=r"option 'max_autotune' has no effect"):
        jit.compile(both, options={"max_autotune": True})
    with pytest.warns(UserWarning, match=r"mode 'max-autotune' has no effect") as warned:
        jit.compile(both, mode="max-autotune")
    assert warned[0].filename == __file__
    jit.compile(both, options={"max_autotune": False})
    jit.compile(both, mode="max-autotune")


def test_environment_returns_what_it_got(monkeypatch):
    monkeypatch.setenv("FLAMBEAU_COMPILE", "0")
    assert jit.compile(both) is both
    assert jit.compile(fullgraph=True)(both) is both

    class Thing:
        @flambeau.compile
        def method(self, x):
            return both(x)

    assert Thing().method(ONE) == (2.0, False)


def test_names_of_a_module_that_is_gone():
    compiled = jit.compile(lambda x: x)
    compiled.__module__ = "no_such_module"
    assert "no_such_module" not in sys.modules
    assert compiled.__reduce__() == (jit.compiling.automatic, (compiled.fn,))


def test_programs_see_that_a_function_is_compiled():
    def double(x):
        return x * 2

    compiled = flambeau.compile(double)
    assert compiled._torchdynamo_orig_callable is double
    assert not any(name.startswith("_torchdynamo") for name in dir(double))
    assert any(name.startswith("_torchdynamo") for name in dir(compiled))
