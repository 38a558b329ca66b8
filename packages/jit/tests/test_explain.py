"""Measured calls: what ran, why, and nothing done twice."""

import xml.etree.ElementTree as ElementTree

import pytest

import flambeau
from flambeau import jit
from flambeau.core import _core
from flambeau.jit import compiling, picture
from flambeau.jit.explaining import Event
from flambeau.jit.picture import dependences

X = flambeau.randn(20, 30)


@pytest.fixture(autouse=True)
def small_kernels_wait():
    _core.configure_deferral(compiling.make_plan, 100)
    yield
    _core.configure_deferral(compiling.make_plan)


def model(x, state):
    y = (x * 2 + 1).tanh()
    state.add_(y).mul_(0.5)
    z = y.sort(1)[0]
    if z.sum() > 0:
        z = z - 1
    small = flambeau.ones(3) + 1
    noise = flambeau.rand(20, 30)
    return z.exp() * noise, small, y.t()


def run(fn):
    flambeau.manual_seed(3)
    state = flambeau.ones(20, 30)
    return fn(X.clone(), state), state


def test_a_measured_call_does_what_the_function_does():
    wanted, wanted_state = run(model)
    made, state = run(jit.compile(model).explain)
    for one, other in zip((*made.result, state), (*wanted, wanted_state), strict=True):
        assert flambeau.equal(one, other)
    assert state._version == wanted_state._version


def test_what_ran_and_why():
    made, _ = run(jit.compile(model).explain)
    line = model.__code__.co_firstlineno
    found = [(event.title, event.reason, event.where.rpartition(":")[2]) for event in made.events]
    assert found[:-1] == [
        ("loops", "sort", str(line + 3)), ("sort [20, 30]", "", str(line + 3)),
        ("loops", "bool()", str(line + 4)),
        ("empty [3]", "", str(line + 6)), ("fill [3]", "", str(line + 6)),
        ("add [3]", "", str(line + 6)), ("empty [20, 30]", "", str(line + 7))]
    assert found[-1][:2] == ("loops", "the end of the call")
    assert "random_uniform" in made.events[-1].lines[0]
    loops = [event for event in made.events if event.is_loop]
    assert "mul add tanh" in loops[0].lines[0]
    reasons = {event.title.split()[0]: event.lines[0] for event in made.events}
    assert reasons["sort"] == "it is not computed element by element"
    assert reasons["add"].startswith("fewer than 100 elements")
    assert [(what, where.rpartition(":")[2]) for what, where in made.breaks] == [
        ("bool()", str(line + 4))]
    assert made.peak_bytes >= 20 * 30 * 4
    assert all(event.seconds >= 0 and event.alone >= 0 for event in made.events)
    text = str(made)
    assert "model:" in text
    assert "ended by sort at" in text
    assert "bool() took values to Python at" in text
    assert len(made.table()) == len(made.events)


def test_without_arguments_it_tells_of_the_last_call():
    compiled = jit.compile(lambda: (X * 2 + 1).tolist())
    assert compiled.explain() == "nothing waited: no tensor was large enough"
    compiled()
    assert "run for tolist()" in compiled.explain()
    assert compiled.measure().events[0].reason == "tolist()"


def test_calls_that_are_not_measured_are_not_watched():
    compiled = jit.compile(lambda x: (x * 2).sort()[0])
    first = compiled.measure(X)
    compiled(X)
    assert len(first.events) == 2
    with pytest.raises(KeyError):
        jit.compile(lambda x: {}[x * 2]).measure(X)
    with pytest.raises(RuntimeError, match="add"):
        jit.compile(lambda x: x * 2 + flambeau.ones(7)).measure(X)
    compiled(X)
    assert len(first.events) == 2


def test_writes_are_done_once():
    """Loops are run several times to measure them."""
    def fn(x, views):
        x.add_(1)
        views[1:].mul_(3)
        x.t().sub_(0.5)
        return x * 2

    for make in (lambda fn: fn, lambda fn: jit.compile(fn).measure):
        x = flambeau.zeros(20, 30)
        made = make(fn)(x, x)
        result = made if isinstance(made, flambeau.Tensor) else made.result
        assert (x[0, 0].item(), x[1, 0].item()) == (0.5, 2.5)
        assert (result[0, 0].item(), result[1, 0].item()) == (1.0, 5.0)


@pytest.mark.parametrize("shape", [(3,), (20, 30)])     # calls as they stand, and loops
def test_history_is_recorded_once(shape):
    graph = pytest.importorskip("flambeau.autograd.graph", reason="needs flambeau-autograd")
    x = flambeau.ones(shape, requires_grad=True)
    packed = []

    def fn(x):
        with graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
            y = x.exp().square()
            return flambeau.cat([y, y.t() if y.ndim == 1 else y]).mul_(x.sum())

    fn(x).sum().backward()
    wanted, count = x.grad, len(packed)
    x.grad = None
    packed.clear()
    jit.compile(fn).measure(x).result.sum().backward()
    assert len(packed) == count > 2
    assert flambeau.equal(x.grad, wanted)


def test_pictures():
    made, _ = run(jit.compile(model).explain)
    drawn = ElementTree.fromstring(made.svg())
    boxes = [each for each in drawn.iter() if each.tag.endswith("rect")]
    arrows = [each for each in drawn.iter() if each.get("class") == "memory"]
    assert len(boxes) == len(made.events)
    assert len(arrows) == len(dependences(made.events)) > 0
    titles = [name.split()[0] for name, _, _ in made.table()]
    pairs = {(titles[a], titles[b]) for a, b in dependences(made.events)}
    assert ("[20,", "sort") in pairs
    assert made._repr_svg_() == made.svg()
    odd = Event("<script>&", ["x"], "", 'a"<b', 0.0, 0.0)
    assert "<script>" not in picture.draw([odd])


def test_dependences_are_of_the_last_writer():
    def event(reads, writes):
        return Event("loops", [], "", "", 0.0, 0.0, set(reads), set(writes))

    events = [event([], [1]), event([1], [2]), event([], [1]), event([1, 2], [])]
    assert dependences(events) == [(0, 1), (0, 2), (2, 3), (1, 3)]
