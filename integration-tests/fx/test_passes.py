"""Passes over graphs: parts, constants, products, shapes; against the module as it was."""

import copy
import random

import pytest

import flambeau
from flambeau import fx

nn = pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")

from flambeau.fx.experimental import const_fold, merge_matmul, meta_tracer  # noqa: E402
from flambeau.fx.experimental.normalize import NormalizeArgs, NormalizeOperators  # noqa: E402
from flambeau.fx.experimental.rewriter import RewritingTracer  # noqa: E402
from flambeau.fx.passes.fake_tensor_prop import FakeTensorProp  # noqa: E402
from flambeau.fx.passes.graph_manipulation import get_size_of_all_nodes  # noqa: E402
from flambeau.fx.passes.infra.partitioner import CapabilityBasedPartitioner  # noqa: E402
from flambeau.fx.passes.operator_support import create_op_support  # noqa: E402
from flambeau.fx.passes.split_utils import split_by_tags  # noqa: E402
from flambeau.fx.passes.tools_common import stable_topological_sort  # noqa: E402
from flambeau.fx.passes.utils.source_matcher_utils import get_source_partitions  # noqa: E402


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(4, 3)
        self.scale = nn.Parameter(flambeau.tensor([1.0, 2.0, 3.0]))

    def forward(self, x):
        y = self.second(self.first(x).relu()) + x
        return y * (self.scale + 1) - (self.scale * 2).sum(), y.mean()


def random_module(seed):
    """A graph of sums, with nodes that use any earlier one."""
    choose = random.Random(seed)
    graph = fx.Graph()
    nodes = [graph.placeholder("x"), graph.placeholder("y")]
    for _ in range(12):
        a, b = choose.choice(nodes), choose.choice(nodes)
        function = choose.choice([flambeau.add, flambeau.maximum, flambeau.sub])
        nodes.append(graph.call_function(function, (a, b)))
    graph.output(tuple(choose.sample(nodes, 3)))
    return fx.GraphModule({}, graph)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("vertical", [False, True])
def test_groups_compute_what_the_graph_did(seed, vertical):
    module = random_module(seed)
    chosen = random.Random(seed + 1)
    wanted = {node.name for node in module.graph.nodes if chosen.random() < 0.6}
    support = create_op_support(lambda modules, node: node.op == "call_function"
                                and node.name in wanted)
    x, y = flambeau.randn(5), flambeau.randn(5)
    expected = module(x, y)
    fused = CapabilityBasedPartitioner(copy.deepcopy(module), support, True,
                                       skip_horizontal_fusion=vertical).partition_and_fuse()
    for got, want in zip(fused(x, y), expected, strict=True):
        assert flambeau.equal(got, want)
    left = {node.name for node in fused.graph.nodes if node.op == "call_function"
            and node.target is not __import__("operator").getitem}
    assert not left & wanted


def test_something_between_keeps_groups_apart():
    module = fx.symbolic_trace(lambda x: (x + 1).sin() + (x + 1))
    adds = create_op_support(lambda modules, node: node.name.startswith("add"))
    groups = CapabilityBasedPartitioner(module, adds, True).propose_partitions()
    assert len(groups) == 2
    assert sorted(len(group.nodes) for group in groups) == [1, 2]


def test_constants_are_computed_once():
    network = Network()
    x = flambeau.randn(2, 3)
    folded = const_fold.split_const_subgraphs(network)
    assert folded.const_subgraph_module is not None
    for got, want in zip(folded(x), network(x), strict=True):
        assert flambeau.equal(got, want)
    left = [node for node in folded.graph.nodes if node.op == "get_attr"]
    assert [node.target for node in left] == ["_FX_CONST_FOLDED_ATTRS"]
    assert len(folded._FX_CONST_FOLDED_ATTRS) == 2


def test_random_numbers_are_no_constants():
    class Noisy(nn.Module):
        def forward(self, x):
            return x + flambeau.rand(3)

    folded = const_fold.split_const_subgraphs(fx.symbolic_trace(Noisy()))
    assert folded(flambeau.zeros(3)).shape == (3,)


