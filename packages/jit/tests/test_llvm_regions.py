"""Regions of several operators over every kind of operand, against the interpreter bit for bit."""

import itertools
import os
import platform
import subprocess
import sys

import pytest
from graphs import node, ops_of, value
from replay import same

import flambeau
from flambeau import jit
from flambeau.core.formula import parse
from flambeau.core.formula.lower import lower
from flambeau.jit import bridge
from flambeau.jit.cache.kernels import Kernel, KernelCache
from flambeau.jit.grammar import check
from flambeau.jit.interpreter import Scalars, run_graph
from flambeau.jit.ir import Graph, Node
from flambeau.jit.literals import Slot
from flambeau.jit.llvm.engine import machine_code
from flambeau.jit.llvm.fused import FusedRunner
from flambeau.jit.llvm.grid import contiguous_strides, make_grid
from flambeau.jit.llvm.kernel import kernel_text
from flambeau.jit.llvm.machine import Machine, machine
from flambeau.jit.opset import FUSED
from flambeau.jit.passes import fusion
from flambeau.jit.region import Region, flatten


def record(fn, *tensors):
    """The function as one region."""
    from flambeau import jit

    graph = jit.trace(fn, tensors, dynamic=False).graph
    assert ops_of(graph) == [FUSED], str(graph)
    return graph.nodes[0].body


def agree(body, inputs, slots=()):
    fused = Node(FUSED, (tuple(body.inputs),), tuple(v.like() for v in body.outputs), body)
    found = FusedRunner()(fused, inputs, Scalars({}, slots))
    wanted = run_graph(body, inputs, (), Scalars({}, slots))
    for one, other in zip(found, wanted, strict=True):
        assert same(one, other)
    return found


def mixed(x, y):
    z = (x * y + x).tanh()
    return (z.exp() - y).sigmoid() * z + (z > y)


def spread(shape):
    """Values with zeros, infinities and NaN among them."""
    x = flambeau.randn(shape) * 10
    flat = x.view(-1)
    flat[::7] = 0.0
    flat[1::11] = float("inf")
    flat[2::13] = float("nan")
    return x


BASE = spread((6, 8, 10))
OPERANDS = {
    "contiguous": (BASE, spread((6, 8, 10))),
    "row": (BASE, spread((10,))),
    "column": (BASE, spread((6, 8, 1))),
    "middle": (BASE, spread((8, 1))),
    "outer": (spread((6, 1, 1)), spread((1, 8, 10))),
    "number": (BASE, spread(())),
    "one element": (BASE, spread((1,))),
    "transposed": (BASE.transpose(0, 2), spread((10, 8, 6))),
    "both transposed": (BASE.transpose(0, 2), spread((6, 8, 10)).transpose(0, 2)),
    "every second": (BASE[:, ::2], spread((6, 4, 10))),
    "every third column": (BASE[..., ::3], spread((6, 8, 4))),
    "expanded": (BASE, spread((1, 8, 1)).expand(6, 8, 10)),
    "offset": (BASE[1:, 2:, 3:], spread((5, 6, 7))),
    "single": (spread((1, 1)), spread((1,))),
    "scalars": (spread(()), spread(())),
    "empty": (spread((0, 4)), spread((4,))),
    "large": (spread((300, 400)), spread((400,))),
}


@pytest.mark.parametrize("name", OPERANDS)
def test_operands(name):
    x, y = OPERANDS[name]
    agree(record(mixed, x, y), [x, y])


def test_results_keep_the_order_of_memory():
    x, y = OPERANDS["both transposed"]
    body = record(mixed, x, y)
    (found,) = agree(body, [x, y])
    (wanted,) = run_graph(body, [x, y], (), Scalars({}))
    assert found.stride() == wanted.stride() == (1, 10, 80)


def crowded(x, y):
    """A formula that needs many of its values at one time."""
    return (x * 2).exp().log1p() * y - (y.exp().log1p() - x) * y.sigmoid()


@pytest.mark.parametrize("fn", [mixed, crowded])
@pytest.mark.parametrize("count", [1, 2, 7, 15, 16, 17, 63, 64, 127, 128, 129, 255, 1023, 1024,
                                   1025, 2049, 40000])
def test_lengths(fn, count):
    """Vector widths, rounds of several vectors, tiles and chunks with something left over."""
    x, y = spread((count,)), spread((count,))
    agree(record(fn, x, y), [x, y])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_all_bits_through_powers_of_two(dtype):
    """Exponentials end in products with powers of two, which may be one instruction."""
    bits = {"float32": flambeau.int32, "float64": flambeau.int64}[dtype]
    numbers = flambeau.randint(-(2**31), 2**31, (2, 3001)) * flambeau.tensor([[1], [2**31]])
    for each in numbers:
        own = (each if bits == flambeau.int64 else each.to(bits)).view(getattr(flambeau, dtype))
        for x in (own, flambeau.linspace(-800, 800, 3001, dtype=own.dtype)):
            for fn in (lambda x: x.exp() + x.sinh(), lambda x: x.tanh() * 2 - x.sigmoid()):
                agree(record(fn, x), [x])


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16", "int64", "int8",
                                   "bool"])
