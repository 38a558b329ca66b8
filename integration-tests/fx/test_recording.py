"""Programs recorded as graphs: what is in them, what they compute, what they print."""

import copy
import math
import operator
import pickle

import pytest

import flambeau
from flambeau import fx
from flambeau.utils import _pytree as pytree

nn = pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
from flambeau.fx.experimental.proxy_tensor import make_fx  # noqa: E402

F = nn.functional


def scaled(x, factor):
    return x * factor


fx.wrap("scaled")
fx.wrap("len")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(3, 4)
        self.scale = nn.Parameter(flambeau.ones(4))
        self.tail = nn.Sequential(nn.ReLU(), nn.Linear(4, 4))
        self.register_buffer("shift", flambeau.arange(4.))

    def forward(self, x):
        y = self.tail(self.hidden(x) + self.scale * self.shift)
        a, b = y.split(2, -1)
        return {"joined": flambeau.cat([b, a], -1)[..., None, :3], "rows": x.shape[0]}


def test_code_says_what_was_called():
    module = fx.symbolic_trace(Net())
    assert module.code == """


def forward(self, x):
    hidden = self.hidden(x)
    scale = self.scale
    shift = self.shift
    mul = scale * shift;  scale = shift = None
    add = hidden + mul;  hidden = mul = None
    tail_0 = getattr(self.tail, "0")(add);  add = None
    tail_1 = getattr(self.tail, "1")(tail_0);  tail_0 = None
    split = tail_1.split(2, -1);  tail_1 = None
    getitem = split[0]
    getitem_1 = split[1];  split = None
    cat = flambeau.cat([getitem_1, getitem], -1);  getitem_1 = getitem = None
    getitem_2 = cat[(Ellipsis, None, slice(None, 3, None))];  cat = None
    getattr_1 = x.shape;  x = None
    getitem_3 = getattr_1[0];  getattr_1 = None
    return {'joined': getitem_2, 'rows': getitem_3}
    """


def test_a_recorded_module_gives_the_same_and_trains():
    net = Net()
    module = fx.symbolic_trace(net)
    x = flambeau.randn(5, 3)
    wanted, found = net(x), module(x)
    assert found["rows"] == 5
    assert found["joined"].tolist() == wanted["joined"].tolist()
    found["joined"].sum().backward()
    grads = [p.grad.tolist() for p in net.parameters()]
    net.zero_grad()
    wanted["joined"].sum().backward()
    assert grads == [p.grad.tolist() for p in net.parameters()]


