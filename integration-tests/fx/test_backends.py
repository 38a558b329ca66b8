"""Functions as backends: graphs that stand for calls as long as nothing changed that was read."""

import pickle
import warnings

import pytest

import flambeau
from flambeau import jit, nn
from flambeau.jit import GraphBreakError

F = nn.functional
X = flambeau.randn(5, 4)
FACTOR = 2.0


class Kept:
    """A backend that runs graphs as they are and keeps them."""

    def __init__(self):
        self.graphs, self.inputs = [], []

    def __call__(self, graph, inputs):
        self.graphs.append(graph)
        self.inputs.append(inputs)
        return graph.forward


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Dropout(0.4), nn.BatchNorm1d(4)])
        self.scale = nn.Parameter(flambeau.ones(4))
        self.power = 1.0

    def forward(self, x):
        y = x.detach().sum() + x * self.scale
        for layer in self.layers:
            y = layer(y)
        first, rest = F.gelu(y).split([1, 3], -1)
        y = flambeau.cat([rest, first * self.power], -1)
        y[0] *= 2
        return {"y": y, "size": x.shape[0], "parts": (y.T, [y.sum()])}


def flat(found):
    return [found["y"], found["parts"][0], found["parts"][1][0]]


def same(one, other):
    return one["size"] == other["size"] and all(map(flambeau.equal, flat(one), flat(other)))


def gradients(net, found):
    net.zero_grad()
    found["y"].square().sum().backward()
    return [None if p.grad is None else p.grad.tolist() for p in net.parameters()]


CHANGES = {
    "eval": lambda net: net.eval(),
    "a number": lambda net: setattr(net, "power", 3.0),
    "a parameter": lambda net: setattr(net, "scale", nn.Parameter(flambeau.zeros(4))),
    "a layer": lambda net: net.layers.append(nn.ReLU()),
    "a function": lambda net: setattr(net.layers[0], "forward", lambda x: x + 1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_graphs_do_what_the_module_does(change):
    flambeau.manual_seed(0)
    plain, other, kept = Net(), Net(), Kept()
    other.load_state_dict(plain.state_dict())
    compiled = jit.compile(other, backend=kept)
    for k in range(6):
        if k == 3:
            CHANGES[change](plain)
            CHANGES[change](other)
        x = flambeau.randn(5, 4)
        flambeau.manual_seed(k)
        wanted = plain(x)
        state = flambeau.get_rng_state()
        flambeau.manual_seed(k)
        found = compiled(x)
        assert same(wanted, found) and flambeau.equal(state, flambeau.get_rng_state())
        assert gradients(plain, wanted) == gradients(other, found)
        assert all(map(flambeau.equal, plain.buffers(), other.buffers()))
    assert len(kept.graphs) == 2


def test_what_a_backend_is_given():
    kept = Kept()
    weight = nn.Parameter(flambeau.ones(4))

    def fn(x, k, *, shift):
        return flambeau.relu(x * weight) + k - shift

    y = flambeau.randn(4)
    jit.compile(fn, backend=kept)(X, 2, shift=y)
    assert kept.inputs[0][0] is X and kept.inputs[0][1] is y
    kinds = [node.op for node in kept.graphs[0].graph.nodes]
    assert kinds.count("placeholder") == 2 and kinds.count("get_attr") == 1
    assert [node.target for node in kept.graphs[0].graph.nodes].count(flambeau.relu) == 1
    assert all(node.meta["val"].is_meta for node in kept.graphs[0].graph.nodes
               if node.op not in ("output", "get_attr"))


def test_a_backend_may_change_the_graph():
    def exchange(graph, inputs):
        for node in graph.graph.nodes:
            if node.target is flambeau.relu:
                node.target = flambeau.neg
        graph.recompile()
        return graph.forward

    fn = jit.compile(lambda x: flambeau.relu(x) + 1, backend=exchange)
    fn(X)
    assert flambeau.equal(fn(X), 1 - X)


def test_guards_of_arguments_globals_and_modes():
    def fn(x, k):
        return x[:k] * FACTOR

    kept = Kept()
    compiled = jit.compile(fn, backend=kept)
    for x, k in ((X, 2), (X, 3), (X.double(), 3), (X.t(), 3), (X, 2)):
        for _ in range(2):
            assert flambeau.equal(compiled(x, k), fn(x, k))
    assert len(kept.graphs) == 4
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(fn.__globals__, "FACTOR", 5.0)
        assert flambeau.equal(compiled(X, 2), X[:2] * 5)
    with flambeau.no_grad():
        assert not compiled(X.clone().requires_grad_(), 2).requires_grad
    assert compiled(X.clone().requires_grad_(), 2).requires_grad


def branches(x):
    return x * 2 if x.sum() > 0 else x


def enters_a_mode(x):
    with flambeau.no_grad():
        return x * 2


def goes_back(x):
    (x * 2).sum().backward()
    return x.grad


def adds_up(x):
    return sum([x, x * 2])


def draws(x):
    print("drawn")
    return x * 2


@pytest.mark.parametrize("fn", [branches, enters_a_mode, goes_back, adds_up, draws])
def test_what_is_no_graph_runs_as_it_is(fn):
    kept = Kept()
    compiled = jit.compile(fn, backend=kept)
    with pytest.warns(UserWarning, match=rf"{fn.__name__} runs as it is, without the backend"):
        first = compiled(X.clone().requires_grad_())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        second = compiled(X.clone().requires_grad_())
    assert flambeau.equal(first, fn(X.clone().requires_grad_())) and flambeau.equal(first, second)
    assert not kept.graphs and compiled.explain().startswith("no graph: ")
    with pytest.raises(GraphBreakError, match=fn.__name__):
        jit.compile(fn, backend=kept, fullgraph=True)(X.clone().requires_grad_())


def test_errors_of_backends():
    with pytest.raises(TypeError, match="returned an object of class NoneType"):
        jit.compile(lambda x: x + 1, backend=lambda graph, inputs: None)(X)
    fn = jit.compile(lambda x: x + 1, backend=lambda graph, inputs: lambda x: x + 1)
    fn(X)
    with pytest.raises(TypeError, match="must give a tuple of 1 results"):
        fn(X)
    with pytest.raises(ZeroDivisionError):
        jit.compile(lambda x: x + 1, backend=lambda graph, inputs: 1 // 0)(X)


def test_more_states_than_are_kept():
    kept = Kept()
    compiled = jit.compile(lambda x, k: x * k, backend=kept)
    for k in range(20):
        assert flambeau.equal(compiled(X, k), X * k)
    assert len(kept.graphs) == 8


def interpreted(graph, inputs):
    from flambeau import fx

    return fx.Interpreter(graph).run


def test_decorated_methods_pickles_and_interpreters():
    class Thing:
        @jit.compile(backend=interpreted)
        def method(self, x):
            return x * 2 + 1

    thing = Thing()
    for _ in range(3):
        assert flambeau.equal(thing.method(X), X * 2 + 1)
    net = pickle.loads(pickle.dumps(jit.compile(nn.Linear(4, 2), backend=interpreted)))
    assert net(X).shape == net(X).shape == (5, 2)
