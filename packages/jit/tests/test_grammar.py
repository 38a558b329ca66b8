"""Every rule of the grammar, broken once."""

from dataclasses import replace

import pytest
from graphs import chain, node, value

from flambeau.jit.dims import Dim, symbol
from flambeau.jit.errors import GraphError
from flambeau.jit.grammar import check
from flambeau.jit.ir import Capture, Graph, Node
from flambeau.jit.literals import DType
from flambeau.jit.passes import fusion

N = symbol("N")


def refused(graph, *words):
    with pytest.raises(GraphError) as error:
        check(graph)
    for word in words:
        assert word in str(error.value), str(error.value)


def test_valid_graphs_pass():
    assert check(chain("exp", "neg")) is None
    x, w = value(N, 8), value(10, 8)
    y = value(N, 10)
    check(Graph(inputs=[x], captures=[Capture(w, "w")], nodes=[node("linear", x, w, out=y)],
                outputs=[y], symbols={"N": (2, 5)}))


def test_unknown_operator():
    x = value(3)
    refused(Graph(inputs=[x], nodes=[Node("frobnicate", (x,), (value(3),))]),
            "no operator 'frobnicate'")


def test_used_before_it_is_assigned():
    graph = chain("exp", "neg")
    graph.nodes.reverse()
    refused(graph, "used before it is assigned", "neg(")


def test_assigned_twice():
    graph = chain("exp", "neg")
    graph.nodes[1] = replace(graph.nodes[1], outputs=graph.nodes[0].outputs)
    refused(graph, "assigned twice")


def test_input_given_twice():
    x = value(3)
    refused(Graph(inputs=[x, x]), "assigned twice")


def test_wrong_number_of_arguments():
    x = value(3)
    refused(Graph(inputs=[x], nodes=[Node("exp", (x, x), (value(3),))]),
            "2 arguments for the parameters (self)")


@pytest.mark.parametrize(("op", "args", "word"), [
    ("exp", (1.0,), "'self' (Tensor)"),
    ("sum", ("x", "dim"), "'dim' (Dims?)"),
    ("sum", ("x", 0, 1), "'keepdim' (Bool)"),
    ("cast", ("x", "float32"), "'dtype' (DType)"),
    ("view", ("x", (2.0,)), "'size' (Shape)"),
    ("softmax", ("x", None), "'dim' (Dim)"),
    ("cat", ("x",), "'tensors' (Tensors)"),
    ("add", ("x", "one"), "'other' (Operand)"),
])
def test_arguments_fit_their_roles(op, args, word):
    x = value(3)
    args = tuple(x if arg == "x" else arg for arg in args)
    bad = node(op, *args, out=value(3))
    refused(Graph(inputs=[x], nodes=[bad]), word.replace("?", ""))


def test_shape_must_be_what_infer_says():
    x = value(4, 3)
    refused(Graph(inputs=[x], nodes=[node("sum", x, 1, out=value(3))]),
            "float32[4], not float32[3]")


def test_dtype_must_be_what_infer_says():
    x = value(4)
    refused(Graph(inputs=[x], nodes=[node("lt", x, x, out=value(4))]), "bool[4], not float32[4]")


def test_shape_must_agree_for_every_size():
    """Right for N=2 alone."""
    x = value(N, 3)
    graph = Graph(inputs=[x], nodes=[node("exp", x, out=value(2, 3))], symbols={"N": (2, 5)})
    refused(graph, "gives float32[5, 3] for {'N': 5}, not float32[2, 3]")


def test_the_operators_own_errors_show():
    x, y = value(4, 3), value(2, 5)
    refused(Graph(inputs=[x, y], nodes=[node("add", x, y, out=value(4, 3))]), "add(")


def test_undeclared_size():
    refused(Graph(inputs=[value(symbol("T"), 3)]), "the size T is not declared")
    refused(Graph(inputs=[value(-1, 3)]), "-1 is not a size")


def test_symbols_need_sizes():
    refused(Graph(inputs=[value(N)], symbols={"N": ()}), "'N'")
    refused(Graph(inputs=[value(N)], symbols={"N": (0, 2)}), "'N'")


def test_symbols_are_sizes_of_inputs():
    refused(Graph(inputs=[value(Dim((("N", 2),)))], symbols={"N": (2,)}), "'N'", "by itself")


def test_results_must_exist():
    refused(Graph(inputs=[value(3)], outputs=[value(3)]), "never assigned")


def test_writes_go_outside_once_and_keep_the_type():
    graph = chain("exp")
    x, y = graph.inputs[0], graph.outputs[0]
    graph.writes = [(y, y)]
    refused(graph, "input or a captured tensor")
    graph.writes = [(x, y), (x, y)]
    refused(graph, "once")
    half = value(4, 3, dtype="float64")
    graph.nodes.append(node("cast", x, DType("float64"), out=half))
    graph.writes = [(x, half)]
    refused(graph, "float64[4, 3] is written into float32[4, 3]")


def test_names_of_captures_differ():
    captures = [Capture(value(3), "w"), Capture(value(3), "w")]
    refused(Graph(captures=captures), "'w'")


def test_regions():
    graph = fusion(chain("exp", "neg"))
    check(graph)
    fused = graph.nodes[0]
    refused(replace(graph, nodes=[replace(fused, body=None)]), "a region belongs to fused nodes")
    inner = fused.body
    x = inner.inputs[0]
    total = value(4)
    summed = replace(inner, nodes=[node("sum", x, 1, out=total)], outputs=[total])
    bad = replace(fused, body=summed, outputs=(value(4),))
    refused(replace(graph, nodes=[bad], outputs=[bad.outputs[0]]), "sum is not pointwise")
    other = replace(fused, outputs=(value(4, 3, dtype="float64"),))
    refused(replace(graph, nodes=[other], outputs=list(other.outputs)), "inputs and outputs")