@pytest.mark.parametrize("shape", [(3, 300), (300, 3), (2, 260, 7)])
def test_long_and_short_stretches(dtype, shape):
    """A number for each stretch, with floats of another width beside it."""
    x = (flambeau.randn(shape) * 3).to(getattr(flambeau, dtype))
    y = flambeau.randn((shape[0], *[1] * (len(shape) - 1)))
    agree(record(lambda x, y: (x * 2 + y).exp() + (x + y) * y, x, y), [x, y])


def test_rare_cases_in_some_tiles_only():
    """sin of huge arguments takes the slow way, tile by tile."""
    x = flambeau.randn(5000)
    x[3000] = 1e30
    x[4999] = float("inf")
    body = record(lambda x: x.sin() * x.cos() + x, x)
    agree(body, [x])
    program = flatten(body).program
    assert any(instr.op == "rare" for instr in program.instrs), "the test needs a rare case"


def test_several_results():
    x, y = OPERANDS["row"]
    body = record(lambda x, y: (x + y, (x + y).exp(), (x + y) > y), x, y)
    assert len(agree(body, [x, y])) == 3


@pytest.mark.parametrize("dtype", ["bfloat16", "int8", "uint8", "int32"])
def test_results_are_rounded_after_every_operator(dtype):
    """As in eager, where each result is stored in its dtype."""
    x = (flambeau.randn(2000) * 100).to(getattr(flambeau, dtype))
    y = (flambeau.randn(2000) * 100).to(getattr(flambeau, dtype))
    agree(record(lambda x, y: (x * y + x) * y - x, x, y), [x, y])


def test_mixed_dtypes():
    i = flambeau.randint(-(2**40), 2**40, (999,))
    b = flambeau.rand(999) < 0.5
    f = flambeau.randn(999)
    h = f.to(flambeau.bfloat16)
    d = f.double()
    fn = lambda i, b, f, h, d: ((i * b + f) * h - d + i).exp() + b  # noqa: E731
    agree(record(fn, i, b, f, h, d), [i, b, f, h, d])


def test_complex_numbers():
    x = flambeau.view_as_complex(flambeau.randn(500, 2))
    y = flambeau.randn(500)
    agree(record(lambda x, y: (x + y).abs() + (x - 1j).abs(), x, y), [x, y])


# ---- run-time scalars ----


def with_slots(*kinds):
    x, y, z = value(50), value(50), value(50)
    slots = [Slot(number, kind) for number, kind in enumerate(kinds)]
    nodes = [node("mul", x, slots[0], out=y), node("add", y, slots[1], alpha=slots[2], out=z)]
    graph = Graph(inputs=[x], nodes=nodes, outputs=[z])
    check(graph)
    return graph


def test_scalars_are_given_at_each_run():
    body = with_slots("float", "float", "float")
    runner = FusedRunner()
    fused = Node(FUSED, (tuple(body.inputs),), (value(50),), body)
    x = flambeau.randn(50)
    codes = set()
    for slots in ((0.1, 1e-7, 3.0), (float("inf"), -0.0, 1e300)):
        (found,) = runner(fused, [x], Scalars({}, slots))
        codes.add(runner.code(fused))
        assert same(found, (x * slots[0]).add(slots[1], alpha=slots[2]))
    assert len(codes) == 1


def test_scalars_of_every_kind():
    x = flambeau.randn(50)
    agree(with_slots("int", "float", "int"), [x], (3, 0.5, 2))
    i = value(50, dtype="int64")
    out = value(50, dtype="int64")
    big = value(50, dtype="int64")
    nodes = [node("mul", i, Slot(0, "int"), out=out), node("sub", out, Slot(1, "int"), out=big)]
    graph = Graph(inputs=[i], nodes=nodes, outputs=[big])
    agree(graph, [flambeau.arange(50)], (-(2**62), 2**63 - 1))


# ---- the pieces ----


def test_code_is_vectorized_and_has_no_fast_math():
    x = flambeau.randn(64)
    text = kernel_text(flatten(record(mixed, x, x)), "ccc", machine())
    assert " fast " not in text
    assert "reassoc" not in text
    registers = {128: "xmm", 256: "ymm", 512: "zmm"}[machine().vector_bits]
    assert registers in machine_code(text) or machine().cpu == "generic"


def test_addition_is_not_contracted():
    """x * x - r has another result with fused multiply-add."""
    x = flambeau.rand(1000) + 1
    r = x * x
    (zero,) = agree(record(lambda x, r: x * x - r, x, r), [x, r])
    assert not zero.any()


