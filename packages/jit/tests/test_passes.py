"""Each pass on a small handmade graph."""

import pytest
from graphs import chain, node, ops_of, value

import flambeau
from flambeau.jit.grammar import check
from flambeau.jit.ir import Capture, Graph
from flambeau.jit.literals import Slot
from flambeau.jit.passes import (
    PASSES,
    algebra,
    common,
    constants,
    dead_code,
    fusion,
    run_passes,
)


def after(step, graph):
    check(graph)
    result = step(graph)
    check(result)
    return result


def test_order():
    assert [step.__name__ for step in PASSES] == [
        "constants", "algebra", "common", "dead_code", "fusion"
    ]


# ---- dead code ----


def test_dead_code_drops_what_no_result_needs():
    graph = chain("exp", "neg")
    x = graph.inputs[0]
    unused = value(4, 3)
    graph.nodes.append(node("sin", x, out=unused))
    graph.nodes.append(node("cos", unused, out=value(4, 3)))
    graph.captures.append(Capture(value(2), "unused", flambeau.zeros(2)))
    result = after(dead_code, graph)
    assert ops_of(result) == ["exp", "neg"]
    assert result.captures == []


def test_dead_code_keeps_what_is_written():
    graph = chain("exp", "neg")
    x = graph.inputs[0]
    new = value(4, 3)
    graph.nodes.append(node("sin", x, out=new))
    graph.writes = [(x, new)]
    assert ops_of(after(dead_code, graph)) == ["exp", "neg", "sin"]


def test_dead_code_keeps_random_nodes():
    graph = chain("exp")
    graph.nodes.append(node("random_uniform", graph.inputs[0], out=value(4, 3)))
    assert ops_of(after(dead_code, graph)) == ["exp", "random_uniform"]


# ---- common subexpressions ----


def twins(op_a, op_b=None, args_a=(), args_b=None):
    x, a, b, c = value(4, 3), value(4, 3), value(4, 3), value(4, 3)
    nodes = [
        node(op_a, x, *args_a, out=a),
        node(op_b or op_a, x, *(args_a if args_b is None else args_b), out=b),
        node("mul", a, b, out=c),
    ]
    return Graph(inputs=[x], nodes=nodes, outputs=[c])


def users_read_one(graph):
    product = graph.nodes[-1]
    return product.args[0] is product.args[1]


def test_common_merges_equal_nodes():
    result = after(common, twins("exp"))
    assert users_read_one(result)
    assert ops_of(dead_code(result)) == ["exp", "mul"]


def test_common_follows_chains():
    x = value(3)
    a, b, c, d, e = (value(3) for _ in range(5))
    nodes = [node("exp", x, out=a), node("exp", x, out=b), node("neg", a, out=c),
             node("neg", b, out=d), node("mul", c, d, out=e)]
    result = dead_code(after(common, Graph(inputs=[x], nodes=nodes, outputs=[e])))
    assert ops_of(result) == ["exp", "neg", "mul"]


@pytest.mark.parametrize(("one", "other"), [
    ((1,), (1.0,)), ((0.0,), (-0.0,)), ((1,), (2,)), ((True,), (1,)),
    ((Slot(0, "float"),), (Slot(1, "float"),)),
])
def test_common_keeps_different_numbers_apart(one, other):
    assert not users_read_one(after(common, twins("add", args_a=one, args_b=other)))


def test_common_never_merges_random_nodes():
    assert not users_read_one(after(common, twins("random_uniform")))


def test_common_keeps_two_results_two_tensors():
    graph = twins("exp")
    graph.outputs = [graph.nodes[0].outputs[0], graph.nodes[1].outputs[0]]
    result = dead_code(after(common, graph))
    assert ops_of(result) == ["exp", "exp"]


# ---- constants ----


def test_constants_are_computed_once():
    x, r, s, y = value(3), value(3, dtype="int64"), value(3, dtype="int64"), value(3)
    nodes = [node("arange_of", 0, 3, 1, out=r), node("mul", r, 2, out=s), node("add", x, s, out=y)]
    result = dead_code(after(constants, Graph(inputs=[x], nodes=nodes, outputs=[y])))
    assert ops_of(result) == ["add"]
    (capture,) = result.captures
    assert capture.constant
    assert capture.tensor.tolist() == [0, 2, 4]