@pytest.mark.parametrize("again", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_modules_of_their_own(again):
    module = fx.symbolic_trace(Net())
    other = again(module)
    assert other.code == module.code
    x = flambeau.randn(2, 3)
    assert other(x)["joined"].tolist() == module(x)["joined"].tolist()
    assert other.hidden.weight is not module.hidden.weight
    other.graph.lint()


def test_wrapped_functions_are_nodes():
    module = fx.symbolic_trace(lambda x: scaled(x, 2) + len(x) + math.sqrt(x.shape[0]))
    names = [node.target for node in module.graph.nodes if node.op == "call_function"]
    assert scaled in names and len in names and math.sqrt in names
    assert module(flambeau.ones(4)).tolist() == [8., 8., 8., 8.]
    assert scaled(3, 2) == 6


def test_functions_of_the_library_are_nodes():
    module = fx.symbolic_trace(lambda x: flambeau.einsum("ij->j", F.softmax(x, 1)) + F.relu(x)[0])
    targets = [node.target for node in module.graph.nodes if node.op == "call_function"]
    assert targets[:3] == [F.softmax, flambeau.einsum, F.relu]
    relu = next(node for node in module.graph.nodes if node.target is F.relu)
    assert relu.kwargs == {"inplace": False}
    x = flambeau.randn(2, 3)
    wanted = flambeau.einsum("ij->j", F.softmax(x, 1)) + F.relu(x)[0]
    assert module(x).tolist() == wanted.tolist()


@pytest.mark.parametrize("program", [
    lambda x: x if x.sum() > 0 else -x,
    lambda x: sum(each * 2 for each in x),
    lambda x: {**x},
])
def test_what_depends_on_values_is_refused(program):
    with pytest.raises(fx.proxy.TraceError):
        fx.symbolic_trace(program)
    assert not hasattr(nn.Module.__call__, "__wrapped__")
    assert "__getattribute__" not in vars(nn.Module)


def test_length_and_unknown_objects_are_refused():
    with pytest.raises(RuntimeError, match="wrap"):
        fx.symbolic_trace(lambda x: x.__len__())
    with pytest.raises(NotImplementedError, match="flambeau.fx.wrap"):
        fx.symbolic_trace(lambda x: x + object())


def test_arguments_that_are_constants():
    def power(x, n, flag=True):
        return x ** n if flag else x

    module = fx.symbolic_trace(power, concrete_args={"n": 2, "flag": True})
    assert module(flambeau.tensor([3.]), 2, True).tolist() == [9.]
    with pytest.raises(AssertionError, match="specialized to have value 2"):
        module(flambeau.tensor([3.]), 3, True)

    def nested(d):
        return d["a"] + d["b"][0]

    module = fx.symbolic_trace(nested, concrete_args={"d": {"a": fx.PH, "b": [fx.PH, 1]}})
    assert module({"a": flambeau.ones(1), "b": [flambeau.ones(1), 1]}).tolist() == [2.]


def test_nested_arguments_are_found_by_their_keys():
    def f(b, a):
        return (a["a"] - a["z"], {"k": a["a"]}) if b else a["z"]

    module = fx.symbolic_trace(f, concrete_args={"a": {"a": fx.PH, "z": fx.PH}, "b": True})
    given = {"z": flambeau.zeros(2), "a": flambeau.ones(2)}     # in another order
    assert "tree_flatten_spec" in module.code
    again = fx.symbolic_trace(module)
    assert [node.target for node in again.graph.nodes if node.op == "placeholder"] == ["b", "a"]
    for each in (module, again, copy.deepcopy(module), pickle.loads(pickle.dumps(module)),
                 fx.GraphModule({}, module.graph)):
        difference, rest = each(True, given)
        assert (difference.tolist(), rest["k"].tolist()) == ([1., 1.], [1., 1.])
    assert module.graph.process_inputs(True, given)[1:] == [given["a"], given["z"]]


def test_nested_arguments_of_classes():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    pytree.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda xs, _: Pair(*xs))
    try:
        module = fx.symbolic_trace(lambda x: x.a - x.b, concrete_args={"x": Pair(fx.PH, fx.PH)})
        found = module(Pair(flambeau.ones(1), flambeau.zeros(1)))
    finally:
        del pytree.SUPPORTED_NODES[Pair]
    assert found.tolist() == [1.]


def test_every_kind_of_parameter_is_a_placeholder():
    module = fx.symbolic_trace(lambda x, *rest, k=2, **more: x + rest[0] * k + more["z"])
    assert [node.target for node in module.graph.nodes if node.op == "placeholder"] == \
        ["x", "k", "*rest", "**more"]
    assert module(flambeau.ones(1), 3, flambeau.ones(1), z=1).tolist() == [5.]


class Inside(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x).relu()


