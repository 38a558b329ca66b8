"""The text of a graph, word for word."""

from graphs import node, value

from flambeau.jit.dims import Dim, symbol
from flambeau.jit.ir import Capture, Graph, Node, Value
from flambeau.jit.literals import Device, DType, Slot
from flambeau.jit.passes import fusion

N = symbol("N")


def linear_relu():
    x, w, b = value(N, 8), value(10, 8), value(10)
    y, z, s = value(N, 10), value(N, 10), value(N)
    return Graph(
        inputs=[x],
        captures=[Capture(w, "0.weight"), Capture(b, "0.bias", constant=True)],
        nodes=[
            node("linear", x, w, b, out=y),
            node("relu", y, out=z),
            node("sum", z, (1,), out=s),
        ],
        outputs=[z, s],
        symbols={"N": (2, 5)},
    )


def test_graph():
    assert str(linear_relu()) == (
        "graph(%0: float32[N, 8]):\n"
        "    %0.weight: float32[10, 8] captured\n"
        "    %0.bias: float32[10] constant\n"
        "    %1: float32[N, 10] = linear(%0, %0.weight, %0.bias)\n"
        "    %2: float32[N, 10] = relu(%1)\n"
        "    %3: float32[N] = sum(%2, dim=[1])\n"
        "    return %2, %3"
    )


def test_defaults_are_left_out_and_kinds_of_literals_show():
    x = value(3)
    graph = Graph(
        inputs=[x],
        nodes=[
            node("add", x, 1, out=value(3), alpha=2.5),
            node("add", x, 1.0, out=value(3), alpha=1),
            node("mul", x, Slot(0, "float"), out=value(3)),
            node("cast", x, DType("float64"), out=value(3, dtype="float64")),
            node("full_of", (2, 2), True, None, Device("cpu"), out=value(2, 2, dtype="bool")),
        ],
    )
    assert [line.strip() for line in str(graph).splitlines()[1:-1]] == [
        "%1: float32[3] = add(%0, other=1, alpha=2.5)",
        "%2: float32[3] = add(%0, other=1.0)",
        "%3: float32[3] = mul(%0, other=$0:float)",
        "%4: float64[3] = cast(%0, dtype=float64)",
        "%5: bool[2, 2] = full_of(size=[2, 2], fill_value=True, device='cpu')",
    ]


def test_several_results_writes_and_devices():
    x = value(4, 3)
    values, indices = value(4), value(4, dtype="int64")
    total = value(4, 3)
    graph = Graph(
        inputs=[x],
        nodes=[node("max.dim", x, 1, out=(values, indices)), node("neg", x, out=total)],
        outputs=[indices],
        writes=[(x, total)],
    )
    text = str(graph)
    assert "%1: float32[4], %2: int64[4] = max.dim(%0, dim=1)" in text
    assert text.endswith("    write %0 <- %3\n    return %2")
    away = Value((4, 3), "float32", "cuda:0")
    graph = Graph(inputs=[x], nodes=[Node("neg", (x,), (away,))], outputs=[away])
    assert "%1: float32[4, 3]@cuda:0 = neg(%0)" in str(graph)


def test_a_region_is_printed_below_its_node():
    x, y, z = value(N, 3), value(N, 3), value(N, 3)
    nodes = [node("exp", x, out=y), node("neg", y, out=z)]
    graph = Graph(inputs=[x], nodes=nodes, outputs=[z], symbols={"N": (2,)})
    assert str(fusion(graph)) == (
        "graph(%0: float32[N, 3]):\n"
        "    %1: float32[N, 3] = fused(inputs=[%0]):\n"
        "        %1: float32[N, 3] = exp(%0)\n"
        "        %2: float32[N, 3] = neg(%1)\n"
        "        return %2\n"
        "    return %1"
    )


def test_sizes():
    assert str(Dim((("M", 1), ("N", 2)), -1)) == "M+2*N-1"
    assert str(Dim((("N", -3),))) == "-3*N"
    assert str(Dim((("N", 1),), 0, "float")) == "float(N)"
    assert str(Dim((("N", 4),), 1, "reciprocal")) == "1.0/(4*N+1)"