def test_weights_random_numbers_and_slots_are_not_constants():
    w, a, b, c = (value(3) for _ in range(4))
    nodes = [node("exp", w, out=a), node("random_uniform", a, out=b),
             node("full_of", (3,), Slot(0, "float"), out=c)]
    graph = Graph(captures=[Capture(w, "w", flambeau.zeros(3))], nodes=nodes, outputs=[a, b, c])
    assert after(constants, graph).captures == graph.captures


def test_memory_without_values_is_no_constant_but_what_fills_it_is():
    x, e, f, y, r = (value(3) for _ in range(5))
    nodes = [node("empty", (3,), out=e), node("fill", e, 2.0, out=f), node("mul", x, f, out=y),
             node("random_uniform", e, out=r)]
    graph = Graph(inputs=[x], nodes=nodes, outputs=[y, r])
    result = dead_code(after(constants, graph))
    assert ops_of(result) == ["empty", "mul", "random_uniform"]
    assert [c.tensor.tolist() for c in result.captures] == [[2.0] * 3]


def test_large_constants_stay():
    big = value(1 << 20)
    graph = Graph(nodes=[node("full_of", (1 << 20,), 1.0, out=big)], outputs=[big])
    assert after(constants, graph).captures == []


def test_a_result_is_never_a_constant():
    """Or the user could write into it."""
    ones = value(3)
    graph = Graph(nodes=[node("full_of", (3,), 1.0, out=ones)], outputs=[ones])
    assert ops_of(dead_code(after(constants, graph))) == ["full_of"]


# ---- algebra ----


@pytest.mark.parametrize("op", ["neg", "bitwise_not"])
def test_algebra_undoes_pairs(op):
    dtype = "int64" if op == "bitwise_not" else "float32"
    graph = chain(op, op, "abs", dtype=dtype)
    assert ops_of(dead_code(after(algebra, graph))) == ["abs"]


def test_algebra_leaves_results_alone():
    graph = chain("neg", "neg")
    assert ops_of(dead_code(after(algebra, graph))) == ["neg", "neg"]


def test_algebra_keeps_what_changes_bits():
    x, y, z = value(3), value(3), value(3)
    nodes = [node("add", x, 0, out=y), node("abs", y, out=z)]
    assert len(dead_code(after(algebra, Graph(inputs=[x], nodes=nodes, outputs=[z]))).nodes) == 2


def test_algebra_drops_permutations_that_do_nothing():
    x, y, z = value(2, 3), value(2, 3), value(2, 3)
    nodes = [node("permute", x, (0, 1), out=y), node("abs", y, out=z)]
    assert ops_of(dead_code(after(algebra, Graph(inputs=[x], nodes=nodes, outputs=[z])))) == ["abs"]


@pytest.mark.parametrize(("op", "args", "is_whole"), [
    ("slice", (0, 0, 2**63 - 1, 1), True), ("slice", (1, -9, None, 1), True),
    ("slice", (0, 0, 2, -1), False), ("expand", ((2, 3),), True), ("view", ((2, 3),), True)])
def test_algebra_drops_views_of_all_elements(op, args, is_whole):
    x, y, z = value(2, 3), value(2, 3), value(2, 3)
    nodes = [node(op, x, *args, out=y), node("abs", y, out=z)]
    graph = algebra(Graph(inputs=[x], nodes=nodes, outputs=[z]))
    assert ops_of(dead_code(graph)) == (["abs"] if is_whole else [op, "abs"])


def test_algebra_keeps_views_of_other_shapes():
    x, y, z = value(2, 3), value(3, 2), value(3, 2)
    nodes = [node("view", x, (3, 2), out=y), node("abs", y, out=z)]
    assert ops_of(dead_code(algebra(Graph(inputs=[x], nodes=nodes, outputs=[z])))) == [
        "view", "abs"]


def test_not_twice_of_a_number_is_not_the_number():
    graph = chain("logical_not", "logical_not", dtype="float32")
    graph.nodes[0] = node("logical_not", graph.inputs[0], out=value(4, 3, dtype="bool"))
    y = graph.nodes[0].outputs[0]
    z = value(4, 3, dtype="bool")
    graph.nodes[1] = node("logical_not", y, out=z)
    last = value(4, 3, dtype="bool")
    graph.nodes.append(node("logical_not", z, out=last))
    both = value(4, 3, dtype="bool")
    graph.nodes.append(node("logical_and", last, z, out=both))
    graph.outputs = [both]
    result = dead_code(after(algebra, graph))
    assert ops_of(result) == ["logical_not", "logical_not", "logical_and"]


# ---- fusion ----


def bodies(graph):
    return [ops_of(n.body) for n in graph.nodes if n.body is not None]