def test_without_fma():
    """The code for machines that have none rounds twice."""
    program = lower(parse("fma(a, b, c)", ["a", "b", "c"]), "f32")
    names = {"a": "p0", "b": "p1", "c": "p2"}
    instrs = [
        type(i)(i.op, i.type, i.args, names.get(i.value, i.value)) for i in program.instrs
    ]
    region = Region(type(program)(instrs, program.outputs), ("float32",) * 3, ("float32",))
    assert "llvm.fma" in kernel_text(region, "cccc", Machine("", True, 256))
    assert "llvm.fma" not in kernel_text(region, "cccc", Machine("", False, 128))


def test_cache_is_bounded():
    region = flatten(record(lambda x: x * 2 + 1, flambeau.randn(3)))
    text = kernel_text(region, "cc", machine())
    cache = KernelCache(size=2)
    made = []

    def make():
        made.append(1)
        return text

    first = cache.get("a", make)
    assert isinstance(first, Kernel)
    assert cache.get("a", make) is first
    cache.get("b", make)
    cache.get("a", make)
    cache.get("c", make)
    assert len(cache) == 2
    assert len(made) == 3
    cache.get("a", make)
    assert len(made) == 3, "the one used last was dropped"


def test_equal_regions_share_code():
    from flambeau.jit.llvm.fused import region_key

    fn = lambda x: x * 2 + 1  # noqa: E731
    keys = {region_key(flatten(record(fn, flambeau.randn(n, 4)))) for n in (3, 5)}
    assert len(keys) == 1
    other = region_key(flatten(record(lambda x: x * 3 + 1, flambeau.randn(3))))
    assert other not in keys


def test_grid():
    grid = make_grid((4, 3, 2), [(24, 8, 4), (0, 0, 4), (24, 8, 4)], (4, 4, 4))
    assert (grid.total, grid.inner, grid.steps) == (24, 2, "ccc")
    assert grid.outer == ((12, (8, 0, 8)),)
    flat = make_grid((4, 3, 2), [(24, 8, 4)] * 2, (4, 4))
    assert (flat.inner, flat.outer) == (24, ())
    column = make_grid((4, 3), [(4, 0), (12, 4)], (4, 4))
    assert (column.steps, column.outer) == ("fc", ((4, (4, 12)),))
    strided = make_grid((4, 3), [(24, 8), (12, 4)], (4, 4))
    assert (strided.inner, strided.steps) == (12, "sc")


ORDERS = [lambda x: x, lambda x: x.reshape(2, 4, 3).transpose(1, 2),
          lambda x: x.reshape(3, 2, 4).transpose(0, 1), lambda x: x[:, :1].expand(2, 3, 4)]


@pytest.mark.parametrize("orders", list(itertools.product(range(4), repeat=2)))
def test_results_lie_as_the_cores(orders):
    one, other = (ORDERS[k] for k in orders)

    def function(x, y):
        x, y = one(x), other(y)
        return (x + y.mean(-1, keepdim=True)) * y, (y * 2 + x).exp() - y

    x, y = flambeau.randn(2, 3, 4), flambeau.randn(2, 3, 4)
    program = jit.trace(function, (x, y), dynamic=False)
    assert FUSED in ops_of(program.graph)
    for found, wanted in zip(program(x, y), function(x, y), strict=True):
        assert found.stride() == wanted.stride() and bridge.same_bits(found, wanted)


def test_strides_of_c_order():
    assert contiguous_strides((2, 3, 4)) == (12, 4, 1)


def test_threads_give_the_same_bits():
    x, y = spread((200000,)), spread((200000,))
    body = record(mixed, x, y)
    before = flambeau.get_num_threads()
    results = []
    for count in (1, 2):
        flambeau.set_num_threads(count)
        results.append(agree(body, [x, y])[0])
    flambeau.set_num_threads(before)
    assert same(*results)


def test_fusion_and_lowering_know_the_same_operators():
    """Whatever the pass puts into a region can be lowered."""
    x = value(40)
    outs = [value(40) for _ in range(4)]
    nodes = [node("exp", x, out=outs[0]), node("relu", outs[0], out=outs[1]),
             node("add", outs[1], x, out=outs[2]), node("sqrt", outs[2], out=outs[3])]
    graph = fusion(Graph(inputs=[x], nodes=nodes, outputs=[outs[3]]))
    assert ops_of(graph) == [FUSED]
    flatten(graph.nodes[0].body)
    assert bridge.isa_level() in ("v2", "v3", "v4", "neon", "base")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="levels of x86-64")
@pytest.mark.parametrize("level", ["v2", "v3"])
def test_lower_levels(level):
    """The same agreement when the core is pinned to an older instruction set, in a new process."""
    tests = "test_operands or test_rare or test_addition or test_results_are_rounded"
    options = ["-q", "-p", "no:cacheprovider", __file__, "-k", tests]
    command = [sys.executable, "-m", "pytest", *options]
    environment = {**os.environ, "FLAMBEAU_ISA": level}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