def test_products_with_one_matrix_become_one():
    class Two(nn.Module):
        def forward(self, a, b, c):
            first = flambeau.matmul(a, c)
            return first, flambeau.matmul(b, c), first + 1

    merged = merge_matmul.merge_matmul(Two())
    assert sum(node.target is flambeau.matmul for node in merged.graph.nodes) == 1
    a, b = flambeau.randn(2, 3), flambeau.randn(4, 3)
    for c in (flambeau.randn(3, 5), flambeau.randn(2, 3, 5)):
        for got, want in zip(merged(a, b, c), Two()(a, b, c), strict=True):
            assert flambeau.allclose(got, want)


def test_products_that_need_one_another_stay():
    class Chain(nn.Module):
        def forward(self, a, c):
            return flambeau.matmul(flambeau.matmul(a, c), c)

    merged = merge_matmul.merge_matmul(Chain())
    assert sum(node.target is flambeau.matmul for node in merged.graph.nodes) == 2


def test_programs_look_at_shapes():
    class Looks(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(9, 4)

        def forward(self, x):
            y = self.table(x)
            y = y + flambeau.arange(y.shape[-1], device=y.device)
            return y.relu() if y.size(0) > 3 and y.ndim == 2 else -y

    for size in (2, 5):
        x = flambeau.arange(size)
        traced = meta_tracer.symbolic_trace(Looks(), {"x": x.to("meta")})
        assert ("relu" in traced.code) == (size > 3)
    looks = Looks()
    traced = meta_tracer.symbolic_trace(looks, {"x": x.to("meta")})
    assert flambeau.equal(traced(x), looks(x))


def test_assertions_are_recorded():
    limit = 3

    class Checked(nn.Module):
        def forward(self, x):
            assert x.sum() < limit, """too
large"""
            return x + 1

    traced = fx.GraphModule(nn.Module(), RewritingTracer().trace(Checked()))
    assert flambeau.equal(traced(flambeau.ones(2)), flambeau.tensor([2.0, 2.0]))
    with pytest.raises(AssertionError, match="too"):
        traced(flambeau.ones(4))


def test_modules_below_are_rewritten_over_the_same_parameters():
    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(flambeau.ones(2))

        def forward(self, x):
            assert x.ndim == 1
            return x * self.weight

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            return self.inner(x)

    outer = Outer()
    tracer = RewritingTracer()
    traced = fx.GraphModule(tracer.root, tracer.trace(outer)) if hasattr(tracer, "root") else None
    graph = RewritingTracer().trace(outer)
    assert [node.name for node in graph.nodes].count("_assert") == 1
    assert traced is None and type(outer.inner) is Inner
    assert fx.GraphModule(outer, graph).inner.weight is outer.inner.weight


def test_arguments_are_named():
    module = fx.symbolic_trace(lambda x: flambeau.cumsum(x, 0))
    named = NormalizeArgs(module).transform()
    node = list(named.graph.nodes)[1]
    assert not node.args and set(node.kwargs) == {"input", "dim", "dtype"}
    assert flambeau.equal(named(flambeau.ones(3)), flambeau.tensor([1.0, 2.0, 3.0]))
    form = flambeau.ops.aten.sub.Tensor
    given = fx.operator_schemas.normalize_function(form, (1, 2), {}, None, None, True)
    assert given.kwargs == {"input": 1, "other": 2, "alpha": 1}


def test_the_form_of_an_operator_is_the_one_that_is_called():
    normalize = fx.operator_schemas.normalize_function
    x, y = flambeau.tensor([1.0, 3.0]), flambeau.tensor([2.0, 2.0])
    for function, args, kwargs, names in (
            (flambeau.max, (x, y), {}, {"input", "other"}), (flambeau.max, (x,), {}, {"input"}),
            (flambeau.max, (x, 0), {}, {"input", "dim", "keepdim"}),
            (flambeau.trapezoid, (x, y), {}, {"y", "x", "dim"}),
            (flambeau.trapezoid, (x,), {"dx": 2.0}, {"y", "dx", "dim"}),
            (flambeau.std, (x, 0, False), {}, {"input", "dim", "unbiased", "keepdim"}),
            (flambeau.std, (x, False), {}, {"input", "unbiased"}),
            (nn.functional.glu, (x, 0), {}, {"input", "dim"}),
            (flambeau.ops.aten.resize_as_, (x,), {"the_template": y},
             {"input", "the_template", "memory_format"})):
        given = normalize(function, args, kwargs, normalize_to_only_use_kwargs=True)
        assert given.kwargs.keys() == names
    again = normalize(flambeau.max, (x, y), {}, normalize_to_only_use_kwargs=True).kwargs
    assert flambeau.max(**again).tolist() == [2.0, 3.0]
    nodes = list(fx.symbolic_trace(lambda x, y: flambeau.max(x, y)).graph.nodes)
    assert normalize(flambeau.max, nodes[2].args) is None       # a dimension, or a tensor?
    found = normalize(flambeau.max, nodes[2].args, {}, (flambeau.Tensor, flambeau.Tensor))
    assert found.args == tuple(nodes[:2]) and not found.kwargs
    assert len(fx.operator_schemas.get_signature_for_torch_op(flambeau.max)) == 3


def test_patterns_leave_defaults_out():
    pool = flambeau.ops.aten.max_pool2d_with_indices.default
    module = fx.symbolic_trace(lambda x: pool(x, [2, 2], stride=[2, 2]))
    pattern = fx.symbolic_trace(lambda x, size, stride: pool(x, size, stride, padding=[0, 0]))
    assert len(fx.replace_pattern(module, pattern, pattern)) == 1
    x = flambeau.randn(1, 4, 4)
    assert flambeau.equal(module(x)[0], pool(x, [2, 2], [2, 2])[0])


def test_operators_that_write_are_refused_and_functions_are_not():
    class Strict(fx.Tracer):
        check_mutable_operations = True

    Strict().trace(lambda x: nn.functional.relu(x, inplace=True))
    for function in (lambda x: flambeau.relu_(x), lambda x: flambeau.add(x, 1, out=x)):
        with pytest.raises(RuntimeError, match="mutable operation"):
            Strict().trace(function)


def test_sums_are_written_as_such():
    made = NormalizeOperators(fx.symbolic_trace(
        lambda x: flambeau.add(x, x) + flambeau.add(x, x, alpha=2))).transform()
    kinds = [str(node.target) for node in made.graph.nodes if node.op == "call_function"]
    assert kinds.count("<built-in function add>") == 2
    assert flambeau.equal(made(flambeau.ones(2)), flambeau.tensor([5.0, 5.0]))


def test_nodes_are_sorted_and_keep_their_order():
    module = random_module(3)
    order = [node.name for node in module.graph.nodes]
    assert [node.name for node in stable_topological_sort(module).graph.nodes] == order


def test_parts_are_called_by_their_tags():
    module = fx.symbolic_trace(Network())
    for node in module.graph.nodes:
        node.tag = "a" if node.name in ("first", "relu", "second") else "b"
    parts = split_by_tags(module, ["a", "b"])
    assert [name for name, _ in parts.named_children()] == ["a", "b"]
    x = flambeau.randn(2, 3)
    for got, want in zip(parts(x), module(x), strict=True):
        assert flambeau.equal(got, want)


def test_sizes_and_shapes_of_nodes():
    network = Network()
    module = fx.symbolic_trace(network)
    get_size_of_all_nodes(module, [flambeau.ones(2, 3)])
    sizes = {node.name: node.size_bytes for node in module.graph.nodes if node.op != "output"}
    assert sizes["first"] == (2 * 4 * 4, 2 * 4 * 4 + 16 * 4)
    FakeTensorProp(module).propagate(flambeau.ones(5, 3))
    assert {node.name: tuple(node.meta["val"].shape) for node in module.graph.nodes
            if node.name in ("first", "mean")} == {"first": (5, 4), "mean": ()}


def test_nodes_are_found_by_the_module_that_they_are_of():
    class Inner(nn.Module):
        def forward(self, x):
            return x.relu() + 1

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = Inner(), Inner()

        def forward(self, x):
            return self.b(self.a(x))

    found = get_source_partitions(fx.symbolic_trace(Outer()).graph, [Inner])[Inner]
    assert [[node.name for node in part.nodes] for part in found] == [["relu", "add"],
                                                                      ["relu_1", "add_1"]]
    assert [node.name for node in found[1].input_nodes] == ["add"]


def test_forms_of_operators_are_targets():
    aten = flambeau.ops.aten
    graph = fx.symbolic_trace(lambda x: aten.cat([aten.neg(x), aten.mul.Tensor(x, x)])).graph
    assert [node.target for node in graph.nodes if node.op == "call_function"] == [
        aten.neg, aten.mul.Tensor, aten.cat]
    assert "ops.aten.mul.Tensor(x, x)" in fx.GraphModule({}, graph).code


def test_code_says_where_it_came_from():
    module = fx.symbolic_trace(Network())
    assert __file__ in module.forward.__code__.co_filename