def test_fusion_joins_a_chain():
    result = after(fusion, chain("exp", "neg", "sin"))
    assert bodies(result) == [["exp", "neg", "sin"]]
    assert len(result.nodes) == 1


def test_fusion_leaves_single_nodes():
    assert bodies(after(fusion, chain("exp"))) == []


def test_fusion_stops_at_other_shapes_and_kernels():
    x, w = value(4, 3), value(3)
    a, b, c, d, e, s = value(3), value(3), value(4, 3), value(4, 3), value(4, 3), value(4, 3)
    nodes = [node("exp", w, out=a), node("neg", a, out=b), node("mul", x, b, out=c),
             node("sin", c, out=d), node("softmax", d, 1, out=s), node("cos", s, out=e)]
    result = after(fusion, Graph(inputs=[x, w], nodes=nodes, outputs=[e]))
    assert bodies(result) == [["exp", "neg"], ["mul", "sin"]]
    assert ops_of(result) == ["fused", "fused", "softmax", "cos"]


def test_fusion_never_makes_a_circle():
    """exp and mul could be one loop, but softmax between them needs one and feeds the other."""
    x = value(4, 3)
    a, s, c = value(4, 3), value(4, 3), value(4, 3)
    nodes = [node("exp", x, out=a), node("softmax", a, 1, out=s), node("mul", a, s, out=c)]
    result = after(fusion, Graph(inputs=[x], nodes=nodes, outputs=[c]))
    assert ops_of(result) == ["exp", "softmax", "mul"]


def test_fusion_never_makes_a_circle_of_two_regions():
    x = value(4, 3)
    a, b, s, c, d = (value(4, 3) for _ in range(5))
    nodes = [node("exp", x, out=a), node("neg", a, out=b), node("softmax", b, 1, out=s),
             node("sin", s, out=c), node("mul", c, a, out=d)]
    result = after(fusion, Graph(inputs=[x], nodes=nodes, outputs=[d]))
    assert bodies(result) == [["exp", "neg"], ["sin", "mul"]]


def test_fusion_gives_what_others_read():
    x = value(4, 3)
    a, b, s = value(4, 3), value(4, 3), value(4)
    nodes = [node("exp", x, out=a), node("sum", a, 1, out=s), node("neg", a, out=b)]
    graph = after(fusion, Graph(inputs=[x], nodes=nodes, outputs=[b, s]))
    assert bodies(graph) == [["exp", "neg"]]
    assert len(graph.nodes[0].outputs) == 2


def test_random_nodes_keep_their_order():
    """The fused loop waits for the second draw; the first must still come first."""
    x = value(4, 3)
    a, r, p, t = (value(4, 3) for _ in range(4))
    nodes = [node("exp", x, out=a), node("random_uniform", a, out=p),
             node("random_normal", x, out=r), node("mul", a, r, out=t)]
    result = after(fusion, Graph(inputs=[x], nodes=nodes, outputs=[p, t]))
    order = [op for op in ops_of(result) if op.startswith("random")]
    assert order == ["random_uniform", "random_normal"]


def test_all_passes_leave_the_graph_they_were_given():
    graph = twins("exp")
    before = str(graph)
    run_passes(graph)
    assert str(graph) == before


def test_a_broken_pass_is_named():
    def broken(graph):
        graph.nodes[0].args = ()
        return graph

    with pytest.raises(Exception) as error:
        run_passes(chain("exp"), [broken])
    assert "after the pass 'broken'" in error.value.__notes__


@pytest.mark.parametrize("seed", range(30))
def test_walks_that_end_at_a_cut_find_the_same_regions(seed, monkeypatch):
    """Grouping looks back no further than needed: as far as looking at everything."""
    import random
    import sys

    module = sys.modules["flambeau.jit.passes.fusion"]
    draw = random.Random(seed)
    x = value(4, 3)
    values, nodes = [x], []
    for _ in range(draw.choice([20, 150])):
        near = values[-draw.choice([1, 3, 40]):]
        out = value(4, 3)
        one, other = draw.choice(near), draw.choice(near)
        kind = draw.random()
        nodes.append(node("softmax", one, 1, out=out) if kind < 0.2 else
                     node("add", one, other, out=out) if kind < 0.6 else node("sin", one, out=out))
        values.append(out)
    graph = Graph(inputs=[x], nodes=nodes, outputs=values[-3:])
    found = str(after(fusion, graph))
    monkeypatch.setattr(module._Grouping, "cut_before", lambda self, number: 0)
    assert str(fusion(graph)) == found