def test_a_tracer_may_look_into_modules():
    class Deep(fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return False

    tracer = Deep()
    net = Inside()
    graph = tracer.trace(net)
    module = fx.GraphModule(net, graph)
    assert "call_module" not in [node.op for node in graph.nodes]
    x = flambeau.randn(3, 2)
    assert module(x).tolist() == net(x).tolist()


@pytest.mark.parametrize("constant", [False, True])
def test_a_tracer_may_record_its_own_way(constant):
    class Named(fx.Tracer):
        kinds = []

        def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None):
            self.kinds.append(kind)
            return super().create_proxy(kind, target, args, kwargs, name, type_expr)

    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(flambeau.tensor([2.0, 3.0]))

        def forward(self, x):
            return x * self.scale

    net, tracer = Scaled(), Named(param_shapes_constant=constant)
    module = fx.GraphModule(net, tracer.trace(net))
    assert tracer.kinds == ["placeholder", "get_attr", "call_function"]
    assert module(flambeau.ones(2)).tolist() == [2.0, 3.0]


def test_errors_point_into_the_generated_code():
    module = fx.symbolic_trace(lambda x, y: x @ y)
    with pytest.raises(RuntimeError) as caught:
        module(flambeau.ones(2, 3), flambeau.ones(2, 3))
    text = "".join(str(entry) for entry in caught.traceback)
    assert "matmul = x @ y" in text


def test_reflected_operators_record():
    module = fx.symbolic_trace(lambda x: 2 - flambeau.ones(2) * x @ flambeau.eye(2))
    assert next(n for n in reversed(module.graph.nodes) if n.op != "output").target is operator.sub
    assert module(flambeau.tensor([1., 2.])).tolist() == [1., 0.]


def test_a_module_is_written_as_a_package(tmp_path):
    import importlib.util
    import sys

    module = fx.symbolic_trace(Net())
    module.to_folder(tmp_path / "written", "Written")
    spec = importlib.util.spec_from_file_location("written", tmp_path / "written" / "__init__.py")
    package = importlib.util.module_from_spec(spec)
    sys.modules["written"] = package
    try:
        spec.loader.exec_module(package)
        x = flambeau.randn(2, 3)
        assert package.Written()(x)["joined"].tolist() == module(x)["joined"].tolist()
    finally:
        for name in ("written", "written.module"):
            sys.modules.pop(name, None)


@pytest.mark.parametrize("function", [
    lambda x: x * x.sum().item(), lambda x: x if x.sum() > 0 else -x, lambda x: x + float(x[0]),
    lambda x: x.tolist(), lambda x: flambeau.from_numpy(x.numpy()) + 1,
    lambda x: flambeau.histogram(x, 2)[1], lambda x: flambeau.bincount(x.long())])
def test_values_of_arguments_are_no_constants_of_a_recording(function):
    x = flambeau.tensor([1.0, 2.0, 0.0])
    with pytest.raises(RuntimeError, match="depends on the arguments"):
        make_fx(function)(x)


def test_copies_by_python_are_not_recorded():
    x = flambeau.tensor([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"write x\.clone\(\)"):
        make_fx(lambda x: copy.deepcopy(x) * 2)(x)
    assert make_fx(lambda x: copy.copy(x) * 2)(x)(x * 3).tolist() == [6.0, 12.0]


def test_values_that_do_not_depend_on_arguments_may_be_read():
    factor = flambeau.tensor(2.0)
    module = make_fx(lambda x: x * factor.item() if flambeau.ones(2).sum() > 0 else -x)(
        flambeau.ones(2))
    assert module(flambeau.tensor([3.0, 4.0])).tolist() == [6.0, 8.0]


def test_sparse_results_are_not_recorded():
    x = flambeau.tensor([1.0, 0.0])
    with pytest.raises(NotImplementedError, match=r"record x\.to_dense"):
        make_fx(lambda x: x.to_sparse())(x)
    module = make_fx(lambda x: x.to_sparse().to_dense() * 2)(x)
    assert module(flambeau.tensor([0.0, 3.0])).tolist() == [0.0, 6.0]


def test_marks_of_compatibility_where_pytorch_s_tracer_has_them():
    from flambeau.fx import _symbolic_trace

    @_symbolic_trace.compatibility(is_backward_compatible=True)
    def traced(x):
        return x + 1

    assert traced(1) == 2
